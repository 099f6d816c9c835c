// SPDX-License-Identifier: MIT
// vLLM's prefix_hit/1 and retention_mask/1 files, and the lookups of engine_tests/1.
#include "reuse.hpp"

#include <kvcap/engine/vllm/hits.hpp>
#include <kvcap/engine/vllm/registered.hpp>
#include <vector>

namespace golden {

namespace {

using namespace kvcap;
using vllm::Found;
using vllm::LookupGroup;
using vllm::SpecKind;
using vllm::StateMode;

/// A lookup and the words it points into.
struct Held {
    std::vector<LookupGroup> groups;
    std::vector<std::vector<u64>> words;
    std::vector<std::vector<u64>> partial;
};

std::vector<u64> words_of(const std::string& bits) {
    std::vector<u64> words(bits.size() / 64 + 1);
    for (std::size_t i = 0; i < bits.size(); ++i) {
        if (bits[i] != '0' && bits[i] != '1') {
            throw std::runtime_error("a string of 0 and 1, not " + bits);
        }
        words[i / 64] |= u64{bits[i] == '1' ? 1u : 0u} << (i % 64);
    }
    return words;
}

SpecKind kind_of(const std::string& name) {
    if (name == "full") {
        return SpecKind::full;
    }
    if (name == "mla") {
        return SpecKind::mla;
    }
    if (name == "window") {
        return SpecKind::window;
    }
    if (name == "chunked") {
        return SpecKind::chunked;
    }
    if (name == "state") {
        return SpecKind::state;
    }
    throw std::runtime_error("a known group kind, not " + name);
}

StateMode mode_of(const std::string& name) {
    if (name == "none") {
        return StateMode::none;
    }
    if (name == "align") {
        return StateMode::align;
    }
    if (name == "all") {
        return StateMode::all;
    }
    throw std::runtime_error("a known state mode, not " + name);
}

LookupGroup group_of(const Json& json, u64 ranks) {
    const StrictObject one{json};
    LookupGroup group{.kind = kind_of(one.get<std::string>("kind")), .drafts = one.get<bool>("eagle", false)};
    group.block = one.get<u64>("block_size") * (group.kind == SpecKind::state ? 1 : ranks);
    group.mode = mode_of(one.get<std::string>("mode", "align"));
    if (group.kind == SpecKind::window) {
        group.span = one.get<u64>("window");
        group.tag = one.get<u32>("extra_retained", 0);  // part of the spec; the finder has no use for it
    } else if (group.kind == SpecKind::chunked) {
        group.span = one.get<u64>("chunk");
    }
    one.done("the group");
    return group;
}

Held held_of(const Json& groups, const Json& present, const Json& partial, u64 ranks) {
    if (groups.size() != present.size() || (!partial.is_null() && partial.size() != groups.size())) {
        throw std::runtime_error("as many presence strings as groups");
    }
    Held held;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const auto bits = present[g].get<std::string>();
        LookupGroup group = group_of(groups[g], ranks);
        held.words.push_back(words_of(bits));
        held.partial.push_back(partial.is_null() ? std::vector<u64>{} : partial[g].get<std::vector<u64>>());
        group.held = {held.words.back().data(), bits.size()};
        group.partial = held.partial.back().data();
        group.partials = static_cast<u32>(held.partial.back().size());
        held.groups.push_back(group);
    }
    return held;
}

std::string cells(const Found& found) {
    return std::string(found.null_blocks, '.') + std::string(found.blocks - found.null_blocks, '#');
}

/// What an error text of the engine means here.
void compare_refusal(const std::string& text, const Error& error, Report& report) {
    const bool unit = text.rfind("ValueError: Invalid prefix_match_unit", 0) == 0;
    const bool assertion = text.rfind("AssertionError", 0) == 0;
    const bool same = unit        ? error.code == Errc::not_divisible
                      : assertion ? error.code == Errc::refused_combination
                                  : error.code != Errc::ok;
    if (!same) {
        report.fail("error", text, static_cast<int>(error.code));
    }
}

void compare_found(const StrictObject& expected, const vllm::Lookup& asked, const vllm::Lookedup& got,
                   Report& report) {
    report.equal("hit_tokens", expected.at("hit_tokens"), got.tokens);
    report.equal("uncached_common_prefix_tokens", expected.at("uncached_common_prefix_tokens"), got.missed);
    Json blocks = Json::array();
    for (const Found& found : got.per_group) {
        blocks.push_back(cells(found));
    }
    report.equal("blocks", expected.at("blocks"), blocks);
    if (expected.has("independent_hit_tokens_per_group")) {
        Json alone = Json::array();
        for (u32 g = 0; g < asked.count; ++g) {
            const Result<u64> tokens = vllm::found_alone(asked, g);
            alone.push_back(tokens ? Json(*tokens) : Json());
        }
        report.equal("independent_hit_tokens_per_group", expected.at("independent_hit_tokens_per_group"),
                     alone);
    }
    expected.done("expected");
}

void run_hit(const Json& json, Report& report) {
    const StrictObject one{json};
    for (const char* key : {"id", "title", "tags"}) {
        one.ignore(key);
    }
    const u64 ranks = one.get<u64>("dcp", 1);
    const u64 prompt = one.get<u64>("prompt_tokens");
    const Held held = held_of(one.at("groups"), one.at("present"),
                              one.has("present_partial") ? one.at("present_partial") : Json(), ranks);
    const StrictObject expected{one.at("expected")};
    const u32 count = static_cast<u32>(held.groups.size());
    const u64 unit = one.get<u64>("prefix_match_unit", 0);
    vllm::Lookup asked{.groups = held.groups.data(), .count = count,
                       .most = one.get<u64>("max_hit_tokens", prompt == 0 ? 0 : prompt - 1),
                       .speculative = one.get<bool>("use_eagle", false), .context_parallel = ranks > 1};
    const Result<vllm::Blocks> blocks = vllm::resolve_blocks(asked.groups, count, unit);
    if (blocks) {
        asked.scheduler_block = blocks->scheduler;
        asked.hash_block = blocks->hash;
        report.equal("scheduler_block_size", one.get<Json>("scheduler_block_size", blocks->scheduler),
                     blocks->scheduler);
        report.equal("hash_block_size", one.get<Json>("hash_block_size", blocks->hash), blocks->hash);
    }
    Json effective = Json::array();
    for (const LookupGroup& group : held.groups) {
        effective.push_back(group.block);
    }
    report.equal("effective_block_sizes", one.get<Json>("effective_block_sizes", effective), effective);
    const Result<vllm::Classes> classes =
        blocks ? vllm::classes_of(asked) : Result<vllm::Classes>{blocks.error()};
    if (classes) {
        report.equal("hit_alignment", one.get<Json>("hit_alignment", classes->alignment), classes->alignment);
    } else {
        one.ignore("hit_alignment");
        one.ignore("scheduler_block_size");
        one.ignore("hash_block_size");
    }
    const Result<vllm::Lookedup> got = blocks ? vllm::look_up(asked) : Result<vllm::Lookedup>{blocks.error()};
    if (expected.has("error")) {
        compare_refusal(expected.get<std::string>("error"), got.error(), report);
        expected.done("expected");
    } else if (!got) {
        report.fail("hit_tokens", expected.at("hit_tokens"), "refused");
    } else {
        compare_found(expected, asked, *got, report);
    }
    one.done("the case");
}

void run_mask(const Json& json, Report& report) {
    const StrictObject one{json};
    one.ignore("id");
    const std::vector<u64> boundaries = one.get<std::vector<u64>>("boundaries");
    const Json interval = one.at("retention_interval");
    if (interval.is_string() && interval != "dense") {
        throw std::runtime_error("dense or a number, not " + interval.dump());
    }
    const vllm::RetentionRule rule{.kind = kind_of(one.get<std::string>("kind")),
                                   .block = one.get<u64>("block_size"),
                                   .window = one.get<u64>("window", 0),
                                   .drafts = one.get<bool>("use_eagle"),
                                   .alignment = one.get<u64>("alignment_tokens"),
                                   .dense = interval.is_string(),
                                   .interval = interval.is_string() ? 0 : interval.get<u64>(),
                                   .boundaries = boundaries.data(),
                                   .count = static_cast<u32>(boundaries.size())};
    std::string keep;
    const u64 first = one.get<u64>("first_block");
    const u64 end = one.get<u64>("end_block");
    for (u64 i = first; i < end; ++i) {
        keep += vllm::registers(rule, i) ? '1' : '0';
    }
    const StrictObject expected{one.at("expected")};
    report.equal("keep", expected.at("keep"), vllm::registers_all(rule) ? "all" : keep);
    expected.done("expected");
    one.done("the case");
}

bool has_schema(const File& file, const char* schema) {
    return file.says("schema", schema);
}

void run_cases(const File& file, void (*one)(const Json&, Report&)) {
    for (const Json& json : file.content.at("cases")) {
        run_case(json, file.report, [&](const Json& each) { one(each, file.report); });
    }
}

}  // namespace

void vllm_lookup(const Json& json, Report& report) {
    const StrictObject one{json};
    report.begin("lookup " + one.get<std::string>("test"));
    try {
        const Held held = held_of(one.at("groups"), one.at("present"), Json(), 1);
        const vllm::Lookup asked{.groups = held.groups.data(), .count = static_cast<u32>(held.groups.size()),
                                 .most = one.get<u64>("max_hit_tokens"),
                                 .scheduler_block = one.get<u64>("scheduler_block_size"),
                                 .hash_block = one.get<u64>("hash_block_size"),
                                 .speculative = one.get<bool>("use_eagle", false)};
        for (const LookupGroup& group : held.groups) {
            report.equal("num_hashes", one.get<u64>("num_hashes") * asked.hash_block / group.block,
                         group.held.count);
        }
        const Result<vllm::Lookedup> got = vllm::look_up(asked);
        const StrictObject expected{one.at("expected")};
        if (got) {
            compare_found(expected, asked, *got, report);
        } else {
            report.fail("hit_tokens", expected.at("hit_tokens"), "refused");
        }
        one.done("the lookup");
    } catch (const std::exception& wrong) {
        report.fail("case", wrong.what(), "not so");
    }
    report.end();
}

void vllm_single_lookup(const Json& json, Report& report) {
    const StrictObject one{json};
    report.begin("single lookup " + one.get<std::string>("test"));
    try {
        const Held held =
            held_of(Json::array({one.at("group")}), Json::array({one.at("present")}), Json(), 1);
        const vllm::ClassBits bits{
            .groups = held.groups.data(), .members = 1, .count = held.groups[0].held.count};
        report.equal("hash_block_size", one.at("hash_block_size"), held.groups[0].block);
        const Result<Found> got = vllm::find(bits, {.most = one.get<u64>("max_tokens"),
                                                    .alignment = one.get<u64>("alignment_tokens"),
                                                    .drop = one.get<bool>("drop_eagle_block")});
        const StrictObject expected{one.at("expected")};
        report.equal("hit_tokens", expected.at("hit_tokens"), got ? Json(got->tokens) : Json("refused"));
        report.equal("blocks", expected.at("blocks"), got ? Json(cells(*got)) : Json("refused"));
        expected.done("expected");
        one.done("the lookup");
    } catch (const std::exception& wrong) {
        report.fail("case", wrong.what(), "not so");
    }
    report.end();
}

const Format vllm_prefix_hit{"vllm prefix_hit",
                             [](const File& file) { return has_schema(file, "prefix_hit/1"); },
                             [](const File& file) { run_cases(file, run_hit); }};
const Format vllm_retention_mask{"vllm retention_mask",
                                 [](const File& file) { return has_schema(file, "retention_mask/1"); },
                                 [](const File& file) { run_cases(file, run_mask); }};

}  // namespace golden

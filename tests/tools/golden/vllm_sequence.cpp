// SPDX-License-Identifier: MIT
// vLLM's request_sequence/1 file: requests one after the other on one pool.
#include "strict_object.hpp"

#include <algorithm>
#include <kvcap/engine/vllm/names.hpp>
#include <kvcap/engine/vllm/sim.hpp>

namespace golden {

namespace {

using namespace kvcap;
using vllm::SpecKind;

vllm::SimGroup sim_group(const Json& json, u64 ranks) {
    const StrictObject one{json};
    vllm::SimGroup group{.drafts = one.get<bool>("eagle", false)};
    const auto kind = one.get<std::string>("kind");
    const char* names[] = {"full", "mla", "window", "chunked", "state"};
    const SpecKind kinds[] = {SpecKind::full, SpecKind::mla, SpecKind::window, SpecKind::chunked,
                              SpecKind::state};
    const auto* at = std::find(std::begin(names), std::end(names), kind);
    if (at == std::end(names) ||
        !vllm::mode_named(one.get<std::string>("mode", "align").c_str(), group.mode)) {
        throw std::runtime_error("a known group kind, not " + kind);
    }
    group.kind = kinds[at - names];
    group.block = one.get<u64>("block_size") * (group.kind == SpecKind::state ? 1 : ranks);
    group.span = group.kind == SpecKind::chunked ? one.get<u64>("chunk") : one.get<u64>("window", 0);
    group.extra = one.get<u64>("extra_retained", 0);
    one.done("the group");
    return group;
}

/// Token i of a stream; streams never agree.
u64 token(const std::string& stream, u64 i) {
    u64 number = 0;
    for (const char c : stream) {
        number = number * 256 + static_cast<unsigned char>(c);
    }
    return number * 1'000'000 + i;
}

vllm::SimRequest sim_request(const StrictObject& one) {
    vllm::SimRequest request{.salt = one.get<std::string>("salt", ""),
                             .adapter = one.get<std::string>("adapter", "")};
    for (const Json& part : one.at("tokens")) {
        for (u64 i = part.at(1).get<u64>(); i < part.at(2).get<u64>(); ++i) {
            request.tokens.push_back(token(part.at(0).get<std::string>(), i));
        }
    }
    for (u64 i = 0; i < one.get<u64>("decode_tokens", 0); ++i) {
        request.decoded.push_back(i);
    }
    if (one.has("media")) {
        for (const Json& item : one.at("media")) {
            request.media.push_back({item.at("id").get<std::string>(), item.at("offset").get<u64>(),
                                     item.at("length").get<u64>()});
        }
    }
    one.done("the request");
    return request;
}

std::string bits(const std::vector<bool>& present) {
    std::string text;
    for (const bool held : present) {
        text += held ? '1' : '0';
    }
    return text;
}

void compare(const StrictObject& want, const vllm::SimResult& got, const std::string& at, Report& report) {
    Json hit_blocks = Json::array();
    for (const vllm::Found& hit : got.hits) {
        hit_blocks.push_back(std::string(hit.null_blocks, '.') +
                             std::string(hit.blocks - hit.null_blocks, '#'));
    }
    Json present = Json::array();
    for (const std::vector<bool>& own : got.present) {
        present.push_back(bits(own));
    }
    const std::size_t shown = std::min<std::size_t>(got.steps.size(), 12);
    report.equal(at + "hit_tokens", want.at("hit_tokens"), got.hit_tokens);
    report.equal(at + "shared_prefix_boundary", want.at("shared_prefix_boundary"), got.junction);
    report.equal(at + "hit_blocks", want.at("hit_blocks"), hit_blocks);
    report.equal(at + "rejected", want.get<bool>("rejected", false), got.rejected);
    report.equal(at + "prefill_and_decode_steps", want.at("prefill_and_decode_steps"), got.steps.size());
    report.equal(at + "chunks", want.at("chunks"),
                 Json(std::vector<u64>(got.steps.begin(), got.steps.begin() + static_cast<long>(shown))));
    report.equal(at + "peak_blocks_held", want.at("peak_blocks_held"), got.peak);
    report.equal(at + "peak_blocks_per_group", want.at("peak_blocks_per_group"), Json(got.peak_of_group));
    report.equal(at + "present_after", want.at("present_after"), present);
    if (want.has("partial_present_after")) {
        report.equal(at + "partial_present_after", want.at("partial_present_after"), Json(got.partial));
    }
    report.equal(at + "free_blocks_after", want.at("free_blocks_after"), got.free_blocks);
    want.done("expected");
}

vllm::SimOptions sim_options(const StrictObject& one) {
    const u64 ranks = one.get<u64>("dcp", 1);
    vllm::SimOptions options{.blocks = one.get<u64>("num_blocks"), .step = one.get<u64>("chunk_tokens"),
                             .scheduler_block = one.get<u64>("scheduler_block_size"),
                             .hash_block = one.get<u64>("hash_block_size"),
                             .lookahead = one.get<u64>("lookahead_tokens", 0),
                             .speculative = one.get<bool>("use_eagle", false), .context_parallel = ranks > 1};
    for (const Json& group : one.at("groups")) {
        options.groups.push_back(sim_group(group, ranks));
    }
    const Json retention = one.has("retention_interval") ? one.at("retention_interval") : Json(0);
    options.dense = retention == "dense";
    options.retention = options.dense ? 0 : retention.get<u64>();
    return options;
}

void run_sequence(const Json& json, Report& report) {
    const StrictObject one{json};
    for (const char* key : {"id", "title", "tags", "prefix_match_unit"}) {
        one.ignore(key);
    }
    vllm::Simulator simulator{sim_options(one)};
    const Json& requests = one.at("requests");
    const Json& expected = one.at("expected");
    report.equal("expected.size", requests.size(), expected.size());
    for (std::size_t i = 0; i < std::min(requests.size(), expected.size()); ++i) {
        const vllm::SimResult got = simulator.run(sim_request(StrictObject{requests[i]}));
        compare(StrictObject{expected[i]}, got, std::to_string(i) + ".", report);
    }
    one.done("the case");
}

}  // namespace

extern const Format vllm_request_sequence{
    "vllm request sequence",
    [](const File& file) {
        return file.says("engine", "vllm") && file.says("schema", "request_sequence/1");
    },
    [](const File& file) {
        for (const Json& one : file.content.at("cases")) {
            run_case(one, file.report, [&](const Json& json) { run_sequence(json, file.report); });
        }
    }};

}  // namespace golden

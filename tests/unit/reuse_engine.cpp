// SPDX-License-Identifier: MIT
// Engines' hits beside the ideal one: equal to what the engines recorded, explained by named rules, and as
// the program prints them.
#include "json_schema.hpp"
#include "program.hpp"

#include <catch2/catch.hpp>
#include <kvcap/engine/vllm/names.hpp>
#include <kvcap/report/reuse_sglang.hpp>
#include <kvcap/report/reuse_trtllm.hpp>
#include <kvcap/report/reuse_vllm.hpp>
#include <set>

namespace reuse_engine_tests {

namespace {

using namespace kvcap;
using nlohmann::json;
using report::EngineRule;

json golden(const std::string& name) {
    std::ifstream file{std::string{KVCAP_SOURCE_DIR} + "/tests/golden/" + name};
    return json::parse(file);
}

/// Groups of a recorded lookup. Points into `words`.
std::vector<report::EngineGroup> groups_of(const json& one, std::vector<std::vector<u64>>& words) {
    std::vector<report::EngineGroup> groups;
    words.resize(one["groups"].size());
    for (std::size_t g = 0; g < one["groups"].size(); ++g) {
        const json& from = one["groups"][g];
        const std::string bits = one["present"][g];
        words[g].assign(bits.size() / 64 + 1, 0);
        for (std::size_t i = 0; i < bits.size(); ++i) {
            words[g][i / 64] |= u64{bits[i] == '1' ? 1u : 0u} << (i % 64);
        }
        const std::string kind = from["kind"];
        const u64 ranks = kind == "state" ? 1 : one.value("dcp", u64{1});
        Rule rule{.page = from["block_size"].get<u64>() * ranks};
        if (kind == "window") {
            rule.needs = Needs::window;
            rule.reach = from["window"].get<u64>() - 1;
        } else if (kind == "chunked") {
            rule.needs = Needs::chunk;
            rule.reach = from["chunk"];
        } else if (kind == "state") {
            rule.needs = Needs::snapshot;
        }
        groups.push_back(
            {.group = {rule, {words[g].data(), bits.size()}}, .draft = from.value("eagle", false)});
    }
    return groups;
}

report::ReplayRequest request_of(const json& one) {
    report::ReplayRequest request{.salt = one.value("salt", ""), .adapter = one.value("adapter", "")};
    for (const json& part : one["tokens"]) {
        const std::string stream = part[0];
        for (u64 i = part[1]; i < part[2].get<u64>(); ++i) {
            request.tokens.push_back(static_cast<u64>(stream[0]) * 1'000'000 + i);
        }
    }
    const u64 decoded = one.value("decode_tokens", u64{0});
    for (u64 i = 0; i < decoded + (decoded != 0 ? 1 : 0); ++i) {  // the last one is never stored
        request.generated.push_back(i);
    }
    return request;
}

vllm::SimOptions options_of(const json& one) {
    vllm::SimOptions options{.blocks = one["num_blocks"],
                             .step = one["chunk_tokens"],
                             .scheduler_block = one["scheduler_block_size"],
                             .hash_block = one["hash_block_size"],
                             .lookahead = one.value("lookahead_tokens", u64{0}),
                             .speculative = one.value("use_eagle", false),
                             .context_parallel = one.value("dcp", u64{1}) > 1};
    for (const json& from : one["groups"]) {
        const std::string kind = from["kind"];
        vllm::SimGroup group{.drafts = from.value("eagle", false)};
        group.kind = kind == "window"    ? vllm::SpecKind::window
                     : kind == "chunked" ? vllm::SpecKind::chunked
                     : kind == "state"   ? vllm::SpecKind::state
                     : kind == "mla"     ? vllm::SpecKind::mla
                                         : vllm::SpecKind::full;
        REQUIRE(vllm::mode_named(from.value("mode", "align").c_str(), group.mode));
        group.block = from["block_size"].get<u64>() * (kind == "state" ? 1 : one.value("dcp", u64{1}));
        group.span = kind == "chunked" ? from["chunk"].get<u64>() : from.value("window", u64{0});
        group.extra = from.value("extra_retained", u64{0});
        options.groups.push_back(group);
    }
    const json retention = one.value("retention_interval", json(0));
    options.dense = retention == "dense";
    options.retention = options.dense ? 0 : retention.get<u64>();
    return options;
}

std::vector<u64> tokens_from(u64 first, u64 count) {
    std::vector<u64> tokens;
    for (u64 i = 0; i < count; ++i) {
        tokens.push_back(first + i);
    }
    return tokens;
}

bool names(const report::Replayed& one, EngineRule rule) {
    return std::any_of(one.lifted.begin(), one.lifted.end(),
                       [&](const auto& each) { return each.rule == rule; });
}

}  // namespace

TEST_CASE("reuse by engine: every rule has its name and its words", "[reuse]") {
    std::set<std::string_view> names;
    std::set<std::string> words;
    for (u32 i = 0; i < report::engine_rules; ++i) {
        const auto rule = static_cast<EngineRule>(i);
        names.insert(report::name_of(rule));
        words.insert(report::words_of({rule, 1, 1'048'576}));
        CHECK(report::words_of({rule, 1, 1'048'576}).size() <= 62);  // fits a line of 80 behind the numbers
    }
    CHECK(names.size() == report::engine_rules);
    CHECK(words.size() == report::engine_rules);
    CHECK(report::is_of_lookup(EngineRule::common_blocks));
    CHECK_FALSE(report::is_of_lookup(EngineRule::evicted));
}

TEST_CASE("reuse by engine: vLLM's recorded lookups", "[reuse]") {
    u64 compared = 0;
    const json file = golden("vllm/prefix_hit.json");
    for (const json& one : file["cases"]) {
        bool plain = !one.contains("present_partial") && !one["expected"].contains("error");
        for (const json& group : one["groups"]) {
            plain = plain && group.value("mode", "align") == "align";
        }
        if (!plain) {
            continue;
        }
        INFO(one["id"]);
        std::vector<std::vector<u64>> words;
        const auto groups = groups_of(one, words);
        const u64 prompt = one["prompt_tokens"];
        Ask ask = ask_for(prompt, 1);
        ask.limit = one.value("max_hit_tokens", ask.limit);
        const Result<report::Compared> got =
            report::compare_vllm(groups, ask,
                                 {.match_unit = one.value("prefix_match_unit", u64{0}),
                                  .speculative = one.value("use_eagle", false),
                                  .context_parallel = one.value("dcp", u64{1}) > 1});
        REQUIRE(got);
        CHECK(got->hit == one["expected"]["hit_tokens"]);
        CHECK(got->alignment == one["hit_alignment"]);
        bool whole_chunks = true;
        for (const report::EngineGroup& group : groups) {
            const Rule& rule = group.group.rule;
            whole_chunks = whole_chunks && (rule.needs != Needs::chunk || rule.reach % rule.page == 0);
        }
        CHECK((!whole_chunks || !got->beyond()));
        ++compared;
    }
    CHECK(compared >= 90);
}

TEST_CASE("reuse by engine: vLLM's recorded sequences of requests", "[reuse]") {
    u64 compared = 0;
    const json file = golden("vllm/request_sequence.json");
    for (const json& one : file["cases"]) {
        bool plain = true;
        for (const json& request : one["requests"]) {
            plain = plain && !request.contains("media");
        }
        if (!plain) {
            continue;
        }
        report::VllmReplay replay{options_of(one), 20'000};
        for (std::size_t i = 0; i < one["requests"].size(); ++i) {
            INFO(one["id"] << " request " << i);
            const Result<report::Replayed> got = replay.run(request_of(one["requests"][i]));
            REQUIRE(got);
            CHECK(got->hit == one["expected"][i]["hit_tokens"]);
            CHECK(got->rejected == one["expected"][i].value("rejected", false));
            CHECK(got->hit <= got->ideal);
            CHECK(got->ideal <= got->seen);
            ++compared;
        }
    }
    CHECK(compared >= 50);
}

TEST_CASE("reuse by engine: TensorRT-LLM's second manager as recorded", "[reuse]") {
    u64 compared = 0;
    for (const json& one : golden("tensorrt_llm/capacity.json")) {
        if (one["kind"] != "reuse_with_block_presence") {
            continue;
        }
        INFO(one["id"]);
        const json& in = one["inputs"];
        const u64 matched = in["key_matched_tokens"];
        const u64 block = in["tokens_per_block"];
        const u64 blocks = ceil_div(matched, block);
        std::vector<std::vector<u64>> words(in["groups"].size(), std::vector<u64>(blocks / 64 + 1, ~u64{0}));
        std::vector<report::EngineGroup> groups;
        for (std::size_t g = 0; g < words.size(); ++g) {
            for (const u64 i : in["missing_blocks"][g].get<std::vector<u64>>()) {
                words[g][i / 64] &= ~(u64{1} << (i % 64));
            }
            Rule rule{.page = block};
            if (in["groups"][g].is_object()) {
                rule.needs = Needs::window;
                rule.reach = in["groups"][g]["window"].get<u64>() - 1;
            }
            groups.push_back({.group = {rule, {words[g].data(), blocks}}});
        }
        const Ask ask{.prompt = matched + 1, .limit = matched, .grid = {.unit = block}};
        const Result<report::Compared> got =
            report::compare_trtllm(groups, ask, {.tokens_per_block = block, .second = true});
        REQUIRE(got);
        CHECK(got->hit == one["expect"]["reused_tokens"]);
        ++compared;
    }
    CHECK(compared == 8);
}

TEST_CASE("reuse by engine: a state model under SGLang", "[reuse]") {
    report::SglangReplay replay{{.rules = {.states = true}}, {}};
    const report::ReplayRequest first{.tokens = tokens_from(0, 100), .generated = tokens_from(500, 20)};
    CHECK(replay.run(first).hit == 0);
    const report::Replayed again = replay.run(first);  // its states lie at 100 and 119, its limit is 99
    CHECK(again.hit == 0);
    CHECK(again.seen == 99);
    CHECK(names(again, EngineRule::step_ends));
    report::ReplayRequest next = first;
    next.tokens.insert(next.tokens.end(), first.generated.begin(), first.generated.end());
    next.tokens.push_back(7);
    CHECK(replay.run(next).hit == 119);  // the state after all that was computed: not the last token
}

TEST_CASE("reuse by engine: what slides out of a window under SGLang", "[reuse]") {
    report::SglangReplay replay{{.rules = {.window = 32}, .interval = 1},
                                {.needs = Needs::window, .reach = 31}};
    const report::ReplayRequest long_answer{.tokens = tokens_from(0, 40), .generated = tokens_from(500, 200)};
    CHECK(replay.run(long_answer).hit == 0);
    report::ReplayRequest next{.tokens = long_answer.tokens};
    next.tokens.insert(next.tokens.end(), long_answer.generated.begin(), long_answer.generated.begin() + 100);
    next.tokens.push_back(7);
    const report::Replayed got = replay.run(next);  // 140 tokens were computed before, whose window is gone
    CHECK(got.seen == 140);
    CHECK(got.hit == 40);
    CHECK(names(got, EngineRule::window_freed));
}

TEST_CASE("reuse by engine: salts, and what leaves TensorRT-LLM's pool", "[reuse]") {
    report::TrtllmReplay replay{{.tokens_per_block = 8, .primary_blocks = 16}, 1000};
    report::ReplayRequest one{.tokens = tokens_from(0, 100), .generated = {1, 2}};
    CHECK(replay.run(one).hit == 0);
    CHECK(replay.run(one).hit == 99);
    report::ReplayRequest salted = one;
    salted.salt = "x";
    const report::Replayed other = replay.run(salted);
    CHECK(other.hit == 0);
    CHECK(other.seen == 0);
    CHECK(other.other == 99);
    const report::Replayed back = replay.run(one);
    CHECK(back.hit < 99);
    CHECK(names(back, EngineRule::evicted));
    CHECK(replay.run({.tokens = tokens_from(0, 200)}).rejected);
}

TEST_CASE("reuse by engine: groups that an engine does not have are refused", "[reuse]") {
    const u64 words[] = {~u64{0}};
    const auto code = [&](const Rule& rule) {
        const std::vector<report::EngineGroup> groups{{.group = {rule, {words, 4}}}};
        return report::compare_vllm(groups, ask_for(64, 16)).error().code;
    };
    CHECK(code({.page = 16}) == Errc::ok);
    CHECK(code({.page = 16, .lag = 3}) == Errc::unsupported);
    CHECK(code({.needs = Needs::window, .page = 16, .reach = 20, .sinks = 4}) == Errc::unsupported);
    CHECK(code({.needs = Needs::whole, .page = 16}) == Errc::unsupported);
}

namespace {

const std::string hybrid_scenario = R"({"prompt_tokens": 2000, "groups": [
    {"name": "full", "needs": "everything", "held": [[0, 110]]},
    {"name": "window", "needs": "window", "window_tokens": 512, "held": [[32, 90], [95, 125]]},
    {"name": "state", "needs": "snapshot", "page_tokens": 256, "held": [1, 3, 6]}]})";

const std::string chat =
    "sys:0-1000 a:0-200 +b:0-101\n"
    "sys:0-1000 a:0-200 b:0-101 a:300-400 +c:0-60  # the next turn\n"
    "sys:0-1000 z:0-300 +20\n"
    "sys:0-1000 a:0-200 salt=u +4\n";

/// Runs `kvcap reuse`; FILE in the arguments is a file with that text.
program::Ran reuse(std::string arguments, const std::string& text) {
    const auto file =
        std::filesystem::temp_directory_path() / ("kvcap-reuse-engine-" + std::to_string(::getpid()));
    std::ofstream{file, std::ios::binary} << text;
    if (const auto at = arguments.find("FILE"); at != std::string::npos) {
        arguments.replace(at, 4, file.string());
    }
    const program::Ran ran = program::run("reuse " + arguments);
    std::filesystem::remove(file);
    return ran;
}

json prompts_json(const std::string& arguments, const std::string& prompts = chat) {
    const program::Ran ran = reuse(arguments + " --prompts FILE --json", prompts);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const json answer = json::parse(ran.out);
    CHECK(schemas::violation_of(answer, "reuse_engine") == "");
    return answer;
}

}  // namespace

TEST_CASE("reuse --engine: a scenario under each engine", "[cli]") {
    if (!program::known()) {
        return;
    }
    for (const std::string engine : {"vllm", "sglang", "trtllm", "trtllm --use-kv-cache-manager-v2"}) {
        INFO(engine);
        const program::Ran screen = reuse("FILE --engine " + engine, hybrid_scenario);
        REQUIRE(screen.code == 0);
        CHECK(program::widest(screen.out) <= 80);
        const json answer = json::parse(reuse("FILE --json --engine " + engine, hybrid_scenario).out);
        CHECK(schemas::violation_of(answer, "reuse_engine") == "");
        CHECK(answer["ideal_tokens"] == 1024);
        CHECK(answer["hit_tokens"] == (engine == "trtllm" ? 0 : 1024));
        CHECK(answer["reasons"].size() == (engine == "trtllm" ? 1 : 0));
    }
    const program::Ran first = reuse("FILE --engine trtllm", hybrid_scenario);
    CHECK(first.out.find("- 1,024   the search starts at block 0, also in windows") != std::string::npos);
}

TEST_CASE("reuse --engine: prompts one after the other", "[cli]") {
    if (!program::known()) {
        return;
    }
    const json dense = prompts_json("'4*gqa(8,128)' --engine vllm");
    CHECK(dense["prompts"][1]["seen_tokens"] == 1300);
    CHECK(dense["prompts"][1]["hit_tokens"] == 1296);
    CHECK(dense["prompts"][1]["reasons"] ==
          json::array({{{"rule", "stored_blocks"}, {"of", "store"}, {"tokens", 4}, {"unit_tokens", 16}}}));
    CHECK(dense["prompts"][3]["other_key_tokens"] == 1199);
    const json drafted = prompts_json("'4*gqa(8,128)' --engine vllm --num-speculative-tokens 2");
    CHECK(drafted["prompts"][1]["hit_tokens"] == 1280);
    CHECK(drafted["prompts"][1]["reasons"][0]["rule"] == "draft_block");
    const std::string hybrid = "'4*gqa(8,128) + 4*window(1024, gqa(8,128))'";
    const json kept =
        prompts_json(hybrid + " --engine vllm");  // interval 0: the system prompt alone is not kept
    CHECK(kept["prompts"][2]["hit_tokens"] == 0);
    CHECK(kept["prompts"][2]["reasons"][0]["rule"] == "not_registered");
    CHECK(prompts_json(hybrid + " --engine vllm@0.28")["prompts"][2]["hit_tokens"] == 992);
    CHECK(prompts_json(hybrid + " --engine vllm@0.28 --block-size 64")["prompts"][2]["hit_tokens"] <= 960);
    CHECK(prompts_json("'4*gqa(8,128)' --engine sglang")["prompts"][1]["hit_tokens"] == 1300);
    CHECK(prompts_json("'4*gqa(8,128)' --engine sglang --page-size 64")["prompts"][1]["hit_tokens"] == 1280);
    CHECK(prompts_json("'4*gqa(8,128)' --engine trtllm --tokens-per-block 64")["prompts"][1]["hit_tokens"] ==
          1300);
    const std::string three = "a:0-800\nb:0-800\na:0-800\n";
    const json small = prompts_json("'4*gqa(8,128)' --engine vllm --num-gpu-blocks-override 60", three);
    CHECK(small["prompts"][2]["reasons"][0]["rule"] == "evicted");
    const program::Ran screen = reuse(hybrid + " --engine vllm --prompts FILE", chat);
    CHECK(program::widest(screen.out) <= 80);
    CHECK(screen.out.find("windows and states are kept at a request's own ends only") != std::string::npos);
}

TEST_CASE("reuse --engine: a salt that an engine's key takes for an adapter", "[cli]") {
    if (!program::known()) {
        return;
    }
    const std::string mixed = "a:0-600 adapter=x +8\na:0-600 salt=x +8\n";
    const std::string said = "more than seen: the engine's key takes a salt for an adapter of that";
    for (const auto& [engine, hit] : {std::pair{"vllm", 16}, {"sglang", 0}, {"trtllm", 0}}) {
        INFO(engine);
        const std::string arguments = std::string{"'4*gqa(8,128)' --engine "} + engine;
        const json answer = prompts_json(arguments, mixed)["prompts"][1];
        CHECK(answer["seen_tokens"] == 0);
        CHECK(answer["hit_tokens"] == hit);
        const std::string screen = reuse(arguments + " --prompts FILE", mixed).out;
        CHECK((screen.find(said) != std::string::npos) == (hit != 0));
        CHECK(program::widest(screen) <= 80);
    }
}

TEST_CASE("reuse --engine: what is refused", "[cli]") {
    if (!program::known()) {
        return;
    }
    const auto refused = [](const program::Ran& ran, int code, const std::string& words) {
        INFO(ran.err);
        CHECK(ran.code == code);
        CHECK(ran.out.empty());
        CHECK(ran.err.find(words) != std::string::npos);
    };
    const std::string model = "'4*gqa(8,128)' --engine ";
    refused(reuse(model + "vlm --prompt 9", ""), 4, "did you mean vllm?");
    refused(reuse(model + "vllm@0.20 --prompt 9", ""), 4, "nearest: 0.26");
    refused(reuse(model + "sglang@2024-01 --prompt 9", ""), 4, "nearest: sglang@");
    refused(reuse(model + "trtllm@1.0 --prompt 9", ""), 4, "nearest: trtllm@");
    refused(reuse(model + "vllm", ""), 2, "--prompts FILE");
    refused(reuse(model + "vllm --prompt 9 --page-tokens 8", ""), 2, "--block-size");
    refused(reuse(model + "sglang --prompt 9 --block-size 8", ""), 2, "means nothing to SGLang");
    refused(reuse(model + "vllm --prompts FILE", "\n# nothing\n"), 3, "no prompt");
    refused(reuse(model + "vllm --prompts FILE", "a:5-2\n"), 3, "line 1: a:5-2");
    refused(reuse(model + "vllm --prompts FILE", "a:0-9\nwhat\n"), 3, "line 2: what is no piece");
    refused(reuse(model + "vllm --prompts FILE", "+8\n"), 3, "at least one");
    refused(reuse(model + "vllm --prompts FILE", "a:0-9 pepper=1\n"), 3, "salt=NAME");
    refused(reuse(model + "vllm --prompts FILE", "9999999\n"), 3, "ids are below");
    refused(reuse("'4*gqa(8,128)' --prompts FILE", "a:0-9\n"), 2, "need an --engine");
    refused(reuse("FILE --engine vllm", R"({"prompt_tokens": 64, "groups": [{"needs": "window",
        "window_tokens": 9, "sink_tokens": 4, "held": [0]}]})"),
            2, "no look-up for group group 1");
    refused(reuse("FILE --engine sglang",
                  R"({"prompt_tokens": 64, "groups": [{"needs": "everything", "held": [0]},
        {"needs": "everything", "page_tokens": 32, "held": [0]}]})"),
            2, "--page-size says which");
}

}  // namespace reuse_engine_tests

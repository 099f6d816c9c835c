// SPDX-License-Identifier: MIT
// Why a prefix is not longer: each reason from a question that has it, in words; the rules that retentions
// give, in words; questions that are refused.
#include <catch2/catch.hpp>
#include <kvcap/core.hpp>
#include <kvcap/report/reuse.hpp>
#include <kvcap/reuse/model_rules.hpp>

namespace reuse_words_tests {

using namespace kvcap;
using namespace kvcap::report;

namespace {

constexpr u64 all[4] = {~0ull, ~0ull, ~0ull, ~0ull};

/// 256 pages, all held but one.
struct Pages {
    u64 word[4] = {~0ull, ~0ull, ~0ull, ~0ull};
    u64 count = 256;

    explicit Pages(u64 missing) { word[missing / 64] &= ~(u64{1} << missing % 64); }
    PageBits bits() const { return {word, count}; }
};

struct Said {
    u64 tokens;
    Why why;
    std::string sentence;
};

Said said(std::initializer_list<Group<>> groups, const Ask& ask) {
    REQUIRE(fault(groups.begin(), static_cast<u32>(groups.size()), ask).code == Errc::ok);
    const Explanation known = explain(groups.begin(), static_cast<u32>(groups.size()), ask);
    const u32 g = known.reason.group == no_group ? 0 : known.reason.group;
    return {known.tokens, known.reason.why, reason_sentence(known.reason, groups.begin()[g].rule, "group")};
}

constexpr Rule full{.page = 16};
constexpr Rule window{.needs = Needs::window, .page = 16, .reach = 31, .sinks = 16};

}  // namespace

TEST_CASE("reuse: each reason in its own words") {
    const Group<> whole{.rule = full, .pages = {all, 256}};
    const Ask exact{.prompt = 1'000, .limit = 512, .grid = {.unit = 16}};

    Said answer = said({whole}, exact);
    CHECK(answer.tokens == 512);
    CHECK(name_of(answer.why) == "limit");
    CHECK(answer.sentence == "That is all that was asked for.");

    answer = said({whole}, ask_for(1'024, 16));
    CHECK(answer.tokens == 1'008);
    CHECK(name_of(answer.why) == "last_token");
    CHECK(answer.sentence == "All groups would accept 1,024, but the last token is always computed.");

    answer = said({whole}, ask_for(1'020, 16));
    CHECK(answer.tokens == 1'008);
    CHECK(name_of(answer.why) == "alignment");
    CHECK(answer.sentence == "The rest of the prompt is less than a whole unit.");

    const Pages hole{5};
    answer = said({{.rule = full, .pages = hole.bits()}}, exact);
    CHECK(answer.tokens == 80);
    CHECK(name_of(answer.why) == "missing_page");
    CHECK(answer.sentence == "group: page 5 (tokens 80 to 95) is missing.");

    const Pages no_sink{0};
    answer = said({whole, {.rule = window, .pages = no_sink.bits()}}, exact);
    CHECK(answer.tokens == 0);
    CHECK(name_of(answer.why) == "missing_sink");
    CHECK(answer.sentence == "group: page 0 (tokens 0 to 15) of the first tokens is missing.");

    const Pages gap{31};
    answer = said({whole, {.rule = window, .pages = gap.bits()}}, exact);
    CHECK(answer.tokens == 496);
    CHECK(name_of(answer.why) == "broken_window");
    CHECK(answer.sentence == "group: page 31 (tokens 496 to 511) is missing from the window before 512.");

    const Rule chunk{.needs = Needs::chunk, .page = 16, .reach = 384};
    answer = said({whole, {.rule = chunk, .pages = gap.bits()}}, exact);
    CHECK(answer.tokens == 496);
    CHECK(name_of(answer.why) == "broken_chunk");
    CHECK(answer.sentence == "group: page 31 (tokens 496 to 511) is missing from the chunk of 512.");

    const Rule state{.needs = Needs::snapshot, .page = 16};
    answer = said({whole, {.rule = state, .pages = gap.bits()}}, exact);
    CHECK(answer.tokens == 496);
    CHECK(name_of(answer.why) == "no_snapshot");
    CHECK(answer.sentence == "group: no state was kept at 512.");

    const Rule encoder{.needs = Needs::whole, .page = 16};
    const Pages cut{200};
    answer = said({whole, {.rule = encoder, .pages = cut.bits()}}, exact);
    CHECK(answer.tokens == 0);
    CHECK(name_of(answer.why) == "source_missing");
    CHECK(answer.sentence == "group: encoder page 200 is missing.");

    const Group<> three{.rule = full, .pages = hole.bits()};
    answer = said({three, three, three}, exact);
    CHECK(answer.tokens == 80);
    CHECK(name_of(answer.why) == "several");
    CHECK(answer.sentence == "No group or pair limits alone: at least three are in the way.");
}

TEST_CASE("reuse: rules in words, short and long") {
    const auto words = [](const Rule& rule) { return std::pair{needs_words(rule), rule_sentence(rule)}; };
    CHECK(words({.stride = 4, .lag = 128}) ==
          std::pair<std::string, std::string>{
              "everything before but the last 128",
              "every token before p must be there, but for the youngest 128, in finished entries of 4"});
    CHECK(
        words({.needs = Needs::window, .reach = 1'023, .sinks = 4}) ==
        std::pair<std::string, std::string>{"last 1,023 tokens + first 4",
                                            "only tokens [p - 1,023, p) must be there; earlier pages may "
                                            "be missing, except the first 4 tokens"});
    CHECK(words({.needs = Needs::chunk, .reach = 8'192}) ==
          std::pair<std::string, std::string>{
              "its chunk of 8,192",
              "only the tokens of p's own chunk of 8,192 must be there, none where p is a multiple"});
    CHECK(words({.needs = Needs::snapshot}) ==
          std::pair<std::string, std::string>{
              "a state exactly there",
              "a state must have been kept after exactly p tokens; one before or after is no use"});
    CHECK(
        words({.needs = Needs::whole}) ==
        std::pair<std::string, std::string>{
            "all encoder tokens", "the keys and values of all encoder tokens must be there, whatever p is"});
    CHECK(words({.needs = Needs::nothing}) ==
          std::pair<std::string, std::string>{"nothing", "nothing must be there"});
    CHECK(name_of(Needs::everything) == "everything");
    CHECK(name_of(Needs::window) == "window");
    CHECK(name_of(Needs::chunk) == "chunk");
    CHECK(name_of(Needs::snapshot) == "snapshot");
    CHECK(name_of(Needs::whole) == "whole");
    CHECK(name_of(Needs::nothing) == "nothing");
}

TEST_CASE("reuse: the rule that each retention gives") {
    CHECK(rule_of({.stride = 4, .lag = 8}, 16) == Rule{.page = 16, .stride = 4, .lag = 8});
    CHECK(rule_of({.keep = Keep::window, .span = 1024_tok, .sinks = 4_tok}, 16) ==
          Rule{.needs = Needs::window, .page = 16, .reach = 1'023, .sinks = 4});
    CHECK(rule_of({.keep = Keep::window, .span = 1024_tok}, 16, WindowEdge::full).reach == 1'024);
    CHECK(rule_of({.keep = Keep::chunk, .span = 8192_tok}, 16) ==
          Rule{.needs = Needs::chunk, .page = 16, .reach = 8'192});
    CHECK(rule_of({.keep = Keep::budget, .span = 512_tok}, 16) == Rule{.needs = Needs::snapshot, .page = 16});
    CHECK(rule_of({.keep = Keep::last}, 64) == Rule{.needs = Needs::snapshot, .page = 64});
    CHECK(rule_of({.keep = Keep::once}, 16) == Rule{.needs = Needs::nothing, .page = 16});
    CHECK(rule_of({.source = Source::encoder}, 16) == Rule{.needs = Needs::whole, .page = 16});
}

TEST_CASE("reuse: questions that have no answer say which group and why") {
    const auto wrong = [](const Group<>& group, const Ask& ask = {.grid = {.unit = 16}}) {
        return fault(&group, 1, ask);
    };
    CHECK(wrong({.rule = full, .pages = {all, 256}}).code == Errc::ok);
    CHECK(wrong({.rule = full}, {.grid = {.unit = 0}}) == Error{.code = Errc::zero_dimension});
    CHECK(wrong({.rule = {.page = 0}}) == Error{.code = Errc::zero_dimension, .layer = 0});
    CHECK(wrong({.rule = {.page = 1, .stride = 0}}) == Error{.code = Errc::zero_dimension, .layer = 0});
    CHECK(wrong({.rule = {.needs = Needs::chunk, .page = 1}}) ==
          Error{.code = Errc::zero_dimension, .layer = 0});
    CHECK(wrong({.rule = {.page = u64{1} << 60}, .pages = {all, 4}}) ==
          Error{.code = Errc::overflow, .layer = 0, .got = 4, .want = u64{1} << 60});
    CHECK(fault(static_cast<const Group<>*>(nullptr), 33, Ask{}) ==
          Error{.code = Errc::capacity, .got = 33, .want = 32});
}

TEST_CASE("reuse: the groups of a model, their caches and the bytes of a page") {
    const Gqa plain{.kv_heads = 8, .head_dim = 128};  // 4,096 bytes a token
    const ModelSpec model = compose(repeat(2, plain), repeat(3, Windowed{plain, 1024_tok}),
                                    repeat(1, Mamba1{.inner = 64, .state_dim = 16}), QueryHeads{8})
                                .value();
    const ModelRules rules = rules_of(model, {.page = 32, .snapshot = 512}).value();
    REQUIRE(rules.size() == 3);
    CHECK(rules[0].caches == 2);
    CHECK(rules[0].bytes == 2 * 32 * 4'096);
    CHECK(rules[1].caches == 3);
    CHECK(rules[1].bytes == 3 * 32 * 4'096);
    CHECK(rules[1].rule == Rule{.needs = Needs::window, .page = 32, .reach = 1'023});
    CHECK(rules[2].rule == Rule{.needs = Needs::snapshot, .page = 512});
    CHECK(rules[2].bytes == bytes_per_slot(model.forms[2]).value().value);
    CHECK(rules_of(model, {.page = 0}).error().code == Errc::zero_dimension);
    CHECK(rules_of(model, {.snapshot = 0}).error().code == Errc::zero_dimension);
    // Scales that exist once a model need nothing.
    ModelSpec scaled = compose(repeat(1, plain)).value();
    LayerForm constant = plain.forms()[0];
    constant.retention.keep = Keep::once;
    REQUIRE(scaled.add(0, constant) == Errc::ok);
    CHECK(rules_of(scaled, {}).value().size() == 1);
    // A block that does not divide a row, and more groups than one question takes.
    ModelSpec odd{};
    REQUIRE(odd.add(0, Gqa{.kv_heads = 1, .head_dim = 40, .format = {32, 34}}.forms()) == Errc::ok);
    CHECK(rules_of(odd, {}).error() == Error{.code = Errc::block_not_divisible, .got = 40, .want = 32});
}

}  // namespace reuse_words_tests

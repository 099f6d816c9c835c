// SPDX-License-Identifier: MIT
// Numbers, tables and JSON as people and programs read them; sizes over ranks against the fold; the
// textbook's mistake.
#include <catch2/catch.hpp>
#include <kvcap/core.hpp>
#include <kvcap/io/spec_line.hpp>
#include <kvcap/report.hpp>
#include <nlohmann/json.hpp>

namespace report_tests {

using namespace kvcap;
using namespace kvcap::report;

namespace {

ReadModel model_of(std::string_view line) {
    const Diagnosed<ReadModel> read = read_spec_line(line);
    REQUIRE(read);
    return *read;
}

SizeQuestion question(u64 tokens, Sharding sharding = {}, u64 sequences = 1) {
    SizeQuestion asked{.sharding = sharding, .tp = sharding.tp, .dp = 1, .dp_attention = false, .points = {}};
    asked.points.push_back({tokens, sequences, {.prompt = {tokens}, .encoder = {100}}});
    return asked;
}

u64 sum_of(const std::vector<RankBytes>& ranks) {
    u64 sum = 0;
    for (const RankBytes& rank : ranks) {
        sum += rank.bytes.value;
    }
    return sum;
}

std::string verdict_of(std::string_view line, Textbook book, u64 tokens = 32768, u64 decoded = 0) {
    ReadModel read = model_of(line);
    read.textbook = book;
    SizeQuestion asked = question(tokens);
    asked.points[0].lengths = {.prompt = {tokens - decoded}, .decoded = {decoded}, .encoder = {100}};
    const SizeAnswer size = answer(read.spec, asked).value();
    const std::optional<TextbookVerdict> verdict = textbook_verdict(read, read.spec, size);
    return verdict ? text_of(*verdict, tokens) : "";
}

}  // namespace

TEST_CASE("numbers for people") {
    CHECK(grouped(0) == "0");
    CHECK(grouped(999) == "999");
    CHECK(grouped(1000) == "1,000");
    CHECK(grouped(1'748'992) == "1,748,992");
    CHECK(grouped(off_scale) == "18,446,744,073,709,551,615");
    CHECK(amount({2'302'672'896}) == "2.145 GiB");
    CHECK(amount({2'302'672'896}, *unit_named("GB")) == "2.303 GB");
    CHECK(amount({0}) == "0.000 GiB");
    CHECK(amount({1024}) == "1,024 B");
    CHECK(amount_and_exact({1u << 30}) == "1.000 GiB (1,073,741,824 B)");
    CHECK(unit_named("gib")->bytes == u64{1} << 30);
    CHECK(unit_named("gb")->bytes == 1'000'000'000);
    CHECK(unit_named("gig") == nullptr);
    CHECK(unit_for({1u << 30}).name == "GiB");
    CHECK(unit_for({(1'000'000 * (u64{1} << 30)) - 1}).name == "GiB");
    CHECK(unit_for({1'000'000 * (u64{1} << 30)}).name == "PiB");
    CHECK(unit_for({90u << 20}).name == "MiB");
    CHECK(unit_for({9000}).name == "KiB");
    CHECK(factor(24.888) == "24.9x");
    CHECK(factor(1.25) == "1.25x");
    CHECK(counted(1, "layer", "layers") == "1 layer");
}

TEST_CASE("errors and notes in words") {
    CHECK(text_of(Error{.code = Errc::heads_not_divisible, .got = 8, .want = 3}) ==
          "8 heads cannot be dealt to 3 ranks");
    CHECK(text_of(Note{Origin::assumed, "/dtype", "bf16"}) == "assumed /dtype: bf16");
    CHECK_THROWS_WITH(or_throw(Result<u64>{Errc::no_layers}), "the model has no layers");
    CHECK(or_throw(Result<u64>{u64{3}}) == 3);
}

TEST_CASE("columns line up and CSV quotes what it must") {
    Table table{{Align::left, Align::right}};
    table.row({"a", "1,000"}).row({"longer", "1"}).row({"\xc3\xa9", "22"});
    CHECK(table.text() == "  a       1,000\n  longer      1\n  \xc3\xa9          22\n");
    CHECK(csv_line({"a", "b,c", "d\"e", ""}) == "a,\"b,c\",\"d\"\"e\",\n");
}

TEST_CASE("JSON is JSON, whatever the text") {
    Json json;
    json.object().field("text", "a\"\\\n\t\x01 \xc3\xa9 \xff").field("n", off_scale).field("yes", true);
    json.field("ratio", 1.0 / 3, 3).field("nothing", 1.0 / 0.0, 1).null("none").array("empty").end();
    json.array("list", Layout::flat).item(1u).item("x").object().field("k", Bytes{7}).end().end().end();
    const nlohmann::json read = nlohmann::json::parse(json.text());
    CHECK(read["text"] == "a\"\\\n\t\x01 \xc3\xa9 \xef\xbf\xbd");
    CHECK(read["n"] == off_scale);
    CHECK(read["ratio"] == 0.333);
    CHECK(read["nothing"].is_null());
    CHECK(read["list"][2]["k"] == 7);
    CHECK(quoted("\xed\xa0\x80") == "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");  // a lone surrogate
    CHECK(quoted("\xf0\x9f\x98\x80") == "\"\xf0\x9f\x98\x80\"");
}

TEST_CASE("caches by name") {
    const auto kind = [](std::string_view line) {
        return std::string{kind_of(model_of(line).spec.forms[0])};
    };
    CHECK(kind("gqa(8,128)") == "full");
    CHECK(kind("window(9, gqa(8,128))") == "sliding");
    CHECK(kind("window(9, mla(8))") == "sliding");
    CHECK(kind("chunk(9, gqa(8,128))") == "chunked");
    CHECK(kind("mla(512,64)") == "mla");
    CHECK(kind("index(128)") == "index");
    CHECK(kind("cross(gqa(8,128))") == "cross");
    CHECK(kind("gdn(16,128,32,128)") == "gated_delta");
    CHECK(label_of(model_of("mla(512,64)").spec.forms[0]) == "latent 512 + rope 64");
    CHECK(label_of(model_of("fp8(sinks(4, window(1020, gqa(8,128))))").spec.forms[0]) ==
          "K, V 8 x 128 fp8, window 1,020 + 4 sinks");
    CHECK(label_of(model_of("gqa(4,192,128)").spec.forms[0]) == "K 4 x 192 + V 4 x 128");
    CHECK(short_label_of(model_of("gdn(16,128,32,128)").spec.forms[0]) ==
          "gated_delta 32 x 128 x 128 + conv");
    const ReadModel shared = model_of("2*(3*window(9, gqa(8,128)) + gqa(8,128)) + 3*share(3) + none");
    const std::vector<LayerClass> classes = layer_classes(shared.spec, shared.shared);
    REQUIRE(classes.size() == 4);
    CHECK(classes[0].where == "0-2, 4-6");
    CHECK(classes[1].where == "3, 7");
    CHECK(classes[1].layers == 2);
    CHECK(classes[2].keeps.source == 3);
    CHECK(classes[2].where == "8-10");
    CHECK(classes[3].where == "11");
    CHECK(kinds_words(model_of("2*gqa(8,128) + 3*window(9, gqa(8,128)) + none").spec) ==
          "2 full + 3 sliding + 1 none");
}

TEST_CASE("ranks sum to what the fold says") {
    const ModelSpec gqa = model_of("5*gqa(8,128) + 2*window(100, gqa(8,128)) + heads(32)").spec;
    const u64 whole = fold(gqa, {.prompt = {1000}}).value().total().value;
    for (const Sharding& sharding :
         {Sharding{}, Sharding{.tp = 4}, Sharding{.pp = 3}, Sharding{.tp = 2, .pp = 2}}) {
        const SizeAnswer size = answer(gqa, question(1000, sharding)).value();
        CHECK(size.points[0].held.size() == std::size_t{sharding.tp} * sharding.pp);
        CHECK(size.points[0].total.value == whole);
        CHECK(size.points[0].unique.value == whole);
        CHECK(sum_of(size.points[0].held) == whole);
        CHECK(sum_of(size.per_token_on_rank) == size.per_token.value);
    }
    const SizeAnswer copied = answer(gqa, question(1000, {.tp = 16})).value();
    CHECK(copied.points[0].total.value == 2 * whole);
    CHECK(copied.groups[0].copies.stored.value == 2 * copied.groups[0].copies.unique.value);
    CHECK(answer(gqa, question(1000, {.tp = 3})).error().code == Errc::query_heads_not_divisible);
    for (const Sharding& none : {Sharding{.tp = 0}, Sharding{.pp = 0}, Sharding{.cp = 0}}) {
        SizeQuestion asked = question(1000, none);
        CHECK(answer(gqa, asked).error().code == Errc::zero_parallelism);
        asked.cp_among_tp = true;
        CHECK(answer(gqa, asked).error().code == Errc::zero_parallelism);
    }
    SizeQuestion no_replica = question(1000, {});
    no_replica.dp = 0;
    CHECK(answer(gqa, no_replica).error().code == Errc::zero_parallelism);
    const SizeAnswer dealt_out = answer(gqa, question(1000, {.cp = 2})).value();
    CHECK(dealt_out.points[0].total.value == whole + fold(gqa, {.prompt = {1000}}).value().bounded.value);
}

TEST_CASE("a token's bytes over all ranks are those of its copies, whether or not context ranks divide") {
    const ModelSpec model = model_of("32*gqa(8,128)").spec;  // 131,072 bytes a token
    for (const u32 cp : {1u, 2u, 3u, 5u, 7u}) {
        for (const u32 tp : {1u, 8u, 16u}) {
            for (const u32 pp : {1u, 3u}) {
                const SizeQuestion asked = question(1000, {.tp = tp, .pp = pp, .cp = cp});
                const SizeAnswer size = answer(model, asked).value();
                CHECK(per_token_over_ranks(asked, size).value == 131'072 * (tp == 16 ? 2u : 1u));
                CHECK(size.points[0].total.value == 1000 * per_token_over_ranks(asked, size).value);
            }
        }
    }
    SizeQuestion among = question(1000, {.tp = 16, .cp = 2});
    among.cp_among_tp = true;
    CHECK(per_token_over_ranks(among, answer(model, among).value()).value == 131'072);
}

TEST_CASE("requests are dealt whole, the first ranks get one more") {
    const ModelSpec model = model_of("4*mla(512,64)").spec;
    const u64 one = 4 * 1152 * 100;
    SizeQuestion asked = question(100, {}, 5);
    asked.dp = 3;
    SizeAnswer size = answer(model, asked).value();
    REQUIRE(size.points[0].held.size() == 3);
    CHECK(size.points[0].held[0].bytes.value == 2 * one);
    CHECK(size.points[0].held[1].bytes.value == 2 * one);
    CHECK(size.points[0].held[2].bytes.value == one);
    CHECK(size.points[0].unique.value == 5 * one);
    CHECK(per_token_over_ranks(asked, size).value == 4 * 1152);
    CHECK(size_csv(asked, size).find("100,5,total,,,,,4608,") != std::string::npos);
    asked = question(100, {}, 5);
    asked.tp = 4;
    asked.dp_attention = true;
    size = answer(model, asked).value();
    REQUIRE(size.points[0].held.size() == 4);
    CHECK(size.points[0].held[0].bytes.value == 2 * one);
    CHECK(size.points[0].held[3].bytes.value == one);
    CHECK(size.points[0].held[3].rank == RankAt{.pp = 0, .tp = 3, .cp = 0, .dp = 0});
    CHECK(size.points[0].total.value == 5 * one);
}

TEST_CASE("groups say what grows, what stays and what is fixed") {
    const ModelSpec model =
        model_of("2*both(gqa(2,64), mamba2(4,8,16)) + cross(gqa(2,64)) + compressed(512,128,4,128)").spec;
    const SizeAnswer size = answer(model, question(1000)).value();
    CHECK(size.groups[0].per_token.value == 2 * 2 * 2 * 64 * 2);
    CHECK(size.groups[1].state == size.groups[1].held[0]);
    CHECK(size.groups[2].per_token.value == 0);
    CHECK(size.groups[2].per_encoder_token.value == 512);
    CHECK(size.groups[2].held[0].value == 51200);
    CHECK(size.groups[3].window == 128);
    CHECK(size.groups[4].per_token.value == 512 * 2 / 4);
    CHECK(size.state == fold(model, {.prompt = {1000}}).value().state);
    u64 groups = 0;
    for (const SizeGroup& group : size.groups) {
        groups += group.held[0].value;
    }
    CHECK(groups == size.points[0].unique.value);
}

TEST_CASE("the arithmetic as on paper") {
    const ModelSpec v3 = model_of("61*mla(512,64)").spec;
    const SizeQuestion asked = question(32768, {.tp = 8});
    CHECK(arithmetic_text(v3, asked, answer(v3, asked).value()) ==
          "latent 512 + rope 64, 61 layers\n"
          "  (512 + 64) x 2 B = 1,152 B per token and layer; x 61 layers = 70,272 B\n"
          "  32,768 tokens x 70,272 B = 2,302,672,896 B\n"
          "  TP 8: not divided, each rank holds all of it\n");
    const ModelSpec mixed = model_of("2*gqa(8,192,128) + window(100, gqa(4,64)) + q8_0(gqa(1,32))").spec;
    const SizeQuestion two = question(1000, {}, 2);
    CHECK(arithmetic_text(mixed, two, answer(mixed, two).value()) ==
          "K 8 x 192 + V 8 x 128, 2 layers\n"
          "  8 heads x (192 + 128) x 2 B = 5,120 B per token and layer; x 2 layers = 10,240 B\n"
          "  1,000 tokens x 10,240 B x 2 sequences = 20,480,000 B\n"
          "K, V 4 x 64, window 100, 1 layer\n"
          "  2 x 4 heads x 64 x 2 B = 1,024 B per token and layer\n"
          "  min(1,000, 100) = 100 tokens x 1,024 B x 2 sequences = 204,800 B\n"
          "K, V 32 q8_0, 1 layer\n"
          "  2 x 32 x 34 B per 32 = 68 B per token and layer\n"
          "  1,000 tokens x 68 B x 2 sequences = 136,000 B\n"
          "one more token: 10,240 + 68 = 10,308 B\n"
          "held: 20,480,000 + 204,800 + 136,000 = 20,820,800 B\n");
}

TEST_CASE("the textbook's mistake is named") {
    const Textbook v3{.layers = 61, .kv_heads = 128, .head_dim = 56};
    CHECK(verdict_of("61*mla(512,64)", v3) ==
          "textbook formula: 1,748,992 B per token, 24.9x too much (a latent is not heads)");
    CHECK(verdict_of("32*gqa(8,128)", {32, 8, 128}) ==
          "textbook formula: 131,072 B per token, the same here");
    CHECK(verdict_of("8*gqa(8,128) + 40*window(1024, gqa(8,128))", {48, 8, 128}) ==
          "textbook formula: 196,608 B per token, 5.19x too much at 32,768 tokens (windows at full length)");
    CHECK(verdict_of("36*gdn(16,128,32,128) + 12*gqa(2,256)", {48, 2, 256}).find("(a state is not tokens)") !=
          std::string::npos);
    CHECK(verdict_of("4*gqa(8,128) + 4*share(-1)", {8, 8, 128}) ==
          "textbook formula: 32,768 B per token, 2.00x too much (shared layers counted as their own)");
    CHECK(verdict_of("4*gqa(8,128) + 4*none", {8, 8, 128}).find("(layers without a cache counted)") !=
          std::string::npos);
    CHECK(verdict_of("4*gqa(8,128) + 4*prompt_only(gqa(8,128))", {8, 8, 128}, 1000, 500)
              .find("(prompt-only layers keep no decoded tokens)") != std::string::npos);
    CHECK(verdict_of("4*both(gqa(8,128), cross(gqa(8,128)))", {4, 8, 128}, 100) ==
          "textbook formula: 16,384 B per token, 2.00x too little at 100 tokens (the encoder's tokens left "
          "out)");
    CHECK(
        verdict_of("4*both(index(128), gqa(8,128))", {4, 8, 128}).find("too little (index keys left out)") !=
        std::string::npos);
    CHECK(verdict_of("4*gqa(8,192,128)", {4, 8, 192}).find("(heads or widths under keys that it does not read)") !=
          std::string::npos);
    CHECK(verdict_of("61*fp8(mla(512,64))", v3).find("874,496 B per token, 24.9x") != std::string::npos);
    CHECK(verdict_of("61*mla(512,64)", {}).empty());
    ReadModel few = model_of("32*gqa(8,128)");
    const SizeAnswer copied = answer(few.spec, question(1000, {.tp = 16})).value();
    CHECK(text_of(*textbook_verdict(few, few.spec, copied), 1000) ==
          "textbook formula: 131,072 B per token, the same here, but ranks store each byte 2.00x (heads are "
          "fewer "
          "than ranks)");
}

}  // namespace report_tests

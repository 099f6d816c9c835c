// SPDX-License-Identifier: MIT
// The spec line's words: each names the caches its policy gives; lines are printed short; errors name place
// and nearest.
#include <catch2/catch.hpp>
#include <kvcap/core.hpp>
#include <kvcap/io/spec_line.hpp>

namespace spec_line_tests {

using namespace kvcap;

namespace {

ModelSpec read(std::string_view text) {
    const Diagnosed<ReadModel> read = read_spec_line(text);
    CAPTURE(text);
    REQUIRE(read.error.value_or(Problem{}).text().empty());
    return read->spec;
}

ModelSpec of(const LayerForms& forms, u32 layers = 1) {
    ModelSpec model{};
    for (u32 i = 0; i < layers; ++i) {
        REQUIRE(model.add(model.layers++, forms) == Errc::ok);
    }
    return model;
}

std::string problem(std::string_view text) {
    const Diagnosed<ReadModel> read = read_spec_line(text);
    REQUIRE(read.error);
    return read.error->text();
}

/// As printed again.
std::string again(std::string_view text) {
    const Diagnosed<ReadModel> read = read_spec_line(text);
    CAPTURE(text);
    REQUIRE(read.error.value_or(Problem{}).text().empty());
    return spec_line(read->spec, read->shared);
}

}  // namespace

TEST_CASE("every kind is the policy of its name") {
    CHECK(read("61*mla(512,64)") == of(Mla{.latent = 512, .rope = 64}.forms(), 61));
    CHECK(read("gqa(8,192,128)") == of(Gqa{.kv_heads = 8, .head_dim = 192, .value_dim = 128}.forms()));
    CHECK(read("mha(32,128)") == of(Mha{.kv_heads = 32, .head_dim = 128}.forms()));
    CHECK(read("mqa(256)") == of(mqa(256).forms()));
    CHECK(read("index(128)") == of(IndexKeys{.dim = 128}.forms()));
    CHECK(read("sparse_mla(512,64,128, index=fp8_128)") ==
          of(SparseMla{.latent = 512, .rope = 64, .index_dim = 128, .index_format = fp8_scale_per_128}
                 .forms()));
    CHECK(read("compressed(512,128,4,128)") ==
          of(CompressedLatent{.latent = 512, .window = 128, .ratio = 4, .index_dim = 128}.forms()));
    CHECK(read("compressed(512,128,128)") ==
          of(CompressedLatent{.latent = 512, .window = 128, .ratio = 128}.forms()));
    CHECK(read("mamba1(8192,16)") == of(Mamba1{.inner = 8192, .state_dim = 16}.forms()));
    CHECK(
        read("mamba2(128,64,128,8,4, state=f32)") ==
        of(Mamba2{.heads = 128, .head_dim = 64, .state_dim = 128, .groups = 8, .state_format = f32}.forms()));
    CHECK(read("gdn(16,128,32,128)") ==
          of(GatedDelta{.key_heads = 16, .key_dim = 128, .value_heads = 32, .value_dim = 128}.forms()));
    CHECK(read("kda(32,128)") == of(Kda{.heads = 32, .head_dim = 128}.forms()));
    CHECK(read("lightning(64,128)") == of(lightning(64, 128).forms()));
    CHECK(read("gla(4,256,512)") == of(gla(4, 256, 512).forms()));
    CHECK(read("short_conv(2048,3)") == of(short_conv(2048, 3).forms()));
    CHECK(read("rglru(2560,4)") == of(rg_lru(2560, 4).forms()));
    CHECK(read("rwkv(2048,32,64)") == of(rwkv(2048, 32, 64).forms()));
    CHECK(read("rwkv4(768,768)") == of(rwkv4(768, 768).forms()));
    CHECK(read("mlstm(8,256,512)") == of(mlstm(8, 256, 512).forms()));
}

TEST_CASE("decorators and storage schemes are the library's own") {
    constexpr Gqa g{.kv_heads = 8, .head_dim = 128};
    CHECK(read("window(1k, gqa(8,128))") == of(Windowed{g, 1024_tok}.forms()));
    CHECK(read("sinks(4, window(1020, gqa(8,128)))") == of(WithSinks{Windowed{g, 1020_tok}, 4_tok}.forms()));
    CHECK(read("chunk(8192, gqa(8,128))") == of(Chunked{g, 8192_tok}.forms()));
    CHECK(read("budget(2048, gqa(8,128))") == of(Budgeted{g, 2048_tok}.forms()));
    CHECK(read("cross(gqa(8,128))") == of(Cross{g}.forms()));
    CHECK(read("prompt_only(gqa(8,128))") == of(PromptOnly{g}.forms()));
    CHECK(read("fp8(gqa(8,128))") == of(Quantized{g, Stored{fp8}}.forms()));
    CHECK(read("fp8_tensor(gqa(8,128))") == of(Quantized{g, fp8_per_tensor}.forms()));
    CHECK(read("fp8_head(gqa(8,128))") == of(Quantized{g, fp8_per_head}.forms()));
    CHECK(read("fp8_token_head(gqa(8,128))") == of(Quantized{g, fp8_per_token_head}.forms()));
    CHECK(read("int4_token_head(gqa(8,128))") == of(Quantized{g, Int4PerTokenHead{}}.forms()));
    CHECK(read("q8_0(gqa(8,128))") == of(Quantized{g, Stored{ggml::q8_0}}.forms()));
    CHECK(read("nvfp4(gqa(8,128))") == of(Quantized{g, Stored{nvfp4}}.forms()));
    CHECK(read("fp8_ds_mla(mla(512,64))") ==
          of(Quantized{Mla{.latent = 512, .rope = 64}, Fp8DsMla{}}.forms()));
    CHECK(read("turboquant(3,4, gqa(8,72))") == of(Quantized{Gqa{8, 72}, TurboQuant{3, 4}}.forms()));
    CHECK(read("kivi(128,2,32, gqa(8,128))") == of(Kivi{g, 128, 2, 32}.forms()));
    CHECK(read("both(gqa(8,128), lightning(4,64))") == of(Both{g, lightning(4, 64)}.forms()));
    CHECK(read("window(9, fp8(gqa(8,128)))") == read("fp8(window(9, gqa(8,128)))"));
}

TEST_CASE("models are counted out: runs, cycles, shared, draft and heads") {
    const ModelSpec gemma =
        read("10*(5*window(1024, gqa(16,128)) + gqa(16,128)) + 2*window(1024, gqa(16,128))");
    CHECK(gemma.layers == 62);
    CHECK(gemma.caches.size() == 62);
    CHECK(gemma.forms.size() == 2);
    CHECK(gemma == compose(cycle(62, Windowed{Gqa{16, 128}, 1024_tok}, Windowed{Gqa{16, 128}, 1024_tok},
                                 Windowed{Gqa{16, 128}, 1024_tok}, Windowed{Gqa{16, 128}, 1024_tok},
                                 Windowed{Gqa{16, 128}, 1024_tok}, Gqa{16, 128}))
                       .value());
    const ModelSpec drafted = read("4*mla(512,64) + draft(none + mla(512,64)) + heads(128)");
    CHECK(drafted.layers == 4);
    CHECK(drafted.draft_layers == 2);
    CHECK(drafted.caches[4] == Cache{.layer = 5, .form = 0});
    CHECK(drafted.query_heads == 128);
    CHECK(read("heads(24) + gqa(8,128) + heads(36)").query_heads == 12);
    const Diagnosed<ReadModel> shared = read_spec_line("2*gqa(8,128) + 2*share(-1) + share(0)");
    REQUIRE(shared);
    CHECK(shared->shared == std::vector<SharedLayer>{{2, 1}, {3, 2}, {4, 0}});
    CHECK(shared->spec.layers == 5);
    CHECK(shared->spec.caches.size() == 2);
    const ModelSpec late = read("gqa(8,128) + none + at(1, mla(512)) + at(0..1, index(128))");
    CHECK(late.caches.size() == 4);
    CHECK(late.caches[3] == Cache{.layer = 1, .form = 2});
    CHECK(read("4000000000*none").layers == 4'000'000'000u);
    CHECK(read("1000000*(none + 2*none)").layers == 3'000'000u);
    CHECK(read("0*none") == ModelSpec{});
    const ModelSpec by_hand = read("forms(index(128), gqa(8,128), mla(512)) + 2*mla(512) + gqa(8,128)");
    CHECK(by_hand.forms.size() == 3);
    CHECK(by_hand.layers == 3);
    CHECK(by_hand.caches[2] == Cache{.layer = 2, .form = 1});
    CHECK(again("forms(index(128), gqa(8,128)) + gqa(8,128)") ==
          "forms(index(128), gqa(8,128)) + gqa(8,128)");
    CHECK(again("forms(gqa(8,128), mla(512)) + gqa(8,128) + mla(512)") == "gqa(8,128) + mla(512)");
}

TEST_CASE("lines are printed short") {
    CHECK(again("mha( 32 , 128 )") == "gqa(32,128)");
    CHECK(again("gqa(8,128)+gqa(8,128)+GQA(8,128,128)") == "3*gqa(8,128)");
    CHECK(again("gqa(8,128) + mla(512) + gqa(8,128) + mla(512) + gqa(8,128)") ==
          "2*(gqa(8,128) + mla(512)) + gqa(8,128)");
    CHECK(again("window(1k, fp8(gqa(8,128)))") == "fp8(window(1024, gqa(8,128)))");
    CHECK(again("gdn(16,128,32,128,4, conv=bf16, state=f32)") == "gdn(16,128,32,128, state=f32)");
    CHECK(again("gqa(8,128, v=q4_0, k=q8_0)") == "gqa(8,128, key=q8_0, value=q4_0)");
    CHECK(again("16*(gqa(8,128) + share(-1))") == "16*(gqa(8,128) + share(-1))");
    CHECK(again("4*gqa(8,128) + share(-1) + share(-2) + share(-3)") == "4*gqa(8,128) + 3*share(3)");
    // A layer that shares and has a cache of its own.
    CHECK(again("at(0..3, mamba2(4,64,2)) + gqa(8,64) + 3*share(0)") ==
          "mamba2(4,64,2) + at(1..3, mamba2(4,64,2)) + at(0, gqa(8,64)) + 3*share(0)");
    CHECK(again("2*gqa(8,64) + share(0) + at(2, mamba2(4,64,2))") == "2*gqa(8,64) + at(2, mamba2(4,64,2)) + share(0)");
    CHECK(again("form(attention, key(heads,8,1,128,bf16), value(heads,8,1,128,bf16))") == "gqa(8,128)");
    CHECK(again("form(state, keep=last, state(channels,4,2,8,3:5))") ==
          "form(state, keep=last, state(channels,4,2,8,3:5))");
    CHECK(layers_line(read("61*mla(512,64) + heads(128)")) == "61*mla(512,64)");
}

TEST_CASE("errors name the offset, what is there, what was wanted, and the nearest name") {
    CHECK(problem("8*gqq(8,128)") ==
          "offset 2: 'gqq'; wanted a kind of layer such as gqa(8,128) or mla(512,64) (did you mean gqa?)");
    CHECK(problem("gqa(8 128)") ==
          "offset 6: '128'; wanted 2 numbers, as in gqa(kv_heads,head_dim[,value_dim])");
    CHECK(problem("61*mla(512,64") == "offset 13: the end; wanted ')' as in mla(latent[,rope])");
    CHECK(problem("") == "offset 0: the end; wanted a layer such as gqa(8,128) or mla(512,64)");
    CHECK(problem("gqa(0,128)") ==
          "offset 0: gqa with a size of 0; wanted at least 1, as in gqa(kv_heads,head_dim[,value_dim])");
    CHECK(problem("gqa(8,128) mla(512)") == "offset 11: 'mla'; wanted '+' and a further layer, or the end");
    CHECK(problem("600*gqa(8,128)").find("more than 512 caches") != std::string::npos);
    CHECK(problem("gqa(8,128) + at(5, mla(512))").find("layer 5 of a model with 1 layer;") !=
          std::string::npos);
    CHECK(problem("share(-1)").find("wanted an earlier layer") != std::string::npos);
    CHECK(problem("fp8(mamba1(16,16))").find("state=fp8") != std::string::npos);
    CHECK(problem("window(4, mamba1(16,16))").find("nothing to act") != std::string::npos);
    CHECK(problem("mamba2(65536,65536,2)").find("leave 32 bits") != std::string::npos);
    CHECK(problem("gqa(99999999999,1)").find("at most 4294967295") != std::string::npos);
    CHECK(problem("gqa(8,128, state=f32)").find("a part that gqa has") != std::string::npos);
    CHECK(problem("gqa(8,128, key=fq8)").find("did you mean fp8?") != std::string::npos);
    CHECK(problem("fp8_tensor(both(gqa(1,8),gqa(1,8),gqa(1,8),gqa(1,8),gqa(1,8)))").find("8 caches") !=
          std::string::npos);
    CHECK(problem("mla(512) + draft(mla(512)) + mla(512)").find("draft(...) behind all layers") !=
          std::string::npos);
    CHECK(problem(std::string(100, '(')).find("40 levels") != std::string::npos);
    CHECK(problem(std::string(2'000'000, ' ')).find("at most 1,048,576") != std::string::npos);
    CHECK(problem("gqa(8,128)\x01").find("'?'") != std::string::npos);
    for (const char* text :
         {"window(9, window(5, gqa(8,128)))", "hint(4, window(9, gqa(8,1)))", "chunk(4, budget(9, gqa(8,1)))",
          "sinks(2, sinks(4, gqa(8,1)))", "cross(prompt_only(gqa(8,1)))", "prompt_only(cross(gqa(8,1)))",
          "fp8(q8_0(gqa(4,128)))", "fp8(turboquant(4,4, gqa(8,128)))", "turboquant(4,4, fp8(gqa(8,128)))",
          "kivi(128,2,32, kivi(64,2,32, gqa(8,128)))", "kivi(128,2,32, window(300, gqa(8,128)))",
          "window(300, kivi(128,2,32, gqa(8,128)))", "kivi(128,2,32, sinks(4, gqa(8,128)))",
          "sinks(4, kivi(128,2,32, gqa(8,128)))", "kivi(128,2,32, hint(4, gqa(8,128)))",
          "kivi(128,2,32, mla(512,64))", "fp8(kivi(128,2,32, gqa(8,128)))"}) {
        CAPTURE(text);
        CHECK(problem(text).find("offset 0: ") == 0);
    }
    for (const char* text :
         {"0*gqa(8,128)", "2*", "(gqa(8,128)", "gqa", "heads(0) + gqa(8,128)", "2*heads(3)", "at(gqa(8,128))",
          "gqa(8,128) + forms(mla(512))", "kivi(0,2,32, gqa(8,128))", "turboquant(9,4, gqa(8,128))",
          "short_conv(8,1)", "form(attention)", "form(attention, stride=0, key(heads,1,1,1,bf16))",
          "mla(512,64,1)"}) {
        CAPTURE(text);
        CHECK_FALSE(read_spec_line(text));
    }
}

TEST_CASE("what looks like a spec line") {
    CHECK(looks_like_spec_line("gqa(8,128)"));
    CHECK(looks_like_spec_line("none + none"));
    CHECK(looks_like_spec_line("none"));
    CHECK_FALSE(looks_like_spec_line("nonesuch"));
    CHECK_FALSE(looks_like_spec_line(" "));
    CHECK_FALSE(looks_like_spec_line("deepseek-v3"));
    CHECK_FALSE(looks_like_spec_line("{\"a\": \"(\"}"));
}

TEST_CASE("what no line can say is refused at its first byte, with what would do", "[spec]") {
    const std::pair<std::string, std::string> all[] = {
        {"4294967295*none + 2*none", "offset 18: more than 2^32 layers; wanted fewer"},
        {"4294967296*none", "offset 0: 4294967296; wanted a count of at most 4294967295"},
        {"gqa(8,128) + draft(none) + draft(none)", "offset 27: a second draft(...); wanted one"},
        {"at(5..3, gqa(8,128))", "offset 0: a range that ends before it begins; wanted first..last"},
        {"2*form(attention, stride=0, key(heads,8,1,128,bf16))",
         "offset 18: a stride of 0; wanted at least 1"},
        {"2*form(attention, key(heads,8,1,128,0:4))", "offset 36: a block of 0 elements; wanted at least 1"},
        {"2*form(attention, source=moon, key(heads,8,1,128,bf16))",
         "offset 25: 'moon'; wanted decoder, prompt or encoder"},
        {"3*share(0)", "offset 0: layer 0 that shares 0; wanted an earlier layer, as in share(-1)"},
        {"draft(share(-1))", "offset 6: layer 0 that shares -1; wanted an earlier layer, as in share(-1)"},
        {"gqa(8,128) + 70000*share(0)",
         "offset 13: a shared cache in layer 65536; wanted layers below 65,536"},
        {"2*(600*gqa(8,128))",
         "offset 3: a model with more than 512 caches or 32 kinds of cache; wanted fewer"},
        {"draft(600*gqa(8,128))",
         "offset 6: a model with more than 512 caches or 32 kinds of cache; wanted fewer"},
        {"2*(gqa(8,128) + draft(none))",
         "offset 16: 'draft'; wanted draft(...) once, outside of brackets and without a count"},
        {"at(3, gqa(8,128))",
         "offset 0: layer 3 of a model with 0 layers; wanted layers that the model has; "
         "at(...) adds to them and none counts further ones"},
        {std::string(45, '(') + "gqa(8,128)", "offset 40: '('; wanted at most 40 levels of brackets"}};
    for (const auto& [line, problem] : all) {
        INFO(line);
        const Diagnosed<ReadModel> read = read_spec_line(line);
        REQUIRE(read.error);
        CHECK(read.error->text() == problem);
    }
    const auto refused = [](const std::string& line) {
        return read_spec_line(line).error.value_or(Problem{}).text();
    };
    std::string nested = "gqa(8,128)", streams = "form(attention", caches = "both(gqa(1,8)",
                forms = "forms(gqa(1,8)";
    for (int i = 0; i < 45; ++i) {
        nested = "window(8, " + nested + ")";
    }
    for (int i = 0; i < 32; ++i) {
        streams += i < 7 ? ", key(heads,1,1,8,bf16)" : "";
        caches += i < 8 ? ", gqa(1,8)" : "";
        forms += ", gqa(1," + std::to_string(9 + i) + ")";
    }
    CHECK(refused(nested) == "offset 410: 'window'; wanted at most 40 levels of brackets");
    CHECK(refused(streams + ")") == "offset 154: more than 6 streams in a form; wanted at most 6");
    CHECK(refused(caches + ")") == "offset 0: a layer with more than 8 caches; wanted at most 8");
    CHECK(refused(forms + ") + gqa(1,8)").find(": more than 32 kinds of cache; wanted fewer") !=
          std::string::npos);
}

TEST_CASE("sources and budgets of forms read back by their names", "[spec]") {
    for (const char* line : {"2*cross(form(attention, key(heads,8,1,128,bf16)))",
                             "2*prompt_only(budget(64, form(attention, key(heads,8,1,128,bf16))))"}) {
        CHECK(spec_line(read_spec_line(line)->spec) == line);
    }
    CHECK(spec_line(read_spec_line("2*form(attention, source=encoder, key(heads,8,1,128,bf16))")->spec) ==
          "2*cross(form(attention, key(heads,8,1,128,bf16)))");
}

}  // namespace spec_line_tests

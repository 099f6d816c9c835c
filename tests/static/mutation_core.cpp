// SPDX-License-Identifier: MIT
// Facts that hold each constant and each edge of the core in place; mutation testing (tests/tools/mutate.py) says which
// are needed.
#include <kvcap/core.hpp>
#include <kvcap/message.hpp>
#include <kvcap/models/lettered.hpp>

using namespace kvcap;

namespace {

// --- values without arguments ---------------------------------------------------------------------------------------

static_assert(Gqa{}.kv_heads == 0 && Gqa{}.head_dim == 0 && Gqa{}.value_dim == 0 && Gqa{}.format == bf16);
static_assert(IndexKeys{}.dim == 0 && IndexKeys{}.heads == 1);
static_assert(Mla{}.latent == 0 && Mla{}.rope == 0);
static_assert(SparseMla{}.latent == 0 && SparseMla{}.rope == 0 && SparseMla{}.index_dim == 0);
static_assert(CompressedLatent{}.latent == 0 && CompressedLatent{}.window == 0 && CompressedLatent{}.ratio == 0 &&
              CompressedLatent{}.index_dim == 0);
static_assert(Mamba1{}.inner == 0 && Mamba1{}.state_dim == 0 && Mamba1{}.kernel == 4);
static_assert(Mamba2{}.heads == 0 && Mamba2{}.head_dim == 0 && Mamba2{}.state_dim == 0 && Mamba2{}.groups == 1 &&
              Mamba2{}.kernel == 4);
static_assert(GatedDelta{}.key_heads == 0 && GatedDelta{}.key_dim == 0 && GatedDelta{}.value_heads == 0 &&
              GatedDelta{}.value_dim == 0 && GatedDelta{}.kernel == 4);
static_assert(Kda{}.heads == 0 && Kda{}.head_dim == 0 && Kda{}.kernel == 4 && Kda{}.state_format == f32);
static_assert(SharedWith{}.layer == 0 && Kivi<Gqa>{}.residual == 128 && Kivi<Gqa>{}.bits == 2 &&
              Kivi<Gqa>{}.group == 32);
static_assert(TurboQuant{}.key_bits == 8 && TurboQuant{}.value_bits == 4 && !OneByte{}.per_head);
static_assert(Stream{}.rows == 1 && Stream{}.heads == 1 && Stream{}.width == 0);
static_assert(Retention{}.stride == 1 && Retention{}.lag == 0 && Lengths{}.branches == 1);
static_assert(Cache{}.layer == 0 && Cache{}.form == 0 && QueryHeads{}.heads == 0);
static_assert(Repeat<Gqa>{}.count == 0 && decltype(cycle(1, Gqa{})){}.count == 0);
static_assert(Sharding{}.tp == 1 && Sharding{}.pp == 1 && Sharding{}.cp == 1 && Sharding{}.interleave == 1);
static_assert(Rank{}.stage == 0 && Rank{}.cp == 0 && LayerRange{}.begin == 0 && LayerRange{}.end == 0);
static_assert(Error{}.got == 0 && Error{}.want == 0 && Error{}.hint == 0 && no_layer == 0xffff'ffff);
static_assert(Bytes{}.value == 0 && WideProduct{}.high == 0 && WideProduct{}.low == 0 && ElementFormat{} == bf16);
static_assert(Inplace<int, 3>{}.count == 0 && ModelSpec{}.layers == 0 && ModelSpec{}.draft_layers == 0 &&
              ModelSpec{}.query_heads == 0);
static_assert(Lengths{.prompt = 5_tok, .encoder = 7_tok}.from(static_cast<Source>(9)) == 0);
static_assert(Retention{.keep = Keep::window, .sinks = 1_tok}.keeps_sinks() &&
              Retention{.keep = Keep::chunk, .sinks = 2_tok}.keeps_sinks() &&
              Retention{.keep = Keep::budget, .sinks = 3_tok}.keeps_sinks());
static_assert(Retention{.keep = Keep::window}.keeps_nothing() && Retention{.keep = Keep::chunk}.keeps_nothing() &&
              Retention{.keep = Keep::budget}.keeps_nothing() && !Retention{}.keeps_nothing() &&
              !Retention{.keep = Keep::chunk, .sinks = 1_tok}.keeps_nothing() &&
              !Retention{.keep = Keep::budget, .span = 1_tok}.keeps_nothing());
static_assert(!Retention{.keep = Keep::window}.keeps_sinks() && !Retention{.sinks = 4_tok}.keeps_sinks() &&
              !Retention{.keep = Keep::last, .sinks = 4_tok}.keeps_sinks());
static_assert(on_scale(off_scale).error().code == Errc::overflow && on_scale(off_scale - 1).value() == off_scale - 1);
static_assert(product_over(u64{1} << 63, 4, 2) == off_scale && product_over(u64{1} << 63, 4, 3) == off_scale / 3 * 2);
static_assert(leftover_of(0, 1, {.pp = 2, .remainder = static_cast<Remainder>(9)}) == 0);
static_assert(off_scale == 0xffff'ffff'ffff'ffff && no_limit.value == 0x100'0000'0000);

// --- capacities -----------------------------------------------------------------------------------------------------

static_assert(LayerForm{}.streams.capacity() == 6 && LayerForms::capacity() == 8 &&
              State{}.streams.capacity() == 6);
static_assert(ModelSpec{}.forms.capacity() == 32 && ModelSpec{}.caches.capacity() == 512);
static_assert(Sharding{}.stage_layers.capacity() == 64);
static_assert(decltype(caches_on_stage({}, {}, 0))::value_type::capacity() == 32);
template <class... S>
concept MakesForm = requires(S... streams) { form_of(Kind::state, Retention{}, streams...); };
template <class... F>
concept MakesForms = requires(F... forms) { forms_of(forms...); };
using S = Stream;
using F = LayerForm;
static_assert(MakesForm<S, S, S, S, S, S> && !MakesForm<S, S, S, S, S, S, S>);
static_assert(MakesForms<F, F, F, F, F, F, F, F> && !MakesForms<F, F, F, F, F, F, F, F, F>);

// --- formats: published block layouts -------------------------------------------------------------------------------

constexpr bool is(ElementFormat format, u32 elems, u32 bytes) { return format == ElementFormat{elems, bytes}; }
static_assert(is(f32, 1, 4) && is(bf16, 1, 2) && is(f16, 1, 2) && is(fp8, 1, 1) && is(int8, 1, 1) &&
              is(int4, 2, 1));
static_assert(is(fp8_scale_per_128, 128, 132) && is(mxfp4, 32, 17) && is(mxfp8, 32, 33) && is(nvfp4, 16, 9));
static_assert(is(ggml::q8_0, 32, 34) && is(ggml::q5_1, 32, 24) && is(ggml::q5_0, 32, 22) &&
              is(ggml::q4_1, 32, 20) &&
              is(ggml::q4_0, 32, 18) && is(ggml::iq4_nl, 32, 18));
static_assert(ElementFormat{0, 2}.row_bytes(4).error().code == Errc::zero_dimension);
static_assert(ElementFormat{2, 1}.row_bytes(6) == u64{3} && ElementFormat{2, 3}.row_bytes(0) == u64{0});
static_assert(ElementFormat{2, 1}.row_bytes(7).error() ==
              Error{.code = Errc::block_not_divisible, .got = 7, .want = 2});
static_assert(ElementFormat{1, 0}.row_bytes(7) == u64{0});

// --- words ----------------------------------------------------------------------------------------------------------

static_assert(saturating_sum(off_scale - 3, 3) == off_scale && saturating_sum(off_scale - 4, 3) == off_scale - 1);
static_assert(saturating_product(0xffff'ffff, 0xffff'ffff) == 0xffff'fffe'0000'0001);
static_assert(saturating_product(u64{1} << 32, 0xffff'ffff) == 0xffff'ffff'0000'0000);
static_assert(saturating_product(u64{1} << 32, u64{1} << 32) == off_scale &&
              saturating_product(0, off_scale) == 0);
static_assert(saturating_product(off_scale, 0) == 0 && saturating_product(off_scale, 1) == off_scale);
static_assert(saturating_product(u64{1} << 33, 3) == u64{3} << 33 &&
              saturating_product(3, u64{1} << 33) == u64{3} << 33);
static_assert(ceil_div(0, 7) == 0 && ceil_div(7, 7) == 1 && ceil_div(8, 7) == 2 && ceil_div(14, 7) == 2);
static_assert(least_common_multiple(0, 5) == 0 && least_common_multiple(5, 0) == 0 &&
              least_common_multiple(6, 15) == 30);
static_assert(least_common_multiple(1, 1) == 1 && greatest_common_divisor(12, 18) == 6 &&
              greatest_common_divisor(5, 0) == 5 && greatest_common_divisor(7, 3) == 1);
static_assert(smaller(2, 3) == 2 && smaller(3, 2) == 2 && larger(2, 3) == 3 && larger(3, 2) == 3);
static_assert(product_exceeds(3, 5, 7, 2) && !product_exceeds(3, 5, 5, 3) && !product_exceeds(7, 2, 3, 5));
static_assert(product_exceeds(2, 2, 1, 1) && product_exceeds(off_scale, 2, off_scale, 1));
static_assert(3 * 4_B == 12_B && (Bytes{4} += 3_B) == 7_B && 3_KiB == 3072_B && 3_MiB == 3072_KiB &&
              3_GiB == 3072_MiB);
static_assert((off_scale >> 10) * 1_KiB == Bytes{off_scale - 1023} &&
              18'014'398'509'481'984_KiB == Bytes{off_scale});
static_assert(17'592'186'044'416_MiB == Bytes{off_scale} && 17'179'869'184_GiB == Bytes{off_scale});

// --- results --------------------------------------------------------------------------------------------------------

static_assert(minus(5_B, 5_B) == 0_B && how_many(0_B, 1_B) == u64{0} && how_many(7_B, 1_B) == u64{7});
static_assert(Result<u64>{u64{3}} == Result<u64>{u64{3}} && !(Result<u64>{u64{3}} == Result<u64>{u64{4}}));
static_assert(Result<u64>{Errc::overflow} == Result<u64>{Errc::overflow});
static_assert(!(Result<u64>{Errc::overflow} == Result<u64>{Errc::capacity}));
static_assert(!(Result<u64>{Errc::overflow} == Result<u64>{u64{0}}) && !(Result<u64>{Errc::overflow} == u64{0}));
static_assert(Result<u64>{Errc::overflow}.value_or(9) == 9 && Result<u64>{u64{3}}.value_or(9) == 3);
static_assert(Result<u64>{u64{3}} == u64{3} && !(Result<u64>{u64{3}} == u64{4}));
static_assert(Equals<1, 1> && !Equals<1, 2>);

constexpr bool sequences = [] {
    Inplace<int, 2> a{};
    Inplace<int, 2> b{};
    const bool empty = a.empty() && !a.full() && a.begin() == a.end() && a == b;
    const bool one = a.push(1) && !a.empty() && !a.full() && a.end() - a.begin() == 1 && !(a == b);
    const bool other = b.push(2) && !(a == b);
    b[0] = 1;
    const bool same = a == b && a.push(2) && b.push(3) && a.full() && !(a == b);
    const Inplace<int, 2>& view = a;
    return empty && one && other && same && view.end() - view.begin() == 2 && !a.push(4);
}();
static_assert(sequences);

// --- what a slot is -------------------------------------------------------------------------------------------------

constexpr u64 slots(Retention kept, u64 prompt, u64 decoded = 0, u64 encoder = 0) {
    return kept.slots({.prompt = {prompt}, .decoded = {decoded}, .encoder = {encoder}}).value;
}
static_assert(slots({}, 3, 4, 9) == 7 && slots({.source = Source::prompt}, 3, 4, 9) == 3 &&
              slots({.source = Source::encoder}, 3, 4, 9) == 9);
static_assert(slots({.stride = 4}, 7) == 1 && slots({.stride = 4}, 8) == 2);
static_assert(slots({.lag = 5}, 5) == 0 && slots({.lag = 5}, 4) == 0 && slots({.lag = 5}, 7) == 2);
static_assert(slots({.keep = Keep::window, .span = 4_tok, .sinks = 2_tok}, 5) == 5 &&
              slots({.keep = Keep::window, .span = 4_tok, .sinks = 2_tok}, 9) == 6);
static_assert(slots({.keep = Keep::chunk, .stride = 2, .span = 8_tok}, 99) == 4 &&
              slots({.keep = Keep::budget, .span = 8_tok}, 99) == 8);
static_assert(slots({.keep = Keep::last}, 0) == 0 && slots({.keep = Keep::last}, 1) == 1 &&
              slots({.keep = Keep::last}, 99) == 1 && slots({.keep = Keep::last, .lag = 5}, 3) == 1);
static_assert(slots({.keep = Keep::once}, 0) == 1 && slots({.keep = Keep::once}, 99) == 1);
static_assert(Stream{.rows = 3, .heads = 5, .width = 7}.elements() == 105 && LayerForm{}.elements() == 0);
static_assert(Stream{.heads = 0xffff'ffff}.is_off_scale() && Stream{.width = 0xffff'ffff}.is_off_scale() &&
              Stream{.rows = 0xffff}.is_off_scale() &&
              !Stream{.rows = 0xfffe, .heads = 0xffff'fffe}.is_off_scale());
static_assert(!Stream{.width = 0xffff'fffe}.is_off_scale() && !Stream{}.is_off_scale());

// --- layers ---------------------------------------------------------------------------------------------------------

constexpr Stream stream_at(const LayerForms& forms, u32 form, u32 stream) { return forms[form].streams[stream]; }
constexpr bool shaped(const Stream& s, u32 heads, u32 rows, u32 width) {
    return s.heads == heads && s.rows == rows && s.width == width;
}
static_assert(mqa(64).forms()[0].streams[1].width == 64 && mqa(64, 32).forms()[0].streams[1].width == 32);
static_assert(mqa(64).kv_heads == 1 && Gqa{2, 64, 1}.forms()[0].streams[1].width == 1);
static_assert(Mla{512, 1}.forms()[0].streams.size() == 2 && Mla{512, 0}.forms()[0].streams.size() == 1);
static_assert(SparseMla{.latent = 8, .rope = 1, .index_dim = 1}.forms().size() == 2 &&
              SparseMla{.latent = 8, .rope = 1}.forms().size() == 1);
static_assert(SparseMla{.latent = 8, .index_dim = 1}.forms()[0].kind == Kind::index);
constexpr auto one = CompressedLatent{.latent = 8, .window = 3, .ratio = 1}.forms();
static_assert(one.size() == 3 && one[1].retention.stride == 1 && one[2].retention.span == 1_tok);
static_assert(CompressedLatent{.latent = 8, .window = 3}.forms().size() == 1);
constexpr auto narrow = CompressedLatent{.latent = 8, .window = 3, .ratio = 4, .index_dim = 1}.forms();
static_assert(narrow.size() == 5 && narrow[3].retention.span == 8_tok && narrow[4].streams[0].width == 4);
static_assert(conv_of(8, 0, bf16).rows == 0 && conv_of(8, 1, bf16).rows == 0 && conv_of(8, 2, bf16).rows == 1);
static_assert(shaped(conv_of(8, 4, bf16), 8, 3, 1));
constexpr auto mamba = Mamba2{.heads = 3, .head_dim = 5, .state_dim = 7, .groups = 2}.forms();
static_assert(shaped(stream_at(mamba, 0, 0), 15, 3, 1) && shaped(stream_at(mamba, 0, 1), 2, 3, 14) &&
              shaped(stream_at(mamba, 0, 2), 3, 5, 7));
static_assert(Mamba2{3, 5, 7, 0}.forms()[0].streams.size() == 2 &&
              Mamba2{3, 5, 7, 1}.forms()[0].streams.size() == 3);
static_assert(shaped(stream_at(GatedDelta{2, 3, 5, 7}.forms(), 0, 0), 47, 3, 1) &&
              shaped(stream_at(GatedDelta{2, 3, 5, 7}.forms(), 0, 1), 5, 7, 3));
static_assert(shaped(stream_at(Kda{3, 5}.forms(), 0, 0), 45, 3, 1));
static_assert(shaped(stream_at(rg_lru(6, 4).forms(), 0, 1), 6, 1, 1));
static_assert(shaped(stream_at(rwkv(6, 2, 3).forms(), 0, 0), 1, 2, 6) &&
              shaped(stream_at(rwkv4(6, 5).forms(), 0, 0), 1, 2, 6) &&
              shaped(stream_at(rwkv4(6, 5).forms(), 0, 1), 5, 3, 1));
static_assert(shaped(stream_at(mlstm(2, 3, 5).forms(), 0, 0), 2, 3, 5) &&
              shaped(stream_at(mlstm(2, 3, 5).forms(), 0, 1), 2, 1, 3) &&
              shaped(stream_at(mlstm(2, 3, 5).forms(), 0, 2), 2, 1, 1));

// States and constants keep their retention under every decorator.
constexpr auto state_and_scale = Quantized{Both{Gqa{2, 8}, Kda{2, 8}}, fp8_per_tensor};
constexpr bool stays = [] {
    const LayerForms plain = state_and_scale.forms();
    const LayerForms slid = Windowed{state_and_scale, 5_tok}.forms();
    const LayerForms sunk = WithSinks{state_and_scale, 5_tok}.forms();
    bool good = plain.size() == 3 && slid[0].retention.span == 5_tok && sunk[0].retention.sinks == 5_tok;
    for (u32 i = 1; i < 3; ++i) {
        good = good && slid[i] == plain[i] && sunk[i] == plain[i];
    }
    return good;
}();
static_assert(stays && state_and_scale.forms()[1].retention.keep == Keep::last &&
              state_and_scale.forms()[2].retention.keep == Keep::once);

// --- storage --------------------------------------------------------------------------------------------------------

static_assert(is_attention(Role::key) && is_attention(Role::value) && is_attention(Role::latent) &&
              is_attention(Role::rope) && !is_attention(Role::index) && !is_attention(Role::conv) &&
              !is_attention(Role::state));
constexpr auto tensor = fp8_per_tensor.scales(Gqa{4, 8}.forms()[0]);
constexpr auto head = fp8_per_head.scales(Gqa{4, 8}.forms()[0]);
static_assert(shaped(tensor.streams[0], 1, 1, 1) && tensor.streams[0].split == Split::replicated);
static_assert(shaped(head.streams[1], 4, 1, 1) && head.streams[1].split == Split::heads);
static_assert(fp8_per_tensor.scales(Kda{2, 8}.forms()[0]).streams.empty());
static_assert(!fp8_per_tensor.per_head && !int8_per_tensor.per_head && fp8_per_head.per_head);
static_assert(Quantized{Kda{2, 8}, fp8_per_tensor}.forms() == Kda{2, 8}.forms());
static_assert(ScaledOnce<OneByte> && !ScaledOnce<Stored> && !QuantPolicy<int> && !LayerPolicy<int>);
constexpr ElementFormat row(auto scheme, u32 stream, u32 width = 9) {
    return scheme.store(Gqa{1, width}.forms()[0]).streams[stream].format;
}
static_assert(is(row(fp8_per_token_head, 0), 9, 13) && is(row(Int4PerTokenHead{}, 1), 9, 8));
static_assert(is(row(TurboQuant{8, 4}, 0), 9, 9) && is(row(TurboQuant{8, 4}, 1), 9, 9));
static_assert(is(row(TurboQuant{3, 4}, 0), 9, 6) && is(row(TurboQuant{3, 4}, 1), 9, 10));
static_assert(is(row(TurboQuant{9, 4}, 0), 9, 13) && is(row(TurboQuant{7, 2}, 0), 9, 10));
static_assert(is(TurboQuant{8, 4}.store(form_of(Kind::attention, {}, Stream{.role = Role::value, .width = 9}))
                     .streams[0].format, 9, 10));
constexpr auto ds = Fp8DsMla{}.store(Mla{512, 64}.forms()[0]);
static_assert(ds.streams[0].format == fp8_scale_per_128 && ds.streams[1].format == bf16);
constexpr auto kivi = Kivi{Gqa{1, 64}, 16, 3, 32}.forms();
static_assert(is(kivi[0].streams[0].format, 32, 16) && kivi[0].streams[0].width == 1024);
static_assert(kivi[0].retention.stride == 16 && kivi[0].retention.lag == 0 &&
              kivi[1].retention.keep == Keep::chunk);
static_assert(kivi[2].retention.stride == 1 && kivi[2].retention.lag == 16 &&
              kivi[3].retention.keep == Keep::window);
static_assert(Kivi{Windowed{Gqa{1, 64}, 9_tok}, 16, 2, 32}.forms() == Windowed{Gqa{1, 64}, 9_tok}.forms());
static_assert(Kivi{Mla{64, 8}, 16, 2, 32}.forms() == Mla{64, 8}.forms());

// --- models ---------------------------------------------------------------------------------------------------------

constexpr LayerForm form_at(u32 width) { return Gqa{1, width}.forms()[0]; }
constexpr Errc added(u32 count, u32 first_layer = 0, u32 width = 1) {
    ModelSpec model{};
    Errc code = Errc::ok;
    for (u32 i = 0; i < count && code == Errc::ok; ++i) {
        code = model.add(first_layer + i, form_at(width + i));
    }
    return code;
}
static_assert(added(32) == Errc::ok && added(33) == Errc::capacity);
static_assert(added(1, 0xffff) == Errc::ok && added(1, 0x1'0000) == Errc::capacity);
constexpr auto refused_by = [](LayerForm form) {
    ModelSpec model{};
    return model.add(0, form);
};
static_assert(refused_by({.retention = {.stride = 0}, .streams = form_at(8).streams}) == Errc::zero_dimension);
static_assert(refused_by({.retention = {.stride = 1}, .streams = form_at(8).streams}) == Errc::ok);
static_assert(refused_by(LayerForm{}) == Errc::ok && refused_by(Gqa{1, 0xffff'ffff}.forms()[0]) == Errc::overflow);
constexpr bool single = [] {  // an element is enough to be kept, and equal forms are kept once
    ModelSpec model{};
    const LayerForm smallest = form_of(Kind::state, last_only, Stream{.width = 1});
    return model.add(0, smallest) == Errc::ok && model.add(1, smallest) == Errc::ok && model.caches.size() == 2 &&
           model.forms.size() == 1 && model.add(2, form_at(4)) == Errc::ok && model.caches[2].form == 1;
}();
static_assert(single);
constexpr auto three = compose(cycle(5, Gqa{1, 8}, Gqa{1, 16}, NoCache{})).value();
static_assert(three.layers == 5 && three.caches.size() == 4 && three.caches[1].form == 1 &&
              three.caches[2].form == 0 &&
              three.caches[3].layer == 4);
static_assert(compose(repeat(3, Gqa{1, 8})).value().layers == 3 &&
              compose(repeat(0, Gqa{1, 8})).value().layers == 0);
static_assert(compose(repeat(2, NoCache{}), repeat(0xffff'fffe, NoCache{})).error().code == Errc::capacity);
static_assert(compose(repeat(1, NoCache{}), repeat(0xffff'fffe, NoCache{})).value().layers == 0xffff'ffff);
static_assert(compose(repeat(300, Gqa{1, 8}), repeat(300, Gqa{1, 8}), repeat(1, NoCache{})).error() ==
              Error{.code = Errc::capacity, .layer = 512, .got = 512, .want = 512});
static_assert(compose(repeat(1, NoCache{}), repeat(1, Gqa{.kv_heads = 8})).error() ==
              Error{.code = Errc::zero_dimension, .layer = 1, .got = 0, .want = 512});
static_assert(compose(repeat(1, Windowed{Gqa{1, 8}, 0_tok})).error().code == Errc::zero_dimension);
constexpr Error of_33_kinds = [] {
    ModelSpec model{};
    Errc code = Errc::ok;
    for (u32 i = 0; code == Errc::ok; ++i) {
        code = repeat(1, Gqa{1, 8 + i}).append(model);
    }
    return Error{.code = code, .layer = model.layers, .got = model.forms.size()};
}();
static_assert(of_33_kinds == Error{.code = Errc::capacity, .layer = 32, .got = 32});
static_assert(compose(cycle(513, Gqa{1, 8})).error().code == Errc::capacity);
constexpr auto trunk = compose(repeat(2, Gqa{1, 8}), QueryHeads{8}).value();
constexpr auto joined = join(trunk, join(compose(repeat(1, Gqa{1, 16}), QueryHeads{12}).value(), trunk).value());
static_assert(joined->draft_layers == 3 && joined->all_layers() == 5 && joined->query_heads == 4 &&
              joined->caches[4].layer == 4);
static_assert(join(compose(repeat(511, Gqa{1, 8})).value(), trunk).error().code == Errc::capacity);
static_assert(restored(trunk, [](u32 layer, LayerForm form) noexcept {
                  form.retention.stride = layer == 0;
                  return form;
              }).error() == Error{.code = Errc::zero_dimension, .layer = 1, .got = 1, .want = 32});
constexpr auto words = compose(lettered("ab-a", letter('a', Gqa{1, 8}), letter('b', Gqa{1, 16}),
                                        letter('-', NoCache{}))).value();
static_assert(words.layers == 4 && words.caches.size() == 3 && words.caches[1].form == 1 &&
              words.caches[2].layer == 3);
static_assert(compose(lettered("", letter('a', Gqa{1, 8}))).value().layers == 0);
static_assert(compose(lettered("ac", letter('a', Gqa{1, 8}))).error() ==
              Error{.code = Errc::unsupported, .layer = 1, .got = 1, .want = 512});
static_assert(compose(repeat(511, Gqa{1, 8}), lettered("aa", letter('a', Gqa{1,
              8}))).error().code == Errc::capacity);

// --- ranks ----------------------------------------------------------------------------------------------------------

constexpr auto dealt_heads = [](u32 heads, u32 tp, Split split = Split::heads, Uneven uneven = Uneven::refuse) {
    return heads_on_rank({.split = split, .heads = heads, .width = 1}, {.tp = tp, .uneven = uneven});
};
static_assert(dealt_heads(6, 3) == u32{2} && dealt_heads(3, 3) == u32{1} && dealt_heads(1, 3) == u32{1});
static_assert(dealt_heads(2, 3).error() == Error{.code = Errc::heads_not_divisible, .got = 2, .want = 3});
static_assert(dealt_heads(4, 3).error().code == Errc::heads_not_divisible && !dealt_heads(2, 5));
static_assert(dealt_heads(7, 3, Split::heads, Uneven::floor_at_least_one) == u32{2} &&
              dealt_heads(2, 3, Split::heads, Uneven::floor_at_least_one) == u32{1});
static_assert(dealt_heads(7, 3, Split::heads, Uneven::ceil) == u32{3});
static_assert(dealt_heads(9, 3, Split::channels) == u32{3} && dealt_heads(3, 3, Split::channels) == u32{1});
static_assert(dealt_heads(8, 3, Split::channels).error() ==
              Error{.code = Errc::channels_not_divisible, .got = 8, .want = 3});
static_assert(dealt_heads(9, 3, Split::groups) == u32{3} && dealt_heads(8, 3, Split::groups) == u32{1} &&
              dealt_heads(1, 1, Split::groups) == u32{1});
static_assert(dealt_heads(5, 2, Split::replicated) == u32{5} && dealt_heads(5, 1) == u32{5});
static_assert(dealt_heads(0, 2) == u32{0} && dealt_heads(0, 2, Split::groups) == u32{0} &&
              dealt_heads(1, 2, Split::channels).error().code == Errc::channels_not_divisible);
static_assert(dealt_heads(5, 0).error().code == Errc::zero_parallelism);
static_assert(bytes_per_slot(form_of(Kind::state, last_only, Stream{.rows = 3, .heads = 5, .width = 7},
                                     Stream{.width = 2})).value() == BytesPerSlot{2 * 105 + 4});
static_assert(bytes_per_slot(Gqa{3, 8}.forms()[0], {.tp = 2}).error().code == Errc::heads_not_divisible);
static_assert(bytes_per_slot(Quantized{Gqa{3, 9},
              Stored{nvfp4}}.forms()[0]).error().code == Errc::block_not_divisible);

constexpr auto begin_of = [](u32 stage, Remainder rule, u32 layers = 11, u32 pp = 4) {
    return layers_of_stage(layers, {.pp = pp, .remainder = rule}, stage)->begin;
};
// 11 on 4: 3 3 3 2; 2 3 3 3 (backwards from the one before the last); 2 3 3 3.
static_assert(begin_of(1, Remainder::first) == 3 && begin_of(2, Remainder::first) == 6 &&
              begin_of(3, Remainder::first) == 9);
static_assert(begin_of(1, Remainder::last) == 2 && begin_of(2, Remainder::last) == 5 &&
              begin_of(3, Remainder::last) == 8);
static_assert(begin_of(1, Remainder::middle) == 3 && begin_of(2, Remainder::middle) == 6 &&
              begin_of(3, Remainder::middle) == 9);
static_assert(begin_of(1, Remainder::middle, 9) == 2 && begin_of(2, Remainder::middle, 9) == 4 &&
              begin_of(3, Remainder::middle, 9) == 7);
static_assert(begin_of(1, Remainder::first, 8) == 2 && begin_of(3, Remainder::last, 9) == 6 &&
              begin_of(3, Remainder::middle, 8) == 6);
static_assert(layers_of_stage(4, {.pp = 4}, 3).value() == LayerRange{3, 4});
static_assert(layers_of_stage(4, {.pp = 4}, 4).error() == Error{.code = Errc::rank_out_of_range, .got = 4,
              .want = 4});
static_assert(layers_of_stage(4, {.pp = 0}, 0).error().code == Errc::zero_parallelism);
static_assert(layers_of_stage(5, {.pp = 1, .stage_layers = {2, {2, 3}}}, 0).error() ==
              Error{.code = Errc::stage_layers_mismatch, .got = 2, .want = 1});
static_assert(layers_of_stage(5, {.pp = 2, .stage_layers = {2, {2, 3}}}, 0).value() == LayerRange{0, 2});
static_assert(dealt(10, 3, 2, 0) == 4 && dealt(10, 3, 2, 1) == 4 && dealt(10, 3, 2, 2) == 2 &&
              dealt(9, 3, 2, 1) == 3);
static_assert(dealt(7, 3, 2, 0) == 3 && dealt(6, 3, 2, 0) == 2 && dealt(1, 3, 2, 1) == 0);

// --- the fold -------------------------------------------------------------------------------------------------------

constexpr Footprint parts{1_B, 2_B, 4_B, 8_B, 16_B};
static_assert(parts.per_sequence() == 15_B && parts.total() == 31_B &&
              parts + parts == Footprint{2_B, 4_B, 8_B, 16_B, 32_B});
constexpr auto booked = [](LayerForm form) {
    Footprint in{};
    account_of(form, in) += 1_B;
    return in;
};
static_assert(booked(Gqa{1, 8}.forms()[0]).growing == 1_B &&
              booked(Windowed{Gqa{1, 8}, 4_tok}.forms()[0]).bounded == 1_B);
static_assert(booked(Kda{1, 8}.forms()[0]).state == 1_B && booked(lightning(1, 8).forms()[0]).state == 1_B);
static_assert(booked(Cross{Gqa{1, 8}}.forms()[0]).cross == 1_B && booked(tensor).once == 1_B);
static_assert(booked(PromptOnly{Gqa{1, 8}}.forms()[0]).growing == 1_B && booked(LayerForm{}).growing == 1_B);
constexpr auto on_rank = [](auto policy, u32 cp) {
    return slots_on_rank(policy.forms()[0], Slots{10}, {.cp = cp}, 0).value;
};
static_assert(on_rank(Gqa{1, 8}, 1) == 10 && on_rank(Gqa{1, 8}, 2) == 5 && on_rank(Gqa{1, 8}, 3) == 4);
static_assert(on_rank(Windowed{Gqa{1, 8}, 4_tok}, 2) == 10 && on_rank(Cross{Gqa{1, 8}}, 2) == 10 &&
              on_rank(Kda{1, 8}, 2) == 10 && on_rank(PromptOnly{Gqa{1, 8}}, 2) == 5);
constexpr auto refusal = [](Sharding sharding, Rank rank = {}) { return check_sharding(trunk, sharding, rank); };
static_assert(refusal({}) == Error{} && refusal({.tp = 8}) == Error{} && refusal({.cp = 2}, {.cp = 1}) == Error{});
static_assert(refusal({.tp = 0}).code == Errc::zero_parallelism &&
              refusal({.pp = 0}).code == Errc::zero_parallelism &&
              refusal({.cp = 0}).code == Errc::zero_parallelism &&
              refusal({.interleave = 0}).code == Errc::zero_parallelism);
static_assert(refusal({.cp = 2}, {.cp = 2}) == Error{.code = Errc::rank_out_of_range, .got = 2, .want = 2});
static_assert(refusal({.tp = 3}) == Error{.code = Errc::query_heads_not_divisible, .got = 8, .want = 3});
static_assert(refusal({.tp = 3, .uneven = Uneven::ceil}) == Error{});
constexpr auto six = compose(repeat(2, Gqa{1, 8}), repeat(3, NoCache{}), repeat(1, Gqa{3, 16})).value();
static_assert(caches_on_stage(six, {.pp = 3}, 0).value() == Inplace<u32, 32>{2, {2, 0}} &&
              caches_on_stage(six, {.pp = 3}, 2).value() == Inplace<u32, 32>{2, {0, 1}});
static_assert(caches_on_stage(*joined, {.pp = 2}, 0)->items[0] == 1 &&
              caches_on_stage(*joined, {.pp = 2}, 1)->items[0] == 3);
static_assert(caches_on_stage(six, {.pp = 7}, 0).error().code == Errc::stages_exceed_layers);
static_assert(fold(six, {.prompt = 10_tok}).value() == Footprint{.growing = Bytes{10 * (2 * 32 + 192)}});
static_assert(fold(six, {}, {.tp = 2}).error() ==
              Error{.code = Errc::heads_not_divisible, .layer = 5, .got = 3, .want = 2});
static_assert(fold(six, {}, {.tp = 0}).error().code == Errc::zero_parallelism &&
              fold(six, {}, {.pp = 7}).error().code == Errc::stages_exceed_layers);
static_assert(fold(six, {.prompt = 3_tok}, {}, {}, [](const LayerForm&,
              const Lengths&) noexcept { return Slots{7}; })
                  .value().growing == Bytes{7 * (2 * 32 + 192)});

// --- the fold asked backwards ---------------------------------------------------------------------------------------

constexpr auto strided = compose(repeat(1, CompressedLatent{.latent = 8, .window = 4, .ratio = 4}),
                                 repeat(1, Gqa{1, 8})).value();
static_assert(bytes_per_token(strided).value() == Bytes{32 + 4} && bytes_per_token(six).value() == Bytes{256});
static_assert(bytes_per_token(six, {.pp = 2}, 1).value() == Bytes{192} &&
              bytes_per_token(six, {.pp = 2}).value() == Bytes{64});
static_assert(bytes_per_token(compose(repeat(1, Cross{Gqa{1, 8}}), repeat(1, Windowed{Gqa{1, 8},
              1_tok})).value()).value() == 0_B);
static_assert(bytes_per_token(six, {.tp = 2}).error().code == Errc::heads_not_divisible);
constexpr auto latents = compose(repeat(4, Mla{8, 0})).value();
static_assert(over_ranks(latents, {.prompt = 5_tok}, {.tp = 3, .pp = 2, .cp = 2}).value() == Spread{960_B, 320_B});
static_assert(over_ranks(latents, {.prompt = 5_tok}, {.pp = 5}).error().code == Errc::stages_exceed_layers);
constexpr ModelSpec full = [] {
    ModelSpec model{.layers = 32};
    for (u32 i = 0; i < 32; ++i) {
        model.add(i, Gqa{1, 8 + i}.forms());
    }
    return model;
}();
static_assert(fold(full, {.prompt = 1_tok}).value().total() == 3008_B);
static_assert(over_ranks(six, {}, {.tp = 2}).error().code == Errc::heads_not_divisible);
static_assert(over_ranks(Gqa{2, 8}.forms()[0], {.tp = 4}).value() == Spread{128_B, 64_B});
static_assert(over_ranks(Gqa{3, 8}.forms()[0], {.tp = 2}).error().code == Errc::heads_not_divisible);
static_assert(over_ranks(Gqa{0xffff'ffff, 8}.forms()[0], {}).error().code == Errc::overflow);
constexpr auto scaled = compose(repeat(2, Quantized{Gqa{1, 8}, fp8_per_tensor}), repeat(1, Gqa{1, 64})).value();
static_assert(fullest_rank(scaled, {.prompt = 10_tok}, {.pp = 3}).value() == Bytes{2560});
static_assert(fullest_rank(scaled, {.prompt = 10_tok}, {.pp = 1}, 3).value() == Bytes{3 * 10 * (32 + 256) + 16});
static_assert(fullest_rank(scaled, {.prompt = 10_tok}, {}).value() == Bytes{10 * 288 + 16});
static_assert(fullest_rank(scaled, {}, {.pp = 4}).error().code == Errc::stages_exceed_layers);
static_assert(largest(10, [](u64 n) noexcept { return n <= 7; }) == 7 &&
              largest(10, [](u64) noexcept { return true; }) == 10 &&
              largest(10, [](u64 n) noexcept { return n == 0; }) == 0 &&
              largest(0, [](u64) noexcept { return true; }) == 0);
static_assert(longest(scaled, Bytes{10 * 288 + 16}) == 10_tok && longest(scaled, Bytes{10 * 288 + 15}) == 9_tok);
static_assert(longest(scaled, 16_B) == 0_tok &&
              longest(scaled, 15_B).error() == Error{.code = Errc::does_not_fit, .got = 15, .want = 16});
static_assert(longest(scaled, Bytes{3 * 10 * 288 + 16}, {}, 3) == 10_tok);
static_assert(longest(scaled, Bytes{10 * 288 + 16}, {}, 1, {.decoded = 4_tok}) == 6_tok &&
              longest(scaled, 1_MiB, {}, 1, {}, 5_tok) == 5_tok &&
              longest(scaled, 1_MiB, {.pp = 4}).error().code == Errc::stages_exceed_layers);
static_assert(longest(scaled, Bytes{off_scale - 1}) == no_limit);
static_assert(most_sequences(scaled, Bytes{2 * 10 * 288 + 16}, {.prompt = 10_tok}) == u64{2} &&
              most_sequences(scaled, Bytes{2 * 10 * 288 + 15}, {.prompt = 10_tok}) == u64{1});
static_assert(most_sequences(scaled, 15_B, {.prompt = 1_tok}) == u64{0} &&
              most_sequences(scaled, 1_GiB, {}) == off_scale);
static_assert(most_sequences(scaled, Bytes{7 * 256}, {.prompt = 1_tok}, {.pp = 3}) == u64{7});
static_assert(most_sequences(compose(repeat(1, Quantized{Mla{1, 0}, Stored{fp8}})).value(), 9_B,
              {.prompt = 1_tok}) == u64{9});
static_assert(most_sequences(scaled, 1_GiB, {}, {.pp = 4}).error().code == Errc::stages_exceed_layers);

// --- sentences ------------------------------------------------------------------------------------------------------

template <u64 Size>
struct Words {
    char text[Size]{};
};
template <u64 Size>
constexpr bool says(const Error& error, const char (&want)[Size]) {
    Words<200> got{};
    message(error, got.text, sizeof got.text);
    for (u64 i = 0; i < Size; ++i) {
        if (got.text[i] != want[i]) {
            return false;
        }
    }
    return true;
}
static_assert(says({.code = Errc::does_not_fit, .got = 7, .want = 10, .hint = 3},
              "10 bytes are needed and 7 are available"));
static_assert(says({.code = Errc::overflow, .layer = 0},
              "layer 0: the number of bytes does not fit into 64 bits"));
static_assert(says({.code = Errc::negative, .got = off_scale, .want = 1'234'567'890},
                   "18446744073709551615 is less than 1234567890, so nothing is left"));
static_assert(says({}, "no error") && says({.code = static_cast<Errc>(255)}, "unknown error"));
constexpr bool never_beyond = [] {
    char text[3]{'x', 'y', 'z'};
    message({}, text, 0);
    const bool untouched = text[0] == 'x';
    message({}, text, 1);
    const bool empty = text[0] == '\0' && text[1] == 'y';
    message({}, text, 3);
    return untouched && empty && text[0] == 'n' && text[1] == 'o' && text[2] == '\0';
}();
static_assert(never_beyond);

}  // namespace

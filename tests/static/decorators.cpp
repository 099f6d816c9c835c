// SPDX-License-Identifier: MIT
// Every pair of decorators, by table: those that act on different parts of a form commute, of two that act on the
// same part the outer one wins, and all of them reach each cache of a layer by itself.
#include <kvcap/core.hpp>

#include <iterator>

using namespace kvcap;

namespace {

/// A policy that is its forms: what lets a decorator be a row of a table.
struct Given {
    LayerForms own{};
    constexpr LayerForms forms() const noexcept { return own; }
    friend constexpr bool operator==(const Given&, const Given&) = default;
};

static_assert(Given{} == Given{});

enum class Acts : u8 { on_span, on_sinks, on_source, on_storage };

struct Decorator {
    Acts acts;
    LayerForms (*apply)(const LayerForms& forms);
};

template <auto scheme>
constexpr Decorator stored{Acts::on_storage, [](const LayerForms& f) { return Quantized{Given{f}, scheme}.forms(); }};

constexpr Decorator decorators[] = {
    {Acts::on_span, [](const LayerForms& f) { return Windowed{Given{f}, 4096_tok}.forms(); }},
    {Acts::on_span, [](const LayerForms& f) { return Chunked{Given{f}, 8192_tok}.forms(); }},
    {Acts::on_span, [](const LayerForms& f) { return Budgeted{Given{f}, 512_tok}.forms(); }},
    {Acts::on_sinks, [](const LayerForms& f) { return WithSinks{Given{f}, 4_tok}.forms(); }},
    {Acts::on_sinks, [](const LayerForms& f) { return WithSinks{Given{f}, 8_tok}.forms(); }},
    {Acts::on_source, [](const LayerForms& f) { return Cross{Given{f}}.forms(); }},
    {Acts::on_source, [](const LayerForms& f) { return PromptOnly{Given{f}}.forms(); }},
    stored<Stored{bf16}>,
    stored<Stored{nvfp4}>,
    stored<Stored{ggml::q8_0}>,
    stored<fp8_per_tensor>,
    stored<fp8_per_head>,
    stored<fp8_per_token_head>,
    stored<Int4PerTokenHead{}>,
    stored<Fp8DsMla{}>,
    stored<TurboQuant{3, 4}>,
};

constexpr LayerForms layers[] = {
    NoCache{}.forms(),
    Gqa{.kv_heads = 8, .head_dim = 128}.forms(),
    Gqa{.kv_heads = 4, .head_dim = 192, .value_dim = 128}.forms(),
    Mla{.latent = 512, .rope = 64}.forms(),
    SparseMla{.latent = 512, .rope = 64, .index_dim = 128}.forms(),
    IndexKeys{.dim = 128}.forms(),
    Mamba2{.heads = 112, .head_dim = 64, .state_dim = 64, .groups = 2}.forms(),
    Both{Gqa{.kv_heads = 8, .head_dim = 128}, Kda{.heads = 32, .head_dim = 128}}.forms(),
    Both{Windowed{Gqa{.kv_heads = 2, .head_dim = 64}, 128_tok}, Cross{Gqa{.kv_heads = 8, .head_dim = 64}}}.forms(),
    CompressedLatent{.latent = 512, .window = 128, .ratio = 4, .index_dim = 128}.forms(),
};

constexpr bool keep_the_law(const Decorator& a, const Decorator& b, const LayerForms& layer) {
    const LayerForms outer_a = a.apply(b.apply(layer));
    return a.acts == b.acts ? outer_a == a.apply(layer) : outer_a == b.apply(a.apply(layer));
}

/// The first pair that breaks its law on a layer; `count` of the table where none does.
struct Pair {
    u64 a = std::size(decorators);
    u64 b = std::size(decorators);
    u64 layer = std::size(layers);
    friend constexpr bool operator==(const Pair&, const Pair&) = default;
};

constexpr Pair first_breach(u64 layer) {
    for (u64 a = 0; a < std::size(decorators); ++a) {
        for (u64 b = 0; b < std::size(decorators); ++b) {
            if (!keep_the_law(decorators[a], decorators[b], layers[layer])) {
                return {a, b, layer};
            }
        }
    }
    return {};
}

template <u64 layer>
concept Lawful = requires { requires Equals<first_breach(layer), Pair{}>; };

static_assert(Lawful<0> && Lawful<1> && Lawful<2> && Lawful<3> && Lawful<4> && Lawful<5> && Lawful<6> &&
              Lawful<7> && Lawful<8> && Lawful<9>);
static_assert(std::size(layers) == 10);

/// How many forms of `of` are equal to `form`.
constexpr u32 times_of(const LayerForm& form, const LayerForms& of) {
    u32 times = 0;
    for (const LayerForm& other : of) {
        times += other == form ? 1 : 0;
    }
    return times;
}

/// The same caches in any order: scales that exist once stand behind all that they scale.
constexpr bool same_caches(const LayerForms& a, const LayerForms& b) {
    for (const LayerForm& form : a) {
        if (times_of(form, a) != times_of(form, b)) {
            return false;
        }
    }
    return a.size() == b.size();
}

constexpr bool reaches_both(const Decorator& one) {
    for (const LayerForms& a : layers) {
        for (const LayerForms& b : layers) {
            if (a.size() + b.size() <= 3 &&
                !same_caches(one.apply(Both{Given{a}, Given{b}}.forms()),
                             Both{Given{one.apply(a)}, Given{one.apply(b)}}.forms())) {
                return false;
            }
        }
    }
    return true;
}

constexpr bool all_reach_both = [] {
    for (const Decorator& one : decorators) {
        if (!reaches_both(one)) {
            return false;
        }
    }
    return true;
}();
static_assert(all_reach_both);

// What exists once has no tokens, whoever feeds the layer.
constexpr LayerForms scaled = PromptOnly{Quantized{Gqa{.kv_heads = 8, .head_dim = 128}, fp8_per_head}}.forms();
static_assert(scaled.size() == 2 && scaled[0].retention.source == Source::prompt);
static_assert(scaled[1].retention == Retention{.keep = Keep::once});

// KIVI splits a cache into parts of their own retention: sources commute with it, what does not keep everything passes
// through it, and sinks of a layer that keeps everything change nothing.
constexpr Gqa full{.kv_heads = 8, .head_dim = 128};
constexpr LayerForms kivi(const LayerForms& forms) { return Kivi{Given{forms}, 128, 2, 32}.forms(); }

constexpr bool kivi_keeps_its_laws = [] {
    for (const Decorator& one : decorators) {
        const LayerForms inner = one.apply(full.forms());
        const bool lawful = one.acts == Acts::on_span     ? kivi(inner) == inner
                            : one.acts == Acts::on_source ? kivi(inner) == one.apply(kivi(full.forms()))
                            : one.acts == Acts::on_sinks  ? kivi(inner) == kivi(full.forms())
                                                          : true;
        if (!lawful) {
            return false;
        }
    }
    return true;
}();
static_assert(kivi_keeps_its_laws);

}  // namespace

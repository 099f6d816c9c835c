// SPDX-License-Identifier: MIT
// Units, results and fixed sequences: arithmetic at the edges, and what they promise to consumers.
#include <kvcap/core.hpp>
#include <type_traits>

using namespace kvcap;

namespace {

constexpr Bytes top{off_scale};
static_assert(top + 1_B == top && top * 2 == top && 3 * top == top);
static_assert(Bytes{off_scale - 1} + 1_B == top && Bytes{u64{1} << 63} * 2 == top);
static_assert(top * 0 == 0_B && 0_B * off_scale == 0_B);
static_assert(Bytes{u64{1} << 32} * (u64{1} << 31) == Bytes{u64{1} << 63});
static_assert(Slots{3} * BytesPerSlot{5} == 15_B);
static_assert(Slots{off_scale} * BytesPerSlot{2} == top);
static_assert(minus(5_B, 3_B) == 2_B);
static_assert(minus(3_B, 5_B).error() == Error{.code = Errc::negative, .got = 3, .want = 5});
static_assert(how_many(10_B, 3_B) == u64{3});
static_assert(how_many(10_B, 0_B).error().code == Errc::divided_by_zero);
// Parts of a product that needs 128 bits.
static_assert(product_over(100, 1, 3) == 33 && product_over(off_scale >> 1, 1ull << 61, 1ull << 61) == off_scale >> 1);
static_assert(product_over(off_scale, off_scale, off_scale) == off_scale && product_over(off_scale, 3, 2) == off_scale);
static_assert(product_over(u64{1} << 63, 9, 10) == 0x7333'3333'3333'3333 && product_over(0, off_scale, 1) == 0);
static_assert(product_over(off_scale - 1, off_scale - 1, off_scale) == off_scale - 2);
static_assert(product_over(u64{1} << 40, u64{1} << 24, 1) == off_scale && product_over(off_scale, 1, 1) == off_scale);
static_assert(ceil_div(off_scale, 2) == u64{1} << 63 && round_up(off_scale, 2) == off_scale);
static_assert(round_up(0, 16) == 0 && round_up(1, 16) == 16 && round_up(16, 16) == 16);
static_assert(greatest_common_divisor(0, 6) == 6 && least_common_multiple(4, 6) == 12);
static_assert(1_KiB == 1024_B && 1_MiB == 1024 * 1_KiB && 1_GiB == 1024 * 1_MiB);

// What consumers may rely on: plain data, no allocation, usable as template arguments.
template <class T>
constexpr bool plain = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T>;
static_assert(plain<Bytes> && plain<Error> && plain<Stream> && plain<Retention> && plain<LayerForm>);
static_assert(plain<ModelSpec> && plain<Sharding> && plain<Footprint> && plain<Lengths>);
static_assert(sizeof(Stream) == 20 && sizeof(Retention) <= 32 && sizeof(LayerForm) <= 168);
static_assert(sizeof(ModelSpec) <= 7'500);

template <auto Policy>
constexpr u64 elements_of = Policy.forms()[0].elements();
static_assert(elements_of<Mla{.latent = 512, .rope = 64}> == 576);
static_assert(elements_of<Windowed{Gqa{.kv_heads = 8, .head_dim = 128}, 128_tok}> == 2'048);

// A full sequence says so.
constexpr bool refuses = [] {
    Inplace<int, 2> two{};
    return two.push(1) && two.push(2) && !two.push(3) && two.size() == 2;
}();
static_assert(refuses);
// Equality looks at live items only.
constexpr bool live_only = [] {
    Inplace<int, 2> a{};
    Inplace<int, 2> b{};
    const bool pushed = a.push(1) && a.push(2) && b.push(1);
    a.count = 1;
    return pushed && a == b;
}();
static_assert(live_only);

constexpr bool says = [] {
    char text[64]{};
    const char* want = "layer 7: 8 heads cannot be dealt to 3 ranks";
    const char* got = message({.code = Errc::heads_not_divisible, .layer = 7, .got = 8, .want = 3}, text, sizeof text);
    for (; *want != '\0' && *want == *got; ++want, ++got) {
    }
    return *want == *got;
}();
static_assert(says);
constexpr bool cuts = [] {
    char text[5]{'x', 'x', 'x', 'x', 'x'};
    message({.code = Errc::heads_not_divisible, .got = 8, .want = 3}, text, 4);
    return text[0] == '8' && text[1] == ' ' && text[2] == 'h' && text[3] == '\0' && text[4] == 'x';
}();
static_assert(cuts);

}  // namespace

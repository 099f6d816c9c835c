// SPDX-License-Identifier: MIT
#include <cstdio>
#include <kvcap/core.hpp>

int main() {
    using namespace kvcap;
    // 8 layers that keep every token and 40 that keep the last 1,024: known, and checked, at build time.
    constexpr auto model = compose(repeat(8, Gqa{.kv_heads = 8, .head_dim = 128}),
                                   repeat(40, Windowed{Gqa{.kv_heads = 8, .head_dim = 128}, 1024_tok})).value();
    static_assert(bytes_per_token(model, {.tp = 8}) == 4096_B);

    const auto held = fold(model, {.prompt = 32'768_tok}, {.tp = 8}).value();
    std::printf("each of 8 ranks holds %llu bytes\n", static_cast<unsigned long long>(held.total().value));
}

// SPDX-License-Identifier: MIT
#include <cstdio>
#include "kvcap_core.hpp"

unsigned long long from_another_file();

int main() {
    constexpr auto v3 = kvcap::compose(kvcap::repeat(61, kvcap::Mla{.latent = 512, .rope = 64})).value();
    static_assert(kvcap::bytes_per_token(v3, {.tp = 8}) == kvcap::Bytes{70'272});
    static_assert(kvcap::fold(v3, {.prompt = kvcap::Tokens{32'768}}, {.tp = 8}).value().total().value ==
                  2'302'672'896);
    std::printf("%llu, kvcap %s\n", from_another_file(), KVCAP_VERSION);
    return from_another_file() == 70'272 ? 0 : 1;
}

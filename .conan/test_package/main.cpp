// SPDX-License-Identifier: MIT
#include <cstdio>
#include <kvcap/core.hpp>
#ifdef WITH_IO
#include <kvcap/io.hpp>
#include <kvcap/report.hpp>
#endif

int main() {
    constexpr auto v3 = kvcap::compose(kvcap::repeat(61, kvcap::Mla{.latent = 512, .rope = 64})).value();
    const auto bytes = kvcap::bytes_per_token(v3, {.tp = 8}).value();
    std::printf("%llu\n", static_cast<unsigned long long>(bytes.value));
    return bytes.value == 70'272 ? 0 : 1;
}

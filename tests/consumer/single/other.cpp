// SPDX-License-Identifier: MIT
#include "kvcap_core.hpp"

unsigned long long from_another_file() {
    const auto v3 = kvcap::compose(kvcap::repeat(61, kvcap::Mla{.latent = 512, .rope = 64})).value();
    return kvcap::bytes_per_token(v3, {.tp = 8}).value().value;
}

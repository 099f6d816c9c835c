// SPDX-License-Identifier: MIT
#include "model.hpp"

#include <cstdio>
#include <initializer_list>

int main() {
    if (odr::model_of_other() != &odr::model) {
        std::puts("one model became two objects");
        return 1;
    }
    for (const kvcap::u32 tp : {1u, 2u, 4u, 8u}) {
        for (const kvcap::u64 tokens : {0u, 1u, 511u, 512u, 513u, 100'000u}) {
            const auto here = kvcap::fold(odr::model, {.prompt = {tokens}}, {.tp = tp}).value_or({});
            if (!(here == odr::held_by_other(tokens, tp)) || (tokens > 0 && here.total().value == 0)) {
                std::printf("translation units disagree at %llu tokens, tp %u\n",
                            static_cast<unsigned long long>(tokens), tp);
                return 1;
            }
        }
    }
    std::puts("both translation units agree");
}

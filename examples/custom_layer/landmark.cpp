// SPDX-License-Identifier: MIT
// A layer kind of your own: keys and values of the last `window` tokens at full precision, and for every `block` tokens
// one landmark key that stays for ever. One regular value with forms(): nothing else has to know about it.
#include <cstdio>
#include <initializer_list>
#include <kvcap/core.hpp>

namespace mine {

using namespace kvcap;

struct Landmark {
    u32 kv_heads = 0;
    u32 head_dim = 0;
    u32 block = 64;
    Tokens window{};

    constexpr LayerForms forms() const noexcept {
        const Stream key{.role = Role::key, .split = Split::heads, .heads = kv_heads, .width = head_dim};
        Stream value = key;
        value.role = Role::value;
        return forms_of(form_of(Kind::attention, {.keep = Keep::window, .span = window}, key, value),
                        form_of(Kind::index, {.stride = block}, key));
    }
    friend constexpr bool operator==(const Landmark&, const Landmark&) = default;
};
static_assert(explain_policy<Landmark>());

// It composes like the built-in kinds: here with fp8 storage, on 8 ranks.
constexpr auto model =
    compose(repeat(30, Quantized{Landmark{.kv_heads = 8, .head_dim = 128, .block = 64, .window = 4096_tok},
                                 Stored{fp8}}),
            repeat(2, Gqa{.kv_heads = 8, .head_dim = 128})).value();

}  // namespace mine

int main() {
    for (const kvcap::u64 tokens : {4096u, 65536u, 1048576u}) {
        const auto held = kvcap::fold(mine::model, {.prompt = {tokens}}, {.tp = 8});
        if (!held) {
            char text[128];
            std::fprintf(stderr, "%s\n", kvcap::message(held.error(), text, sizeof text));
            return 1;
        }
        std::printf("%8llu tokens: %12llu bytes growing, %12llu bounded\n", static_cast<unsigned long long>(tokens),
                    static_cast<unsigned long long>(held->growing.value),
                    static_cast<unsigned long long>(held->bounded.value));
    }
}

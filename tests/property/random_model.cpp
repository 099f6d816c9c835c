// SPDX-License-Identifier: MIT
#include "random.hpp"

namespace property {

using namespace kvcap;

namespace {

LayerForms attention(Random& r) {
    const u32 heads = 1u << r.in32(0, 4);
    const Gqa gqa{
        .kv_heads = heads, .head_dim = 32 * r.in32(1, 4), .value_dim = r.chance(30) ? 32 * r.in32(1, 4) : 0};
    switch (r.in(0, 9)) {
        case 0: return Windowed{gqa, Tokens{r.in(1, 70)}}.forms();
        case 1: return Chunked{gqa, Tokens{r.in(1, 70)}}.forms();
        case 2: return WithSinks{Windowed{gqa, Tokens{r.in(1, 70)}}, Tokens{r.in(1, 8)}}.forms();
        case 3: return Budgeted{gqa, Tokens{r.in(1, 70)}}.forms();
        case 4: return Cross{gqa}.forms();
        case 5: return PromptOnly{gqa}.forms();
        case 6: return Both{IndexKeys{.dim = 128, .format = fp8_scale_per_128}, gqa}.forms();
        case 7: return Kivi{gqa, r.in32(1, 40), 2, 32}.forms();
        default: return gqa.forms();
    }
}

LayerForms latent(Random& r) {
    const u32 wide = 128 * r.in32(1, 4);
    switch (r.in(0, 3)) {
        case 0:
            return SparseMla{.latent = wide, .rope = 64, .index_dim = 128, .index_format = fp8_scale_per_128}
                .forms();
        case 1: return CompressedLatent{.latent = wide, .window = 16, .ratio = 4, .index_dim = 128}.forms();
        case 2:
            return CompressedLatent{.latent = wide, .window = 16, .ratio = r.chance(50) ? 128u : 0u}.forms();
        default: return Mla{.latent = wide, .rope = 64}.forms();
    }
}

LayerForms recurrent(Random& r) {
    const u32 heads = 1u << r.in32(0, 4);
    const u32 dim = 8 * r.in32(1, 8);
    switch (r.in(0, 11)) {
        case 0: return Mamba1{.inner = 16 * heads, .state_dim = 16}.forms();
        case 1:
            return Mamba2{.heads = heads, .head_dim = dim, .state_dim = 16, .groups = r.in32(0, 3)}.forms();
        case 2:
            return GatedDelta{.key_heads = heads, .key_dim = dim, .value_heads = 2 * heads, .value_dim = dim}
                .forms();
        case 3: return Kda{.heads = heads, .head_dim = dim}.forms();
        case 4: return lightning(heads, dim).forms();
        case 5: return gla(heads, dim, 2 * dim).forms();
        case 6: return short_conv(16 * heads, 3).forms();
        case 7: return rg_lru(16 * heads, 4).forms();
        case 8: return rwkv(16 * heads, heads, dim).forms();
        case 9: return rwkv4(16 * heads, 16 * heads).forms();
        case 10: return mlstm(heads, dim, 2 * dim).forms();
        default: return Both{Gqa{heads, dim}, Mamba2{heads, dim, 16, heads}}.forms();
    }
}

LayerForms stored(Random& r, LayerForms forms) {
    switch (r.in(0, 5)) {
        case 0:
            return each_form(forms, [](const LayerForm& form) noexcept { return Stored{fp8}.store(form); });
        case 1:
            return each_form(forms,
                             [](const LayerForm& form) noexcept { return fp8_per_token_head.store(form); });
        case 2:
            return each_form(forms,
                             [](const LayerForm& form) noexcept { return Int4PerTokenHead{}.store(form); });
        default: return forms;
    }
}

}  // namespace

LayerForms random_layer(Random& r) {
    switch (r.in(0, 9)) {
        case 0: return LayerForms{};
        case 1:
        case 2: return latent(r);
        case 3:
        case 4: return recurrent(r);
        default: return stored(r, attention(r));
    }
}

ModelSpec random_model(Random& r) {
    ModelSpec model{};
    LayerForms kinds[3];
    const u32 different = r.in32(1, 3);
    for (u32 i = 0; i < different; ++i) {
        kinds[i] = random_layer(r);
    }
    model.layers = r.in32(1, 20);
    for (u32 layer = 0; layer < model.layers; ++layer) {
        static_cast<void>(model.add(layer, kinds[r.in(0, different - 1)]));
    }
    if (r.chance(20)) {
        model.draft_layers = r.in32(1, 2);
        for (u32 i = 0; i < model.draft_layers; ++i) {
            static_cast<void>(model.add(model.layers + i, kinds[0]));
        }
    }
    model.query_heads = r.chance(50) ? 0 : 16;
    return model;
}

}  // namespace property

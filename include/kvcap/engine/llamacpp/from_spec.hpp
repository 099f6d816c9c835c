// SPDX-License-Identifier: MIT
// What would llama.cpp make of a model that did not come from a GGUF file? Its forms as a card: keys and
// values, one latent row, index keys, and state rows. Cross attention is not kept by the engine and is left
// out.
#pragma once

#include <kvcap/engine/llamacpp/card.hpp>
#include <kvcap/engine/scale.hpp>
#include <kvcap/engine/uncovered.hpp>
#include <string_view>

namespace kvcap::inline v1::llamacpp {

constexpr u64 length_of(const char* name) noexcept {
    u64 size = 0;
    while (name[size] != '\0') {
        ++size;
    }
    return size;
}

constexpr u16 rule_named(const char* name) noexcept {
    return arch_index(name, length_of(name));
}

/// Classes of Hugging Face whose caches are plain and whose architecture refuses -sm tensor.
/// Source: llama.cpp v0.5.0, conversion/*.py, `ModelBase.register`.
struct PlainClass {
    const char* name = "";
    const char* architecture = "";
};

inline constexpr PlainClass plain_classes[] = {
    {"BitnetForCausalLM", "bitnet"},   {"MiniCPM3ForCausalLM", "minicpm3"}, {"MiniMaxM2ForCausalLM", "minimax-m2"},
    {"MPTForCausalLM", "mpt"},         {"MptForCausalLM", "mpt"},           {"Olmo2ForCausalLM", "olmo2"},
    {"Olmo3ForCausalLM", "olmo2"},     {"OlmoeForCausalLM", "olmoe"},
};

/// The rule of a class of plain caches; `rule` where it has none of its own.
constexpr u16 rule_of_class(const char* name, u16 rule) noexcept {
    for (const PlainClass& each : plain_classes) {
        const u64 size = length_of(each.name);
        if (same_text(each.name, name, size) && name[size] == '\0') {
            return rule_named(each.architecture);
        }
    }
    return rule;
}

/// Model types of Hugging Face that may say a window, of which their architecture here knows nothing: cells are for
/// everything. Source: llama.cpp v0.5.0, src/models/*.cpp (no n_swa of llama, phi3, phimoe, qwen2, qwen3, starcoder2).
constexpr bool ignores_windows(std::string_view model_type) noexcept {
    constexpr std::string_view types[] = {"mistral", "mixtral",   "phi3",  "phimoe",   "starcoder2",
                                          "qwen2",   "qwen2_moe", "qwen3", "qwen3_moe"};
    for (const std::string_view type : types) {
        if (type == model_type) {
            return true;
        }
    }
    return false;
}

/// The card with cells for everything; whether that changes it.
constexpr bool drop_windows(Card& card) noexcept {
    const bool had = card.window_type != WindowType::none;
    card.window_type = WindowType::none;
    card.window = 0;
    for (Block& block : card.blocks) {
        block.window = false;
    }
    return had;
}

/// What the caches of a model have in common, and what each block has.
struct SpecReader {
    Card card{};
    bool attention = false;
    bool states = false;
    bool compressed = false;
    Error error{};

    constexpr void fail(u32 layer, Error why) noexcept {
        if (error.code == Errc::ok) {
            error = why;
            error.layer = layer;
        }
    }
    constexpr void set_window(u32 layer, const Retention& retention) noexcept {
        const WindowType type = retention.keep == Keep::chunk ? WindowType::chunked : WindowType::standard;
        const u32 span = static_cast<u32>(smaller(retention.span.value, ~u32{0}));
        if (card.window_type != WindowType::none && (card.window != span || card.window_type != type)) {
            return fail(layer, {.code = Errc::unsupported, .what = Uncovered::second_window, .got = span,
                                .want = card.window});
        }
        card.window = span;
        card.window_type = type;
        card.blocks[layer].window = true;
    }
    /// The engine keeps everything or one window; anything else has no rule.
    constexpr void set_retention(u32 layer, const Retention& retention) noexcept {
        if (retention.stride != 1) {
            fail(layer, not_covered(retention, Uncovered::stride));
        } else if (retention.keep == Keep::window || retention.keep == Keep::chunk) {
            set_window(layer, retention);
        }
    }
    constexpr void add_attention(u32 layer, const LayerForm& form) noexcept {
        Block& block = card.blocks[layer];
        attention = block.attention = true;
        for (const Stream& stream : form.streams) {
            if (stream.role == Role::value) {
                block.value = stream.width;
            } else {
                block.key = stream.width;
                block.kv_heads = stream.heads;
            }
        }
        set_retention(layer, form.retention);
    }
    constexpr void add_latent(u32 layer, const LayerForm& form) noexcept {
        Block& block = card.blocks[layer];
        if (form.retention.stride > 1) {
            block.ratio = static_cast<u16>(form.retention.stride);
            compressed = true;
            return;
        }
        attention = block.attention = card.latent = true;
        block.kv_heads = 1;
        block.key = block.value = 0;
        for (const Stream& stream : form.streams) {
            block.key += stream.width * stream.heads;
        }
        set_retention(layer, form.retention);
    }
    constexpr void add_state(u32 layer, const LayerForm& form) noexcept {
        StateRows rows{};
        for (const Stream& stream : form.streams) {
            (stream.role == Role::conv ? rows.r : rows.s) += stream.elements();
        }
        if (states && !(rows == card.state)) {
            return fail(layer, {.code = Errc::unsupported, .what = Uncovered::second_state});
        }
        card.state = rows;
        states = card.blocks[layer].state = true;
    }
    /// A cell is of one token of the sequence, and a window's are the trailing ones: its sinks would have no cell
    /// (what `--keep` holds back when a context is full is not the layer's, and changes no cache).
    constexpr void add(u32 layer, const LayerForm& form) noexcept {
        if (form.retention.source == Source::encoder || form.kind == Kind::compressor ||
            form.retention.keep == Keep::once || form.streams.empty()) {
            return;
        }
        const Role role = form.streams[0].role;
        if (const Uncovered what = unserved(form.retention); what != Uncovered::nothing) {
            fail(layer, not_covered(form.retention, what));
        } else if (role == Role::state || role == Role::conv) {
            add_state(layer, form);
        } else if (role == Role::index) {
            card.indexed = card.blocks[layer].index = true;
            card.index_width = form.streams[0].heads * form.streams[0].width;
        } else if (role == Role::latent || role == Role::rope) {
            add_latent(layer, form);
        } else {
            add_attention(layer, form);
        }
    }
    constexpr u16 rule() const noexcept {
        if (compressed) {
            return rule_named("deepseek4");
        }
        if (states) {
            return rule_named(attention ? "jamba" : "mamba");
        }
        if (card.indexed) {
            return rule_named(card.latent ? "deepseek32" : "minimax-m3");
        }
        return rule_named(card.latent ? "deepseek2" : "llama");
    }
};

/// Errors: a model that the engine has no memory for (several window sizes, several state shapes ...).
constexpr Result<Card> card_from(const ModelSpec& model) noexcept {
    SpecReader reader{};
    if (const Error wrong = check_scale(model, 1); wrong.code != Errc::ok) {
        return wrong;
    }
    if (model.layers > max_blocks) {
        return Error{.code = Errc::capacity, .got = model.layers, .want = max_blocks};
    }
    reader.card.layers = model.layers;
    reader.card.blocks.count = model.layers;
    for (u32 i = 0; i < model.layers; ++i) {
        reader.card.blocks[i] = {
            .heads = model.query_heads, .owner = static_cast<u16>(i), .attention = false};
    }
    for (const Cache& cache : model.caches) {
        if (cache.layer < model.layers) {
            reader.add(cache.layer, model.form_of(cache));
        }
    }
    Card& card = reader.card;
    if (reader.error.code != Errc::ok) {
        return reader.error;
    }
    card.rule = reader.rule();
    if (reader.compressed) {
        card.latent = false;
    }
    if (card.indexed && card.arch().family == Family::msa) {
        for (const Block& block : card.blocks) {
            card.index_value = block.value != 0 ? block.value : card.index_value;
        }
    }
    return card;
}

}  // namespace kvcap::inline v1::llamacpp

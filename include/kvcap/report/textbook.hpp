// SPDX-License-Identifier: MIT
// What would the textbook say, 2 x layers x kv_heads x head_dim, and by which classic mistake does it differ?
// The mistake that is named is the one that costs most at this length.
#pragma once

#include <kvcap/io/read_model.hpp>
#include <kvcap/report/labels.hpp>
#include <kvcap/report/size.hpp>
#include <algorithm>
#include <optional>

namespace kvcap::inline v1::report {

/// times: textbook / held at the point, 0 when nothing is held. copies: stored on all ranks / unique.
struct TextbookVerdict {
    Bytes per_token{};
    double times = 0;
    double copies = 1;
    bool depends_on_length = false;
    std::string mistake;
};

/// Of one attention element, as elems and bytes of a block: keys, and values, where these have a stream of their own.
struct AttentionFormats {
    ElementFormat keys = bf16;
    ElementFormat values = bf16;
};

/// Those of the first layer that keeps any.
inline AttentionFormats attention_formats(const ModelSpec& model) {
    for (const LayerForm& form : model.forms) {
        for (const Stream& stream : form.streams) {
            if (is_attention(stream.role) && form.retention.keep != Keep::once) {
                const auto values = std::find_if(form.streams.begin(), form.streams.end(),
                                                 [](const Stream& each) { return each.role == Role::value; });
                return {stream.format, values == form.streams.end() ? stream.format : values->format};
            }
        }
    }
    return {};
}

inline u64 bytes_of_elements(u64 elements, ElementFormat format) {
    const u64 rest = elements % format.elems * format.bytes / format.elems;
    return saturating_sum(saturating_product(elements / format.elems, format.bytes), rest);
}

/// Half of the elements are keys.
inline Bytes textbook_bytes(const Textbook& book, const AttentionFormats& of, u64 tokens) {
    const u64 elements = saturating_product(book.elements_per_token(), tokens);
    const u64 keys = elements - elements / 2;
    return {of.keys == of.values ? bytes_of_elements(elements, of.keys)
                                 : saturating_sum(bytes_of_elements(keys, of.keys),
                                                  bytes_of_elements(elements - keys, of.values))};
}

/// What one layer keeps, in the words of the mistakes.
struct LayerFacts {
    u64 held = 0;
    bool latent = false;
    bool entries = false;
    bool window = false;
    bool state = false;
    bool cross = false;
    bool index = false;
    bool prompt_only = false;
    bool attention = false;
};

inline LayerFacts facts_of(const ModelSpec& model, u32 layer, const Lengths& at) {
    LayerFacts facts{};
    for (const Cache& cache : model.caches) {
        const LayerForm& form = model.form_of(cache);
        const Retention& kept = form.retention;
        const Result<BytesPerSlot> slot = bytes_per_slot(form);
        if (cache.layer != layer || kept.keep == Keep::once || !slot) {
            continue;
        }
        const bool tokens = kept.keep != Keep::last && kept.source == Source::decoder;
        const bool compressor = form.kind == Kind::compressor;
        facts.held = saturating_sum(facts.held, (kept.slots(at) * *slot).value);
        facts.latent = facts.latent || form.kind == Kind::latent;
        facts.entries = facts.entries || (tokens && kept.stride > 1);
        facts.window = facts.window ||
                       (tokens && !compressor && kept.slots(at).value < at.from(kept.source) / kept.stride);
        facts.state = facts.state || kept.keep == Keep::last || compressor;
        facts.cross = facts.cross || kept.source == Source::encoder;
        facts.index = facts.index || form.kind == Kind::index;
        facts.prompt_only = facts.prompt_only || kept.source == Source::prompt;
        facts.attention = facts.attention || (form.kind == Kind::attention && tokens);
    }
    return facts;
}

/// Where heads and widths are those of every layer, the usual keys do not say them.
inline const char* words_of_heads(const ModelSpec& model) {
    u32 kinds = 0;
    for (const LayerForm& form : model.forms) {
        kinds += form.kind == Kind::attention && form.retention.source == Source::decoder ? 1 : 0;
    }
    return kinds > 1 ? "heads or widths that differ by layer" : "heads or widths under keys that it does not read";
}

inline const char* words_for(const LayerFacts& facts, bool too_much, bool shares, const char* heads) {
    if (!too_much) {
        return facts.cross   ? "the encoder's tokens left out"
               : facts.state ? "states left out"
               : facts.index ? "index keys left out"
                             : heads;
    }
    return facts.entries       ? "compressed entries counted per token"
           : facts.window      ? "windows at full length"
           : facts.latent      ? "a latent is not heads"
           : facts.prompt_only ? "prompt-only layers keep no decoded tokens"
           : facts.cross       ? "the encoder's tokens are not the decoder's"
           : facts.state && !facts.attention ? "a state is not tokens"
           : shares            ? "shared layers counted as their own"
           : facts.held == 0   ? "layers without a cache counted"
                               : heads;
}

/// The mistake behind most of the bytes by which the textbook is off, in the direction in which it is off.
inline std::string costliest_mistake(const ReadModel& read, const ModelSpec& stored, const Lengths& at,
                                     bool too_much) {
    struct Cost {
        std::string_view words;
        u64 bytes = 0;
    };
    const Textbook one_layer{
        .layers = 1, .kv_heads = read.textbook.kv_heads, .head_dim = read.textbook.head_dim};
    const u64 book =
        textbook_bytes(one_layer, attention_formats(stored), (at.prompt + at.decoded).value).value;
    std::vector<Cost> costs;
    const char* const heads = words_of_heads(stored);
    const u64 layers = smaller(larger(read.textbook.layers, stored.all_layers()), 0x10000);
    for (u32 layer = 0; layer < layers; ++layer) {
        const LayerFacts facts = facts_of(stored, layer, at);
        const u64 counted = layer < read.textbook.layers ? book : 0;
        if (counted == facts.held || (counted > facts.held) != too_much) {
            continue;
        }
        const bool shares = std::any_of(read.shared.begin(), read.shared.end(),
                                        [&](const SharedLayer& own) { return own.layer == layer; });
        const std::string_view words = words_for(facts, too_much, shares, heads);
        auto cost = std::find_if(costs.begin(), costs.end(), [&](const Cost& c) { return c.words == words; });
        if (cost == costs.end()) {
            cost = costs.insert(costs.end(), Cost{words, 0});
        }
        cost->bytes = saturating_sum(cost->bytes, too_much ? counted - facts.held : facts.held - counted);
    }
    const auto most = std::max_element(costs.begin(), costs.end(),
                                       [](const Cost& a, const Cost& b) { return a.bytes < b.bytes; });
    return most == costs.end() ? heads : std::string{most->words};
}

/// Nothing when the file gives no textbook numbers.
inline std::optional<TextbookVerdict> textbook_verdict(const ReadModel& read, const ModelSpec& stored,
                                                       const SizeAnswer& size) {
    const SizeAnswer::At& last = size.points.back();
    const u64 tokens = last.point.tokens;
    const AttentionFormats formats = attention_formats(stored);
    if (tokens == 0 || formats.keys.elems == 0 || formats.values.elems == 0) {
        return std::nullopt;
    }
    const Bytes per_token = textbook_bytes(read.textbook, formats, 1);
    if (per_token.value == 0) {
        return std::nullopt;
    }
    TextbookVerdict out{.per_token = per_token, .times = 0, .copies = 1, .depends_on_length = false,
                        .mistake = {}};
    const u64 once = size.once.value;
    const u64 held = (last.unique.value - once) / larger(last.point.sequences, 1);
    const Bytes book = textbook_bytes(read.textbook, formats, tokens);
    out.times = held == 0 ? 0 : static_cast<double>(book.value) / static_cast<double>(held);
    if (last.unique.value != 0) {
        out.copies = static_cast<double>(last.total.value) / static_cast<double>(last.unique.value);
    }
    out.depends_on_length = Bytes{saturating_product(size.per_token.value, tokens)} != Bytes{held};
    if (book.value != held) {
        out.mistake = costliest_mistake(read, stored, last.point.lengths, book.value > held);
    }
    return out;
}

/// "textbook formula: 1,748,992 B per token, 24.9x too much (a latent is not heads)"
inline std::string text_of(const TextbookVerdict& verdict, u64 tokens) {
    std::string out = fmt::format("textbook formula: {} per token, ", exact(verdict.per_token));
    const std::string at = verdict.depends_on_length ? fmt::format(" at {} tokens", grouped(tokens)) : "";
    if (verdict.mistake.empty()) {
        return out + (verdict.copies > 1.005
                          ? fmt::format("the same here, but ranks store each byte {} (heads are "
                                        "fewer than ranks)",
                                        factor(verdict.copies))
                          : "the same here");
    }
    if (verdict.times == 0) {
        return out + fmt::format("for a cache that does not grow ({})", verdict.mistake);
    }
    const bool more = verdict.times > 1;
    return out + fmt::format("{} too {}{} ({})", factor(more ? verdict.times : 1 / verdict.times),
                             more ? "much" : "little", at, verdict.mistake);
}

}  // namespace kvcap::inline v1::report

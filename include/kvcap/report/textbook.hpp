// SPDX-License-Identifier: MIT
// What would the textbook say, 2 x layers x kv_heads x head_dim, and by which classic mistake does it differ? The
// mistake that is named is the one that costs most at this length.
#pragma once

#include <kvcap/io/read_model.hpp>
#include <kvcap/report/labels.hpp>
#include <kvcap/report/size.hpp>
#include <algorithm>
#include <optional>

namespace kvcap::inline v1::report {

/// times: textbook / held at the point, 0 when nothing is held.
struct TextbookVerdict {
    Bytes per_token{};
    double times = 0;
    bool depends_on_length = false;
    std::string mistake;
};

/// The stored bytes of one attention element, as elems and bytes of a block.
inline ElementFormat attention_format(const ModelSpec& model) {
    for (const LayerForm& form : model.forms) {
        for (const Stream& stream : form.streams) {
            if (is_attention(stream.role) && form.retention.keep != Keep::once) {
                return stream.format;
            }
        }
    }
    return bf16;
}

inline Bytes textbook_bytes(const Textbook& book, ElementFormat format, u64 tokens) {
    const u64 elements = saturating_product(book.elements_per_token(), tokens);
    return {saturating_product(elements / format.elems, format.bytes) + elements % format.elems * format.bytes /
                                                                            format.elems};
}

/// Layer-elements that the textbook counts for each kind of layer and the model does not hold, and why.
inline std::string costliest_mistake(const ReadModel& read, const ModelSpec& stored, const Lengths& at) {
    const u64 seen = (at.prompt + at.decoded).value;
    u64 latents = 0;
    u64 windows = 0;
    u64 states = 0;
    u64 prompt_only = 0;
    u64 index = 0;
    std::vector<u32> owners;
    for (const Cache& cache : stored.caches) {
        const LayerForm& form = stored.form_of(cache);
        const Retention& kept = form.retention;
        owners.push_back(cache.layer);
        latents += form.kind == Kind::latent ? 1 : 0;
        states += kept.keep == Keep::last ? 1 : 0;
        index += form.kind == Kind::index ? 1 : 0;
        prompt_only += kept.source == Source::prompt && at.decoded.value != 0 ? 1 : 0;
        windows += kept.keep != Keep::last && kept.keep != Keep::once && kept.slots(at).value < seen / kept.stride ? 1 : 0;
    }
    std::sort(owners.begin(), owners.end());
    const u64 owning = static_cast<u64>(std::unique(owners.begin(), owners.end()) - owners.begin());
    const u64 without = larger(stored.all_layers(), owning) - owning;
    const struct { u64 layers; const char* words; } mistakes[] = {
        {latents, "a latent is not heads"},
        {windows, "windows at full length"},
        {states, "a state is not tokens"},
        {read.shared.size(), "shared layers counted as own"},
        {without, "layers without a cache counted"},
        {prompt_only, "prompt-only layers keep no decoded tokens"},
        {index, "index keys left out"},
    };
    u64 most = 0;
    std::string words = "head counts or widths that differ by layer";
    for (const auto& mistake : mistakes) {
        if (mistake.layers > most) {
            most = mistake.layers;
            words = mistake.words;
        }
    }
    return words;
}

/// Nothing when the file gives no textbook numbers.
inline std::optional<TextbookVerdict> textbook_verdict(const ReadModel& read, const ModelSpec& stored,
                                                       const SizeAnswer& size) {
    const SizeAnswer::At& last = size.points.back();
    const u64 tokens = last.point.tokens;
    const ElementFormat format = attention_format(stored);
    const Bytes per_token = textbook_bytes(read.textbook, format, 1);
    if (per_token.value == 0 || tokens == 0 || format.elems == 0) {
        return std::nullopt;
    }
    TextbookVerdict out{.per_token = per_token, .times = 0, .depends_on_length = false, .mistake = {}};
    const u64 once = size.once.value;
    const u64 held = (last.unique.value - once) / larger(last.point.sequences, 1);
    const Bytes book = textbook_bytes(read.textbook, format, tokens);
    out.times = held == 0 ? 0 : static_cast<double>(book.value) / static_cast<double>(held);
    out.depends_on_length = Bytes{saturating_product(size.per_token.value, tokens)} != Bytes{held};
    if (book.value != held) {
        out.mistake = costliest_mistake(read, stored, last.point.lengths);
    }
    return out;
}

/// "textbook formula: 1,748,992 B per token, 24.9x too much (a latent is not heads)"
inline std::string text_of(const TextbookVerdict& verdict, u64 tokens) {
    std::string out = fmt::format("textbook formula: {} per token, ", exact(verdict.per_token));
    const std::string at = verdict.depends_on_length ? fmt::format(" at {} tokens", grouped(tokens)) : "";
    if (verdict.mistake.empty()) {
        return out + "the same here";
    }
    if (verdict.times == 0) {
        return out + fmt::format("for a cache that does not grow ({})", verdict.mistake);
    }
    const bool more = verdict.times > 1;
    return out + fmt::format("{} too {}{} ({})", factor(more ? verdict.times : 1 / verdict.times),
                             more ? "much" : "little", at, verdict.mistake);
}

}  // namespace kvcap::inline v1::report

// SPDX-License-Identifier: MIT
// What must be equal for two chunks to hold the same content? The parent chain and the tokens, and everything else that
// a prompt says beside its tokens: adapter and its version, media with their places, salt, user key, embeddings.
#pragma once

#include <kvcap/identity/format.hpp>
#include <span>

namespace kvcap::inline v1 {

/// Placeholder tokens are equal for all images: what lies there is told apart by `hash` alone.
/// at, length: the run of placeholder tokens, counted from the chunk's first token; a run that began in an earlier
/// chunk has skipped > 0 tokens before this chunk.
struct MediaRun {
    std::string_view hash;
    u64 at = 0;
    u64 length = 0;
    u64 skipped = 0;
    friend constexpr bool operator==(const MediaRun&, const MediaRun&) = default;
};

/// parent: the digest of the chunk before; `none` at the root. adapter_version: changes whenever the adapter's weights
/// do, also under an old name. user_key: whatever a caller may choose; it is no adapter id and no salt.
/// Texts and lists are borrowed.
struct ChunkIdentity {
    StatedText parent;
    std::span<const u32> tokens;
    StatedText adapter, adapter_version, salt, user_key;
    std::span<const MediaRun> media;
    StatedText embeddings;
};

template <class T>
constexpr bool same_items(std::span<const T> a, std::span<const T> b) noexcept {
    if (a.size() != b.size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!(a[i] == b[i])) {
            return false;
        }
    }
    return true;
}

/// Partial identities are refused: every text is stated, adapter and version come together, a chunk has tokens, media
/// lie inside it, in order and without overlap.
constexpr Refusal refusal_of(const ChunkIdentity& chunk) noexcept {
    const auto stated = [](Field field, const StatedText& fact) noexcept -> Refusal {
        const bool empty = fact.has_value() && fact.value.empty();
        return {field, fact.said == Said::nothing ? WhyRefused::unstated
                       : empty                    ? WhyRefused::empty
                                                  : WhyRefused::fine};
    };
    const Refusal texts[] = {stated(Field::parent, chunk.parent), stated(Field::adapter, chunk.adapter),
                             stated(Field::adapter_version, chunk.adapter_version), stated(Field::salt, chunk.salt),
                             stated(Field::user_key, chunk.user_key), stated(Field::embeddings, chunk.embeddings)};
    for (const Refusal& refusal : texts) {
        if (refusal) {
            return refusal;
        }
    }
    if (chunk.adapter.said != chunk.adapter_version.said) {
        return {Field::adapter_version, WhyRefused::both_or_neither};
    }
    if (chunk.tokens.empty()) {
        return {Field::tokens, WhyRefused::empty};
    }
    u64 free_from = 0;
    for (const MediaRun& run : chunk.media) {
        const bool inside = run.at >= free_from && run.length > 0 && run.length <= chunk.tokens.size() &&
                            run.at <= chunk.tokens.size() - run.length;
        if (run.hash.empty() || !inside) {
            return {Field::media, run.hash.empty() ? WhyRefused::empty : WhyRefused::malformed};
        }
        free_from = run.at + run.length;
    }
    return {};
}

constexpr Fields diff(const ChunkIdentity& a, const ChunkIdentity& b) noexcept {
    Fields differing{};
    const auto note = [&](Field field, bool same) noexcept {
        if (!same) {
            differing.items[differing.count++] = field;
        }
    };
    note(Field::parent, a.parent == b.parent);
    note(Field::tokens, same_items(a.tokens, b.tokens));
    note(Field::adapter, a.adapter == b.adapter);
    note(Field::adapter_version, a.adapter_version == b.adapter_version);
    note(Field::salt, a.salt == b.salt);
    note(Field::user_key, a.user_key == b.user_key);
    note(Field::media, same_items(a.media, b.media));
    note(Field::embeddings, a.embeddings == b.embeddings);
    return differing;
}

/// May b's request use a's bytes? Only when nothing differs, in format and in content, and nothing was left unsaid.
constexpr bool exchangeable(const FormatIdentity& a, const ChunkIdentity& of_a, const FormatIdentity& b,
                            const ChunkIdentity& of_b) noexcept {
    return !refusal_of(a) && !refusal_of(of_a) && diff(a, b).empty() && diff(of_a, of_b).empty();
}

}  // namespace kvcap::inline v1

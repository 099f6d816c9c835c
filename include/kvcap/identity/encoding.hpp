// SPDX-License-Identifier: MIT
// Which bytes does a digest see? One encoding for one identity, and no two identities with the same one:
// "kvcap" kind version, then each field in order as id, 0 (none) or 1 and its value; texts and lists carry their
// length first; all numbers are 8 bytes, little-endian. The digest itself is the caller's policy.
#pragma once

#include <kvcap/identity/chunk.hpp>

namespace kvcap::inline v1 {

inline constexpr u8 encoding_version = 1;

namespace encoding {

constexpr void number(u64 value, auto& put) {
    for (int i = 0; i < 8; ++i) {
        put(static_cast<u8>(value >> (8 * i)));
    }
}

constexpr void text(std::string_view value, auto& put) {
    number(value.size(), put);
    for (const char c : value) {
        put(static_cast<u8>(c));
    }
}

constexpr void head(char kind, auto& put) {
    for (const char c : std::string_view{"kvcap"}) {
        put(static_cast<u8>(c));
    }
    put(static_cast<u8>(kind));
    put(encoding_version);
}

/// Calls each(value) for every number of a form, in order; `form` may be const (encoding) or not (decoding).
constexpr void each_number(auto& form, auto&& each) {
    auto& kept = form.retention;
    each(form.kind), each(kept.keep), each(kept.source), each(kept.stride), each(kept.lag);
    each(kept.span.value), each(kept.sinks.value), each(form.streams.count);
    for (auto& stream : form.streams) {
        each(stream.role), each(stream.split), each(stream.rows), each(stream.heads), each(stream.width);
        each(stream.format.elems), each(stream.format.bytes);
    }
}

constexpr void value(std::string_view fact, auto& put) { text(fact, put); }
constexpr void value(u64 fact, auto& put) { number(fact, put); }
constexpr void value(const ModelSpec& model, auto& put) {
    number(model.layers, put);
    number(model.draft_layers, put);
    number(model.query_heads, put);
    number(model.forms.size(), put);
    for (const LayerForm& form : model.forms) {
        each_number(form, [&](auto part) { number(static_cast<u64>(part), put); });
    }
    number(model.caches.size(), put);
    for (const Cache& cache : model.caches) {
        number(cache.layer, put);
        number(cache.form, put);
    }
}

template <class T>
constexpr void fact(Field field, const Stated<T>& stated, auto& put) {
    put(static_cast<u8>(field));
    put(stated.has_value() ? u8{1} : u8{0});
    if (stated.has_value()) {
        value(stated.value, put);
    }
}

}  // namespace encoding

/// Writes the encoding of a complete identity byte by byte into `put(u8)`; writes nothing and says why otherwise.
constexpr Refusal encode(const FormatIdentity& id, auto&& put) {
    if (const Refusal refusal = refusal_of(id)) {
        return refusal;
    }
    encoding::head('F', put);
    each_format_field([&](Field field, auto member) { encoding::fact(field, id.*member, put); });
    return {};
}

/// The content of one chunk, bound to the format by its digest (bytes): equal content in another format is another key.
constexpr Refusal encode(const ChunkIdentity& chunk, std::string_view format_digest, auto&& put) {
    if (const Refusal refusal = refusal_of(chunk)) {
        return refusal;
    }
    encoding::head('C', put);
    encoding::text(format_digest, put);
    encoding::fact(Field::parent, chunk.parent, put);
    encoding::number(chunk.tokens.size(), put);
    for (const u32 token : chunk.tokens) {
        encoding::number(token, put);
    }
    encoding::fact(Field::adapter, chunk.adapter, put);
    encoding::fact(Field::adapter_version, chunk.adapter_version, put);
    encoding::fact(Field::salt, chunk.salt, put);
    encoding::fact(Field::user_key, chunk.user_key, put);
    encoding::number(chunk.media.size(), put);
    for (const MediaRun& run : chunk.media) {
        encoding::text(run.hash, put);
        encoding::number(run.at, put), encoding::number(run.length, put), encoding::number(run.skipped, put);
    }
    encoding::fact(Field::embeddings, chunk.embeddings, put);
    return {};
}

}  // namespace kvcap::inline v1

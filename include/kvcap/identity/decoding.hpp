// SPDX-License-Identifier: MIT
// Which identity do these bytes stand for? The exact inverse of encode: anything the encoder would not write is
// refused, so decode(encode(x)) == x and encode(decode(b)) == b.
#pragma once

#include <kvcap/identity/encoding.hpp>

namespace kvcap::inline v1 {

/// identity: its texts lie in the decoded bytes. at: the offset at which reading stopped.
struct DecodedIdentity {
    FormatIdentity identity{};
    Refusal refusal{};
    u64 at = 0;
    constexpr explicit operator bool() const noexcept { return !refusal; }
};

namespace encoding {

struct Reader {
    std::string_view bytes;
    u64 at = 0;
    WhyRefused why = WhyRefused::fine;

    constexpr void fail(WhyRefused reason) noexcept { why = why == WhyRefused::fine ? reason : why; }
    constexpr u8 byte() noexcept {
        if (at >= bytes.size()) {
            fail(WhyRefused::truncated);
            return 0;
        }
        return static_cast<u8>(bytes[at++]);
    }
    constexpr void expect(u8 wanted, WhyRefused otherwise) noexcept {
        if (byte() != wanted) {
            fail(otherwise);
        }
    }
    constexpr u64 number() noexcept {
        u64 value = 0;
        for (int i = 0; i < 8; ++i) {
            value |= u64{byte()} << (8 * i);
        }
        return value;
    }
    /// A number not above `most`.
    constexpr u64 number_to(u64 most) noexcept {
        const u64 value = number();
        if (value > most) {
            fail(WhyRefused::malformed);
            return 0;
        }
        return value;
    }
    constexpr std::string_view text() noexcept {
        const u64 length = number();
        if (length > bytes.size() - at) {
            fail(WhyRefused::truncated);
            return {};
        }
        const std::string_view value = bytes.substr(at, length);
        at += length;
        return value;
    }
};

/// The largest value of each kind of number in a form.
constexpr u64 most(Kind) noexcept { return static_cast<u64>(Kind::state); }
constexpr u64 most(Keep) noexcept { return static_cast<u64>(Keep::once); }
constexpr u64 most(Source) noexcept { return static_cast<u64>(Source::encoder); }
constexpr u64 most(Role) noexcept { return static_cast<u64>(Role::state); }
constexpr u64 most(Split) noexcept { return static_cast<u64>(Split::groups); }
constexpr u64 most(u16) noexcept { return 0xffff; }
constexpr u64 most(u32) noexcept { return 0xffff'ffff; }
constexpr u64 most(u64) noexcept { return off_scale; }

constexpr void read(Reader& from, u64& fact) noexcept { fact = from.number(); }
constexpr void read(Reader& from, std::string_view& fact) noexcept { fact = from.text(); }

constexpr void read(Reader& from, LayerForm& form) noexcept {
    each_number(form, [&](auto& part) noexcept {
        using Part = std::remove_reference_t<decltype(part)>;
        const bool is_stream_count = static_cast<const void*>(&part) == static_cast<const void*>(&form.streams.count);
        const u64 limit = is_stream_count ? form.streams.capacity() : most(Part{});
        part = static_cast<Part>(from.number_to(limit));
    });
}

/// Every cache has its form; nothing is larger than its type.
constexpr void read(Reader& from, ModelSpec& model) noexcept {
    model.layers = static_cast<u32>(from.number_to(0xffff'ffff));
    model.draft_layers = static_cast<u32>(from.number_to(0xffff'ffff));
    model.query_heads = static_cast<u32>(from.number_to(0xffff'ffff));
    model.forms.count = static_cast<u32>(from.number_to(model.forms.capacity()));
    for (LayerForm& form : model.forms) {
        read(from, form);
    }
    model.caches.count = static_cast<u32>(from.number_to(model.caches.capacity()));
    for (Cache& cache : model.caches) {
        cache.layer = static_cast<u16>(from.number_to(0xffff));
        cache.form = static_cast<u16>(from.number_to(model.forms.empty() ? 0 : model.forms.size() - 1));
    }
    if (from.why == WhyRefused::fine && model.forms.empty()) {
        from.fail(WhyRefused::malformed);
    }
}

template <class T>
constexpr void read_fact(Reader& from, Field field, Stated<T>& fact) noexcept {
    from.expect(static_cast<u8>(field), WhyRefused::malformed);
    const u8 said = from.byte();
    if (said > 1) {
        from.fail(WhyRefused::malformed);
    }
    fact.said = said == 1 ? Said::value : Said::none;
    if (said == 1 && from.why == WhyRefused::fine) {
        read(from, fact.value);
    }
}

constexpr void read_head(Reader& from, char kind) noexcept {
    for (const char c : std::string_view{"kvcap"}) {
        from.expect(static_cast<u8>(c), WhyRefused::malformed);
    }
    from.expect(static_cast<u8>(kind), WhyRefused::malformed);
    from.expect(encoding_version, WhyRefused::unknown_version);
}

}  // namespace encoding

constexpr DecodedIdentity decode(std::string_view bytes) noexcept {
    DecodedIdentity decoded{};
    encoding::Reader from{.bytes = bytes};
    const auto stop = [&](Field field) noexcept {
        if (!decoded.refusal && from.why != WhyRefused::fine) {
            decoded.refusal = {field, from.why};
        }
    };
    encoding::read_head(from, 'F');
    stop(Field::count);
    each_format_field([&](Field field, auto member) noexcept {
        if (decoded.refusal) {
            return;
        }
        encoding::read_fact(from, field, decoded.identity.*member);
        stop(field);
    });
    if (!decoded.refusal && from.at != bytes.size()) {
        decoded.refusal = {Field::count, WhyRefused::trailing};
    }
    if (!decoded.refusal) {
        decoded.refusal = refusal_of(decoded.identity);
    }
    decoded.at = from.at;
    return decoded;
}

/// chunk: its texts lie in the decoded bytes, its lists in the caller's.
struct DecodedChunk {
    ChunkIdentity chunk{};
    std::string_view format_digest{};
    Refusal refusal{};
    u64 at = 0;
    constexpr explicit operator bool() const noexcept { return !refusal; }
};

/// tokens, media: where the lists go; room for bytes.size() / 8 items is always enough, fewer may be refused.
constexpr DecodedChunk decode_chunk(std::string_view bytes, std::span<u32> tokens,
                                    std::span<MediaRun> media) noexcept {
    DecodedChunk decoded{};
    ChunkIdentity& chunk = decoded.chunk;
    encoding::Reader from{.bytes = bytes};
    Field last = Field::count;
    const auto step = [&](Field field, auto&& reads) noexcept {
        if (from.why == WhyRefused::fine) {
            last = field;
            reads();
        }
    };
    const auto text = [&](Field field, StatedText& fact) noexcept {
        step(field, [&]() noexcept { encoding::read_fact(from, field, fact); });
    };
    encoding::read_head(from, 'C');
    step(Field::count, [&]() noexcept { decoded.format_digest = from.text(); });
    text(Field::parent, chunk.parent);
    step(Field::tokens, [&]() noexcept {
        const u64 count = from.number_to(tokens.size());
        for (u64 i = 0; i < count && from.why == WhyRefused::fine; ++i) {
            tokens[i] = static_cast<u32>(from.number_to(0xffff'ffff));
        }
        chunk.tokens = tokens.first(count);
    });
    text(Field::adapter, chunk.adapter), text(Field::adapter_version, chunk.adapter_version);
    text(Field::salt, chunk.salt), text(Field::user_key, chunk.user_key);
    step(Field::media, [&]() noexcept {
        const u64 count = from.number_to(media.size());
        for (u64 i = 0; i < count && from.why == WhyRefused::fine; ++i) {
            media[i].hash = from.text();
            media[i].at = from.number(), media[i].length = from.number(), media[i].skipped = from.number();
        }
        chunk.media = media.first(count);
    });
    text(Field::embeddings, chunk.embeddings);
    decoded.at = from.at;
    decoded.refusal = from.why != WhyRefused::fine ? Refusal{last, from.why}
                      : from.at != bytes.size()    ? Refusal{Field::count, WhyRefused::trailing}
                                                   : refusal_of(chunk);
    return decoded;
}

}  // namespace kvcap::inline v1

// SPDX-License-Identifier: MIT
// How is an identity written down? One JSON object: a key for each fact (name_of(Field)), a text or number for a value,
// null for "there is no such thing here", absent for unstated; `caches` is a spec line; `content` is the chunk, whose
// `parent` is the digest of the chunk before in hex. Unknown keys are refused: a misspelt fact is an unstated one.
#pragma once

#include <charconv>
#include <deque>
#include <kvcap/identity.hpp>
#include <kvcap/identity/keys.hpp>
#include <kvcap/io/json_load.hpp>
#include <kvcap/io/nearest.hpp>
#include <kvcap/io/spec_line.hpp>

namespace kvcap::inline v1 {

/// Owns what the identities borrow; can be moved, not copied.
struct OwnedIdentity {
    FormatIdentity format{};
    ChunkIdentity chunk{};
    bool has_chunk = false;

    OwnedIdentity() = default;
    OwnedIdentity(OwnedIdentity&&) = default;
    OwnedIdentity& operator=(OwnedIdentity&&) = default;
    OwnedIdentity(const OwnedIdentity&) = delete;
    OwnedIdentity& operator=(const OwnedIdentity&) = delete;

    std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }
    void keep_tokens(std::vector<u32> tokens) {
        tokens_ = std::move(tokens);
        chunk.tokens = tokens_;
    }
    void keep_media(std::vector<MediaRun> media) {
        media_ = std::move(media);
        chunk.media = media_;
    }

private:
    std::deque<std::string> texts_;
    std::vector<u32> tokens_;
    std::vector<MediaRun> media_;
};

namespace io {

inline Problem wrong_fact(const std::string& where, const std::string& found, const std::string& wanted,
                          const std::string& hint = {}) {
    return {Trouble::invalid, where, found, wanted, hint};
}

inline std::optional<std::string> bytes_of_hex(std::string_view text) {
    const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        const int high = digit(text[i]);
        const int low = digit(text[i + 1]);
        if (high < 0 || low < 0) {
            return std::nullopt;
        }
        bytes.push_back(static_cast<char>(high * 16 + low));
    }
    return text.empty() || text.size() % 2 != 0 ? std::nullopt : std::optional{bytes};
}

inline std::string nearest_field(std::string_view name) {
    std::vector<std::string_view> names{"schema", "content"};
    for (u32 i = 0; i < field_count; ++i) {
        names.push_back(name_of(static_cast<Field>(i)));
    }
    const std::string near = nearest(name, names);
    return near.empty() ? "" : "did you mean " + near + "?";
}

/// One fact of the format from text: how the command line and JSON texts give it.
inline std::optional<Problem> set_fact(OwnedIdentity& into, Field field, std::string_view text) {
    const std::string where{name_of(field)};
    std::optional<Problem> problem;
    each_format_field([&](Field each, auto member) {
        using Fact = std::remove_reference_t<decltype(into.format.*member)>;
        if (each != field) {
            return;
        }
        if constexpr (std::same_as<Fact, StatedText>) {
            into.format.*member = into.keep(std::string{text});
        } else if constexpr (std::same_as<Fact, StatedNumber>) {
            u64 value = 0;
            const std::from_chars_result read = std::from_chars(text.data(), text.data() + text.size(), value);
            if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) {
                problem = wrong_fact(where, '"' + std::string{text} + '"', "a whole number");
            }
            into.format.*member = value;
        } else {
            const Diagnosed<ReadModel> model = read_spec_line(text);
            if (model) {
                into.format.*member = model->spec;
            } else {
                problem = *model.error;
                problem->where = where + (problem->where.empty() ? "" : ": " + problem->where);
            }
        }
    });
    return problem;
}

inline void set_none(FormatIdentity& into, Field field) {
    each_format_field([&](Field each, auto member) {
        if (each == field) {
            into.*member = stated_none;
        }
    });
}

inline std::optional<Problem> read_media(const JsonValue& list, OwnedIdentity& into) {
    std::vector<MediaRun> runs;
    std::optional<Problem> problem;
    list.each([&](u32 i, std::string_view, const JsonValue& run) {
        const bool good = run["hash"].is_text() && run["at"].is_whole() && run["length"].is_whole() &&
                          (!run["skipped"].present() || run["skipped"].is_whole());
        if (!good && !problem) {
            problem = wrong_fact("content/media/" + std::to_string(i), run.shown(), "hash, at and length");
        }
        runs.push_back({into.keep(std::string{run["hash"].text()}), run["at"].whole(), run["length"].whole(),
                        run["skipped"].whole()});
    });
    into.keep_media(std::move(runs));
    return problem;
}

inline std::optional<Problem> read_content(const JsonValue& content, OwnedIdentity& into) {
    std::optional<Problem> problem;
    const auto text = [&](std::string_view key, const JsonValue& value, StatedText& fact) {
        fact = value.is_null() ? StatedText{stated_none} : StatedText{into.keep(std::string{value.text()})};
        if (!value.is_null() && !value.is_text()) {
            problem = wrong_fact("content/" + std::string{key}, value.shown(), "a text or null");
        }
    };
    const std::pair<std::string_view, StatedText ChunkIdentity::*> texts[] = {
        {"adapter", &ChunkIdentity::adapter}, {"adapter_version", &ChunkIdentity::adapter_version},
        {"salt", &ChunkIdentity::salt}, {"user_key", &ChunkIdentity::user_key},
        {"embeddings", &ChunkIdentity::embeddings}};
    content.each([&](u32, std::string_view key, const JsonValue& value) {
        if (problem) {
            return;
        }
        if (key == "tokens") {
            std::vector<u32> tokens;
            value.each([&](u32 i, std::string_view, const JsonValue& token) {
                if (!token.is_whole() || token.whole() > 0xffff'ffff) {
                    problem = wrong_fact("content/tokens/" + std::to_string(i), token.shown(), "a token id");
                }
                tokens.push_back(static_cast<u32>(token.whole()));
            });
            return into.keep_tokens(std::move(tokens));
        }
        if (key == "media") {
            problem = read_media(value, into);
            return;
        }
        if (key == "parent") {
            const std::optional<std::string> bytes = bytes_of_hex(value.text());
            if (!value.is_null() && !bytes) {
                problem = wrong_fact("content/parent", value.shown(),
                                     "a digest in lower-case hex, or null for the first chunk");
            }
            into.chunk.parent = value.is_null() ? StatedText{stated_none} : StatedText{into.keep(bytes.value_or(""))};
            return;
        }
        for (const auto& [name, member] : texts) {
            if (key == name) {
                return text(key, value, into.chunk.*member);
            }
        }
        problem = wrong_fact("content/" + std::string{key}, "an unknown fact", "one of a chunk", nearest_field(key));
    });
    into.has_chunk = true;
    return problem;
}

}  // namespace io

/// Whether a JSON object is meant as an identity: it says so, or it has a schema, "facts" or a fact of one and no key
/// that only a model's config has. Such a file is wrong where it cannot be read, and no other file.
inline bool declares_identity(const JsonDocument& document) {
    const JsonValue root = root_of(document);
    if (root["schema"].text().starts_with("kvcap.identity")) {
        return true;
    }
    bool facts = false;
    bool config = false;
    root.each([&](u32, std::string_view key, const JsonValue&) {
        config = config || key == "model_type" || key == "architectures" || key == "text_config";
        facts = facts || key == "content" || key == "facts" || key == "schema";
        for (u32 i = 0; i < static_cast<u32>(Field::parent); ++i) {
            facts = facts || key == name_of(static_cast<Field>(i));
        }
    });
    return facts && !config;
}

/// The facts as an object, or an answer of kvcap identity, which has them under "facts". A problem's place is a JSON
/// pointer.
inline Diagnosed<OwnedIdentity> read_identity(const JsonDocument& document) {
    const JsonValue whole = root_of(document);
    const JsonValue schema = whole["schema"];
    const bool answer = schema.text() == "kvcap.identity.answer/1";
    if (schema.present() && !answer && schema.text() != "kvcap.identity/1") {
        return io::wrong_fact("/schema", schema.shown(), R"("kvcap.identity/1" or "kvcap.identity.answer/1")");
    }
    const JsonValue root = answer ? whole["facts"] : whole;
    if (!root.is_object()) {
        return io::wrong_fact(answer ? "/facts" : "", root.shown(), "an object with the facts of an identity");
    }
    OwnedIdentity identity;
    std::optional<Problem> problem;
    root.each([&](u32, std::string_view key, const JsonValue& value) {
        if (problem || key == "schema") {
            return;
        }
        if (key == "content") {
            problem = value.is_object() ? io::read_content(value, identity)
                                        : std::optional{io::wrong_fact("content", value.shown(), "an object")};
            return;
        }
        u32 i = 0;
        while (i < static_cast<u32>(Field::parent) && name_of(static_cast<Field>(i)) != key) {
            ++i;
        }
        const Field field = static_cast<Field>(i);
        if (i == static_cast<u32>(Field::parent)) {
            problem = io::wrong_fact(std::string{key}, "an unknown fact", "one of an identity", io::nearest_field(key));
        } else if (value.is_null()) {
            io::set_none(identity.format, field);
        } else if (value.is_text()) {
            problem = io::set_fact(identity, field, value.text());
        } else if (value.is_whole() && field >= Field::chunk_tokens && field <= Field::group) {
            problem = io::set_fact(identity, field, std::to_string(value.whole()));
        } else {
            problem = io::wrong_fact(std::string{key}, value.shown(), "a text, a whole number, or null");
        }
    });
    if (problem) {
        problem->where = (answer ? "/facts/" : "/") + problem->where;
        return *std::move(problem);
    }
    return Diagnosed<OwnedIdentity>{std::move(identity)};
}

inline Diagnosed<OwnedIdentity> read_identity(std::string_view json) {
    const Diagnosed<JsonDocument> document = load_json(json);
    return document ? read_identity(*document) : Diagnosed<OwnedIdentity>{*document.error};
}

/// Why an identity is refused, in words.
inline std::string words_of(const Refusal& refusal) {
    std::string field{name_of(refusal.field)};
    switch (refusal.why) {
        case WhyRefused::fine: return field + " is fine";
        case WhyRefused::unstated: return field + " is not stated; say its value, or that there is none";
        case WhyRefused::not_none: return field + " cannot be none";
        case WhyRefused::empty: return field + " is empty";
        case WhyRefused::both_or_neither: return field + " and its partner must both be values or both be none";
        case WhyRefused::rank_out_of_range: return field + " is no rank of its size";
        case WhyRefused::not_a_multiple: return field + " is no multiple of the unit inside it";
        case WhyRefused::malformed: return field + " is malformed";
        case WhyRefused::truncated: return field + ": bytes are missing";
        case WhyRefused::trailing: return "bytes are left over";
        case WhyRefused::unknown_version: return "another version of the encoding";
        case WhyRefused::separator: return field + " contains this key's separator";
        case WhyRefused::cannot_fold: return "the bytes differ between tensor-parallel ranks";
    }
    return field;
}

}  // namespace kvcap::inline v1

// SPDX-License-Identifier: MIT
// kvcap identity WHAT: which facts are stated, which are not yet, and the digests of a complete identity.
#include "identity.hpp"

#include <algorithm>

namespace kvcap::cli {

namespace {

/// Of a complete identity, else only why it is refused. `format` is bytes; `chunk` is hex, empty without one.
struct Digests {
    Refusal refusal{};
    std::string encoding{};
    std::string format{};
    std::string chunk{};
};

auto into(std::string& bytes) {
    return [&bytes](u8 byte) { bytes.push_back(static_cast<char>(byte)); };
}

Digests digests_of(const OwnedIdentity& id) {
    Digests digests;
    digests.refusal = encode(id.format, into(digests.encoding));
    if (digests.refusal) {
        return digests;
    }
    digests.format = sha256(digests.encoding);
    if (id.has_chunk) {
        std::string content;
        if (const Refusal wrong = encode(id.chunk, digests.format, into(content))) {
            stop(Exit::usage, "the chunk is refused: " + words_of(wrong));
        }
        digests.chunk = hex(sha256(content));
    }
    return digests;
}

void write_facts(report::Json& json, const OwnedIdentity& id) {
    json.object("facts");
    each_format_field([&](Field field, auto) {
        if (!is_stated(id, field)) {
            return;
        }
        if (const std::string words = value_words(id, field); words == "none") {
            json.null(name_of(field));
        } else {
            json.field(name_of(field), words);
        }
    });
    json.end();
}

std::string identity_json(const OwnedIdentity& id, const Digests& digests) {
    report::Json json;
    json.object().field("schema", "kvcap.identity.answer/1").field("complete", !digests.refusal);
    if (!digests.refusal) {
        json.field("encoding_bytes", digests.encoding.size())
            .field("encoding_hex", hex(digests.encoding))
            .field("sha256", hex(digests.format));
    }
    if (!digests.chunk.empty()) {
        json.field("chunk_sha256", digests.chunk);
    }
    write_facts(json, id);
    return json.end().text();
}

/// Facts and their values side by side; a value that has no room there stands below.
std::string facts_table(const std::vector<std::pair<std::string_view, std::string>>& facts) {
    constexpr std::size_t columns = 80;
    std::size_t names = 0;
    for (const auto& [name, value] : facts) {
        names = std::max(names, name.size());
    }
    std::string out;
    for (const auto& [name, given] : facts) {
        const std::string value = printable(given);
        const bool fits = names + 4 + report::width_of(value) <= columns;
        out += fits ? fmt::format("  {:<{}}  {}\n", name, names, value)
                    : fmt::format("  {}\n{}\n", name, broken_paragraph("      " + value));
    }
    return out;
}

std::string digests_text(const Digests& digests) {
    const std::string chunk = fmt::format("SHA-256 of the chunk in it:\n  {}\n", digests.chunk);
    return fmt::format("\nSHA-256 of the encoding ({} bytes):\n  {}\n{}",
                       report::grouped(digests.encoding.size()), hex(digests.format),
                       digests.chunk.empty() ? "" : chunk);
}

std::string identity_text(const OwnedIdentity& id, const Digests& digests, const Session& session) {
    std::vector<std::pair<std::string_view, std::string>> stated;
    std::string unstated;
    each_format_field([&](Field field, auto) {
        if (is_stated(id, field)) {
            stated.emplace_back(name_of(field), value_words(id, field));
        } else {
            unstated += risk_line(field);
        }
    });
    const std::string table = facts_table(stated);
    if (!unstated.empty()) {
        return fmt::format(
            "{}\n{}\n{}", table,
            session.warning("Not stated, so this is no identity yet (--set FIELD=VALUE, FIELD= for none):"),
            unstated);
    }
    if (digests.refusal) {
        const std::string refused = paragraph("Refused: " + words_of(digests.refusal));
        return fmt::format("{}\n{}\n", table, session.warning(refused));
    }
    return table + digests_text(digests);
}

}  // namespace

void print_identity(const IdentityOptions& options, const OwnedIdentity& id, Session& session) {
    const Digests digests = digests_of(id);
    session.exit = digests.refusal ? Exit::usage : Exit::ok;
    session.print(options.output.json ? identity_json(id, digests) : identity_text(id, digests, session));
}

}  // namespace kvcap::cli

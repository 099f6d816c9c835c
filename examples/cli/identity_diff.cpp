// SPDX-License-Identifier: MIT
// kvcap identity diff A B: in which facts do two identities differ, which of them are not stated, and which
// systems would give both one key?
#include "identity.hpp"

namespace kvcap::cli {

namespace {

struct IdentityDiff {
    OwnedIdentity a;
    OwnedIdentity b;
    Fields differing{};
    Fields missing{};                       ///< what one of the two does not state
    Refusal refusal{};                      ///< the first that is refused
    std::vector<std::string_view> blind{};  ///< systems that give both one key

    /// While a fact is missing, nobody knows whether the two are one.
    bool complete() const { return missing.empty() && !refusal; }
};

Fields fields_missing(const OwnedIdentity& a, const OwnedIdentity& b, bool chunks) {
    Fields missing{};
    const u32 count = chunks ? field_count : static_cast<u32>(Field::parent);
    for (u32 i = 0; i < count; ++i) {
        const Field field = static_cast<Field>(i);
        if (!is_stated(a, field) || !is_stated(b, field)) {
            missing.items[missing.count++] = field;
        }
    }
    return missing;
}

Refusal refusal_of_all(const OwnedIdentity& id, bool chunk) {
    const Refusal format = refusal_of(id.format);
    return format || !chunk ? format : refusal_of(id.chunk);
}

IdentityDiff diff_of(OwnedIdentity a, OwnedIdentity b) {
    IdentityDiff found{.a = std::move(a), .b = std::move(b)};
    const bool chunks = found.a.has_chunk || found.b.has_chunk;
    found.differing = diff(found.a.format, found.b.format);
    for (const Field field : diff(found.a.chunk, found.b.chunk)) {
        found.differing.items[found.differing.count++] = field;
    }
    found.missing = fields_missing(found.a, found.b, chunks);
    const Refusal first = refusal_of_all(found.a, chunks);
    found.refusal = first ? first : refusal_of_all(found.b, chunks);
    for (u32 i = 0; i < system_count; ++i) {
        const System system = static_cast<System>(i);
        if (collide(system, found.a.format, found.a.chunk, found.b.format, found.b.chunk)) {
            found.blind.push_back(name_of(system));
        }
    }
    return found;
}

std::vector<std::string_view> names_of(const Fields& fields) {
    std::vector<std::string_view> names;
    for (const Field field : fields) {
        names.push_back(name_of(field));
    }
    return names;
}

void write_names(report::Json& json, std::string_view key, const std::vector<std::string_view>& names) {
    json.array(key, report::Layout::flat);
    for (const std::string_view name : names) {
        json.item(name);
    }
    json.end();
}

std::string diff_json(const IdentityDiff& found) {
    report::Json json;
    json.object()
        .field("schema", "kvcap.identity.diff/1")
        .field("exchangeable", found.complete() && found.differing.empty())
        .field("complete", found.complete());
    write_names(json, "missing", names_of(found.missing));
    json.array("differences");
    for (const Field field : found.differing) {
        write_risk(json, field, "harm", harm_words(facts(field).harm));
    }
    json.end();
    write_names(json, "collide_under", found.blind);
    return json.end().text();
}

std::string differing_words(const IdentityDiff& found) {
    std::string out = fmt::format("Not exchangeable: {}.\n",
                                  report::counted(found.differing.size(), "fact differs", "facts differ"));
    for (const Field field : found.differing) {
        out += risk_line(field);
        if (!is_content(field)) {
            out += broken_paragraph("    " + printable(value_words(found.a, field)) + " | " +
                                    printable(value_words(found.b, field))) +
                   '\n';
        }
    }
    const std::string blind = fmt::format("The same key under: {}", fmt::join(found.blind, ", "));
    return out + (found.blind.empty() ? "" : paragraph(blind) + '\n');
}

std::string missing_words(const Fields& missing) {
    const std::string words = fmt::format("Missing from one or both ({}): {}", missing.size(),
                                          fmt::join(names_of(missing), ", "));
    return missing.empty() ? "" : paragraph(words) + '\n';
}

std::string diff_text(const IdentityDiff& found) {
    if (!found.differing.empty()) {
        return differing_words(found) + missing_words(found.missing);
    }
    if (found.complete()) {
        return "The same identity: one may be used for the other.\n";
    }
    if (found.missing.empty()) {
        return paragraph("Not known to be exchangeable: nothing differs, but an identity is refused: " +
                         words_of(found.refusal)) +
               '\n';
    }
    return paragraph("Not known to be exchangeable: nothing that both state differs, but facts are missing.") + '\n' +
           missing_words(found.missing);
}

}  // namespace

void print_identity_diff(const IdentityOptions& options, Session& session) {
    if (options.what.size() != 3) {
        stop(Exit::usage, "identity diff: wanted two files");
    }
    refuse_others(options, "identity diff", "two files are compared as they state their facts");
    OwnedIdentity a = identity_file(options.what[1]);
    const IdentityDiff found = diff_of(std::move(a), identity_file(options.what[2]));
    session.exit = !found.differing.empty() ? Exit::does_not_fit : found.complete() ? Exit::ok : Exit::usage;
    session.print(options.output.json ? diff_json(found) : diff_text(found));
}

}  // namespace kvcap::cli

// SPDX-License-Identifier: MIT
// One fact of an identity in words: its value, and what goes wrong without it.
#include "identity.hpp"

namespace kvcap::cli {

namespace {

std::string words(std::string_view value) { return std::string{value}; }
std::string words(u64 value) { return std::to_string(value); }
std::string words(const ModelSpec& value) { return spec_line(value); }

}  // namespace

bool is_stated(const OwnedIdentity& id, Field field) {
    bool stated = field != Field::tokens || !id.chunk.tokens.empty();
    const auto look = [&](Field each, const auto& fact) {
        stated = each == field ? fact.said != Said::nothing : stated;
    };
    each_format_field([&](Field each, auto member) { look(each, id.format.*member); });
    for (const auto& [each, member] : chunk_texts) {
        look(each, id.chunk.*member);
    }
    return stated;
}

std::string value_words(const OwnedIdentity& id, Field field) {
    if (!is_stated(id, field)) {
        return "not stated";
    }
    std::string value;
    each_format_field([&](Field each, auto member) {
        if (each == field) {
            const auto& fact = id.format.*member;
            value = fact.has_value() ? words(fact.value) : "none";
        }
    });
    return value;
}

std::string_view harm_words(Harm harm) {
    switch (harm) {
        case Harm::corrupts: return "wrong answers";
        case Harm::leaks: return "leak";
        case Harm::fails: return "error";
        case Harm::misses: return "lost hits";
    }
    return "";
}

std::string risk_line(Field field) {
    const FieldFacts told = facts(field);
    return paragraph(fmt::format("  {}: {} ({}{}{})", told.name, told.consequence, harm_words(told.harm),
                                 told.seen.empty() ? "" : "; ", told.seen)) +
           '\n';
}

void write_risk(report::Json& json, Field field, std::string_view aspect, std::string_view words) {
    const FieldFacts told = facts(field);
    json.object().field("field", told.name).field(aspect, words);
    json.field("consequence", told.consequence).field("seen", told.seen).end();
}

}  // namespace kvcap::cli

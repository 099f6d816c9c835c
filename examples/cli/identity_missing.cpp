// SPDX-License-Identifier: MIT
// kvcap identity --missing SYSTEM: what does a system's own key not tell apart, and what follows?
#include "identity.hpp"

namespace kvcap::cli {

namespace {

std::string_view words_of_presence(Presence presence) {
    switch (presence) {
        case Presence::absent: return "not in the key";
        case Presence::registered: return "beside the objects, for readers to check";
        case Presence::operator_only: return "only if the operator puts it into a prefix, tag or salt";
        case Presence::mistaken: return "in the key, but it does not tell these apart";
        case Presence::in_key: return "in the key";
    }
    return "";
}

std::string missing_json(System system) {
    report::Json json;
    json.object()
        .field("schema", "kvcap.identity.missing/1")
        .field("system", name_of(system))
        .array("missing");
    for (const Field field : missing(system)) {
        write_risk(json, field, "presence", words_of_presence(presence(system, field)));
    }
    return json.end().end().text();
}

std::string missing_text(System system, const Session& session) {
    std::string out =
        fmt::format("{}: what its key does not tell apart, and what follows\n", name_of(system));
    for (const Presence how :
         {Presence::mistaken, Presence::operator_only, Presence::registered, Presence::absent}) {
        std::string lines;
        for (const Field field : missing(system)) {
            lines += presence(system, field) == how ? risk_line(field) : "";
        }
        out += lines.empty() ? "" : fmt::format("\n{}\n{}", session.bold(words_of_presence(how)), lines);
    }
    return out;
}

}  // namespace

System system_of(const std::string& name, std::string_view flag) {
    std::vector<std::string_view> names;
    for (u32 i = 0; i < system_count; ++i) {
        const System system = static_cast<System>(i);
        if (name_of(system) == name) {
            return system;
        }
        names.push_back(name_of(system));
    }
    stop(Exit::usage, fmt::format("{}: '{}' is none of {}", flag, name, fmt::join(names, ", ")));
}

void print_missing_facts(const IdentityOptions& options, Session& session) {
    const System system = system_of(options.missing, "--missing");
    session.print(options.output.json ? missing_json(system) : missing_text(system, session));
}

}  // namespace kvcap::cli

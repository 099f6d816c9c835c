// SPDX-License-Identifier: MIT
// The engines the program knows, and their flags.
#include "engines.hpp"

#include "options.hpp"
#include <algorithm>
#include <kvcap/io/nearest.hpp>

namespace kvcap::cli {

#define KVCAP_ENGINE(name) extern const EngineFace name##_face;
#include "engines.inc"
#undef KVCAP_ENGINE

const std::vector<const EngineFace*>& engine_faces() {
    static const std::vector<const EngineFace*> all = {
#define KVCAP_ENGINE(name) &name##_face,
#include "engines.inc"
#undef KVCAP_ENGINE
    };
    return all;
}

namespace {

struct Flag {
    std::string name;
    std::string help;
    bool takes_value = false;
};

Flag flag_of(std::string_view text) {
    const std::size_t at = text.find_first_of("=!");
    return {std::string{text.substr(0, at)}, std::string{text.substr(at + 1)}, text[at] == '='};
}

}  // namespace

u64 EngineQuestion::number(std::string_view flag, u64 otherwise) const {
    const auto found = flags == nullptr ? EngineFlags::const_iterator{} : flags->find(flag);
    if (flags == nullptr || found == flags->end()) {
        return otherwise;
    }
    const u64 value = count_of(found->second, "--" + std::string{flag});
    if (value == 0) {
        stop(Exit::usage, fmt::format("--{}: 0 is no size; at least 1 is wanted", flag));
    }
    return value;
}

u64 EngineQuestion::number(std::string_view flag, u64 otherwise, u64 most) const {
    const u64 value = number(flag, otherwise);
    if (value > most && has(flag)) {
        stop(Exit::usage, fmt::format("--{}: {} is too large; at most {}", flag, report::grouped(value),
                                      report::grouped(most)));
    }
    return smaller(value, most);
}

std::string EngineQuestion::text(std::string_view flag, std::string otherwise) const {
    if (!has(flag)) {
        return otherwise;
    }
    return flags->find(flag)->second;
}

u64 EngineQuestion::requests() const {
    u64 all = 0;
    for (const u64 count : counts) {
        all = saturating_sum(all, count);
    }
    return all;
}

bool keeps_states(const ModelSpec& model) {
    return std::any_of(model.forms.begin(), model.forms.end(),
                       [](const LayerForm& form) { return form.retention.keep == Keep::last; });
}

Exit exit_of(const EngineAnswer& answer) {
    return answer.runs() ? answer.verdict.fits ? Exit::ok : Exit::does_not_fit : exit_of(answer.error.code);
}

std::string no_rules_words(const EngineAnswer& answer) {
    return fmt::format("kvcap has no rules of {} for this model or split: {}", answer.rules, answer.refusal);
}

std::vector<std::string> doublings(u64 now, u64 least, u64 most) {
    std::vector<std::string> values;
    for (u64 factor = 2; factor <= larger(most, 2) && (now / factor >= least || now <= most / factor); factor *= 2) {
        if (now % factor == 0 && now / factor >= larger(least, 1)) {
            values.push_back(std::to_string(now / factor));
        }
        if (now <= most / factor) {
            values.push_back(std::to_string(now * factor));
        }
    }
    return values;
}

std::vector<std::string> halves(u64 now, u64 least) {
    std::vector<std::string> values;
    for (u64 value = now / 2; value > least; value /= 2) {
        values.push_back(std::to_string(value));
    }
    if (least < now) {
        values.push_back(std::to_string(least));
    }
    return values;
}

namespace {

/// Letters and digits alone, in lower case: "TensorRT-LLM", "tensorrt_llm" and "TensorRT LLM" are one.
std::string bare_name(std::string_view text) {
    std::string name = io::lower_case(text);
    std::erase_if(name, [](char c) { return c == '-' || c == '_' || c == '.' || c == ' '; });
    return name;
}

/// The engine that a name which is none stands for; empty: none does.
std::string meant_by(const std::string& name, const std::vector<std::string>& known) {
    if (bare_name(name) == "ollama") {
        return "ollama serves with llama.cpp: --engine llamacpp";
    }
    std::string near = nearest(name, known);
    std::vector<std::string> begun;
    for (const std::string& one : known) {
        if (near.empty() && name.size() >= 3 && one.starts_with(bare_name(name))) {
            begun.push_back(one);
        }
    }
    near = begun.size() == 1 ? begun.front() : near;
    return near.empty() ? near : "did you mean " + near + "?";
}

}  // namespace

std::string engine_spelling(std::string_view text) {
    const std::size_t at = text.find('@');
    std::string name = io::lower_case(text.substr(0, at));
    const std::string bare = bare_name(name);
    bool known = name == "all";
    for (const EngineFace* face : engine_faces()) {
        const bool same = bare == face->name || bare == bare_name(face->title);
        name = same ? std::string{face->name} : name;
        known = known || same;
    }
    std::string_view version = at == std::string_view::npos ? "" : text.substr(at + 1);
    const bool tagged = version.size() > 1 && (version[0] == 'v' || version[0] == 'V') && version[1] >= '0' &&
                        version[1] <= '9';
    version.remove_prefix(tagged ? 1 : 0);
    const std::string_view sign = at == std::string_view::npos ? "" : "@";
    return fmt::format("{}{}{}", known ? name : text.substr(0, at), sign, version);
}

Knob halving(std::string flag, u64 now, u64 least, u64 step) {
    return {.flag = std::move(flag), .values = halves(now, least), .step = step, .now = now};
}

PoolRow row_of(const PoolPlan& plan, u32 group_class, std::string holds, const Lengths& request) {
    const GroupClass& kind = plan.classes[group_class];
    PoolRow row{.holds = std::move(holds), .groups = kind.groups, .tokens_per_unit = kind.block, .unit = kind.page};
    for (const Placement& place : plan.placed) {
        row.caches += place.group_class == group_class ? 1 : 0;
    }
    row.units_per_request = kind.steps.units(request) * kind.groups;
    return row;
}

std::string units_words(const EngineAnswer& answer) {
    std::string all = fmt::format("{} {}", report::grouped(answer.request_units), answer.unit);
    if (answer.plan.pools.size() < 2 || answer.rows.size() < 2) {
        return all;
    }
    all.clear();
    for (const PoolRow& row : answer.rows) {
        all += fmt::format("{}{}{} ({})", all.empty() ? "" : ", ", report::grouped(row.units_per_request),
                           all.empty() ? " " + answer.unit : "", row.holds);
    }
    return all;
}

Bytes reserved_by(const PoolPlan& plan, const Demand& request) {
    Bytes sum{};
    for (u32 i = 0; i < plan.pools.size(); ++i) {
        sum += plan.pools[i].each * request.units[i];
    }
    return sum;
}

void EngineOptions::add_to(CLI::App& verb) {
    std::string names;
    for (const EngineFace* face : engine_faces()) {
        names += (names.empty() ? "" : ", ") + std::string{face->name};
    }
    verb.add_option("--engine", engine, names + "; with @VERSION or @DATE")
        ->group("Engine")
        ->capture_default_str()
        ->transform(CLI::Validator{[](std::string& text) {
                                       text = engine_spelling(text);
                                       return std::string{};
                                   },
                                   ""});
    for (const EngineFace* face : engine_faces()) {
        for (const std::string_view text : face->flags) {
            const Flag flag = flag_of(text);
            if (verb.get_option_no_throw("--" + flag.name) != nullptr) {
                continue;
            }
            const std::string help = fmt::format("{} ({})", flag.help, face->title);
            if (flag.takes_value) {
                given[flag.name] = verb.add_option("--" + flag.name, values[flag.name], help)->group("Engine");
            } else {
                verb.add_flag("--" + flag.name, switches[flag.name], help)->group("Engine");
            }
        }
    }
}

const EngineFace& EngineOptions::face() const {
    const std::string name = engine.substr(0, engine.find('@'));
    std::vector<std::string> known;
    for (const EngineFace* face : engine_faces()) {
        if (face->name == name) {
            return *face;
        }
        known.emplace_back(face->name);
    }
    const std::string meant = meant_by(name, known);
    stop(Exit::unknown_architecture,
         fmt::format("--engine: {} is no engine known here; wanted one of {}{}", name, fmt::join(known, ", "),
                     meant.empty() ? "" : " (" + meant + ")"));
}

std::string EngineOptions::version() const {
    const std::size_t at = engine.find('@');
    if (at != std::string::npos && at + 1 == engine.size()) {
        stop(Exit::usage, fmt::format("--engine: {} names no version; wanted NAME@VERSION, NAME@DATE or NAME", engine));
    }
    return at == std::string::npos ? "" : engine.substr(at + 1);
}

EngineFlags EngineOptions::flags() const {
    EngineFlags flags;
    for (const auto& [name, value] : values) {
        const auto option = given.find(name);
        const bool said = option != given.end() && option->second->count() != 0;
        if (said && value.empty()) {
            stop(Exit::usage, fmt::format("--{}: an empty value; leave the flag out for the default", name));
        }
        if (said || !value.empty()) {
            flags[name] = value;
        }
    }
    for (const auto& [name, on] : switches) {
        if (on) {
            flags[name] = "";
        }
    }
    const EngineFace& chosen = face();
    for (const auto& each : flags) {
        const std::string& name = each.first;
        const bool known = std::any_of(chosen.flags.begin(), chosen.flags.end(),
                                       [&](std::string_view text) { return flag_of(text).name == name; });
        if (!known) {
            stop(Exit::usage, fmt::format("--{} means nothing to {}{}", name, chosen.title,
                                          chosen.name == "exact" ? "; --engine names whose it is" : ""));
        }
    }
    return flags;
}

}  // namespace kvcap::cli

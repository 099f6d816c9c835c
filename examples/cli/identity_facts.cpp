// SPDX-License-Identifier: MIT
// kvcap identity --set FIELD=VALUE: which fact of a format or a chunk is stated, and does another flag
// contradict it?
#include "identity.hpp"

#include <algorithm>
#include <kvcap/io/dtypes.hpp>

namespace kvcap::cli {

namespace {

/// FIELD=VALUE states a value, FIELD= that there is none; FIELD alone states nothing.
struct SetFact {
    std::string name;
    std::string value;
    bool states = false;
};

SetFact set_fact_of(const std::string& text) {
    const std::size_t equals = text.find('=');
    const bool states = equals != std::string::npos;
    return {text.substr(0, equals), states ? text.substr(equals + 1) : "", states};
}

/// A flag states its fact when it is given a value other than its default.
struct FlagFact {
    Field field;
    std::string_view flag;
    std::string value;
    std::string_view unset;
};

void check_flags(const SetFact& fact, const IdentityOptions& options) {
    const FlagFact flags[] = {{Field::tp, "--tp", std::to_string(options.sharding.tp), "1"},
                              {Field::pp, "--pp", std::to_string(options.sharding.pp), "1"},
                              {Field::dcp, "--cp", std::to_string(options.sharding.cp), "1"},
                              {Field::kv_dtype, "--kv-cache-dtype", options.model.kv_cache_dtype, "auto"},
                              {Field::state_dtype, "--state-dtype", options.model.state_dtype, "auto"},
                              {Field::conv_dtype, "--conv-dtype", options.model.conv_dtype, "auto"}};
    for (const auto& [field, flag, value, unset] : flags) {
        if (fact.name == name_of(field) && value != unset && fact.value != value) {
            stop(Exit::usage,
                 fmt::format("{} {} and --set {}={} contradict each other", flag, value, fact.name, fact.value));
        }
    }
}

/// A fact has one value: two of --set, or --set beside a flag that says another, contradict each other.
void check_once(const std::vector<SetFact>& facts, const IdentityOptions& options) {
    for (auto fact = facts.begin(); fact != facts.end(); ++fact) {
        const auto other = std::find_if(facts.begin(), fact, [&](const SetFact& before) {
            return before.name == fact->name && before.value != fact->value;
        });
        if (other != fact) {
            stop(Exit::usage,
                 fmt::format("--set {}: '{}' and '{}' contradict each other", fact->name, other->value,
                             fact->value));
        }
        check_flags(*fact, options);
    }
}

/// The element types that formats of caches and engines have names for.
void check_dtype(const std::string& value) {
    std::vector<std::string_view> names{"float", "uint8", "float8_e5m2"};  // as PyTorch writes them
    for (const io::KvScheme& scheme : io::kv_schemes) {
        names.push_back(scheme.name);
    }
    if (std::find(names.begin(), names.end(), value) == names.end()) {
        const std::string near = nearest(value, names);
        stop(Exit::usage,
             fmt::format("--set kv_dtype: '{}' is no element type of a cache{}", value,
                         near.empty() ? "; wanted bf16, fp8_e4m3, nvfp4 ..." : " (nearest: " + near + ")"));
    }
}

/// false: no text of a chunk has this name.
bool set_in_chunk(const SetFact& fact, OwnedIdentity& id) {
    const auto found = std::find_if(std::begin(chunk_texts), std::end(chunk_texts),
                                    [&](const auto& text) { return name_of(text.first) == fact.name; });
    if (found == std::end(chunk_texts)) {
        return false;
    }
    StatedText stated = stated_none;
    if (!fact.value.empty()) {
        const std::optional<std::string> bytes =
            found->first == Field::parent ? io::bytes_of_hex(fact.value) : std::optional{fact.value};
        if (!bytes) {
            stop(Exit::usage, fmt::format("--set parent: '{}' is no digest in lower-case hex", fact.value));
        }
        stated = id.keep(*bytes);
    }
    id.chunk.*(found->second) = stated;
    id.has_chunk = true;
    return true;
}

/// false: no fact of a format has this name.
bool set_in_format(const SetFact& fact, OwnedIdentity& id) {
    std::optional<Field> field;
    each_format_field([&](Field each, auto) {
        if (name_of(each) == fact.name) {
            field = each;
        }
    });
    if (!field) {
        return false;
    }
    if (fact.value.empty()) {
        io::set_none(id.format, *field);
        return true;
    }
    if (*field == Field::kv_dtype) {
        check_dtype(fact.value);
    }
    if (const std::optional<Problem> problem = io::set_fact(id, *field, fact.value)) {
        stop(Exit::usage, "--set " + problem->text());
    }
    return true;
}

[[noreturn]] void refuse_name(const std::string& name) {
    if (name == "tokens") {
        stop(Exit::usage, "--set tokens: a list; --ids 1,2,3 states the chunk's tokens");
    }
    if (name == "media") {
        stop(Exit::usage, "--set media: a list; only an identity as JSON states it (content/media)");
    }
    const std::string near = io::nearest_field(name);
    stop(Exit::usage, fmt::format("--set: '{}' is no fact{}", name, near.empty() ? "" : " (" + near + ")"));
}

}  // namespace

void set_facts(const IdentityOptions& options, OwnedIdentity& id) {
    std::vector<SetFact> facts;
    std::transform(options.facts.begin(), options.facts.end(), std::back_inserter(facts), set_fact_of);
    check_once(facts, options);
    for (const SetFact& fact : facts) {
        if (!fact.states) {
            stop(Exit::usage, fmt::format("--set: '{}' states nothing; wanted FIELD=VALUE, or FIELD= for none",
                                          fact.name));
        }
        if (!set_in_chunk(fact, id) && !set_in_format(fact, id)) {
            refuse_name(fact.name);
        }
    }
}

}  // namespace kvcap::cli

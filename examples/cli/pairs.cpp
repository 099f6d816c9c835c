// SPDX-License-Identifier: MIT
// Which options say the same thing twice, or leave another nothing to say? They are refused together, by name.
#include "pairs.hpp"

#include "options.hpp"

namespace kvcap::cli {

namespace {

/// but: an option beside which both say something.
struct Pair {
    const char* one;
    const char* other;
    const char* why;
    const char* but = nullptr;
};

constexpr const char* load_twice = "the load is said twice; one of them is wanted";
constexpr const char* said_outright = "a budget is bytes for the cache, outright; one of them is wanted";
constexpr const char* overhead_twice = "the memory beside weights and cache is said twice; one of them is wanted";
constexpr const char* whole_json = "JSON has every one of them; leave it out";
constexpr const char* exact_csv = "a table of values has no room for it; one of them is wanted";
constexpr const char* a_line = "a launch line is no table; one of them is wanted";

constexpr Pair pairs[] = {
    {"--tokens", "--lengths", load_twice},
    {"--kv-budget", "--util", said_outright},
    {"--kv-budget", "--fraction-of", said_outright},
    {"--kv-budget", "--non-kv-bytes", said_outright},
    {"--kv-budget", "--overhead", said_outright},
    {"--kv-budget", "--overhead-from", said_outright},
    {"--kv-budget", "--weights-bytes", said_outright, "--gpu"},
    {"--non-kv-bytes", "--overhead", overhead_twice},
    {"--non-kv-bytes", "--overhead-from", overhead_twice},
    {"--overhead", "--overhead-from", overhead_twice},
    {"--top", "--json", whole_json},
    {"--csv", "--explain", exact_csv},
    {"--csv", "--per-layer", exact_csv},
    {"--emit", "--top", a_line},
    {"--emit", "--unit", a_line},
    {"--kv-cache-dtype", "--cache-type-k", "the format is said twice; one of them is wanted"},
    {"--kv-cache-dtype", "--cache-type-v", "the format is said twice; one of them is wanted"},
    {"--block-sizes", "--block-size", "blocks are said twice; one of them is wanted"},
    {"--block-sizes", "--page-size", "blocks are said twice; one of them is wanted"},
    {"--block-sizes", "--tokens-per-block", "blocks are said twice; one of them is wanted"},
    {"--cpp-manager", "--use-kv-cache-manager-v2", "one of them is wanted"},
    {"--async-scheduling", "--no-async-scheduling", "one of them is wanted"},
};

bool given(const CLI::App& verb, const char* name) {
    const CLI::Option* option = verb.get_option_no_throw(name);
    return option != nullptr && option->count() != 0;
}

}  // namespace

void refuse_given(const CLI::App& verb, std::initializer_list<const char*> names, std::string_view why) {
    for (const char* name : names) {
        if (given(verb, name)) {
            stop(Exit::usage, fmt::format("{}: {}", name, why));
        }
    }
}

void refuse_pairs(const CLI::App& verb) {
    for (const Pair& pair : pairs) {
        const bool both = pair.but != nullptr && given(verb, pair.but);
        if (!both && given(verb, pair.one) && given(verb, pair.other)) {
            stop(Exit::usage, fmt::format("{} and {}: {}", pair.one, pair.other, pair.why));
        }
    }
}

}  // namespace kvcap::cli

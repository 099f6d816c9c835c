// SPDX-License-Identifier: MIT
// The words of kvcap simulate's options: lists, saving policies and tiers.
#include "simulate.hpp"

namespace kvcap::cli {

std::vector<std::string> split_at(const std::string& text, char at) {
    std::vector<std::string> words;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t end = std::min(text.find(at, from), text.size());
        words.push_back(text.substr(from, end - from));
        from = end + 1;
    }
    return words;
}

NamedPolicy policy_of(const std::string& text) {
    NamedPolicy named{text, {.junction = false, .end = false}};
    for (const std::string& word : split_at(text, '+')) {
        if (word == "junction") {
            named.policy.junction = true;
        } else if (word == "end") {
            named.policy.end = true;
        } else if (word == "window") {
            named.policy.window_blocks = true;
        } else if (word == "every") {
            named.policy.every = 1;
        } else if (word.starts_with("every=")) {
            named.policy.every = static_cast<u32>(smaller(count_of(word.substr(6), "--policy"), 0xffff'ffff));
        } else {
            stop(Exit::usage, fmt::format("--policy: '{}' is none of junction, end, every, every=K, window", word));
        }
    }
    if (!named.policy.junction && !named.policy.end && named.policy.every == 0) {
        stop(Exit::usage, fmt::format("--policy: {} saves no boundary; add junction, end or every=K", text));
    }
    return named;
}

NamedTier tier_of(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
        stop(Exit::usage,
             fmt::format("--tier: '{}' is no tier; wanted NAME=SIZE[@BYTES PER SECOND], as dram=512GiB@50GB",
                         text));
    }
    const std::string rest = text.substr(equals + 1);
    const std::size_t rate = rest.find('@');
    NamedTier named{text.substr(0, equals), {.capacity = memory_of(rest.substr(0, rate), "--tier")}};
    if (rate != std::string::npos) {
        named.tier.bytes_per_second = static_cast<double>(bytes_of(rest.substr(rate + 1), "--tier").value);
    }
    const bool slow = rate != std::string::npos && !(named.tier.bytes_per_second > 0);
    if (named.tier.capacity.value == 0 || slow) {
        stop(Exit::usage, fmt::format("--tier: '{}' holds or moves nothing; wanted a size{} above 0", text,
                                      slow ? " and a rate" : ""));
    }
    return named;
}

}  // namespace kvcap::cli

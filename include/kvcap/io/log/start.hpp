// SPDX-License-Identifier: MIT
// What is gathered of one start of one engine while its log goes by, and how sentences become facts: a rule is a
// pattern, the names of its values, and how to keep them where ranks, trials or starts repeat a line.
#pragma once

#include <kvcap/io/log/arguments.hpp>
#include <kvcap/io/log/origin.hpp>

#include <algorithm>

namespace kvcap::inline v1::logs {

/// ollama prints llama.cpp's lines and its own: one family.
enum class Family : unsigned char { vllm, sglang, llamacpp, trtllm };

/// front: the line before the sentence. text: from its first byte on, over folded lines.
struct Hit {
    std::string_view front;
    std::string_view text;
    u64 line = 0;
    Origin origin{};

    std::string_view first_line() const noexcept { return text.substr(0, text.find('\n')); }
};

/// A value that every rank prints for itself.
struct Ranked {
    std::string name;
    std::string rank;
    std::string clock;
    int order = 0;  ///< rank as a number, for the lowest
    Datum value;
};

/// An empty category: failed, the cause was not in that line.
struct Failure {
    std::string category;
    u64 line = 0;
};

/// A figure that cannot be, as printed, and why: it is named and not used.
struct Unusable {
    std::string name;
    Datum value;
    std::string why;
};

class Start {
public:
    Family family = Family::vllm;
    std::string service;
    Facts facts;
    std::vector<Ranked> ranked;
    std::vector<Failure> failures;
    std::vector<Ranks> ranks;
    std::vector<std::string> pids;
    std::vector<Unusable> unusable;
    std::vector<Facts> parts;  ///< what an engine prints several of: pools, caches, phases
    u64 begun = 0;             ///< kinds of first lines seen
    bool results = false;      ///< something that follows first lines was seen
    u64 runs = 1;
    u64 hits = 0;

    void note(const Ranks& seen) {
        const auto same = [&](const Ranks& r) { return r.dp == seen.dp && r.pp == seen.pp && r.tp == seen.tp; };
        if (seen.any() && ranks.size() < 4096 && std::none_of(ranks.begin(), ranks.end(), same)) {
            ranks.push_back(seen);
        }
    }
    void note_pid(std::string_view pid) {
        if (!pid.empty() && pids.size() < 4096 && std::find(pids.begin(), pids.end(), pid) == pids.end()) {
            pids.emplace_back(pid);
        }
    }
    void fail(std::string_view category, u64 line) {
        results = true;
        if (failures.size() < 4096) {
            failures.push_back({std::string{category}, line});
        }
    }
    /// A rank's newest value replaces its older one.
    void put_ranked(std::string_view name, const Hit& hit, Datum value) {
        std::string rank = hit.origin.ranks.name();
        const int order = hit.origin.ranks.tp >= 0 ? hit.origin.ranks.tp : 0;
        for (Ranked& old : ranked) {
            if (old.name == name && old.rank == rank) {
                old = {std::string{name}, rank, std::string{hit.origin.clock}, order, std::move(value)};
                return;
            }
        }
        if (ranked.size() < 4096) {
            ranked.push_back(
                {std::string{name}, std::move(rank), std::string{hit.origin.clock}, order, std::move(value)});
        }
    }
    bool has_ranked(std::string_view name) const {
        return std::any_of(ranked.begin(), ranked.end(), [&](const Ranked& r) { return r.name == name; });
    }
    const Ranked* said_in_the_same_second(std::string_view name, const Hit& hit) const {
        const std::string rank = hit.origin.ranks.name();
        for (const Ranked& one : ranked) {
            if (one.name == name && one.rank == rank && !one.clock.empty() && one.clock == hit.origin.clock) {
                return &one;
            }
        }
        return nullptr;
    }
};

/// last: the newest counts. first: the oldest. by_rank: one per rank; equal ones are one fact, unlike ones a
/// record. lowest: the lowest rank's. begin: a first line of a start, as last. weak: no engine follows from the
/// sentence alone. tag: on every line, and the same again says nothing new.
enum class Keep : unsigned char { last, first, by_rank, lowest, begin, weak, tag };

/// keys: names of the holes, divided by commas; empty or "-" ones are dropped. read: what else the sentence means.
struct Rule {
    std::string_view pattern;
    std::string_view keys = {};
    Keep keep = Keep::last;
    void (*read)(Start&, const Hit&, const Words&) = nullptr;
};

/// Every pattern begins with a stem of eight bytes without a hole.
template <std::size_t N>
constexpr bool have_stems(const Rule (&rules)[N]) noexcept {
    for (const Rule& rule : rules) {
        const std::string_view stem = rule.pattern.substr(0, 8);
        for (std::size_t i = 0; i < stem.size(); ++i) {
            if (stem.size() < 8 || (stem[i] == '{' && i + 2 < rule.pattern.size() && rule.pattern[i + 2] == '}')) {
                return false;
            }
        }
    }
    return true;
}

inline bool same_value(const Datum& a, const Datum& b) noexcept {
    return a.kind == b.kind && a.integer == b.integer && a.words == b.words;
}

inline void keep_value(Start& start, const Hit& hit, Keep keep, std::string_view key, Datum value) {
    if (key.empty() || key == "-" || value.kind == Datum::Kind::none) {
        return;
    }
    if (keep == Keep::by_rank || keep == Keep::lowest) {
        start.put_ranked(key, hit, std::move(value));
    } else if (keep == Keep::first) {
        start.facts.offer(key, std::move(value));
    } else {
        start.facts.put(key, std::move(value));
    }
}

inline void apply(const Rule& rule, Start& start, const Hit& hit, const Words& words) {
    std::string_view keys = rule.keys;
    for (std::size_t i = 0; i < words.size && !keys.empty(); ++i) {
        const std::size_t comma = std::min(keys.find(','), keys.size());
        const std::string_view key = keys.substr(0, comma);
        Datum value = datum_of(words.at[i], words.kind[i], hit.line);
        keep_value(start, hit, rule.keep, key, std::move(value));
        keys.remove_prefix(std::min(comma + 1, keys.size()));
    }
    if (rule.read != nullptr) {
        rule.read(start, hit, words);
    }
}

/// Equal values of all ranks become one fact; unlike ones `name_by_rank` (or `_by_dp`, in order), and no single
/// fact.
inline void settle_ranks(Start& start, std::string_view name, std::string_view by_name, bool lowest) {
    const Ranked* first = nullptr;
    bool unlike = false;
    for (const Ranked& one : start.ranked) {
        if (one.name == name) {
            unlike = unlike || (first != nullptr && !same_value(first->value, one.value));
            first = first == nullptr || (lowest && one.order < first->order) ? &one : first;
        }
    }
    if (first == nullptr) {
        return;
    }
    if (!unlike || lowest) {
        start.facts.put(name, first->value);
    }
    if (unlike) {
        const bool in_order = by_name.ends_with("_by_dp");
        Datum all = in_order ? list() : record();
        for (const Ranked& one : start.ranked) {
            if (one.name == name) {
                all.items.push_back({in_order ? std::string{} : one.rank.empty() ? "unnamed" : one.rank, one.value});
            }
        }
        start.facts.put(by_name, std::move(all));
    }
}

/// How many ranks there are along one coordinate, as far as tags show: all from 0 on, or at least so many.
struct RankCount {
    int seen = 0;
    int highest = -1;
    bool whole() const noexcept { return highest >= 1 && seen == highest + 1; }
};

inline RankCount count_ranks(const Start& start, int Ranks::*coordinate) {
    std::vector<int> found;
    RankCount count;
    for (const Ranks& ranks : start.ranks) {
        const int rank = ranks.*coordinate;
        if (rank >= 0 && std::find(found.begin(), found.end(), rank) == found.end()) {
            found.push_back(rank);
            count.highest = std::max(count.highest, rank);
        }
    }
    count.seen = static_cast<int>(found.size());
    return count;
}

/// A stated size is kept; else the size if every rank was seen, else `<key>_at_least`.
inline void settle_size(Start& start, std::string_view key, int Ranks::*coordinate) {
    const RankCount count = count_ranks(start, coordinate);
    if (start.facts.has(key) || count.highest < 1) {
        return;
    }
    start.facts.put(count.whole() ? std::string{key} : std::string{key} + "_at_least", integer(count.highest + 1));
}

}  // namespace kvcap::inline v1::logs

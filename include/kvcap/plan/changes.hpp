// SPDX-License-Identifier: MIT
// It does not fit: what is the smallest single change that makes it fit? Each kind of change is tried in
// steps, and every answer was evaluated: it fits, and the next smaller step does not.
#pragma once

#include <kvcap/plan/fit.hpp>

namespace kvcap::inline v1 {

/// What a change may touch. kv_format: 0 = as asked, 1, 2 ... = smaller stored formats in the caller's order. knob: 0 =
/// the engine's options as asked, i = the caller's i-th knob at its value `knob_value`.
struct Setting {
    Tokens tokens{};
    u64 sequences = 1;
    Sharding sharding{};
    u32 kv_format = 0;
    bool attention_dp = false;
    Bytes extra_memory{};
    u32 knob = 0;
    u32 knob_value = 0;
    friend constexpr bool operator==(const Setting&, const Setting&) = default;
};

enum class ChangeKind : u8 {
    shorter, fewer, smaller_format, attention_dp, more_tp, more_pp, more_cp, more_memory, knob
};

struct Change {
    ChangeKind kind = ChangeKind::shorter;
    Setting setting{};
    friend constexpr bool operator==(const Change&, const Change&) = default;
};

inline constexpr u32 most_knobs = 16;

/// Bounds of the search. gpus: the most that TP x PP may use, x CP where context ranks are ranks of their own;
/// refused splits are skipped by evaluation. most_cp: 1 where there are no context ranks. knobs: how many values each
/// of the engine's knobs has, from the mildest.
struct ChangeLimits {
    u32 gpus = 8;
    u32 kv_formats = 1;
    Bytes most_memory{u64{1} << 50};
    Inplace<u32, most_knobs> knobs{};
    u32 most_cp = 1;
    bool cp_among_tp = false;

    constexpr bool room_for(const Sharding& split) const noexcept {
        const u64 own = cp_among_tp ? 1 : split.cp;
        return saturating_product(u64{split.tp} * split.pp, own) <= gpus;
    }
};

using Changes = Inplace<Change, 8 + most_knobs>;

namespace changes {

/// The first setting of a doubling sequence that fits, if any. next(setting) -> false when there is none
/// left.
constexpr bool first_that_fits(Setting setting, auto next, auto fits, Setting& found) noexcept {
    while (next(setting)) {
        if (fits(setting)) {
            found = setting;
            return true;
        }
    }
    return false;
}

}  // namespace changes

/// fits(setting) -> bool, monotone in tokens, sequences and memory. Answers in the order of ChangeKind; of each
/// knob the first value that fits.
constexpr Changes smallest_changes(const Setting& asked, const ChangeLimits& limits, auto fits) noexcept {
    Changes all{};
    const auto keep = [&](ChangeKind kind, const Setting& setting) noexcept {
        static_cast<void>(all.push({kind, setting}));  // a place for every kind and every knob
    };
    const auto with = [&](auto edit) noexcept {
        Setting changed = asked;
        edit(changed);
        return changed;
    };
    const auto tokens = [&](u64 n) noexcept { return with([&](Setting& s) noexcept { s.tokens = {n}; }); };
    const auto sequences = [&](u64 n) noexcept {
        return with([&](Setting& s) noexcept { s.sequences = n; });
    };
    const auto memory = [&](u64 n) noexcept {
        return with([&](Setting& s) noexcept { s.extra_memory = {n}; });
    };
    if (const u64 n = largest(asked.tokens.value, [&](u64 m) noexcept { return m == 0 || fits(tokens(m)); });
        n > 0) {
        keep(ChangeKind::shorter, tokens(n));
    }
    if (const u64 n = largest(asked.sequences, [&](u64 m) noexcept { return m == 0 || fits(sequences(m)); });
        n > 0) {
        keep(ChangeKind::fewer, sequences(n));
    }
    Setting found{};
    const auto smaller_format = [&](Setting& s) noexcept { return ++s.kv_format < limits.kv_formats; };
    if (changes::first_that_fits(asked, smaller_format, fits, found)) {
        keep(ChangeKind::smaller_format, found);
    }
    const Setting dp = with([](Setting& s) noexcept { s.attention_dp = true; });
    if (!asked.attention_dp && asked.sharding.tp > 1 && fits(dp)) {
        keep(ChangeKind::attention_dp, dp);
    }
    const auto more_tp = [&](Setting& s) noexcept {
        s.sharding.tp *= 2;
        return limits.room_for(s.sharding);
    };
    if (changes::first_that_fits(asked, more_tp, fits, found)) {
        keep(ChangeKind::more_tp, found);
    }
    const auto more_pp = [&](Setting& s) noexcept {
        s.sharding.pp *= 2;
        return limits.room_for(s.sharding);
    };
    if (changes::first_that_fits(asked, more_pp, fits, found)) {
        keep(ChangeKind::more_pp, found);
    }
    const auto more_cp = [&](Setting& s) noexcept {
        s.sharding.cp *= 2;
        return s.sharding.cp <= limits.most_cp && limits.room_for(s.sharding);
    };
    if (changes::first_that_fits(asked, more_cp, fits, found)) {
        keep(ChangeKind::more_cp, found);
    }
    if (fits(memory(limits.most_memory.value))) {
        const u64 lacking =
            largest(limits.most_memory.value, [&](u64 m) noexcept { return !fits(memory(m)); });
        keep(ChangeKind::more_memory, memory(lacking + 1));
    }
    for (u32 knob = 0; knob < limits.knobs.size(); ++knob) {
        for (u32 value = 0; value < limits.knobs[knob]; ++value) {
            const Setting turned = with([&](Setting& s) noexcept {
                s.knob = knob + 1;
                s.knob_value = value;
            });
            if (fits(turned)) {
                keep(ChangeKind::knob, turned);
                break;
            }
        }
    }
    return all;
}

}  // namespace kvcap::inline v1

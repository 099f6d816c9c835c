// SPDX-License-Identifier: MIT
// Which single changes make a load fit? Each is evaluated by the engine, and said in the words of its flags.
#include "context_ranks.hpp"
#include "fit.hpp"

namespace kvcap::cli {

namespace {

std::string knob_words(const EngineFlags& turned) {
    std::string out;
    for (const auto& [name, value] : turned) {
        out += fmt::format("{}--{}{}{}", out.empty() ? "" : " ", name, value.empty() ? "" : " ", value);
    }
    return out;
}

/// Context ranks that may be tried: vLLM's among the tensor ranks, those of `exact` as many as there are GPUs.
u32 most_context_ranks(const Deployment& on, const Setting& asked, u32 gpus) {
    return !on.face->no_context_ranks.empty() || asked.attention_dp ? 1 : on.cp_among_tp ? asked.sharding.tp : gpus;
}

/// A knob of steps turned as little as fits: between its value that fits and the milder one that does not.
Change refined(Deployment& on, Change change, auto fits) {
    Knob& knob = on.knobs[change.setting.knob - 1];
    if (knob.step == 0) {
        return change;
    }
    const u32 at = change.setting.knob_value;
    const u64 found = count_of(knob.values[at], knob.flag);
    const u64 milder = at == 0 ? knob.now : count_of(knob.values[at - 1], knob.flag);
    knob.values.emplace_back();
    Setting turned = change.setting;
    turned.knob_value = static_cast<u32>(knob.values.size() - 1);
    const auto value = [&](u64 steps) { return round_up(found, knob.step) + steps * knob.step; };
    const u64 steps = milder <= value(0) ? 0 : (milder - value(0)) / knob.step;
    const auto fits_with = [&](u64 more) {
        knob.values.back() = std::to_string(value(more));
        return fits(turned);
    };
    const u64 most = largest(steps, [&](u64 more) { return more == 0 || fits_with(more); });
    if (most == 0) {
        return change;
    }
    knob.values.back() = std::to_string(value(most));
    return {change.kind, turned};
}

}  // namespace

std::vector<Change> changes_of(Deployment& on, const Setting& asked, u32 gpus) {
    on.knobs = on.knobs_of(asked);
    ChangeLimits limits{.gpus = gpus,
                        .kv_formats = static_cast<u32>(on.formats.size()),
                        .most_memory = on.most_extra(asked),
                        .most_cp = most_context_ranks(on, asked, gpus),
                        .cp_among_tp = on.cp_among_tp};
    for (const Knob& knob : on.knobs) {
        static_cast<void>(limits.knobs.push(static_cast<u32>(knob.values.size())));
    }
    const auto fits = [&](const Setting& setting) noexcept { return on.bears(setting); };
    std::vector<Change> changes;
    for (const Change& change : smallest_changes(asked, limits, fits)) {
        const bool mixed_shorter = change.kind == ChangeKind::shorter && on.mix.each.size() > 1;
        const bool no_such_ranks = change.kind == ChangeKind::attention_dp && on.face->name == "llamacpp";
        if (!mixed_shorter && !no_such_ranks) {
            changes.push_back(change.kind == ChangeKind::knob ? refined(on, change, fits) : change);
        }
    }
    return changes;
}

std::string words(const Change& change, const Deployment& on) {
    const Setting& to = change.setting;
    switch (change.kind) {
        case ChangeKind::shorter: return fmt::format("{} tokens a request", report::grouped(to.tokens.value));
        case ChangeKind::fewer: return report::counted(to.sequences, "request at once", "requests at once");
        case ChangeKind::smaller_format: return "--kv-cache-dtype " + on.formats[to.kv_format].dtype;
        case ChangeKind::attention_dp: return "--dp-attention (each rank holds whole requests)";
        case ChangeKind::more_tp: return fmt::format("--tp {}", to.sharding.tp);
        case ChangeKind::more_pp: return fmt::format("--pp {}", to.sharding.pp);
        case ChangeKind::more_cp:
            return fmt::format("{} {}", on.cp_among_tp ? "--decode-context-parallel-size" : "--cp", to.sharding.cp);
        case ChangeKind::more_memory:
            return more_words(on.memory, report::amount_and_exact(to.extra_memory));
        case ChangeKind::knob: return knob_words(on.turned(to));
    }
    return {};
}

std::string left_words(const Change& change, const Deployment& on) {
    const Setting& to = change.setting;
    if (change.kind != ChangeKind::knob || !on.knobs[to.knob - 1].of_memory || on.memory.of_free) {
        return {};
    }
    const double outside = static_cast<double>(on.memory.total.value) * (1 - on.share(to));
    return fmt::format(" (leaves {} of a GPU outside of it)", report::amount({static_cast<u64>(outside)}));
}

const char* name_of(ChangeKind kind) {
    switch (kind) {
        case ChangeKind::shorter: return "shorter";
        case ChangeKind::fewer: return "fewer";
        case ChangeKind::smaller_format: return "kv_cache_dtype";
        case ChangeKind::attention_dp: return "dp_attention";
        case ChangeKind::more_tp: return "tp";
        case ChangeKind::more_pp: return "pp";
        case ChangeKind::more_cp: return "cp";
        case ChangeKind::more_memory: return "memory";
        case ChangeKind::knob: return "flag";
    }
    return "";
}

}  // namespace kvcap::cli

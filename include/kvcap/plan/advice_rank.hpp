// SPDX-License-Identifier: MIT
// Which choice first? By what it saves of the goal; choices that this checkpoint runs as it is before those
// that need training, and those before choices that forget tokens. If what is wanted does not fit, choices
// that make it fit come first, the least risk in front.
#pragma once

#include <algorithm>
#include <kvcap/plan/advice_cost.hpp>
#include <vector>

namespace kvcap::inline v1 {

enum class Aim : u8 { memory, latency, ttft, throughput };

/// none: same outputs. measure: small loss that must be measured. high: large loss is possible.
enum class Risk : u8 { none, measure, high };

/// What a choice asks of the model: nothing (a flag), a calibration of this checkpoint, training, or that old
/// tokens may be forgotten.
enum class Effort : u8 { flag, calibration, training, forgetting };

constexpr Risk risk_of(Technique technique) noexcept {
    switch (technique) {
        case Technique::prefix_cache:
        case Technique::more_tp:
        case Technique::attention_dp: return Risk::none;
        case Technique::quantised_8:
        case Technique::fewer_heads:
        case Technique::latent: return Risk::measure;
        default: return Risk::high;
    }
}

constexpr Effort needs_of(Technique technique) noexcept {
    switch (technique) {
        case Technique::low_rank:
        case Technique::depth_reuse: return Effort::calibration;
        case Technique::latent:
        case Technique::fewer_heads: return Effort::training;
        case Technique::window:
        case Technique::budget: return Effort::forgetting;
        default: return Effort::flag;
    }
}

/// What a goal counts of the costs: less is better.
constexpr double price(const Costs& costs, Aim aim) noexcept {
    switch (aim) {
        case Aim::memory: return static_cast<double>(costs.memory.value);
        case Aim::latency: return costs.step;
        case Aim::ttft: return costs.first;
        case Aim::throughput: return costs.rate > 0 ? 1 / costs.rate : 0;
    }
    return 0;
}

/// saved: share of the goal's price that the choice takes away; below 0 it costs more.
struct Advice {
    Choice choice{};
    Variant variant{};
    Costs costs{};
    double saved = 0;
};

/// Shares saved by less than this are noise beside what a bound leaves out.
inline constexpr double worth_it = 0.05;

constexpr double saved_of(const Costs& before, const Costs& after, Aim aim) noexcept {
    const double was = price(before, aim);
    const double is = price(after, aim);
    if (aim == Aim::throughput && (was <= 0 || is <= 0)) {
        return was <= 0 && is > 0 ? 1 : 0;  // nothing ran before
    }
    return was > 0 ? 1 - is / was : 0;
}

constexpr int class_of(Technique technique) noexcept {
    const Effort needs = needs_of(technique);
    return needs == Effort::forgetting ? 2 : needs == Effort::training ? 1 : 0;
}

/// Whether a comes before b when the baseline fits or does not.
constexpr bool better(const Advice& a, const Advice& b, bool baseline_fits) noexcept {
    if (a.costs.fits != b.costs.fits) {
        return a.costs.fits;
    }
    const bool gains = a.saved > 0;
    if (gains != (b.saved > 0)) {
        return gains;
    }
    const int own = class_of(a.choice.technique);
    if (const int other = class_of(b.choice.technique); own != other) {
        return own < other;
    }
    const Risk risk = risk_of(a.choice.technique);
    if (const Risk other = risk_of(b.choice.technique); !baseline_fits && risk != other) {
        return risk < other;
    }
    return a.saved != b.saved ? a.saved > b.saved : a.choice.technique < b.choice.technique;
}

/// What to try: sizes of the techniques that have one.
struct Tries {
    u64 prefix = 0;       ///< tokens of a prompt that are stored before it comes; 0: not known
    u64 window = 4096;    ///< StreamingLLM: 4 sinks and a window
    u64 budget = 200;     ///< H2O: thousandths of the tokens
    u64 rank = 500;       ///< low rank: thousandths of the width
    u32 most_tp = 1;      ///< tensor ranks there are
    LayerList reusing{};  ///< layers that a similarity table allows to reuse; empty: no table
    u64 fallback = 0;
};

/// Width of the first cache of keys; 0 without one.
constexpr u64 key_width(const ModelSpec& model) noexcept {
    for (const LayerForm& form : model.forms) {
        if (form.kind == Kind::attention && attends(form)) {
            return form.streams[0].width;
        }
    }
    return 0;
}

/// Whether a cache is stored in more than a byte an element, and whether it is keys and values.
constexpr bool stores_wide(const ModelSpec& model, bool heads_only) noexcept {
    for (const LayerForm& form : model.forms) {
        const ElementFormat format = form.streams.empty() ? ElementFormat{} : form.streams[0].format;
        if (attends(form) && (!heads_only || form.kind == Kind::attention) && format.bytes > format.elems) {
            return true;
        }
    }
    return false;
}

constexpr bool grows(const ModelSpec& model) noexcept {
    for (const LayerForm& form : model.forms) {
        if (keeps_all(form)) {
            return true;
        }
    }
    return false;
}

/// Every choice that means something for this variant and these lengths.
inline std::vector<Choice> choices_for(const Variant& on, const Lengths& each, const Tries& tries) {
    const ModelSpec& model = on.read;
    const u64 tokens = (each.prompt + each.decoded).value;
    std::vector<Choice> all;
    const auto offer = [&](bool sensible, Technique technique, u64 size = 0) {
        if (sensible) {
            all.push_back({technique, size});
        }
    };
    const u64 heads = kv_heads(model);
    const u64 width = key_width(model);
    const u64 budget = product_over(tokens, tries.budget, 1000);
    offer(tries.prefix != 0, Technique::prefix_cache, smaller(tries.prefix, each.prompt.value));
    offer(on.sharding.tp * 2 <= tries.most_tp, Technique::more_tp, u64{on.sharding.tp} * 2);
    offer(on.sharding.tp > 1 && !on.attention_dp, Technique::attention_dp);
    offer(stores_wide(model, false), Technique::quantised_8);
    offer(stores_wide(model, true), Technique::quantised_4);
    offer(!tries.reusing.empty(), Technique::depth_reuse, tries.reusing.size());
    offer(heads != 0 && width * tries.rank >= 1000 && tries.rank < 1000, Technique::low_rank, tries.rank);
    offer(heads != 0 && width % 2 == 0, Technique::latent, 4 * width);
    offer(heads > 1, Technique::fewer_heads, heads > 8 ? 8 : heads / 2);
    const u64 kept = saturating_sum(tries.window, 4);
    offer(grows(model) && tries.window != 0 && tokens > kept, Technique::window, tries.window);
    offer(grows(model) && budget != 0 && tokens > budget, Technique::budget, budget);
    return all;
}

/// Advice on every choice whose price can be computed, best first.
inline std::vector<Advice> advise(const Variant& on, const auto& site, const Wanted& wanted, Aim aim,
                                  const Tries& tries, const Costs& baseline) {
    std::vector<Advice> all;
    for (const Choice& choice : choices_for(on, wanted.each, tries)) {
        const Result<Variant> made = choice.technique == Technique::depth_reuse
                                         ? with_reuse(on, tries.reusing, tries.fallback)
                                         : apply(choice, on);
        const Result<Costs> costs = made ? costs_of(*made, site, wanted) : Result<Costs>{made.error()};
        if (costs) {
            all.push_back({choice, *made, *costs, saved_of(baseline, *costs, aim)});
        }
    }
    std::sort(all.begin(), all.end(),
              [&](const Advice& a, const Advice& b) { return better(a, b, baseline.fits); });
    return all;
}

}  // namespace kvcap::inline v1

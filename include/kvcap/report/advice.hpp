// SPDX-License-Identifier: MIT
// What is a choice called, what does it do here, how is it verified, and what may it break? Words for
// plan/advice*.
#pragma once

#include <algorithm>
#include <kvcap/plan/advice_rank.hpp>
#include <kvcap/report/amount.hpp>
#include <kvcap/report/quantity.hpp>
#include <string_view>

namespace kvcap::inline v1::report {

inline std::string_view name_of(Aim aim) {
    switch (aim) {
        case Aim::memory: return "memory";
        case Aim::latency: return "latency";
        case Aim::ttft: return "ttft";
        case Aim::throughput: return "throughput";
    }
    return "memory";
}

/// Machine names, as in JSON.
inline std::string_view key_of(Technique technique) {
    switch (technique) {
        case Technique::prefix_cache: return "prefix_cache";
        case Technique::more_tp: return "more_tp";
        case Technique::attention_dp: return "attention_dp";
        case Technique::quantised_8: return "quantised_8_bit";
        case Technique::quantised_4: return "quantised_4_bit";
        case Technique::depth_reuse: return "depth_reuse";
        case Technique::low_rank: return "low_rank";
        case Technique::latent: return "latent";
        case Technique::fewer_heads: return "fewer_heads";
        case Technique::window: return "window_and_sinks";
        case Technique::budget: return "token_budget";
    }
    return "";
}

inline std::string name_of(const Choice& choice) {
    const std::string size = grouped(choice.size);
    switch (choice.technique) {
        case Technique::prefix_cache: return size + " prefix tokens stored";
        case Technique::more_tp: return "TP " + size;
        case Technique::attention_dp: return "attention data parallelism";
        case Technique::quantised_8: return "8-bit KV (fp8)";
        case Technique::quantised_4: return "4-bit KV (int4 + scales)";
        case Technique::depth_reuse: return "depth reuse in " + counted(choice.size, "layer", "layers");
        case Technique::low_rank:
            return "low-rank K and V, " + percent(static_cast<double>(choice.size) / 1000);
        case Technique::latent: return "MLA, latent " + size + " + rope " + grouped(choice.size / 8);
        case Technique::fewer_heads: return "GQA with " + counted(choice.size, "KV head", "KV heads");
        case Technique::window: return "4 sinks + window " + size;
        case Technique::budget: return "H2O budget of " + size + " tokens";
    }
    return "";
}

inline std::string_view words_of(Effort needs) {
    switch (needs) {
        case Effort::flag: return "a flag";
        case Effort::calibration: return "calibration";
        case Effort::training: return "training";
        case Effort::forgetting: return "forgets tokens";
    }
    return "";
}

inline std::string_view verify_of(Technique technique) {
    switch (technique) {
        case Technique::prefix_cache:
            return "replay a trace: kvcap simulate TRACE gives the hit tokens; the engine's hit counters "
                   "must agree";
        case Technique::more_tp:
            return "kvcap fit --tp N; then measure a step: all-reduces are not in the bound";
        case Technique::attention_dp:
            return "kvcap fit --dp-attention; measure at your batch: uneven requests idle ranks";
        case Technique::quantised_8:
        case Technique::quantised_4:
            return "accuracy must be measured: your own evaluation and a recall test (RULER) at your longest "
                   "context, 16 "
                   "bits against this, both three times; keep it if the loss is within the spread";
        case Technique::depth_reuse:
            return "measure similarity per layer at the storage and length you serve, then the same "
                   "evaluation; log how "
                   "often the fallback computes";
        case Technique::low_rank:
            return "calibrate the ranks on your data; perplexity and recall against the full rank at your "
                   "longest context";
        case Technique::latent: return "a converted and fine-tuned checkpoint, evaluated as a new model";
        case Technique::fewer_heads:
            return "an uptrained checkpoint (about 5% of pre-training), evaluated as a new model";
        case Technique::window: return "recall of facts older than the window, by distance: expect none";
        case Technique::budget:
            return "recall at your longest context, by the position of the fact; long outputs too";
    }
    return "";
}

inline std::string_view risk_words(Technique technique) {
    switch (technique) {
        case Technique::prefix_cache:
            return "none for the outputs; gains only what really repeats from the first token";
        case Technique::more_tp:
            return "none for the outputs; latents and few heads are copied, links are shared";
        case Technique::attention_dp: return "none for the outputs; attention weights are on every rank";
        case Technique::quantised_8:
            return "small loss, larger with outlier keys; a copy in 16 bits may raise the peak";
        case Technique::quantised_4:
            return "visible loss on recall and arithmetic is common; few engines serve it";
        case Technique::depth_reuse:
            return "drift where layers differ; a table holds for one storage and attention kind: 0.98 in "
                   "bf16 became "
                   "0.995 in INT8. Prefill gains nothing";
        case Technique::low_rank:
            return "recall falls first; kernels must rebuild heads; few engines serve it";
        case Technique::latent:
            return "a different model: not a serving switch; latents are whole on every tensor rank";
        case Technique::fewer_heads:
            return "a training-time choice: not a serving switch; ranks beyond the heads copy";
        case Technique::window:
            return "everything between the sinks and the window is gone; prefixes beyond it are not reused";
        case Technique::budget:
            return "what is dropped cannot come back; its choice depends on the prompt, so no prefix is "
                   "reused";
    }
    return "";
}

inline std::string_view words_of(Risk risk) {
    switch (risk) {
        case Risk::none: return "none";
        case Risk::measure: return "measure";
        case Risk::high: return "high";
    }
    return "";
}

/// The goal's price of these costs: "12.4 GiB", "8.97 ms", "5,155/s".
inline std::string price_words(const Costs& costs, Aim aim) {
    switch (aim) {
        case Aim::memory: return amount(costs.memory);
        case Aim::latency: return duration(costs.step);
        case Aim::ttft: return duration(costs.first);
        case Aim::throughput: return grouped(static_cast<u64>(costs.rate)) + "/s";
    }
    return "";
}

/// What the goal's column means.
inline std::string_view heading_of(Aim aim) {
    switch (aim) {
        case Aim::memory: return "weights + KV";
        case Aim::latency: return "step >=";
        case Aim::ttft: return "prompt >=";
        case Aim::throughput: return "tokens <=";
    }
    return "";
}

/// Is the cache what to change at all? In one sentence.
inline std::string verdict_words(const std::vector<Advice>& all, const Costs& baseline, Aim aim) {
    const auto worth = std::find_if(all.begin(), all.end(), [](const Advice& each) {
        return each.costs.fits && each.saved >= worth_it;
    });
    const std::string share =
        aim == Aim::memory
            ? fmt::format("the cache is {} of the {} a GPU holds",
                          percent(static_cast<double>(baseline.cache.value) /
                                  static_cast<double>(larger(baseline.memory.value, 1))),
                          amount(baseline.memory))
            : fmt::format("the cache is {} of what a step reads", percent(baseline.cache_share()));
    if (!baseline.fits && !all.empty() && all.front().costs.fits) {
        return fmt::format("as asked it does not fit; {}. First that fits: {}", share,
                           name_of(all.front().choice));
    }
    if (!baseline.fits) {
        return "as asked it does not fit, and no single choice here makes it fit; " + share;
    }
    if (worth == all.end()) {
        return fmt::format(
            "look elsewhere: {}, and no choice here saves {} of {} (weights, batch and kernels decide)",
            share, percent(worth_it), name_of(aim));
    }
    return fmt::format("{}; first: {}, saves {}", share, name_of(worth->choice), percent(worth->saved));
}

}  // namespace kvcap::inline v1::report

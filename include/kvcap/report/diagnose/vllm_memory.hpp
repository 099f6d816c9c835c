// SPDX-License-Identifier: MIT
// Why did vLLM not start, and where did the memory go? The refusals' own figures as a line (slope and constant),
// budgets of the old profile, block sizes from the swap space, workers and stages.
#pragma once

#include <algorithm>
#include <cmath>
#include <kvcap/report/diagnose/finding.hpp>

namespace kvcap::inline v1::report::vllm_log {

/// Two points of one request's size: the length asked for and the length that fits.
inline void too_long(Diagnosis& on) {
    const double need = on["needed_kv_gib"], have = on["available_kv_gib"], length = on["max_model_len"],
                 fits = on["estimated_max_len"];
    if (!known(need, have) || !(have > 0) || !(need > have)) {
        return;  // a pool of nothing is refused in other words, and what is there is not missing
    }
    Finding& found = on.add(
        "max-len", {"needed_kv_gib", "available_kv_gib", "estimated_max_len"},
        said("one request of {} needs {} GiB, {} GiB are there",
             known(length) ? commas(length) : "full length", on.text("needed_kv_gib"),
             on.text("available_kv_gib")),
        said("{:.2f} GiB are missing", need - have),
        known(fits)
            ? said("--max-model-len {:.0f}, or {:.2f} GiB more; fp8 KV halves the need of a 16-bit cache",
                   fits, need - have)
            : "");
    found.with("need_gib", need)
        .with("have_gib", have)
        .with("short_gib", need - have)
        .with("fits", fits)
        .with("times", on["error_times"]);
    if (!known(fits, length) || !(length > fits) || !(fits > 0)) {
        return;
    }
    const double slope = (need - have) * gib / (length - fits);
    const double constant = have - fits * slope / gib;
    const double low =
        std::max(on.low("needed_kv_gib") * gib / length, on.low("available_kv_gib") * gib / (fits + 256));
    const double high = std::min(on.high("needed_kv_gib") * gib / length, on.high("available_kv_gib") * gib / fits);
    const Round rate = roundest(low, high);
    if (known(rate.value)) {
        on.add("linear", {"needed_kv_gib", "estimated_max_len"}, "both points lie on one line through zero",
               said("every layer grows with the length: {} bytes a token", commas(rate.value)))
            .with("bytes_per_token", rate.value)
            .with("fp8_gib", need / 2);
        return;  // what two rounded points leave over is no part of its own
    }
    const double digits = on.high("needed_kv_gib") - need + on.high("available_kv_gib") - have;
    if (constant < -(digits * (1 + fits / (length - fits)) + 256 * slope / gib)) {
        return;  // less than nothing, by more than the digits and a cut to whole blocks allow
    }
    on.add("fixed-part", {"needed_kv_gib", "estimated_max_len"}, "two points give a straight line",
           constant < 0 ? said("about {} bytes a token; nothing is left that does not depend on the length",
                               commas(slope))
                        : said("about {} bytes a token and {:.2f} GiB that do not depend on the length",
                               commas(slope), constant))
        .with("slope_bytes", slope)
        .with("constant_gib", std::max(0.0, constant));
}

inline void auto_fit(Diagnosis& on) {
    const double from = on["auto_fit_from"], to = on["auto_fit_to"], pool = on["available_kv_gib"],
                 binding = on["available_kv_gib_binding"];
    if (known(from, to) && to > 0) {
        on.add("length-cut", {"auto_fit_to"},
               said("max_model_len was cut from {} to {}", commas(from), commas(to)),
               "longer prompts are refused at run time")
            .with("factor", from / to);
        per_token(on, "available_kv_gib_binding", to);
    }
    if (binding > 0 && pool > binding) {
        Finding& found = on.add("binding-stage", {"available_kv_gib", "available_kv_gib_binding"},
                                said("one rank printed {} GiB, the length follows from {}",
                                     on.text("available_kv_gib"), on.text("available_kv_gib_binding")),
                                said("another stage binds; {:.2f} GiB stay idle", pool - binding),
                                "move layers towards the emptier stage");
        found.with("stage0", pool).with("binding", binding).with("idle", pool - binding);
    }
}

/// Each running sequence holds one block of states: graphs are captured for max_num_seqs of them.
inline void too_few_states(Diagnosis& on) {
    const double asked = on["max_num_seqs"], blocks = on["state_blocks"];
    if (known(asked, blocks) && asked > blocks) {
        on.add("state-blocks", {"state_blocks"},
               said("max_num_seqs {:.0f}, the pool has {:.0f} blocks for states", asked, blocks),
               "each running sequence holds one: graphs cannot be captured for so many",
               said("--max-num-seqs {:.0f}, or more memory for the pool", blocks))
            .with("seqs", asked)
            .with("blocks", blocks);
    }
}

inline void refused(Diagnosis& on) {
    const double pool = on["available_kv_gib"], free = on["free_gib"], total = on["total_gib"];
    if (pool <= 0) {
        on.add("negative-pool", {"available_kv_gib"},
               said("{} GiB are left for the cache", on.text("available_kv_gib")),
               "weights, activations and what other processes took while this one measured exceed the share",
               "start engines on one card one after the other, or give the pool in bytes; a larger share only if the "
               "card is free")
            .with("available", pool)
            .with("weights", on["weights_gib"])
            .with("share", on["gpu_memory_utilization"]);
    }
    if (known(free, total) && on["desired_gib"] > free) {
        on.add("card-in-use", {"free_gib"},
               said("{} of {} GiB were free", on.text("free_gib"), on.text("total_gib")),
               "another process holds the card", "free it, or lower the share")
            .with("free", free)
            .with("total", total)
            .with("short_gib", on["desired_gib"] - free)
            .with("taken_gib", total - free)
            .with("highest_share", free / total);
    }
    if (const double manual = on["manual_kv_gib"]; known(manual)) {
        on.add("manual", {"manual_kv_gib"}, said("{} GiB were set by hand", on.text("manual_kv_gib")),
               "no profile ran and the share is ignored", "")
            .with("reserved", manual)
            .with("free", free);
    }
    if (on["weights_gib"] / on["budget_gib"] > 0.85) {
        on.add("weights-fill", {"weights_gib", "budget_gib"},
               said("weights take {:.0f}% of the budget", 100 * on["weights_gib"] / on["budget_gib"]),
               on["weights_gib"] < on["budget_gib"] ? "the cache gets what is left" : "nothing is left for the cache",
               "more cards, smaller weights or a smaller profile batch")
            .with("share_of_budget", on["weights_gib"] / on["budget_gib"])
            .with("outside_gib", total >= on["budget_gib"] ? total - on["budget_gib"] : std::nan(""));
    }
}

/// V0's profile: budget - weights - non-torch - activations = pool.
inline void budget(Diagnosis& on) {
    const double rest = on["budget_gib"] - on["weights_gib"] - on["non_torch_gib"] - on["peak_activation_gib"];
    const double share = on["gpu_memory_utilization"], total = on["total_gib"], pool = on["available_kv_gib"];
    if (known(rest, pool)) {
        on.add("budget-identity", {"budget_gib", "available_kv_gib"},
               said("{} - {} - {} - {} = {:.2f} GiB, {} printed", on.text("budget_gib"),
                    on.text("weights_gib"), on.text("non_torch_gib"), on.text("peak_activation_gib"), rest,
                    on.text("available_kv_gib")),
               std::abs(rest - pool) <= 0.03 ? "the pool is what is left of the share"
                                             : "the printed terms do not add up")
            .with("sum", rest)
            .with("printed", pool);
    }
    const double free = on["free_gib"];  // a start with a share of more than that is refused
    const double most = known(free, total) ? std::min(0.95, std::floor(100 * free / total) / 100) : 0.95;
    if (known(share, total) && share < most) {
        Finding& found = on.add("unused-share", {"gpu_memory_utilization", "total_gib"},
                                said("share {}", on.text("gpu_memory_utilization")),
                                said("{:.2f} GiB of the card are outside it", total * (1 - share)),
                                said("a share of {:.2f}, if nothing else needs the card", most));
        found.with("outside_gib", total * (1 - share)).with("gain_gib", total * (most - share));
        found.gain_bytes = total * (most - share) * gib;
    }
}

/// A block of 16 tokens is V0's default; the swap space is 4 GiB by default, so CPU blocks give a block's size.
inline void v0_blocks(Diagnosis& on) {
    const double blocks = on["gpu_blocks"], swap = on["cpu_blocks"], length = on["max_model_len"],
                 pool = on["available_kv_gib"];
    const double tokens = on["capacity_tokens"], count = known(blocks) ? blocks : tokens / 16;
    if (on.text("generation") != "v0" || !known(count)) {
        return;
    }
    on.add("v0-capacity", {"gpu_blocks", "capacity_tokens"},
           said("{} blocks of 16 tokens", commas(count)),
           said("{} tokens, on every rank alike", commas(count * 16)),
           count * 16 < length ? said("--max-model-len {:.0f}, or a higher share", count * 16) : "")
        .with("blocks", count)
        .with("block", 16)
        .with("tokens", count * 16)
        .with("short", length > count * 16 ? length - count * 16 : std::nan(""))
        .with("needed_blocks", std::ceil(length / 16))
        .with("concurrency", count * 16 / length)
        .with("factor", length / (count * 16));
    const Round block = known(blocks, pool) ? roundest(on.low("available_kv_gib") * gib / (blocks + 1),
                                                       on.high("available_kv_gib") * gib / blocks)
                        : swap > 0          ? Round{4 * gib / swap, 0}
                                            : Round{};
    if (known(block.value)) {
        on.add("block-bytes", {"available_kv_gib", "gpu_blocks", "cpu_blocks"},
               known(pool) ? "the pool divided by its blocks" : "the default swap of 4 GiB divided by the CPU blocks",
               said("{:.2f} MiB a block, {} bytes a token and rank", block.value / mib,
                    commas(block.value / 16)))
            .with("block_bytes", block.value)
            .with("mib_per_block", block.value / mib)
            .with("bytes_per_token", block.value / 16)
            .with("pool_gib", block.value * blocks / gib)
            .with("swap_gib", block.value * swap / gib);
    }
}

/// What the memory line adds up to, and what is left of the share.
inline void spent(Diagnosis& on) {
    const double weights = known(on["consumed_gib"]) ? on["consumed_gib"] : on["weights_gib"] + on["non_torch_gib"];
    const double all = weights + on["peak_activation_gib"] + on["graph_actual_gib"];
    const double share = on["desired_gib"];
    if (known(all, share)) {
        on.add("spent", {"desired_gib"}, said("{:.2f} GiB beside the cache", all),
               all <= share ? said("{:.2f} GiB of the share are left for it", share - all)
                            : said("that is {:.2f} GiB more than the share", all - share))
            .with("beside_gib", all)
            .with("left_gib", share - all)
            .with("free_after_gib", on["free_gib"] - all)
            .with("per_hundredth", on["total_gib"] / 100);
    }
}

/// Shares of the card, all ranks together, and the decimal GB that GiB are not.
inline void amounts(Diagnosis& on) {
    const double pool = on["available_kv_gib"], total = on["total_gib"],
                 ranks = known(on["tp"]) ? on["tp"] * (known(on["pp"]) ? on["pp"] : 1) : std::nan("");
    if (pool > 0) {
        Finding& found = on.add("amounts", {"available_kv_gib"},
                                said("{} GiB of cache a rank", on.text("available_kv_gib")),
                                said("{:.2f} GB in powers of ten", pool * gib / 1e9));
        found.with("decimal_gb", pool * gib / 1e9)
            .with("all_ranks_gib", pool * ranks)
            .with("share_of_card", pool / total)
            .with("weights_share", on["weights_gib"] / total);
    }
    const bool plain_cache =
        !on.has("kv_dtype") || on.text("kv_dtype") == "auto" || on.text("kv_dtype").find("16") != std::string::npos;
    if (on.has("quantization") && plain_cache) {
        Finding& found =
            on.add("weights-not-kv", {"quantization", "kv_dtype"}, on.text("quantization") + " weights",
                   "quantised weights do not quantise the cache, unless the checkpoint carries scales for it",
                   "--kv-cache-dtype fp8 halves a 16-bit cache");
        found.gain_bytes = pool > 0 ? pool / 2 * gib : 0;
    }
}

inline void workers(Diagnosis& on) {
    const double tp = on["tp"];
    const double weights = known(on["weights_gib"]) ? on["weights_gib"] : on["weights_gb"];
    if (known(tp, weights) && tp > 1) {
        on.add("per-rank", {"weights_gib", "weights_gb"},
               said("{:.2f} GiB on one of {:.0f} ranks", weights, tp),
               said("about {:.2f} GiB in all", weights * tp))
            .with("per_rank", weights)
            .with("total", weights * tp);
    }
    if (const double seen = on["worker_pids_seen"]; known(seen)) {
        on.add("ranks", {"weights_gib"}, said("{:.0f} worker processes print the same lines", seen),
               "each figure is one rank's; equal ones are counted once")
            .with("ranks_seen", seen);
    }
    if (const double before = on["page_bytes_planned"], after = on["page_bytes_actual"]; known(before, after)) {
        on.add("kernel-padding", {"page_bytes_actual", "gpu_blocks"},
               said("pages of {} bytes were planned, {} are stored", commas(before), commas(after)),
               "the kernel pads heads; the override comes from the engine, not from a user")
            .with("factor", after / before)
            .with("blocks", on["gpu_blocks"]);
    }
}

}  // namespace kvcap::inline v1::report::vllm_log

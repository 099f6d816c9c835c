// SPDX-License-Identifier: MIT
// What do SGLang's figures mean? Its share covers weights and pool together and is taken from what was free before
// loading; states are slots; window and full pools have token counts of their own. Its GB are GiB.
#pragma once

#include <cmath>
#include <kvcap/report/diagnose/finding.hpp>

namespace kvcap::inline v1::report::sglang_log {

inline double value_bytes(const std::string& dtype) {
    return dtype.find('8') != std::string::npos ? 1 : dtype.find("16") != std::string::npos ? 2 : std::nan("");
}

/// A latent cache is one amount; in bf16 one of 512 + 64 values takes 1,152 bytes a layer.
inline void tokens(Diagnosis& on) {
    const double count = known(on["allocated_tokens"]) ? on["allocated_tokens"] : on["capacity_tokens"];
    const bool pair = on.has("k_size_gb") && on.has("v_size_gb");
    const bool several = on.has("draft_pool_tokens");
    if (!known(count) || several || (!pair && !on.has("kv_size_gb"))) {
        return;
    }
    const bool equal = on["k_size_gb"] == on["v_size_gb"];
    if (pair && equal) {
        per_token(on, "k_size_gb", count, 2);
    } else if (!pair) {
        per_token(on, "kv_size_gb", count);
        const Round rate = roundest(on.low("kv_size_gb") * gib / count, on.high("kv_size_gb") * gib / count);
        const double layers = rate.value / (576 * value_bytes(on.text("kv_dtype")));
        if (known(layers) && layers >= 1 && layers == std::floor(layers)) {
            on.add("latent", {"kv_size_gb"}, "one KV size instead of K and V",
                   said("latent attention; of 512 + 64 values that are {} layers", layers))
                .with("layers", layers)
                .with("width", 576);
        }
    }
    if (on.facts().has("kv_size_gb") && on.has("ssm_state_gb")) {
        const double states = on["conv_state_gb"] + on["ssm_state_gb"];
        on.add("state-share", {"ssm_state_gb", "kv_size_gb"},
               said("{:.2f} GB of states beside {} GB of cache", states, on.text("kv_size_gb")),
               "slots bound the running requests before tokens do")
            .with("slots", on["state_slots"])
            .with("state_gb", states)
            .with("kv_gb", on["kv_size_gb"])
            .with("share", states / (states + on["kv_size_gb"]));
        const double slot = states * gib / (on["state_slots"] + 1);
        const Round rate = roundest(on.low("kv_size_gb") * gib / count, on.high("kv_size_gb") * gib / count);
        on.add("token-equivalent", {"state_slots"}, said("a slot is {:.1f} MiB", slot / mib),
               said("as much as {:.0f} tokens", slot / rate.value))
            .with("slot_mib", slot / mib)
            .with("tokens_per_slot", slot / rate.value);
    }
}

inline void states(Diagnosis& on) {
    const double slots = on["state_slots"], all = on["conv_state_gb"] + on["ssm_state_gb"];
    if (known(slots, all)) {
        on.add("state-per-slot", {"state_slots"},
               said("{:.2f} GB of states for {:.0f} slots and a reserve", all, slots),
               said("a request costs {:.3f} GiB before its first token", all / (slots + 1)),
               "fewer slots (--max-mamba-cache-size) where fewer requests run at once")
            .with("slots", slots)
            .with("state_gb", all)
            .with("per_slot_gib", all / (slots + 1));
    }
}

/// Why memory stays free. The share leaves (1 - share) of what was free before loading, to within a GB that is rounded
/// or not used; more than that is a cap on the pool. Where the log states no share, more than 16 GB are either.
inline Sentence idle_words(Diagnosis& on, double idle) {
    const double total = known(on["profiled_total_gb"]) ? on["profiled_total_gb"] : on["avail_before_weights_gb"];
    const double outside = total * (1 - on["mem_fraction_static"]);
    if (known(on["requested_max_total_tokens"]) || idle > outside + 1) {
        return idle > 16 ? "the pool is capped by a setting, not by memory"
                         : "what graphs and activations need comes from it";
    }
    if (idle > 16) {
        return known(outside) ? said("the share of {} leaves {:.2f} GB outside it: --mem-fraction-static decides",
                                     on.text("mem_fraction_static"), outside)
                              : "the share leaves it, or a setting caps the pool; the log does not say the share";
    }
    return "what graphs and activations need comes from it";
}

inline void margin(Diagnosis& on) {
    const double free = on["available_gpu_mem_gb"], pool = on["avail_after_pool_gb"];
    const double idle = known(free) ? free : pool;
    if (known(idle)) {
        on.add("margin", {"available_gpu_mem_gb", "avail_after_pool_gb"}, said("{:.2f} GB stay free", idle),
               idle_words(on, idle))
            .with("free_gb", pool)
            .with("idle", idle);
    }
}

inline void pool_size(Diagnosis& on) {
    const double count = on["capacity_tokens"], length = on["max_model_len"], running = on["max_running_requests"];
    if (known(count, length)) {
        Finding& found =
            on.add("length-vs-pool", {"capacity_tokens", "max_total_num_tokens"},
                   said("{} tokens, length {}", commas(count), commas(length)),
                   count < length ? "a longer prompt than the pool can never be admitted"
                                  : said("{:.2f} requests of full length", count / length),
                   count < length ? said("--context-length {:.0f}, or a larger pool", count) : "");
        found.with("ratio", count / length).with("context", length).with("pool", count);
        found.with("per_request", std::floor(count / running));
    } else if (known(count, running)) {
        on.add("running-limit", {"capacity_tokens"}, said("{:.0f} running requests", running),
               said("{:.0f} tokens each", std::floor(count / running)))
            .with("per_request", std::floor(count / running));
    }
    if (const double page = on["page_size"]; known(page, count) && page > 1) {
        on.add("pages", {"page_size", "capacity_tokens"}, said("pages of {:.0f}", page),
               said("{} pages", commas(count / page)))
            .with("page", page)
            .with("pages", count / page);
    }
}

inline void share(Diagnosis& on) {
    const double rate = on["bytes_per_full_token"], pool = on["available_kv_gib"];
    const double weights = on["avail_before_weights_gb"] - on["avail_after_pool_gb"] - pool;
    if (known(rate, pool)) {
        on.add("check", {"bytes_per_full_token", "available_kv_gib"},
               said("{} GiB / {} B", on.text("available_kv_gib"), on.text("bytes_per_full_token")),
               said("{} tokens before pages", commas(pool * gib / rate)))
            .with("tokens_before_pages", pool * gib / rate)
            .with("low", on.low("available_kv_gib") * gib / rate)
            .with("high", on.high("available_kv_gib") * gib / rate)
            .with("weights_gb", weights >= 0 ? weights : std::nan(""));
    }
    const double total = on["profiled_total_gb"], fraction = on["profiled_fraction"],
                 free = on["profiled_available_gb"];
    if (known(total, fraction, free)) {
        Finding& found = on.add(
            "share", {"rest_memory_gb"}, said("{:.2f} - {:.2f} x (1 - {:.2f})", free, total, fraction),
            said("{:.3f} GiB: the share counts weights and pool together", free - total * (1 - fraction)),
            "raise --mem-fraction-static while memory stays free after start");
        found.with("rest", free - total * (1 - fraction))
            .with("idle", on["available_gpu_mem_gb"])
            .with("gib_per_hundredth", total / 100)
            .with("tokens_per_hundredth", total / 100 * gib / rate);
        found.gain_bytes = std::max(0.0, on["available_gpu_mem_gb"] - 4) * gib;
    }
}

/// Tokens of both pools, where no line says their sizes.
inline void window_tokens(Diagnosis& on) {
    const double window = on["swa_layer_tokens"], full = on["full_layer_tokens"];
    on.add("window-pool", {"full_layer_tokens"},
           said("{} full tokens, {} window tokens", commas(full), commas(window)),
           window == full ? said("both pools have the same tokens: windows save nothing")
                          : said("windows have a pool of their own, {:.2f} of the full tokens", window / full),
           "a smaller --swa-full-tokens-ratio gives the memory to the full layers")
        .with("ratio", window / full);
}

inline void windows(Diagnosis& on) {
    const logs::Datum* pools = on.find("pools");
    if (pools == nullptr || pools->items.size() < 2) {
        return window_tokens(on);
    }
    const auto sum = [](const logs::Datum& pool) {
        double all = 0;
        for (const logs::Field& field : pool.items) {
            all += field.name.ends_with("_size_gb") ? logs::number(field.value).value_or(0) : 0;
        }
        return all;
    };
    const bool turned = pools->items[0].value.items.front().value.words == "full";
    const double window = sum(pools->items[turned ? 1 : 0].value), full = sum(pools->items[turned ? 0 : 1].value);
    Finding& found =
        on.add("windows-full", {"swa_size", "full_size"},
               said("window layers hold {:.2f} of {:.2f} GB", window, window + full),
               on["swa_size"] == on["full_size"] ? "both pools have the same tokens: windows save nothing"
                                                 : "windows have a pool of their own",
               "a smaller --swa-full-tokens-ratio gives the memory to the full layers");
    found.with("window_gb", window)
        .with("full_gb", full)
        .with("sum", window + full)
        .with("total_gb", on["swa_pool_gb"])
        .with("share", window / (window + full));
    found.gain_bytes = on["swa_size"] == on["full_size"] ? window * 0.8 * gib : 0;
}

inline void refused(Diagnosis& on, std::optional<double> token_bytes) {
    const double after = on["avail_after_weights_gb"], weights = on["weights_gb"],
                 fraction = on["mem_fraction_static"];
    if (on.text("error_category") == "no_memory_for_kv" && known(after, weights)) {
        const double before = after + weights;
        on.add("share", {"weights_gb", "avail_after_weights_gb"},
               said("{:.2f} GB were free before loading, weights take {:.2f}", before, weights),
               said("the share must exceed {:.4f}", 1 - after / before),
               said("--mem-fraction-static above {:.4f}", 1 - after / before))
            .with("before", before)
            .with("budget", before * fraction)
            .with("minimum_fraction", 1 - after / before)
            .with("weights", weights);
    }
    if (const double profiled = on["profiled_tokens"]; profiled <= 0) {
        Finding& found = on.add(
            "negative-pool", {"profiled_tokens"}, said("{} tokens were profiled", commas(profiled)),
            "the reserve exceeds what is free after the weights: no pool is possible, whatever was asked for",
            "a larger --mem-fraction-static");
        found.with("tokens", profiled);
        if (token_bytes) {
            found.with("bytes_per_token", *token_bytes).with("gib", profiled * *token_bytes / gib);
        }
    }
}

inline void uneven(Diagnosis& on) {
    const double effective = on["effective_tokens"], projected = on["projected_tokens"];
    if (!known(effective, projected)) {
        return;
    }
    double profiled = std::nan("");
    if (const logs::Datum* all = on.find("profiled_tokens_by_rank"); all != nullptr && !all->items.empty()) {
        profiled = logs::number(all->items[0].value).value_or(profiled);
    }
    on.add("which-number", {"effective_tokens"}, "profiled, projected and effective token counts",
           said("the effective one is what users get: {}", commas(effective)),
           on.has("user_limit_tokens") ? "it is bound by --max-total-tokens, not by memory" : "")
        .with("effective", effective)
        .with("projected", projected)
        .with("profiled", profiled)
        .with("gain", projected / effective)
        .with("state_cap", on["state_cap_tokens"]);
    if (const double draft = on["draft_pool_mgb"]; known(draft)) {
        on.add("draft-pool", {"draft_pool_tokens"}, "a second pool with more tokens and less memory",
               "the draft layer")
            .with("draft_gb", draft / 1000)
            .with("tokens", on["draft_pool_tokens"]);
    }
}

/// K and V together; its GB are GiB.
inline void amounts(Diagnosis& on) {
    const double both = known(on["k_size_gb"]) ? on["k_size_gb"] + on["v_size_gb"] : on["kv_size_gb"];
    if (known(both)) {
        on.add("amounts", {"k_size_gb", "kv_size_gb"}, said("{:.2f} GB of cache a rank", both),
               said("GiB are meant: {:.2f} GB in powers of ten", both * gib / 1e9))
            .with("kv_gib", both)
            .with("decimal_gb", both * gib / 1e9)
            .with("all_ranks_gib", both * on["tp"]);
    }
    if (const double held = on["avail_before_weights_gb"] - on["available_gpu_mem_gb"]; held >= 0) {
        on.add("in-use", {"available_gpu_mem_gb"}, "free before loading less free at the end",
               said("{:.2f} GB are in use", held))
            .with("in_use_gb", held)
            .with("graph_gb", on["graph_gb"]);
    }
}

/// What a hundredth of the share is worth: the share is of what was free before loading.
inline void hundredth(Diagnosis& on) {
    const double before = on["avail_before_weights_gb"];
    const double both = known(on["k_size_gb"]) ? on["k_size_gb"] + on["v_size_gb"] : on["kv_size_gb"];
    if (known(before)) {
        on.add("hundredth", {"avail_before_weights_gb"}, said("{:.2f} GB were free before loading", before),
               said("each 0.01 of the share is {:.2f} GiB", before / 100))
            .with("gib_per_hundredth", before / 100)
            .with("tokens_per_hundredth", before / 100 / both * on["capacity_tokens"])
            .with("weights_share", on["weights_gb"] / before);
    }
}

inline void prefix_cache(Diagnosis& on) {
    const std::string tree = on.text("tree_cache");
    if (tree == "ChunkCache" || on.facts().is("prefix_caching", false)) {
        Finding& found = on.add("no-prefix-cache", {"tree_cache", "prefix_caching"},
                                tree.empty() ? "the radix cache is off" : "the tree is a " + tree,
                                "equal prompts are computed again; no prompt ever hits",
                                "remove --disable-radix-cache, or see whether the platform forces it");
        if (!tree.empty()) {
            found.with("tree", tree);
        }
    }
    if (on.text("weights_quant").starts_with("fp8") && on.text("kv_dtype").find("16") != std::string::npos) {
        on.add("fp8-weights", {"weights_quant", "kv_dtype"}, "an fp8 checkpoint with a 16-bit cache",
               "weights in fp8 do not store the cache in fp8", "--kv-cache-dtype fp8_e4m3 halves it");
    }
}

inline void diagnose(Diagnosis& on, std::optional<double> token_bytes) {
    tokens(on);
    states(on);
    pool_size(on);
    margin(on);
    share(on);
    windows(on);
    refused(on, token_bytes);
    uneven(on);
    prefix_cache(on);
    amounts(on);
    hundredth(on);
}

}  // namespace kvcap::inline v1::report::sglang_log

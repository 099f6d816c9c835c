// SPDX-License-Identifier: MIT
// What do the amounts of llama.cpp and ollama mean? Cells and bytes a token, state rows by slots, buffers beside the
// cache, what another type would take (q8_0: 34 bytes for 32 values, q4_0: 18).
#pragma once

#include <cmath>
#include <kvcap/report/diagnose/finding.hpp>

namespace kvcap::inline v1::report::llamacpp_log {

inline constexpr double q8_of_f16 = 34.0 / 64;

/// "992.0 MiB", "1.1 GiB" in bytes.
inline double bytes_of(const std::string& amount) {
    const auto parsed = logs::match(amount, "{d} {w}");
    const double number = parsed ? logs::number(logs::words(parsed->at[0])).value_or(std::nan("")) : std::nan("");
    const std::string_view unit = parsed ? parsed->at[1] : std::string_view{};
    return number * (unit == "GiB"   ? gib
                     : unit == "MiB" ? mib
                     : unit == "KiB" ? kib
                     : unit == "B"   ? 1
                                     : std::nan(""));
}

inline double field(const logs::Datum& row, std::string_view name) {
    for (const logs::Field& one : row.items) {
        if (one.name == name) {
            return logs::number(one.value).value_or(std::nan(""));
        }
    }
    return std::nan("");
}
inline std::string word(const logs::Datum& row, std::string_view name) {
    for (const logs::Field& one : row.items) {
        if (one.name == name) {
            return one.value.words;
        }
    }
    return {};
}

/// Cells of all streams: a line prints those of each.
inline double all_cells(double cells, double streams) {
    return cells * (known(streams) ? streams : 1);
}
inline Sentence cells_words(double cells, double streams) {
    return streams > 1 ? said("{:.0f} streams of {} cells", streams, commas(cells)) : said("{} cells", commas(cells));
}

/// What another type would take; nothing of a cache that holds nothing.
inline void quantised(Diagnosis& on, const std::string& type, double amount) {
    if (!(amount > 0)) {
        return;
    }
    const auto told = [&](const Finding& one) { return one.kind == "q4-is-4.5-bits"; };
    if (type == "f16" || type == "bf16") {
        Finding& found = on.add("quantise", {}, said("{:.2f} MiB in {}", amount, type),
                                said("q8_0 would take {:.0f} MiB", amount * q8_of_f16),
                                on.facts().has("ollama_words") ? "OLLAMA_KV_CACHE_TYPE=q8_0" : "-ctk q8_0 -ctv q8_0");
        found.with("q4_mib", amount * 18 / 64)
            .with("q8_mib", amount * q8_of_f16)
            .with("gain_mib", amount * (1 - q8_of_f16));
        found.gain_bytes = amount * (1 - q8_of_f16) * mib;
    } else if (type == "q4_0" && std::none_of(on.findings.begin(), on.findings.end(), told)) {
        on.add("q4-is-4.5-bits", {}, "q4_0", "18 bytes for 32 values: 4.5 bits, 12.5% above 4")
            .with("ratio", 18.0 / 16);
    }
}

inline void one_cache(Diagnosis& on) {
    const double amount = on["kv_mib"], layers = on["kv_layers"], cells = all_cells(on["cells"], on["streams"]);
    if (amount > 0 && cells > 0) {
        on.add("bytes-per-token", {"kv_mib", "cells"},
               said("{:.2f} MiB for {}", amount, cells_words(on["cells"], on["streams"])),
               said("{} bytes a token", commas(amount * mib / cells)))
            .with("bytes_per_token", amount * mib / cells)
            .with("per_layer", amount * mib / cells / layers);
    }
    if (known(amount)) {
        on.add("amount", {"kv_mib"}, said("{:.2f} MiB of cache", amount),
               said("{:.3f} GiB", amount / 1024))
            .with("kv_gib", amount / 1024)
            .with("per_sequence_mib", amount / on["n_seq_max"]);
        quantised(on, on.text("kv_type_k"), amount);
    }
    if (const double width = on["kv_lora_rank"] + on["qk_rope"]; known(width)) {
        on.add("latent", {"kv_lora_rank"}, said("one latent of {:.0f} a layer", width),
               "no V at all where kv^T is not used")
            .with("width", width)
            .with("layers", layers);
    }
    const double compute = on["compute_mib"];
    if (known(amount, compute) && amount > 0 && compute > amount) {
        on.add("graph-dominates", {"compute_mib", "kv_mib"},
               said("{:.2f} MiB of compute buffer beside {:.2f} MiB of cache", compute, amount),
               said("{:.1f} times the cache", compute / amount),
               "a smaller micro-batch (-ub), flash attention, or -amb in the fork: the lever is not the cache type")
            .with("compute", compute)
            .with("kv", amount)
            .with("factor", compute / amount);
    }
    const double per_seq = on["n_ctx_per_seq"];
    if (known(amount, per_seq) && !known(cells)) {
        for (const double slots : {1.0, 2.0, 4.0, 8.0}) {
            on.add("slots", {"kv_mib", "n_ctx_per_seq"},
                   said("{:.2f} MiB, {} cells a sequence", amount, commas(per_seq)),
                   said("one reading: {:.0f} slots, {} cells at {} bytes; the model or n_seq_max decides",
                        slots, commas(per_seq * slots), commas(amount * mib / per_seq / slots)))
                .with("slots", slots)
                .with("cells", per_seq * slots)
                .with("bytes_per_token", amount * mib / per_seq / slots);
        }
    }
}

/// State rows: slots x (1 + rollback depth).
inline void state_rows(Diagnosis& on, double amount, double slots, double depth) {
    if (!known(amount, slots) || !(slots > 0)) {
        return;
    }
    const double planes = 1 + (known(depth) ? depth : 0);
    Finding& found = on.add("state-rows", {"rs_mib"},
                            said("{:.2f} MiB of states for {:.0f} slots{}", amount, slots,
                                 planes > 1 ? said(", stored {:.0f} times for rollback", planes) : ""),
                            "they grow with slots, not with the context, and stay f32 whatever the cache type",
                            "-np 1, or a smaller draft maximum");
    found.with("rs_mib", amount)
        .with("slots", slots)
        .with("planes", planes)
        .with("per_slot", amount / slots)
        .with("one_slot", amount / slots);
    found.with("depth3", amount / planes * 4).with("gain_mib", amount - amount / slots);
    found.gain_bytes = (amount - amount / slots) * mib;
}

inline void contexts(Diagnosis& on) {
    const logs::Datum* all = on.find("contexts");
    for (std::size_t i = 0; all != nullptr && i < all->items.size(); ++i) {
        const logs::Datum& one = all->items[i].value;
        const double amount = field(one, "kv_mib"), layers = field(one, "kv_layers"), total = on["n_layer"],
                     cells = all_cells(field(one, "cells"), field(one, "streams"));
        if (i > 0) {
            on.add("draft-cost", {},
                   said("the draft context: {:.2f} MiB of cache, {:.2f} MiB of graph", amount,
                        field(one, "compute_mib")),
                   "a second graph buffer comes with it")
                .with("kv", amount)
                .with("graph", field(one, "compute_mib"))
                .with("sum", amount + field(one, "compute_mib"));
        } else {
            on.add("attention-layers", {"n_layer"}, said("{:.0f} of {:.0f} layers hold KV", layers, total),
                   said("{} bytes a token; over all layers it would be {:.0f} MiB",
                        commas(amount * mib / cells), amount / layers * total))
                .with("kv_mib", amount)
                .with("wrong_mib", amount / layers * total)
                .with("bytes_per_token", amount * mib / cells);
            state_rows(on, field(one, "rs_mib"), field(one, "rs_cells"), on["rs_seq"]);
        }
    }
}

inline void devices(Diagnosis& on) {
    const double states = on["rs_mib"], amount = on["kv_mib"], compute = on["compute_mib"];
    double weights = 0;
    if (const logs::Datum* all = on.find("weights_mib_by_device"); all != nullptr) {
        for (const logs::Field& one : all->items) {
            weights += logs::llamacpp::host_device(one.name) ? 0 : logs::number(one.value).value_or(0);
        }
    }
    if (known(states, amount)) {
        on.add("state-exceeds-kv", {"rs_mib", "kv_mib"},
               said("states {:.2f} MiB, cache {:.2f} MiB", states, amount),
               states > amount ? "with few tokens the slots dominate" : "the cache dominates")
            .with("rs", states)
            .with("kv", amount);
    }
    if (weights > 0 && known(amount, compute)) {
        const double sum = weights + amount + compute + (known(states) ? states : 0);
        on.add("device-sum", {"kv_mib", "compute_mib"}, "weights, cache, states and compute buffer",
               said("{:.2f} MiB on the card", sum))
            .with("sum", sum);
    }
    if (on.has("dry_pass_mib")) {
        on.add("two-passes", {"dry_pass_mib"}, "the load is printed twice",
               "a dry pass with zeros and the real one; zeros are no empty cache")
            .with("first", on.text("dry_pass_mib"))
            .with("last", amount);
    }
    const std::string printed = on.text("offloaded");
    const auto offloaded = logs::match(printed, "{n}/{n}");
    const std::int64_t given = offloaded ? logs::integer_of(offloaded->at[0]).value_or(-1) : -1;
    const std::int64_t layers = offloaded ? logs::integer_of(offloaded->at[1]).value_or(-1) : -1;
    if (given >= 0 && given <= layers) {
        const double on_card = static_cast<double>(given), all = static_cast<double>(layers);
        on.add("offload", {"offloaded"}, said("{:.0f} of {:.0f} layers are on the card", on_card, all),
               on_card < all ? "the rest runs on the host, its cache too" : "all of them",
               on_card < all ? "-ngl" : "")
            .with("offloaded", on_card)
            .with("layers", all);
    }
    if (const logs::Datum* packed = on.find("compressed_kv_mib_by_device");
        packed != nullptr && packed->items.size() > 1) {
        double least = 1e300, most = 0;
        for (const logs::Field& one : packed->items) {
            least = std::min(least, logs::number(one.value).value_or(0));
            most = std::max(most, logs::number(one.value).value_or(0));
        }
        on.add("uneven", {}, "devices hold unlike amounts",
               said("they differ by {:.0f} MiB: layers of unlike kind do not divide evenly", most - least))
            .with("difference", most - least);
    }
    if (!known(amount) && !on.has("caches") && !on.has("contexts") && !on.has("kv_by_device") &&
        on.has("verbosity")) {
        on.add("no-sizes", {"verbosity"}, said("verbosity {:.0f} prints no sizes", on["verbosity"]),
               "not measured, which is not zero", "-lv 4 for buffers, -v for layers")
            .with("verbosity", on["verbosity"]);
    }
}

}  // namespace kvcap::inline v1::report::llamacpp_log

// SPDX-License-Identifier: MIT
// What do ollama's own amounts mean? The cache is split as the layers are; what full offload misses; vision parts;
// the smaller of two free amounts on unified memory.
#pragma once

#include <kvcap/report/diagnose/llamacpp_caches.hpp>

namespace kvcap::inline v1::report::llamacpp_log {

inline double sum_of(Diagnosis& on, std::string_view name, bool host) {
    double sum = 0;
    const logs::Datum* all = on.find(name);
    for (std::size_t i = 0; all != nullptr && i < all->items.size(); ++i) {
        sum += logs::llamacpp::host_device(all->items[i].name) == host ? bytes_of(all->items[i].value.words) : 0;
    }
    return sum;
}

inline void ollama_devices(Diagnosis& on) {
    const double card = sum_of(on, "kv_by_device", false), host = sum_of(on, "kv_by_device", true);
    const double graph = sum_of(on, "compute_by_device", false);
    if (card > 0 || host > 0) {
        Finding& found =
            on.add("kv-follows-layers", {},
                   said("{:.1f} GiB of cache on the card, {:.1f} GiB on the host", card / gib, host / gib),
                   host > 0 && card > 0 ? "the cache is split as the layers are"
                                        : "the cache lies where the layers are",
                   "OLLAMA_KV_CACHE_TYPE=q8_0");
        found.with("cpu_share", host / (card + host))
            .with("kv", card / gib)
            .with("graph", graph / gib)
            .with("gain_gib", card / gib * (1 - q8_of_f16))
            .with("q8_gib", (card + host) / gib * q8_of_f16);
        found.gain_bytes = card * (1 - q8_of_f16);
    }
    const double budget = bytes_of(on.text("gpu_available")), free = bytes_of(on.text("system_free"));
    if (known(budget, free) && free < budget) {
        on.add(
              "free-mismatch", {"gpu_available", "system_free"},
              said("{} for the card, {} free in the system", on.text("gpu_available"), on.text("system_free")),
              "on unified memory the smaller one is real")
            .with("budget", budget / gib)
            .with("free", free / gib);
    }
}

inline void ollama_offload(Diagnosis& on) {
    const double full = bytes_of(on.text("required_full")), there = bytes_of(on.text("memory_available"));
    if (known(full, there)) {
        Finding& found = on.add(
            "misses-by", {"required_full", "memory_available"},
            said("{} needed for all layers, {} there", on.text("required_full"), on.text("memory_available")),
            full > there ? "some layers run on the host" : "all layers fit",
            full > there ? "a shorter context, or no projector" : "");
        found.with("short_gib", (full - there) / gib).with("kv_mib", bytes_of(on.text("required_kv")) / mib);
    }
    const double projector = bytes_of(on.text("projector_weights")) + bytes_of(on.text("projector_graph"));
    if (known(projector) && projector > 0) {
        on.add("projector", {"projector_weights"}, said("vision parts take {:.1f} GiB", projector / gib),
               said("{:.1f} times the cache", projector / bytes_of(on.text("required_kv"))))
            .with("gib", projector / gib);
    }
}

inline void diagnose(Diagnosis& on) {
    one_cache(on);
    several_caches(on);
    contexts(on);
    if (!on.has("contexts")) {
        state_rows(on, on["rs_mib"], on["rs_cells"], on["rs_seq"]);
    }
    devices(on);
    ollama_devices(on);
    ollama_offload(on);
    if (on.text("error_category") == "draft_failed") {
        on.add("real-cause", {"error_category"}, "the draft context failed",
               "it is only the last step: the memory went to the target's buffers and state rows",
               "-np 1 or a smaller draft maximum");
    }
}

}  // namespace kvcap::inline v1::report::llamacpp_log

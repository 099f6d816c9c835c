// SPDX-License-Identifier: MIT
// What do llama.cpp's several caches mean? What grows with the context and what does not, and what of a window's cells
// is there for the micro-batch.
#pragma once

#include <kvcap/report/diagnose/llamacpp.hpp>

#include <algorithm>

namespace kvcap::inline v1::report::llamacpp_log {

/// What of a window's cells is its micro-batch: cells are the window (of all sequences, where they share one buffer)
/// and the micro-batch, padded to 256, and never more than the context. As the log states them; where it states
/// neither, the default of 512 when it leaves a power of two, else the largest power of two in the cells.
struct WindowCells {
    double batch = std::nan("");
    double window = std::nan("");
    bool stated = false;  ///< the micro-batch
};

inline double padded_cells(double wanted) {
    return std::ceil(wanted / 256) * 256;
}

inline WindowCells window_cells(Diagnosis& on, double cells) {
    const double width = on["n_swa"], batch = on["n_ubatch"];
    const double sequences = known(on["n_seq_max"]) ? on["n_seq_max"] : on["seqs"];
    const bool one = known(on["streams"]) ? on["streams"] == 1 : on.facts().is("kv_unified", true);
    const bool shared = one && known(sequences);
    const double window = width > 0 ? width * (shared ? sequences : 1) : std::nan("");
    if (known(batch)) {
        return {batch, padded_cells(window + batch) == cells ? window : cells - batch, true};
    }
    if (known(window)) {
        return {cells - window, window};
    }
    const double rest = cells - 512;
    const double most = std::exp2(std::floor(std::log2(std::max(1.0, cells - 1))));
    const bool usual = rest > 0 && std::exp2(std::floor(std::log2(rest))) == rest;
    return usual ? WindowCells{512, rest} : WindowCells{most, cells - most};
}

/// all: cells of the cache that grows. A window of as many is cut to the context, whatever the micro-batch.
inline void window_cache(Diagnosis& on, double cells, double amount, double all) {
    const WindowCells parts = window_cells(on, cells);
    const double small = padded_cells(parts.window + 512);
    if (!(parts.batch > 512) || !(small < cells) || !(parts.window > 0) || cells >= all) {
        return;
    }
    on.add("window-cells", {"n_swa", "n_ubatch"}, said("{} window cells", commas(cells)),
           said("a micro-batch of 512 instead of {} would need {} cells, {:.2f} MiB{}", commas(parts.batch),
                commas(small), amount * small / cells, parts.stated ? "" : "; one reading: the log does not say it"),
           "-ub 512")
        .with("cells", cells)
        .with("mib", amount)
        .with("small_mib", amount * small / cells);
}

/// What several caches hold together. full: of caches that grow with the context; cells: of one stream of the largest
/// cache; all_cells: of all its streams.
struct CacheSums {
    double full = 0;
    double constant = 0;
    double all = 0;
    double cells = 0;
    double all_cells = 0;
    double layers = 0;
    double full_layers = 0;
    u64 full_caches = 0;  ///< that have layers
};

inline CacheSums sums_of(const logs::Datum& caches) {
    CacheSums sums;
    for (const logs::Field& one : caches.items) {
        const double amount = field(one.value, "kv_mib"), cells = field(one.value, "cells"),
                     layers = field(one.value, "kv_layers");
        sums.all += known(amount) ? amount : 0;
        const double stored = all_cells(cells, field(one.value, "streams"));
        sums.cells = std::max(sums.cells, known(cells) ? cells : 0);
        sums.all_cells = std::max(sums.all_cells, known(stored) ? stored : 0);
        sums.layers += layers;
        if (word(one.value, "kind") == "window") {
            sums.constant += amount;
        } else if (layers != 0) {
            sums.full += amount, sums.full_layers += layers, ++sums.full_caches;
        }
    }
    return sums;
}

/// The full cache grows with the context, windows do not.
inline void slope(Diagnosis& on, const CacheSums& sums) {
    if (!(sums.cells > 0) || sums.full_caches == 0) {
        return;
    }
    const double all_full = sums.full_caches == 1 ? sums.full / sums.full_layers * sums.layers : std::nan("");
    on.add("slope-constant", {},
           said("{:.2f} MiB grow with the context, {:.2f} MiB do not", sums.full, sums.constant),
           said("{} bytes a token{}", commas(sums.full * mib / sums.all_cells),
                known(all_full) ? said("; all {:.0f} layers full would take {:.0f} MiB", sums.layers, all_full) : ""))
        .with("bytes_per_token", sums.full * mib / sums.all_cells)
        .with("constant_mib", sums.constant)
        .with("all_full_mib", all_full);
}

inline void several_caches(Diagnosis& on) {
    const logs::Datum* caches = on.find("caches");
    if (caches == nullptr) {
        return;
    }
    const CacheSums sums = sums_of(*caches);
    for (const logs::Field& one : caches->items) {
        const logs::Datum& cache = one.value;
        const double amount = field(cache, "kv_mib");
        if (word(cache, "kind") == "window") {
            window_cache(on, field(cache, "cells"), amount, sums.cells);
        } else if (field(cache, "kv_layers") == 0) {
            on.add("empty-base", {}, "a cache with 0 layers and 0.00 MiB",
                   "empty by design; the memory is in the other caches")
                .with("layers", 0);
        }
        quantised(on, word(cache, "kv_type_k"), amount);
    }
    if (caches->items.size() > 1) {
        on.add("several-caches", {}, said("{} caches print one line each", caches->items.size()),
               said("{:.2f} MiB in all: the lines add up, none replaces another", sums.all))
            .with("sum_mib", sums.all)
            .with("sum_gib", sums.all / 1024);
    }
    slope(on, sums);
}

}  // namespace kvcap::inline v1::report::llamacpp_log

// SPDX-License-Identifier: MIT
// Which layer keeps what? Runs of layers that keep alike are one line; kinds counted in a few words.
#pragma once

#include <algorithm>
#include <kvcap/io/read_model.hpp>
#include <kvcap/report/labels.hpp>
#include <kvcap/report/table.hpp>

namespace kvcap::inline v1::report {

/// Layers begin..end - 1 with the same forms, or without a cache (then perhaps sharing that of `source`).
struct LayerRun {
    u64 begin = 0;
    u64 end = 0;
    std::vector<u16> forms;
    bool shares = false;
    u32 source = 0;
};

/// Runs in the order of the layers; layers outside the model are left out.
inline std::vector<LayerRun> layer_runs(const ModelSpec& model, const std::vector<SharedLayer>& shared) {
    std::vector<Cache> caches;
    for (const Cache& cache : model.caches) {  // by layer, in their own order within one
        const auto behind = std::upper_bound(caches.begin(), caches.end(), cache,
                                             [](const Cache& a, const Cache& b) { return a.layer < b.layer; });
        caches.insert(behind, cache);
    }
    std::vector<LayerRun> runs;
    const auto add = [&](LayerRun run) {
        if (run.begin >= run.end) {
            return;
        }
        const bool same = !runs.empty() && runs.back().forms == run.forms &&
                          runs.back().shares == run.shares &&
                          (!run.shares || runs.back().source == run.source);
        if (same) {
            runs.back().end = run.end;
        } else {
            runs.push_back(std::move(run));
        }
    };
    u64 next = 0;
    std::size_t at_shared = 0;
    const auto skip_to = [&](u64 layer) {
        for (; at_shared < shared.size() && shared[at_shared].layer < layer; ++at_shared) {
            const SharedLayer& own = shared[at_shared];
            add({next, own.layer, {}, false, 0});
            add({own.layer, u64{own.layer} + 1, {}, true, own.source});
            next = u64{own.layer} + 1;
        }
        add({next, layer, {}, false, 0});
        next = layer;
    };
    for (std::size_t i = 0; i < caches.size() && caches[i].layer < model.all_layers();) {
        skip_to(caches[i].layer);
        LayerRun run{.begin = caches[i].layer, .end = u64{caches[i].layer} + 1, .forms = {}};
        for (; i < caches.size() && caches[i].layer == run.begin; ++i) {
            run.forms.push_back(caches[i].form);
        }
        next = run.end;
        add(std::move(run));
    }
    skip_to(model.all_layers());
    return runs;
}

/// Layers that keep alike, wherever they are.
struct LayerClass {
    LayerRun keeps{};
    u64 layers = 0;
    std::string where;  ///< "0-3, 5, 7-9"
};

inline std::vector<LayerClass> layer_classes(const ModelSpec& model, const std::vector<SharedLayer>& shared) {
    std::vector<LayerClass> classes;
    for (const LayerRun& run : layer_runs(model, shared)) {
        const bool draft = run.begin >= model.layers;
        auto known = std::find_if(classes.begin(), classes.end(), [&](const LayerClass& c) {
            return c.keeps.forms == run.forms && c.keeps.shares == run.shares &&
                   c.keeps.source == run.source && (c.keeps.begin >= model.layers) == draft;
        });
        if (known == classes.end()) {
            known = classes.insert(classes.end(), LayerClass{run, 0, draft ? "draft " : ""});
        }
        known->where += known->layers == 0 ? "" : ", ";
        known->where += grouped(run.begin);
        known->where += run.end - run.begin == 1 ? "" : "-" + grouped(run.end - 1);
        known->layers += run.end - run.begin;
    }
    return classes;
}

/// For each sort of layer: how many, what one of them keeps per token (in all, for a state), and which they
/// are.
inline std::string layers_table(const ModelSpec& model, const std::vector<SharedLayer>& shared) {
    Table table{{Align::right, Align::left, Align::right, Align::left}};
    table.row({"layers", "keeps", "one layer", ""});
    std::string places;
    const std::vector<LayerClass> classes = layer_classes(model, shared);
    for (const LayerClass& kind : classes) {
        const LayerRun& run = kind.keeps;
        if (run.forms.empty()) {
            const std::string source =
                run.shares ? fmt::format("nothing: reads layer {}", run.source) : "nothing";
            table.row({grouped(kind.layers), source, "", ""});
        }
        bool first = true;
        for (const u16 index : run.forms) {
            const LayerForm& form = model.forms[index];
            const bool state = form.retention.keep == Keep::last || form.retention.keep == Keep::once;
            const u32 stride = form.retention.stride;
            const Result<BytesPerSlot> slot = bytes_per_slot(form);
            const std::string per = state         ? "in all"
                                    : stride == 1 ? "per token"
                                                  : fmt::format("per {} tokens", stride);
            table.row({first ? grouped(kind.layers) : "", short_label_of(form),
                       slot ? exact({slot->value}) : "not storable", per});
            first = false;
        }
        places += fmt::format(
            "  {}: layers {}\n",
            run.forms.empty() ? run.shares ? "shared" : "nothing" : short_label_of(model.forms[run.forms[0]]),
            kind.where);
    }
    return table.text() + (classes.size() > 1 ? places : "");
}

/// "10 full + 52 sliding", in the order of first use; layers without a cache count as none.
inline std::string kinds_words(const ModelSpec& model) {
    struct Count {
        std::string_view kind;
        u64 caches;
    };
    std::vector<Count> counts;
    std::vector<u16> owners;
    for (const Cache& cache : model.caches) {
        const std::string_view kind = kind_of(model.form_of(cache));
        const auto known =
            std::find_if(counts.begin(), counts.end(), [&](const Count& c) { return c.kind == kind; });
        if (known == counts.end()) {
            counts.push_back({kind, 1});
        } else {
            ++known->caches;
        }
        owners.push_back(cache.layer);
    }
    std::sort(owners.begin(), owners.end());
    const u64 owning = static_cast<u64>(std::unique(owners.begin(), owners.end()) - owners.begin());
    if (owning < model.all_layers()) {
        counts.push_back({"none", model.all_layers() - owning});
    }
    std::string out;
    for (const Count& count : counts) {
        out += fmt::format("{}{} {}", out.empty() ? "" : " + ", count.caches, count.kind);
    }
    return out;
}

}  // namespace kvcap::inline v1::report

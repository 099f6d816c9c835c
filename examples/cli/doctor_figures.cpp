// SPDX-License-Identifier: MIT
// Which figures of a log do the rules print as well, and which of theirs stands for which? Each cache of llama.cpp by
// its kind and layers.
#include "doctor_target.hpp"

#include <kvcap/report/diagnose/llamacpp.hpp>

#include <algorithm>

namespace kvcap::cli {

namespace {

using report::known;
using report::llamacpp_log::field;
using report::llamacpp_log::word;

const logs::Datum* item(const logs::Datum& row, std::string_view name) {
    for (const logs::Field& one : row.items) {
        if (one.name == name) {
            return &one.value;
        }
    }
    return nullptr;
}

void add(std::vector<PrintedFigure>& to, PrintedFigure figure) {
    if (known(figure.value)) {
        to.push_back(std::move(figure));
    }
}

/// A row of caches or contexts.
void add_cache(std::vector<PrintedFigure>& to, std::string figure, const logs::Datum& row) {
    const double layers = field(row, "kv_layers");
    add(to, printed(std::move(figure), item(row, "kv_mib"), known(layers) ? layers : 0));
}

/// States with planes for rollback are a draft's matter, which the rules are not asked for.
std::vector<PrintedFigure> llamacpp_figures(const LogStart& start) {
    std::vector<PrintedFigure> all;
    if (const logs::Datum* contexts = start.facts.find("contexts"); contexts != nullptr) {
        add_cache(all, "kv_mib", contexts->items.front().value);
    } else if (const logs::Datum* caches = start.facts.find("caches"); caches != nullptr) {
        for (const logs::Field& one : caches->items) {
            const bool window = word(one.value, "kind") == "window";
            add_cache(all, window ? "window_cache_mib" : "full_cache_mib", one.value);
        }
    } else {
        const double layers = start.facts.number("kv_layers").value_or(0);
        add(all, printed("kv_mib", start.facts.find("kv_mib"), layers));
    }
    if (!start.facts.has("contexts") && start.facts.number("rs_seq").value_or(0) == 0) {
        add(all, printed("rs_mib", start.facts.find("rs_mib")));
    }
    return all;
}

std::vector<PrintedFigure> sglang_figures(const LogStart& start) {
    std::vector<PrintedFigure> all;
    for (const char* name : {"kv_size_gb", "k_size_gb", "v_size_gb", "swa_layer_tokens", "conv_state_gb",
                             "ssm_state_gb"}) {
        const bool values = name == std::string_view{"v_size_gb"};
        if (!values || start.facts.text(name) != start.facts.text("k_size_gb")) {
            add(all, printed(name, start.facts.find(name)));
        }
    }
    return all;
}

}  // namespace

PrintedFigure printed(std::string figure, const logs::Datum* said, double layers) {
    return said == nullptr ? PrintedFigure{.figure = std::move(figure)}
                           : PrintedFigure{std::move(figure), logs::number(*said).value_or(std::nan("")),
                                           logs::half_digit(*said), layers};
}

std::vector<PrintedFigure> figures_of(const LogStart& start) {
    if (start.engine == "sglang") {
        return sglang_figures(start);
    }
    if (start.engine == "llama.cpp") {
        return llamacpp_figures(start);
    }
    return {printed("capacity_tokens", start.facts.find("capacity_tokens"))};
}

PrintedFigure take_like(const PrintedFigure& like, std::vector<PrintedFigure>& some) {
    const auto cache = [](const PrintedFigure& one) {
        return one.figure == "kv_mib" || one.figure.ends_with("_cache_mib");
    };
    const auto named = [&](const PrintedFigure& one) { return one.figure == like.figure; };
    const auto same = [&](const PrintedFigure& one) { return named(one) && one.layers == like.layers; };
    const auto unnamed = [&](const PrintedFigure& one) {  // no line of the rules names a cache's kind
        return cache(one) && cache(like) && one.layers == like.layers;
    };
    auto found = std::find_if(some.begin(), some.end(), same);
    found = found == some.end() ? std::find_if(some.begin(), some.end(), unnamed) : found;
    found = found == some.end() ? std::find_if(some.begin(), some.end(), named) : found;
    if (found == some.end()) {
        return {.figure = like.figure};
    }
    PrintedFigure taken = std::move(*found);
    some.erase(found);
    return taken;
}

std::string_view figure_words(std::string_view figure) {
    constexpr std::pair<std::string_view, std::string_view> words[] = {
        {"capacity_tokens", "tokens"},
        {"estimated_max_len", "tokens as the longest request"},
        {"kv_size_gb", "GB of cache"},
        {"k_size_gb", "GB of keys"},
        {"v_size_gb", "GB of values"},
        {"swa_layer_tokens", "window tokens"},
        {"conv_state_gb", "GB of convolutions"},
        {"ssm_state_gb", "GB of states"},
        {"kv_mib", "MiB of cache"},
        {"full_cache_mib", "MiB of the cache that grows"},
        {"window_cache_mib", "MiB of the window cache"},
        {"rs_mib", "MiB of states"},
    };
    for (const auto& [name, said] : words) {
        if (name == figure) {
            return said;
        }
    }
    return figure;
}

u64 context_of(const LogStart& start) {
    const auto stated = start.facts.number("n_ctx");
    double cells = start.facts.number("cells").value_or(0) * start.facts.number("streams").value_or(1);
    if (const logs::Datum* caches = start.facts.find("caches"); caches != nullptr) {
        for (const logs::Field& one : caches->items) {
            const double streams = field(one.value, "streams");
            const double own = field(one.value, "cells") * (known(streams) ? streams : 1);
            cells = word(one.value, "kind") != "window" && own > cells ? own : cells;
        }
    }
    return static_cast<u64>(std::clamp(stated.value_or(cells), 0.0, 1e12));
}

}  // namespace kvcap::cli

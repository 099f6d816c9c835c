// SPDX-License-Identifier: MIT
// What do llama.cpp's gathered lines amount to? One cache: figures of their own; several: `caches`; a second
// context: `contexts`. Devices of their own count; the host's share only where there is no other.
#pragma once

#include <kvcap/io/log/llamacpp.hpp>

namespace kvcap::inline v1::logs::llamacpp {

inline bool host_device(std::string_view device) noexcept {
    return device.starts_with("CPU") || device.ends_with("_Host") || device == "AMX";
}

/// The one device that is not the host; the host itself when there is no other; null when several.
inline const Field* only_device(const Datum* by_device) {
    const Field* card = nullptr;
    const Field* host = nullptr;
    u64 cards = 0;
    for (std::size_t i = 0; by_device != nullptr && i < by_device->items.size(); ++i) {
        const bool is_host = host_device(by_device->items[i].name);
        (is_host ? host : card) = &by_device->items[i];
        cards += is_host ? 0u : 1u;
    }
    return cards > 1 ? nullptr : cards == 1 ? card : host;
}

inline void copy(Facts& to, const Facts& from, std::string_view key) {
    if (const Datum* value = from.find(key)) {
        to.put(key, *value);
    }
}

inline constexpr const char* cache_keys[] = {"cells", "kv_layers", "kv_mib",   "k_mib",
                                             "v_mib", "kv_type_k", "kv_type_v"};

/// More than one: the cells of a line are those of each of them.
inline void copy_streams(Facts& to, const Facts& cache) {
    if (cache.number("streams").value_or(1) > 1) {
        copy(to, cache, "streams");
    }
}

inline Datum as_record(const Facts& facts) {
    Datum out = record();
    out.items = facts.fields();
    return out;
}

/// Figures of one context, from its own lines and its caches.
inline Facts context_facts(const Facts& part, const std::vector<const Facts*>& caches) {
    Facts out;
    for (const char* key : cache_keys) {
        copy(out, caches.size() == 1 ? *caches[0] : part, key);
        copy(out, part, key);
    }
    if (caches.size() == 1) {
        copy_streams(out, *caches[0]);
    }
    for (const char* key : {"latent_type", "latent_mib", "transposed_type", "transposed_mib", "rs_mib", "rs_cells",
                            "rs_layers_printed", "r_mib", "s_mib", "p_mib"}) {
        copy(out, part, key);
    }
    if (const Field* buffer = only_device(part.find("kv_buffer_by_device"))) {
        out.offer("kv_mib", buffer->value);
        out.put("kv_buffer_mib", buffer->value);
        out.put("kv_device", words(buffer->name, buffer->value.line));
    } else {
        copy(out, part, "kv_buffer_by_device");
    }
    if (const Field* states = only_device(part.find("rs_by_device"))) {
        out.offer("rs_mib", states->value);
    }
    if (const Field* compute = only_device(part.find("compute_by_device"))) {
        out.put("compute_mib", compute->value);
    } else if (const Datum* all = part.find("compute_by_device")) {
        out.put("compute_mib_by_device", *all);
    }
    return out;
}

/// What a cache is where no line in front of it says so. Windows have fewer cells than what grows with the context;
/// but behind a base without layers (DeepSeek-V4) come the window's cells and then those of compressed entries.
inline std::string_view kind_of(const std::vector<const Facts*>& caches, std::size_t at) {
    const auto cells = [](const Facts* cache) { return cache->number("cells").value_or(0); };
    if (caches.size() > 2 && caches[0]->number("kv_layers") == 0) {
        return at == 1 ? "window" : "full";
    }
    const bool fewer = std::any_of(caches.begin(), caches.end(),
                                   [&](const Facts* other) { return cells(other) > cells(caches[at]); });
    return fewer ? "window" : "full";
}

inline void settle_caches(Start& start, const std::vector<const Facts*>& caches) {
    Datum all = list();
    for (std::size_t i = 0; i < caches.size(); ++i) {
        const Facts* cache = caches[i];
        Facts row;
        row.put("kind", words(start.facts.has("kinds_named") ? cache->text("kind") : kind_of(caches, i)));
        for (const char* key : cache_keys) {
            copy(row, *cache, key);
        }
        copy_streams(row, *cache);
        all.items.push_back({{}, as_record(row)});
    }
    for (const char* key : cache_keys) {
        start.facts.drop(key);
    }
    start.facts.put("caches", std::move(all));
}

inline void settle_contexts(Start& start) {
    std::vector<std::pair<const Facts*, std::vector<const Facts*>>> contexts;
    for (const Facts& part : start.parts) {
        if (part.text("part") == "context") {
            contexts.push_back({&part, {}});
        } else if (!contexts.empty()) {
            contexts.back().second.push_back(&part);
        }
    }
    Datum all = list();
    for (const auto& [part, caches] : contexts) {
        Facts facts = context_facts(*part, caches);
        if (contexts.size() > 1) {
            facts.put("kind", words(part->text("kind")));
            all.items.push_back({{}, as_record(facts)});
            continue;
        }
        for (const Field& field : facts.fields()) {
            start.facts.put(field.name, field.value);
        }
        if (caches.size() > 1 || start.facts.has("kinds_named")) {
            settle_caches(start, caches);
        }
    }
    if (contexts.size() > 1) {
        start.facts.put("contexts", std::move(all));
    }
}

/// Buffers that the dry pass printed as zero, or that stayed empty, are no weights.
inline void settle_weights(Start& start) {
    if (const Datum* by_device = start.facts.find("weights_mib_by_device")) {
        Datum some = *by_device;
        std::erase_if(some.items, [](const Field& field) { return number(field.value).value_or(0) == 0; });
        start.facts.put("weights_mib_by_device", std::move(some));
    }
}

inline void settle(Start& start) {
    settle_contexts(start);
    settle_weights(start);
    if (!start.failures.empty()) {
        const auto named = std::find_if(start.failures.begin(), start.failures.end(),
                                        [](const Failure& f) { return !f.category.empty(); });
        start.facts.put("error_category", named == start.failures.end() ? words("unknown", start.failures.back().line)
                                                                        : words(named->category, named->line));
    }
}

}  // namespace kvcap::inline v1::logs::llamacpp

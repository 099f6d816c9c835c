// SPDX-License-Identifier: MIT
// Keys in one format, values in another: what does "q8_0/f16" mean? llama.cpp takes a type for each (-ctk, -ctv).
#pragma once

#include <kvcap/io/dtypes.hpp>
#include <utility>

namespace kvcap::inline v1 {

namespace io {

inline constexpr std::string_view paired_formats[] = {"f32",  "f16",  "bf16", "q8_0",  "q4_0",
                                                      "q4_1", "q5_0", "q5_1", "iq4_nl"};

/// The formats of keys and of values in a name: "q8_0/f16", or one of both.
inline std::pair<std::string, std::string> key_value_names(const std::string& name) {
    const std::size_t slash = name.find('/');
    return {name.substr(0, slash), slash == std::string::npos ? name : name.substr(slash + 1)};
}

/// One name for both.
inline std::string key_value_name(const std::string& keys, const std::string& values) {
    return keys == values ? keys : keys + '/' + values;
}

inline bool is_paired(const std::string& name) {
    return std::find(std::begin(paired_formats), std::end(paired_formats), name) != std::end(paired_formats);
}

/// `keys` with its streams of values as in `values`. pre: the same caches in both
inline Diagnosed<ModelSpec> with_values_of(const ModelSpec& keys, const ModelSpec& values) {
    ModelSpec both{};
    both.layers = keys.layers;
    both.draft_layers = keys.draft_layers;
    both.query_heads = keys.query_heads;
    for (u32 i = 0; i < keys.caches.size(); ++i) {
        LayerForm form = keys.form_of(keys.caches[i]);
        const LayerForm& other = values.form_of(values.caches[i]);
        for (u32 s = 0; s < form.streams.size(); ++s) {
            form.streams[s] = form.streams[s].role == Role::value ? other.streams[s] : form.streams[s];
        }
        if (const Errc code = both.add(keys.caches[i].layer, form); code != Errc::ok) {
            return not_storable(Error{.code = code, .layer = keys.caches[i].layer}, "--kv-cache-dtype", "two formats");
        }
    }
    return both;
}

}  // namespace io

/// stored_as, where names.kv may be a pair.
inline Diagnosed<ModelSpec> stored_as_pair(const ModelSpec& model, const StoredFormats& names) {
    if (names.kv.find('/') == std::string::npos) {
        return stored_as(model, names);
    }
    const auto pair = io::key_value_names(names.kv);
    if (!io::is_paired(pair.first) || !io::is_paired(pair.second)) {
        std::string all;
        for (const std::string_view each : io::paired_formats) {
            all += (all.empty() ? "" : ", ") + std::string{each};
        }
        return Problem{Trouble::invalid, "--kv-cache-dtype", '"' + names.kv + '"',
                       "KEYS/VALUES, each one of " + all, {}};
    }
    StoredFormats own = names;
    own.kv = pair.first;
    const Diagnosed<ModelSpec> keys = stored_as(model, own);
    own.kv = pair.second;
    const Diagnosed<ModelSpec> values = stored_as(model, own);
    if (!keys || !values) {
        return keys ? *values.error : *keys.error;
    }
    Diagnosed<ModelSpec> both = io::with_values_of(*keys, *values);
    if (both) {
        both.notes = keys.notes;
        both.notes.front().text = names.kv;  // stored_as puts the format of keys and values first
    }
    return both;
}

}  // namespace kvcap::inline v1

// SPDX-License-Identifier: MIT
// What do llama.cpp, llama-server and forks say? Amounts in MiB, one line per cache and per device; a second
// context (a draft) prints everything again; a dry pass of the fit step prints zeros.
#pragma once

#include <kvcap/io/log/start.hpp>

namespace kvcap::inline v1::logs::llamacpp {

/// The part being filled: parts are contexts (with their rows) and caches in the order of the log.
inline Facts& context(Start& start) {
    for (auto part = start.parts.rbegin(); part != start.parts.rend(); ++part) {
        if (part->text("part") == "context") {
            return *part;
        }
    }
    Facts first;
    first.put("part", words("context"));
    first.put("kind", words("target"));
    start.parts.insert(start.parts.begin(), std::move(first));
    return start.parts.front();
}

inline void open_draft(Start& start, const Hit&, const Words&) {
    context(start);
    Facts next;
    next.put("part", words("context"));
    next.put("kind", words("mtp-draft"));
    start.parts.push_back(std::move(next));
}

/// The last word in front of " KV buffer size".
inline std::string_view device_of(std::string_view front) noexcept {
    const std::size_t end = front.find_last_not_of(" \t");
    const std::size_t begin = end == front.npos ? end : front.find_last_of(" \t:", end);
    return end == front.npos
               ? std::string_view{}
               : front.substr(begin == front.npos ? 0 : begin + 1, end - (begin == front.npos ? 0 : begin + 1) + 1);
}

inline void put_device(Facts& facts, std::string_view key, std::string_view device, Datum value) {
    Datum all = facts.has(key) ? *facts.find(key) : record();
    const std::string name = shown(device);
    for (Field& field : all.items) {
        if (field.name == name) {
            field.value = std::move(value);
            return facts.put(key, std::move(all));
        }
    }
    if (!device.empty() && all.items.size() < 256) {
        all.items.push_back({name, std::move(value)});
        facts.put(key, std::move(all));
    }
}

inline void read_kv_buffer(Start& start, const Hit& hit, const Words& at) {
    start.results = true;
    std::string_view front = hit.front;
    if (front.ends_with("compressed")) {  // a fork's own line: "CUDA0 DeepSeek4 compressed KV buffer size"
        front = front.substr(0, front.find_last_not_of(" \t", front.size() - 11) + 1);
        front = front.substr(0, front.find_last_of(" \t") + 1);
        start.facts.put("fork", flag(true, hit.line));
        return put_device(start.facts, "compressed_kv_mib_by_device", device_of(front),
                          datum_of(at.at[0], 'd', hit.line));
    }
    const Datum* before = context(start).find("kv_buffer_by_device");
    for (std::size_t i = 0; before != nullptr && i < before->items.size(); ++i) {
        if (before->items[i].name == device_of(front) && number(before->items[i].value) == 0) {
            start.facts.put("dry_pass_mib", before->items[i].value);
        }
    }
    put_device(context(start), "kv_buffer_by_device", device_of(front), datum_of(at.at[0], 'd', hit.line));
}
inline void read_rs_buffer(Start& start, const Hit& hit, const Words& at) {
    put_device(context(start), "rs_by_device", device_of(hit.front), datum_of(at.at[0], 'd', hit.line));
}
inline void read_compute(Start& start, const Hit& hit, const Words& at) {
    start.results = true;
    put_device(context(start), "compute_by_device", device_of(hit.front), datum_of(at.at[0], 'd', hit.line));
}
inline void read_model_buffer(Start& start, const Hit& hit, const Words& at) {
    put_device(start.facts, "weights_mib_by_device", device_of(hit.front), datum_of(at.at[0], 'd', hit.line));
}

/// "4/4 seqs": sequences and streams, each of as many cells as the line says. Older builds have one stream.
inline void read_streams(Start& start, const Hit& hit, Facts& cache) {
    if (const auto seqs = seek(hit.first_line(), " layers, {n}/{n} seqs")) {
        start.facts.put("seqs", datum_of(seqs->at[0], 'n', hit.line));
        start.facts.put("streams", datum_of(seqs->at[1], 'n', hit.line));
        cache.put("streams", datum_of(seqs->at[1], 'n', hit.line));
    } else if (const auto old = seek(hit.first_line(), " layers, {n} seqs")) {
        start.facts.put("seqs", datum_of(old->at[0], 'n', hit.line));
    }
}

/// "size = X MiB (N cells, N layers, N/N seqs), K (TYPE): X MiB, V (TYPE): X MiB", perhaps cut off.
inline void read_cache(Start& start, const Hit& hit, const Words&) {
    const std::string_view line = hit.first_line();
    const auto head = seek(line.substr(0, 96), "size = {d} MiB ( {n} cells, {n}");
    if (!head) {
        return;
    }
    start.results = true;
    context(start);
    Facts cache;
    cache.put("part", words("cache"));
    cache.put("kind", words(start.facts.text("next_cache") == "window" ? "window" : "full"));
    cache.put("kv_mib", datum_of(head->at[0], 'd', hit.line));
    cache.put("cells", datum_of(head->at[1], 'n', hit.line));
    cache.put("kv_layers", datum_of(head->at[2], 'n', hit.line));
    const auto take = [&](std::string_view pattern, std::string_view type, std::string_view size) {
        if (const auto found = seek(line, pattern)) {
            cache.put(type, words(found->at[0], hit.line));
            cache.put(size, datum_of(found->at[1], 'd', hit.line));
        }
    };
    take(", K ({w}): {d} MiB", "kv_type_k", "k_mib");
    take(", V ({w}): {d} MiB", "kv_type_v", "v_mib");
    read_streams(start, hit, cache);
    for (auto part = start.parts.rbegin(); part != start.parts.rend() && part->text("part") == "cache"; ++part) {
        const auto amount = part->number("kv_mib");  // latents and their index keys are alike in all else
        const bool alike = amount == 0 || amount == cache.number("kv_mib");
        const bool again = alike && part->number("cells") == cache.number("cells") &&
                           part->number("kv_layers") == cache.number("kv_layers") &&
                           part->text("kind") == cache.text("kind");
        if (again) {  // the dry pass of the fit step printed it before
            *part = std::move(cache);
            return;
        }
    }
    if (start.parts.size() < 256) {
        start.parts.push_back(std::move(cache));
    }
}

/// "R (f32): X MiB, S (f32): X MiB, P (f32): X MiB": rows of states.
inline void read_recurrent(Start& start, const Hit& hit, const Words&) {
    const auto head = seek(hit.text.substr(0, 128), "size = {d} MiB ( {n} cells, {n} layers, {n} seqs");
    if (!head) {
        return;
    }
    start.results = true;
    Facts& to = context(start);
    to.put("rs_mib", datum_of(head->at[0], 'd', hit.line));
    to.put("rs_cells", datum_of(head->at[1], 'n', hit.line));
    to.put("rs_layers_printed", datum_of(head->at[2], 'n', hit.line));
    start.facts.put("seqs", datum_of(head->at[3], 'n', hit.line));
    if (const auto planes = seek(hit.text.substr(0, 160), "{n} rs_seq")) {
        start.facts.put("rs_seq", datum_of(planes->at[0], 'n', hit.line));
    }
    for (const auto& [pattern, key] :
         {std::pair{" R ({w}): {d} MiB", "r_mib"}, std::pair{" S ({w}): {d} MiB", "s_mib"},
          std::pair{" P ({w}): {d} MiB", "p_mib"}}) {
        if (const auto found = seek(hit.text.substr(0, 512), pattern)) {
            to.put(key, datum_of(found->at[1], 'd', hit.line));
        }
    }
}

/// "KV self size = ...": before per-cache lines; a fork's latent form has c^KV and kv^T.
inline void read_self_size(Start& start, const Hit& hit, const Words& at) {
    start.results = true;
    Facts& to = context(start);
    to.put("kv_mib", datum_of(at.at[0], 'd', hit.line));
    const auto take = [&](std::string_view pattern, std::string_view type, std::string_view size) {
        if (const auto found = seek(hit.first_line(), pattern)) {
            to.put(type, words(found->at[0], hit.line));
            to.put(size, datum_of(found->at[1], 'd', hit.line));
        }
    };
    take(", K ({w}): {d} MiB", "kv_type_k", "k_mib");
    take(", V ({w}): {d} MiB", "kv_type_v", "v_mib");
    take("c^KV ({w}): {d} MiB", "latent_type", "latent_mib");
    take("kv^T ({w}): {d} MiB", "transposed_type", "transposed_mib");
    if (to.has("latent_mib")) {
        start.facts.put("fork", words("ik", hit.line));
        if (hit.first_line().find("kv^T: not used") != hit.text.npos) {
            start.facts.put("transposed", words("not used", hit.line));
        }
    }
}

/// "kv_size = 8192, offload = 1, type_k = 'f16', type_v = 'f16', n_layer = 40"
inline void read_init(Start& start, const Hit& hit, const Words& at) {
    start.results = true;
    Facts& to = context(start);
    to.put("cells", datum_of(at.at[0], 'n', hit.line));
    for (const auto& [pattern, key] :
         {std::pair{"type_k = '{q}'", "kv_type_k"}, std::pair{"type_v = '{q}'", "kv_type_v"}}) {
        if (const auto found = seek(hit.first_line(), pattern)) {
            to.put(key, words(found->at[0], hit.line));
        }
    }
    if (const auto layers = seek(hit.first_line(), "n_layer = {n}")) {
        to.put("kv_layers", datum_of(layers->at[0], 'n', hit.line));
    }
}

}  // namespace kvcap::inline v1::logs::llamacpp

// SPDX-License-Identifier: MIT
// What do llama.cpp, llama-server and forks say? Amounts in MiB, one line per cache and per device; a second context (a
// draft) prints everything again; a dry pass of the fit step prints zeros.
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
    return end == front.npos ? std::string_view{} : front.substr(begin == front.npos ? 0 : begin + 1, end - (begin == front.npos ? 0 : begin + 1) + 1);
}

inline void put_device(Facts& facts, std::string_view key, std::string_view device, Datum value) {
    Datum all = facts.has(key) ? *facts.find(key) : record();
    for (Field& field : all.items) {
        if (field.name == device) {
            field.value = std::move(value);
            return facts.put(key, std::move(all));
        }
    }
    if (!device.empty() && all.items.size() < 256) {
        all.items.push_back({shown(device), std::move(value)});
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
        return put_device(start.facts, "compressed_kv_mib_by_device", device_of(front), datum_of(at.at[0], 'd', hit.line));
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
    if (const auto seqs = seek(line, " layers, {n}/{n} seqs")) {
        start.facts.put("seqs", datum_of(seqs->at[0], 'n', hit.line));
        start.facts.put("streams", datum_of(seqs->at[1], 'n', hit.line));
    } else if (const auto old = seek(line, " layers, {n} seqs")) {
        start.facts.put("seqs", datum_of(old->at[0], 'n', hit.line));
    }
    for (auto part = start.parts.rbegin(); part != start.parts.rend() && part->text("part") == "cache"; ++part) {
        const bool again = part->number("cells") == cache.number("cells") && part->number("kv_layers") == cache.number("kv_layers") &&
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
    for (const auto& [pattern, key] : {std::pair{" R ({w}): {d} MiB", "r_mib"}, std::pair{" S ({w}): {d} MiB", "s_mib"},
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
    for (const auto& [pattern, key] : {std::pair{"type_k = '{q}'", "kv_type_k"}, std::pair{"type_v = '{q}'", "kv_type_v"}}) {
        if (const auto found = seek(hit.first_line(), pattern)) {
            to.put(key, words(found->at[0], hit.line));
        }
    }
    if (const auto layers = seek(hit.first_line(), "n_layer = {n}")) {
        to.put("kv_layers", datum_of(layers->at[0], 'n', hit.line));
    }
}

inline void read_full_next(Start& start, const Hit& hit, const Words&) {
    start.facts.put("next_cache", words("full", hit.line));
    start.facts.put("kinds_named", flag(true, hit.line));
}
inline void read_window_next(Start& start, const Hit& hit, const Words& at) {
    if (!hit.front.ends_with("non-")) {
        read_full_next(start, hit, at);
        start.facts.put("next_cache", words("window", hit.line));
    }
}

/// print_info and context lines: "key = value".
inline void read_key(Start& start, const Hit& hit, const Words&) {
    const std::string_view line = hit.first_line();
    if (const auto than = seek(line.substr(0, 160), "n_ctx_train ({n})")) {
        start.facts.put("n_ctx_train", datum_of(than->at[0], 'n', hit.line));
    }
    for (const char* key : {"n_ctx_seq", "n_ctx_per_seq"}) {
        if (const auto own = seek(line.substr(0, 160), std::string{key} + " ({n}) <")) {
            start.facts.offer(key, datum_of(own->at[0], 'n', hit.line));
        }
    }
    const auto found = seek(line.substr(0, 64), ": {w} = {w}");
    const std::string_view key = found ? found->at[0] : std::string_view{};
    const std::string_view value = found ? trimmed(line.substr(line.find('=') + 1)) : std::string_view{};
    if (key.starts_with("ssm_") && integer_length(value) == value.size()) {
        put_device(start.facts, "ssm", key.substr(4), datum_of(value, 'n', hit.line));
        return;
    }
    for (const char* known : {"n_ctx_train", "n_embd", "n_layer", "n_head", "n_head_kv", "n_swa", "n_embd_head_k", "n_embd_head_v",
                              "n_embd_k_gqa", "n_embd_v_gqa", "n_seq_max", "n_ctx", "n_ctx_seq", "n_ctx_per_seq", "n_batch", "n_ubatch",
                              "flash_attn", "kv_unified", "n_rs_seq", "arch"}) {
        if (key == known && context(start).text("kind") == "target") {
            start.facts.put(key, literal(value, hit.line));
        }
    }
    if (key == "general.name" || key == "general.name ") {
        start.facts.offer("model_name", words(value, hit.line));
    }
}

inline void read_latent_layer(Start& start, const Hit& hit, const Words& at) {
    start.facts.put("qk_rope", datum_of(at.at[1], 'n', hit.line));
    start.facts.put("kv_lora_rank", datum_of(at.at[2], 'n', hit.line));
    if (const auto layer = integer_of(at.at[0])) {
        context(start).put("kv_layers", integer(*layer + 1, hit.line));
    }
}

/// "CUDA0 : CARD (16283 MiB, 15172 MiB free)"
inline void read_device(Start& start, const Hit& hit, const Words&) {
    const std::size_t open = hit.front.rfind('(');
    if (open == hit.front.npos) {
        return;
    }
    if (const auto sizes = match(hit.front.substr(open), "({n} MiB, {n}")) {
        start.facts.put("device_total_mib", datum_of(sizes->at[0], 'n', hit.line));
        start.facts.put("device_free_mib", datum_of(sizes->at[1], 'n', hit.line));
    }
}

inline void read_unified(Start& start, const Hit& hit, const Words& at) { start.facts.put("kv_unified", literal(at.at[2], hit.line)); }
inline void fail_draft(Start& start, const Hit& hit, const Words&) { start.fail("draft_failed", hit.line); }
inline void fail_compute(Start& start, const Hit& hit, const Words&) { start.fail("compute_buffer_oom", hit.line); }
inline void fail_weights(Start& start, const Hit& hit, const Words&) { start.fail("weights_oom", hit.line); }
inline void fail_cache(Start& start, const Hit& hit, const Words&) { start.fail("no_memory_for_kv", hit.line); }
inline void fail_echo(Start& start, const Hit& hit, const Words&) { start.fail("", hit.line); }
inline void read_ready(Start& start, const Hit&, const Words&) { start.failures.clear(); }

inline constexpr Rule rules[] = {
    {"print_info: ", {}, Keep::last, read_key},
    {"llm_load_print_meta: ", {}, Keep::last, read_key},
    {"llama_context: ", {}, Keep::last, read_key},
    {"llama_new_context_with_model: ", {}, Keep::last, read_key},
    {"llama_init_from_model: ", {}, Keep::last, read_key},
    {"llama_kv_cache_init: kv_size = {n}", {}, Keep::last, read_init},
    {"llama_kv_cache_init: layer {n}: n_embd_head_qk_rope = {n}, kv_lora_rank = {n}", {}, Keep::last, read_latent_layer},
    {"llama_kv_cache", {}, Keep::last, read_cache},
    {"llama_memory_recurrent", {}, Keep::last, read_recurrent},
    {"KV self size = {d} MiB", {}, Keep::last, read_self_size},
    {" KV buffer size = {d} MiB", {}, Keep::last, read_kv_buffer},
    {" RS buffer size = {d} MiB", {}, Keep::last, read_rs_buffer},
    {" compute buffer size = {d} MiB", {}, Keep::last, read_compute},
    {" model buffer size = {d} MiB", {}, Keep::last, read_model_buffer},
    {"creating non-SWA KV cache", {}, Keep::last, read_full_next},
    {"SWA KV cache, size = {n} cells", {}, Keep::last, read_window_next},
    {"offloaded {w} layers to GPU", "offloaded"},
    {"n_slots = {n}, n_ctx_slot = {n}, kv_unified = '{q}'", "n_seq_max,n_ctx_slot,-", Keep::last, read_unified},
    {"n_ctx_slot={n}", "n_ctx_slot"},
    {"new slot, n_ctx = {n}", "n_ctx_slot"},
    {"verbosity = {n} (adjust", "verbosity"},
    {"load_model: loading model '{q}'", "model", Keep::first},
    {" MiB free)", {}, Keep::last, read_device},
    {"creating MTP draft context", {}, Keep::last, open_draft},
    {"context size reduced from {n} to {n} -> need {n} MiB less", "fit_from,fit_to,fit_saved_mib"},
    {"projected to use {n} MiB of device memory vs. {n} MiB of free", "fit_needed_mib,fit_free_mib"},
    {"failed to create MTP context", {}, Keep::last, fail_draft},
    {"failed to create draft context", {}, Keep::last, fail_draft},
    {"failed to allocate compute buffers", {}, Keep::last, fail_compute},
    {"failed to allocate compute pp buffers", {}, Keep::last, fail_compute},
    {"failed to allocate buffer for kv cache", {}, Keep::last, fail_cache},
    {"unable to allocate {w} buffer", {}, Keep::last, fail_weights},
    {"cudaMalloc failed: out of memory", {}, Keep::weak, fail_echo},
    {"ggml_vulkan: Device memory allocation of size {n} failed", {}, Keep::last, fail_echo},
    {"exiting due to model loading error", {}, Keep::last, fail_echo},
    {"llama_server: model loaded", {}, Keep::last, read_ready},
};
static_assert(have_stems(rules));

}  // namespace kvcap::inline v1::logs::llamacpp

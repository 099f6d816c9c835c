// SPDX-License-Identifier: MIT
// llama.cpp's sentences as a table: keys of contexts and models, devices, what failed, and which reader takes each
// line.
#pragma once

#include <kvcap/io/log/llamacpp.hpp>

namespace kvcap::inline v1::logs::llamacpp {

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
    for (const char* known :
         {"n_ctx_train",   "n_embd",       "n_layer",      "n_head",     "n_head_kv", "n_swa",     "n_embd_head_k",
          "n_embd_head_v", "n_embd_k_gqa", "n_embd_v_gqa", "n_seq_max",  "n_ctx",     "n_ctx_seq", "n_ctx_per_seq",
          "n_batch",       "n_ubatch",     "flash_attn",   "kv_unified", "n_rs_seq",  "arch"}) {
        if (key == known && context(start).text("kind") == "target") {
            start.facts.put(key, literal(value, hit.line));
        }
    }
    if (key == "general.name" || key == "general.name ") {
        start.facts.offer("model_name", words(value, hit.line));
    }
}

/// "using full-size SWA cache": windows have the cells of what grows.
inline void read_full_windows(Start& start, const Hit& hit, const Words&) {
    start.facts.put("swa_full", flag(true, hit.line));
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

inline void read_unified(Start& start, const Hit& hit, const Words& at) {
    start.facts.put("kv_unified", literal(at.at[2], hit.line));
}
inline void fail_draft(Start& start, const Hit& hit, const Words&) {
    start.fail("draft_failed", hit.line);
}
inline void fail_compute(Start& start, const Hit& hit, const Words&) {
    start.fail("compute_buffer_oom", hit.line);
}
inline void fail_weights(Start& start, const Hit& hit, const Words&) {
    start.fail("weights_oom", hit.line);
}
inline void fail_cache(Start& start, const Hit& hit, const Words&) {
    start.fail("no_memory_for_kv", hit.line);
}
inline void fail_echo(Start& start, const Hit& hit, const Words&) {
    start.fail("", hit.line);
}
inline void read_ready(Start& start, const Hit&, const Words&) {
    start.failures.clear();
}

inline constexpr Rule rules[] = {
    {"print_info: ", {}, Keep::last, read_key},
    {"llm_load_print_meta: ", {}, Keep::last, read_key},
    {"llama_context: ", {}, Keep::last, read_key},
    {"llama_new_context_with_model: ", {}, Keep::last, read_key},
    {"llama_init_from_model: ", {}, Keep::last, read_key},
    {"llama_kv_cache_init: kv_size = {n}", {}, Keep::last, read_init},
    {"llama_kv_cache_init: layer {n}: n_embd_head_qk_rope = {n}, kv_lora_rank = {n}",
     {},
     Keep::last,
     read_latent_layer},
    {"llama_kv_cache", {}, Keep::last, read_cache},
    {"llama_memory_recurrent", {}, Keep::last, read_recurrent},
    {"KV self size = {d} MiB", {}, Keep::last, read_self_size},
    {" KV buffer size = {d} MiB", {}, Keep::last, read_kv_buffer},
    {" RS buffer size = {d} MiB", {}, Keep::last, read_rs_buffer},
    {" compute buffer size = {d} MiB", {}, Keep::last, read_compute},
    {" model buffer size = {d} MiB", {}, Keep::last, read_model_buffer},
    {"creating non-SWA KV cache", {}, Keep::last, read_full_next},
    {"SWA KV cache, size = {n} cells", {}, Keep::last, read_window_next},
    {"using full-size SWA cache", {}, Keep::last, read_full_windows},
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

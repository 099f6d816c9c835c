// SPDX-License-Identifier: MIT
// What does vLLM's model class decide that no form says? DeepSeek-V4's blocks and alignment, fp8 index keys,
// which classes widen convolution states for drafts or keep states in fp32, and the order in which layers
// register. Sources: vllm/models/deepseek_v4/{attention,compressor}.py, mla/indexer.py,
// models/minimax_m3/common/indexer.py, model_executor/models/{config,nemotron_h,mamba2,zamba2}.py (0.28.0).
#pragma once

#include <kvcap/engine/vllm/alignment.hpp>

namespace kvcap::inline v1::vllm {

constexpr bool has_kind(const ModelSpec& model, Kind kind) noexcept {
    for (const LayerForm& form : model.forms) {
        if (form.kind == kind) {
            return true;
        }
    }
    return false;
}

/// DeepSeek-V4: 584 bytes a latent and pages of 576 in its fp8 layout, else pages of 512; windows in blocks
/// of 64, compressor states in blocks of 4 (ratio 4) and 8 (ratio 128).
constexpr FormFacts v4_facts(const LayerForm& form, const Options& options) noexcept {
    const bool fp8_layout = options.kv_dtype == KvDtype::fp8_ds_mla;
    FormFacts facts{.align = fp8_layout ? 576u : 512u};
    const bool window = form.retention.keep == Keep::window;
    if (form.kind == Kind::compressor) {
        facts.block = form.retention.span.value <= 8 ? 4 : 8;
        facts.own_format = true;
    } else if (form.kind == Kind::latent) {
        facts.block = window ? 64 : 0;
        facts.cell = fp8_layout ? 584 : 0;
        facts.version = deepseek_v4;
        facts.tag = 1;
    }
    return facts;
}

/// The options with the facts that follow from the model's forms, where the caller gave none.
constexpr Options with_form_facts(const ModelSpec& model, Options options) noexcept {
    if (!options.facts.empty()) {
        return options;
    }
    const bool v4 = has_kind(model, Kind::compressor);
    const bool latents = has_kind(model, Kind::latent);
    if (!v4 && !has_kind(model, Kind::index)) {
        return options;
    }
    for (const LayerForm& form : model.forms) {
        const FormFacts sparse{.tag = form.kind == Kind::latent ? 1u : 0u,
                               .own_format = form.kind == Kind::index && !latents};
        static_cast<void>(options.facts.push(v4 ? v4_facts(form, options) : sparse));
    }
    return options;
}

constexpr bool starts_with(const char* text, const char* start) noexcept {
    while (*start != '\0') {
        if (*text++ != *start++) {
            return false;
        }
    }
    return true;
}

/// How certain the class is: known by name, or vLLM's rules for its layer kinds only.
enum class Known : u8 { by_class, by_layers };

/// states_first: registration order differs from layer order (Zamba2 registers its shared attention first).
struct ClassRules {
    Known known = Known::by_layers;
    bool widens_conv = true;
    bool fp32_state = false;
    bool attention_first = false;
    friend constexpr bool operator==(const ClassRules&, const ClassRules&) = default;
};

/// By `architectures[0]` of config.json; names as in vLLM's registry.
constexpr ClassRules rules_of_class(const char* name) noexcept {
    struct Row {
        const char* start;
        ClassRules rules;
    };
    constexpr Row rows[] = {
        {"NemotronH", {Known::by_class, true, true, false}},
        {"Mamba2For", {Known::by_class, true, false, false}},
        {"Qwen3_5", {Known::by_class, true, true, false}},
        {"Qwen3Next", {Known::by_class, true, false, false}},
        {"KimiLinear", {Known::by_class, true, false, false}},
        {"KimiK3", {Known::by_class, true, false, false}},
        {"OlmoHybrid", {Known::by_class, true, false, false}},
        {"Zamba2", {Known::by_class, false, false, true}},
        {"GraniteMoeHybrid", {Known::by_class, false, false, false}},
        {"FalconH1", {Known::by_class, false, false, false}},
        {"Bamba", {Known::by_class, false, false, false}},
        {"Jamba", {Known::by_class, false, false, false}},
        {"Plamo2", {Known::by_class, false, false, false}},
        {"Lfm2", {Known::by_class, false, false, false}},
        {"Mamba", {Known::by_class, false, false, false}},
        {"FalconMamba", {Known::by_class, false, false, false}},
        {"MiniMaxText01", {Known::by_class, false, false, false}},
        {"MiniMaxM1", {Known::by_class, false, false, false}},
    };
    for (const Row& row : rows) {
        if (starts_with(name, row.start)) {
            return row.rules;
        }
    }
    return {};
}

/// The options vLLM resolves for this model and class: DeepSeek-V4, and fp8 latents beside index keys unless the
/// backend reads plain fp8 (packs_fp8), are stored as fp8_ds_mla (FlashMLA's sparse kernels); DeepSeek-V4's own
/// backends read blocks of 256 only; fp32 state classes unless the caller chose; whether drafts widen convolutions.
constexpr Options for_class(const ModelSpec& model, const char* name, Options options,
                            bool packs_fp8 = true) noexcept {
    const ClassRules rules = rules_of_class(name);
    if (has_kind(model, Kind::compressor)) {
        options.kernel_blocks = {.count = 1, .items = {{256, false}}};
        options.kv_dtype =
            options.kv_dtype == KvDtype::automatic ? KvDtype::fp8_ds_mla : options.kv_dtype;
    }
    if (packs_fp8 && options.kv_dtype == KvDtype::fp8 && has_kind(model, Kind::latent) &&
        has_kind(model, Kind::index)) {
        options.kv_dtype = KvDtype::fp8_ds_mla;
    }
    if (rules.fp32_state && options.ssm_bytes == 0) {
        options.ssm_bytes = 4;
    }
    options.widened_conv = options.widened_conv && rules.widens_conv;
    return options;
}

/// The model with its caches in vLLM's registration order.
constexpr ModelSpec registered(const ModelSpec& model, const char* name) noexcept {
    if (!rules_of_class(name).attention_first) {
        return model;
    }
    ModelSpec ordered = model;
    ordered.caches.count = 0;
    for (u32 pass = 0; pass < 2; ++pass) {
        for (const Cache& cache : model.caches) {
            if (is_state(model.form_of(cache)) == (pass == 1)) {
                static_cast<void>(ordered.caches.push(cache));
            }
        }
    }
    return ordered;
}

}  // namespace kvcap::inline v1::vllm

// SPDX-License-Identifier: MIT
// Which attention backend does vLLM take on this GPU, and which blocks come with it?
#include "engine_vllm_backend.hpp"

#include <kvcap/engine/vllm/backends.hpp>
#include <kvcap/io/nearest.hpp>

namespace kvcap::cli {

namespace {

/// The device as vLLM's selection sees it.
struct Device {
    u32 capability = 90;
    std::string words;  ///< behind the backend's name
    Origin origin = Origin::assumed;
};

Device device_of(const EngineQuestion& question, vllm::KvDtype dtype) {
    if (question.capability != 0) {
        return {question.capability,
                fmt::format("what vLLM takes on compute capability {}.{}", question.capability / 10,
                            question.capability % 10),
                Origin::derived};
    }
    const bool blackwell = dtype == vllm::KvDtype::nvfp4;
    std::string words = blackwell ? "what vLLM takes on Blackwell, which alone reads nvfp4"
                                  : "what vLLM takes on Hopper; blocks depend on it";
    if (!question.gpu.empty()) {
        words = fmt::format("as on {}; what vLLM takes on {} is not described by these rules",
                            blackwell ? "Blackwell" : "Hopper", question.gpu);
    } else {
        words += " (the GPU decides)";
    }
    return {blackwell ? 100u : 90u, std::move(words), Origin::assumed};
}

vllm::BackendNeed need_of(const EngineQuestion& question, const vllm::Options& options, u32 capability) {
    const ReadModel& read = question.model->read;
    vllm::BackendNeed need = vllm::need_of(read.spec, options.kv_dtype, capability);
    need.e5m2 = question.kv_cache_dtype == "fp8_e5m2";
    need.sinks = read.class_name.rfind("GptOss", 0) == 0;
    const u64 heads = read.query_heads != 0 ? read.query_heads : read.spec.query_heads;
    need.query_heads = ceil_div(heads, question.sharding.tp);
    need.block = options.block_size;
    return need;
}

/// Every reason, as vLLM lists them: the first alone would hide one that is still there when it is gone.
std::vector<std::string> unfit_words(const vllm::BackendRow& row, const vllm::BackendNeed& need) {
    std::vector<std::string> words;
    for (u8 i = 1; i <= static_cast<u8>(vllm::Unfit::capability); ++i) {
        if (vllm::is_unfit(vllm::Unfit{i}, row, need)) {
            words.emplace_back(vllm::words_of(vllm::Unfit{i}, need));
        }
    }
    return words;
}

std::string no_backend_words(const vllm::BackendNeed& need, const vllm::Rules& rules) {
    std::string reasons;
    for (const char* name : vllm::backend_order(need, rules)) {
        reasons += fmt::format("{}{}: [{}]", reasons.empty() ? "" : ", ", name,
                               fmt::join(unfit_words(*vllm::backend_named(name), need), ", "));
    }
    return fmt::format("No valid attention backend found for cuda with kv_cache_dtype={}, block_size={}, "
                       "use_mla={}, use_sparse={}. Reasons: {{{}}}",
                       vllm::name_of(need.dtype),
                       need.block == 0 ? "None" : std::to_string(need.block), need.latents ? "True" : "False",
                       need.index_keys ? "True" : "False", reasons);
}

void refuse_backend(EngineAnswer& answer, const vllm::BackendNeed& need, std::string words) {
    answer.error = vllm::error_of({.reason = vllm::Reason::no_valid_backend});
    answer.error.want = need.block;
    answer.reason = vllm::name_of(vllm::Reason::no_valid_backend);
    answer.refusal = std::move(words);
}

/// Names are taken in any case. Source: config/attention.py (AttentionBackendEnum[value.upper()]).
const vllm::BackendRow* backend_asked(std::string name, const vllm::BackendNeed& need, EngineAnswer& answer) {
    for (char& c : name) {
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    const vllm::BackendRow* row = vllm::backend_named(name.c_str());
    if (row == nullptr) {
        std::vector<std::string> known;
        for (const vllm::BackendRow& each : vllm::backends) {
            known.emplace_back(each.name);
        }
        const std::string near = nearest(name, known);
        stop(Exit::usage, fmt::format("--attention-backend: {} is not known{}; known: {}", name,
                                      near.empty() ? "" : " (did you mean " + near + "?)", fmt::join(known, ", ")));
    }
    if (const std::vector<std::string> why = unfit_words(*row, need); !why.empty()) {
        refuse_backend(answer, need,
                       fmt::format("Selected backend {} is not valid for this configuration. Reason: ['{}']",
                                   row->name, fmt::join(why, "', '")));
    }
    return row;
}

}  // namespace

void choose_backend(const EngineQuestion& question, const vllm::Rules& rules, vllm::Options& options,
                    EngineAnswer& answer) {
    const ModelSpec& model = question.model->read.spec;
    const bool asked = question.has("attention-backend");
    const Device device = device_of(question, options.kv_dtype);
    vllm::BackendNeed need = need_of(question, options, device.capability);
    if (!rules.has(vllm::Change::backend_chooses_block)) {
        options.block_size = vllm::forced_block(need, options.block_size) != 0
                                 ? vllm::forced_block(need, options.block_size) : options.block_size;
        need.block = options.block_size;
    }
    const vllm::BackendRow* row = nullptr;
    if (vllm::has_kind(model, Kind::compressor)) {
        row = &vllm::default_backend(model, options.kv_dtype);  // the model's own, whatever is asked
    } else {
        row = asked ? backend_asked(question.text("attention-backend"), need, answer)
                    : vllm::choose_backend(need, rules);
    }
    if (row == nullptr) {
        return refuse_backend(answer, need, no_backend_words(need, rules));
    }
    const u64 kv_heads = model.query_heads == 0 ? 0 : question.model->read.textbook.kv_heads;
    options.kernel_blocks = vllm::kernel_blocks_of(*row, need, kv_heads != 0 && kv_heads < model.query_heads);
    if (std::string_view{row->name} == "FLASHINFER_MLA_SPARSE_SM120" &&
        (options.kv_dtype == vllm::KvDtype::automatic || options.kv_dtype == vllm::KvDtype::fp8)) {
        options.kv_dtype = vllm::KvDtype::fp8_ds_mla;
    }
    answer.backend = row->name;
    if (!asked) {
        answer.notes.push_back({device.origin, "--attention-backend", fmt::format("{}, {}", row->name, device.words)});
    } else {
        answer.notes.push_back({Origin::given, "--attention-backend", row->name});
    }
}

}  // namespace kvcap::cli

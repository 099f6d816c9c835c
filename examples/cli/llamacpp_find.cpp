// SPDX-License-Identifier: MIT
// The flags of `kvcap llamacpp` as llama.cpp's options and devices, and what its rules make of them.
#include "llamacpp_verb.hpp"

#include <kvcap/engine/llamacpp/server.hpp>

namespace kvcap::cli {

llamacpp::Options options_of(const LlamaOptions& o, const llamacpp::Card& card, bool parallel_given) {
    llamacpp::Options to{};
    const auto small = [](const std::string& text, std::string_view flag) {
        const u64 value = count_of(text, flag);
        if (value > (u64{1} << 31)) {
            stop(Exit::usage,
                 fmt::format("{}: {} is more than llama.cpp can count; at most 2^31", flag, text));
        }
        return static_cast<u32>(value);
    };
    to.n_ctx = small(o.context, "-c");
    to.n_batch = small(o.batch, "-b");
    to.n_ubatch = small(o.ubatch, "-ub");
    to.n_seq_max = o.parallel;
    to.n_rs_seq = o.rollback;
    to.type_k = cache_type(o.type_k, "cache-type-k");
    to.type_v = cache_type(o.type_v, "cache-type-v");
    to.flash_attn = flash_named(o.flash);
    to.swa_full = o.swa_full;
    to.kv_unified = o.unified;
    if (o.split_mode != "layer" && o.split_mode != "tensor") {
        stop(Exit::usage, "--split-mode: " + o.split_mode + " is neither layer nor tensor");
    }
    to.split_mode = o.split_mode == "tensor" ? llamacpp::SplitMode::tensor : llamacpp::SplitMode::layer;
    if (o.server) {
        to = llamacpp::server_context(card, {.engine = to,
                                             .parallel = parallel_given ? static_cast<int>(o.parallel) : -1,
                                             .draft_tokens = o.rollback});
    }
    return to;
}

namespace {

/// Without --tensor-split the layer split follows free memory; without sizes, devices count alike.
llamacpp::Devices devices_of(const LlamaOptions& o, const llamacpp::Card& card,
                             llamacpp::DeviceMemory& memory) {
    const std::size_t count = std::max(o.devices.size(), std::max(o.shares.size(), std::size_t{1}));
    if (count > llamacpp::most_devices) {
        stop(Exit::usage, fmt::format("--device: {} devices; llama.cpp has at most 16", count));
    }
    for (const float share : o.shares) {
        if (!(share >= 0.0F && share <= 1e9F)) {
            stop(Exit::usage, fmt::format("--tensor-split: {} is no share; wanted numbers from 0", share));
        }
    }
    if (!o.shares.empty() && !o.devices.empty() && o.shares.size() != o.devices.size()) {
        stop(Exit::usage,
             fmt::format("--tensor-split: {} shares for {} devices", o.shares.size(), o.devices.size()));
    }
    llamacpp::Devices to{.count = static_cast<u32>(count),
                         .gpu_layers = static_cast<u32>(smaller(o.gpu_layers, card.all_layers() + 1))};
    for (u32 d = 0; d < to.count; ++d) {
        memory.available[d] = o.devices.empty() ? off_scale : bytes_of(o.devices[d], "--device").value;
        memory.compute[d] = o.compute.empty() ? 0 : bytes_of(o.compute, "--compute-buffer").value;
        const bool by_memory = !o.devices.empty() && o.split_mode == "layer";
        to.share[d] = !o.shares.empty() ? o.shares[d]
                      : by_memory       ? static_cast<float>(memory.available[d])
                                        : 1.0F;
    }
    return to;
}

llamacpp::BlockWeights weights_of(const LlamaModel& model) {
    return {.blocks = model.weights.blocks.data(),
            .count = static_cast<u32>(model.weights.blocks.size()),
            .input = model.weights.input,
            .output = model.weights.output,
            .tied = model.weights.tied};
}

llamacpp::PerDevice cut(const LlamaFinding& found) {
    llamacpp::PerDevice sum{};
    for (const llamacpp::CacheShape& cache : found.layout.caches) {
        const auto own =
            value_of(llamacpp::cache_per_slice(found.model.card, found.layout, cache, found.devices, 32));
        for (u32 d = 0; d < found.devices.count; ++d) {
            sum.device[d] += own.device[d];
        }
    }
    return sum;
}

[[noreturn]] void refuse(const Error& error) {
    stop(Exit::usage, "llama.cpp refuses: " + refusal_words(error));
}

}  // namespace

LlamaFinding finding_of(const LlamaOptions& o, const Model& model, bool parallel_given) {
    LlamaFinding found{.model = llama_model(model)};
    const llamacpp::Card& card = found.model.card;
    found.options = options_of(o, card, parallel_given);
    const Result<llamacpp::Layout> made = llamacpp::layout(card, found.options);
    if (!made) {
        refuse(made.error());
    }
    found.layout = *made;
    if (found.layout.resolved.n_ctx == 0) {
        stop(Exit::usage, "-c: the model does not say its context; give one");
    }
    found.devices = devices_of(o, card, found.memory);
    found.sized = !o.devices.empty();
    if (!found.layered()) {
        found.caches = cut(found);
        return found;
    }
    found.caches = value_of(llamacpp::per_device(card, found.layout, found.devices));
    found.weights = llamacpp::weights_per_device(card, found.devices, weights_of(found.model));
    if (found.sized) {
        const u32 limit = card.context == 0 ? 1U << 24 : static_cast<u32>(round_up(card.context, 256));
        const u32 all = static_cast<u32>(smaller(u64{limit} * found.options.n_seq_max, u64{1} << 30));
        found.largest_context = value_of(llamacpp::largest_context(
            card, found.options, found.devices, weights_of(found.model), found.memory, all));
        found.most_offloaded = value_of(llamacpp::most_offloaded(card, found.options, found.devices,
                                                                 weights_of(found.model), found.memory));
    }
    return found;
}

}  // namespace kvcap::cli

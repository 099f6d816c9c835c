// SPDX-License-Identifier: MIT
// The flags of `kvcap llamacpp` as llama.cpp's options and devices, and what its rules make of them.
#include "llamacpp_verb.hpp"

#include <cmath>

namespace kvcap::cli {

llamacpp::Options options_of(const LlamaOptions& o, const llamacpp::Card& card) {
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
    if (o.parallel < 0 && !o.server) {
        stop(Exit::usage, "--parallel -1: the server's own choice; with --server, or a number of sequences");
    }
    if (o.parallel == 0 && o.server) {
        stop(Exit::usage, "--parallel 0: a server without slots serves nothing; at least 1, or -1 for its own choice");
    }
    to.n_seq_max = static_cast<u32>(o.parallel < 0 ? 1 : o.parallel);
    to.n_rs_seq = o.rollback;
    to.type_k = cache_type(o.type_k, "cache-type-k");
    to.type_v = cache_type(o.type_v, "cache-type-v");
    to.flash_attn = flash_named(o.flash);
    to.swa_full = o.swa_full;
    to.kv_unified = o.unified;
    if (o.split_mode != "layer" && o.split_mode != "tensor" && o.split_mode != "none") {
        const bool row = o.split_mode == "row";
        stop(Exit::usage, fmt::format("--split-mode: {} is none of layer, tensor, none{}", o.split_mode,
                                      row ? "; it cuts rows of weights alone, which is not evaluated" : ""));
    }
    to.split_mode = o.split_mode == "tensor" ? llamacpp::SplitMode::tensor : llamacpp::SplitMode::layer;
    if (o.server) {
        to = llamacpp::server_context(card, {.engine = to,
                                             .parallel = o.parallel_said ? o.parallel : -1,
                                             .fit = o.split_mode != "tensor",
                                             .draft_tokens = o.rollback});
    }
    return to;
}

namespace {

/// Free memory as --device has it, or as many GPUs as are asked for. -sm none leaves the first.
std::vector<u64> memory_of_devices(const LlamaOptions& o) {
    std::vector<u64> bytes;
    for (const std::string& each : o.devices) {
        bytes.push_back(memory_of(each, "--device").value);
    }
    if (!o.gpu.empty()) {
        if (!o.devices.empty()) {
            stop(Exit::usage, "--gpu and --device: the memory is said twice; one of them is wanted");
        }
        const Gpu gpu = gpu_named(o.gpu, ". Its memory can be given: --device 24GiB");
        bytes.assign(o.gpus != 0 ? o.gpus : larger(o.shares.size(), 1), gpu.total().value);
    } else if (o.gpus != 0) {
        stop(Exit::usage, "--gpus: how many of which is not said; --gpu NAME says it");
    }
    if (o.split_mode == "none" && !bytes.empty()) {
        bytes.resize(1);
    }
    return bytes;
}

/// --tensor-split; -sm none takes no notice of it.
std::vector<float> shares_of(const LlamaOptions& o) {
    for (const float share : o.shares) {
        if (!(share >= 0.0F && share <= 1e9F)) {
            stop(Exit::usage, fmt::format("--tensor-split: {} is no share; wanted numbers from 0", share));
        }
    }
    return o.split_mode == "none" ? std::vector<float>{} : o.shares;
}

/// Without --tensor-split the layer split follows free memory; without sizes, devices count alike.
llamacpp::Devices devices_of(const LlamaOptions& o, const llamacpp::Card& card,
                             llamacpp::DeviceMemory& memory) {
    const std::vector<u64> sizes = memory_of_devices(o);
    const std::vector<float> shares = shares_of(o);
    const std::size_t count = std::max(sizes.size(), std::max(shares.size(), std::size_t{1}));
    if (count > llamacpp::most_devices) {
        stop(Exit::usage, fmt::format("--device: {} devices; llama.cpp has at most 16", count));
    }
    if (!shares.empty() && !sizes.empty() && shares.size() != sizes.size()) {
        stop(Exit::usage, fmt::format("--tensor-split: {} shares for {} devices", shares.size(), sizes.size()));
    }
    llamacpp::Devices to{.count = static_cast<u32>(count),
                         .gpu_layers = static_cast<u32>(smaller(o.gpu_layers, card.all_layers() + 1)),
                         .offload_cache = !o.no_kv_offload};
    if (o.split_mode == "tensor" && to.gpu_layers < card.all_layers()) {
        stop(Exit::usage, fmt::format("--gpu-layers {}: under --split-mode tensor all {} blocks are judged on devices",
                                      o.gpu_layers, card.all_layers()));
    }
    for (u32 d = 0; d < to.count; ++d) {
        memory.available[d] = sizes.empty() ? off_scale : sizes[d];
        memory.compute[d] = o.compute.empty() ? 0 : memory_of(o.compute, "--compute-buffer").value;
        const bool by_memory = !sizes.empty() && o.split_mode == "layer";
        to.share[d] = !shares.empty() ? shares[d] : by_memory ? static_cast<float>(memory.available[d]) : 1.0F;
    }
    return to;
}

llamacpp::BlockWeights block_weights_of(const LlamaFinding& found) {
    const gguf::Weights& weights = found.model.weights;
    return {.blocks = weights.blocks.data(),
            .count = static_cast<u32>(weights.blocks.size()),
            .input = weights.input,
            .output = weights.output,
            .tied = weights.tied,
            .experts = found.experts.empty() ? nullptr : found.experts.data(),
            .host_experts = found.host_experts};
}

/// Bytes of each block's experts; empty where no block has any.
std::vector<u64> experts_of(const gguf::Weights& weights) {
    std::vector<u64> bytes;
    for (const WeightGroup& group : weights.parts.groups) {
        if (group.part == WeightPart::experts && group.layer < weights.blocks.size()) {
            bytes.resize(weights.blocks.size(), 0);
            bytes[group.layer] = saturating_sum(bytes[group.layer], group.bytes);
        }
    }
    return bytes;
}

/// --cpu-moe and --n-cpu-moe. More blocks than the model has are all of them.
void place_experts(const LlamaOptions& o, LlamaFinding& found) {
    const bool asked = o.all_on_host || o.host_experts != 0;
    if (asked && !found.model.from_file) {
        stop(Exit::usage, fmt::format("{}: the weights are not known, so neither are its experts; wanted a GGUF file",
                                      o.all_on_host ? "--cpu-moe" : "--n-cpu-moe"));
    }
    found.experts = experts_of(found.model.weights);
    const u64 blocks = found.model.weights.blocks.size();
    found.host_experts = static_cast<u32>(o.all_on_host ? blocks : smaller(o.host_experts, blocks));
}

/// Caches under -sm tensor.
llamacpp::PerDevice cut(const LlamaFinding& found) {
    llamacpp::PerDevice sum{};
    if (!found.devices.offload_cache) {
        sum.cpu = value_of(llamacpp::total_bytes(found.model.card, found.layout)).total();
        return sum;
    }
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

/// What `bytes` of a matrix are on a device, by its share of all; rounded up.
u64 share_of(u64 bytes, const llamacpp::Devices& devices, u32 device) {
    double all = 0;
    bool alike = true;
    for (u32 d = 0; d < devices.count; ++d) {
        all += static_cast<double>(devices.share[d]);
        alike = alike && devices.share[d] == devices.share[0];
    }
    const double own = static_cast<double>(devices.share[device]);
    return alike ? ceil_div(bytes, devices.count)
                 : static_cast<u64>(std::ceil(static_cast<double>(bytes) * own / all));
}

/// Weights under -sm tensor: matrices by the shares, what is no matrix whole on each; the input embedding on the CPU,
/// and once more as the output matrix where the model has none.
llamacpp::PerDevice cut_weights(const LlamaFinding& found) {
    llamacpp::PerDevice sum{};
    const llamacpp::BlockWeights weights = block_weights_of(found);
    sum.cpu = weights.input;
    for (u32 i = 0; i < weights.count; ++i) {
        sum.cpu = saturating_sum(sum.cpu, weights.on_host(i));
    }
    for (u32 d = 0; d < found.devices.count; ++d) {
        for (const WeightGroup& group : found.model.weights.parts.groups) {
            const bool on_host = group.part == WeightPart::experts && group.layer < found.host_experts;
            const bool left_out = on_host || (group.part == WeightPart::embedding && !found.model.weights.tied);
            const u64 here = left_out                             ? 0
                             : group.part == WeightPart::whole ? group.bytes
                                                               : share_of(group.bytes, found.devices, d);
            sum.device[d] = saturating_sum(sum.device[d], here);
        }
    }
    return sum;
}

/// The largest -c, a multiple of 256, with which a tensor split fits; 0: none does.
u32 largest_cut_context(LlamaFinding found, u32 limit) {
    return static_cast<u32>(largest(limit / 256, [&](u64 steps) {
                                found.options.n_ctx = static_cast<u32>(steps * 256);
                                const Result<llamacpp::Layout> made = llamacpp::layout(found.model.card, found.options);
                                if (steps != 0 && made) {
                                    found.layout = *made;
                                    found.caches = cut(found);
                                }
                                return steps == 0 || (made && found.fits());
                            })) * 256;
}

/// --server without -c: --fit starts from the model's context for each slot.
void lower_by_fit(const LlamaOptions& o, LlamaFinding& found) {
    const llamacpp::Card& card = found.model.card;
    found.by_fit = o.server && !o.context_said && o.split_mode != "tensor" && card.context != 0;
    if (!found.by_fit || o.devices.size() + o.gpu.size() == 0) {
        return;
    }
    const llamacpp::BlockWeights weights = block_weights_of(found);
    const llamacpp::PerDevice each = llamacpp::weights_per_device(card, found.devices, weights);
    u64 all = 0;
    for (u32 d = 0; d < found.devices.count; ++d) {
        all = saturating_sum(all, each.device[d]);
    }
    const u64 waste = llamacpp::fit_waste(found.devices.count, all, card.layers, !found.experts.empty());
    const Result<u64> cells =
        llamacpp::fitted_cells(card, found.options, found.devices, weights, found.memory, waste);
    found.options.n_ctx = cells ? static_cast<u32>(*cells) : found.options.n_ctx;
}

}  // namespace

LlamaFinding finding_of(const LlamaOptions& o, const Model& model) {
    LlamaFinding found{.model = llama_model(model)};
    const llamacpp::Card& card = found.model.card;
    found.options = options_of(o, card);
    found.devices = devices_of(o, card, found.memory);
    place_experts(o, found);
    lower_by_fit(o, found);
    const Result<llamacpp::Layout> made = llamacpp::layout(card, found.options);
    if (!made) {
        refuse(made.error());
    }
    found.layout = *made;
    if (found.layout.resolved.n_ctx == 0) {
        stop(Exit::usage, "-c: the model does not say its context; give one");
    }
    found.sized = !o.devices.empty() || !o.gpu.empty();
    const u32 limit = card.context == 0 ? 1U << 24 : static_cast<u32>(round_up(card.context, 256));
    const u32 all = static_cast<u32>(smaller(u64{limit} * found.options.n_seq_max, u64{1} << 30));
    found.of_model = card.context == 0 ? 0 : all;
    if (!found.layered()) {
        found.caches = cut(found);
        found.weights = cut_weights(found);
        found.largest_context = found.sized ? largest_cut_context(found, all) : 0;
        return found;
    }
    found.caches = value_of(llamacpp::per_device(card, found.layout, found.devices));
    found.weights = llamacpp::weights_per_device(card, found.devices, block_weights_of(found));
    if (found.sized) {
        found.largest_context = value_of(llamacpp::largest_context(
            card, found.options, found.devices, block_weights_of(found), found.memory, all));
        found.most_offloaded = value_of(llamacpp::most_offloaded(card, found.options, found.devices,
                                                                 block_weights_of(found), found.memory));
        found.least_host_experts = found.experts.empty()
                                       ? std::nullopt
                                       : value_of(llamacpp::least_host_experts(card, found.options, found.devices,
                                                                               block_weights_of(found), found.memory));
    }
    return found;
}

}  // namespace kvcap::cli

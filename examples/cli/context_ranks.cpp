// SPDX-License-Identifier: MIT
// Context ranks of their own, or among the tensor ranks; splits that cannot be.
#include "context_ranks.hpp"

#include <kvcap/report/size.hpp>

namespace kvcap::cli {

namespace {

const char* flag_of(const ShardingOptions& typed) {
    return typed.cp_among_tp ? "--decode-context-parallel-size" : "--cp";
}

void refuse_vllm_ranks(const Model& model, const Sharding& attention, const char* flag) {
    const u32 tp = attention.tp;
    const u32 cp = attention.cp;
    const std::string ranks = fmt::format("{}: {} context ranks among {}", flag, cp,
                                          report::counted(tp, "tensor rank", "tensor ranks"));
    for (const LayerForm& form : model.read.spec.forms) {
        const u64 heads = form.kind == Kind::attention && !form.streams.empty() ? form.streams[0].heads : 0;
        const u64 copies = heads == 0 ? cp : larger(tp / heads, 1);
        if (copies < cp) {
            stop(Exit::usage, fmt::format("{}: {} of each head, and {} is no multiple of {}", ranks,
                                          report::counted(copies, "copy", "copies"), copies, cp));
        }
    }
    if (tp % cp != 0) {
        stop(Exit::usage, fmt::format("{}: {} is no multiple of {}", ranks, tp, cp));
    }
}

}  // namespace

bool among_tensor_ranks(const ShardingOptions& options, std::string_view engine) {
    return options.cp_among_tp || engine == "vllm";
}

u32 own_context_ranks(const ShardingOptions& options, std::string_view engine) {
    return among_tensor_ranks(options, engine) ? 1 : options.cp;
}

std::string context_refusal(const ModelSpec& model, const Sharding& sharding) {
    const Error wrong = sharding.cp > 1 ? report::check_among_tp(model, sharding) : Error{};
    if (wrong.code != Errc::not_divisible) {
        return {};  // what else is wrong with the split, others say
    }
    return fmt::format("{} context ranks among {}: {} of each head, and {} is no multiple of {}", sharding.cp,
                       report::counted(sharding.tp, "tensor rank", "tensor ranks"),
                       report::counted(wrong.got, "copy", "copies"), wrong.got, sharding.cp);
}

void refuse_context_ranks(const ShardingOptions& options, const EngineFace& face) {
    if (options.cp > 1 && !face.no_context_ranks.empty()) {
        stop(Exit::usage, fmt::format("{} {}: {}", flag_of(options), options.cp, face.no_context_ranks));
    }
}

void refuse_attention_ranks(const ShardingOptions& typed, std::string_view engine) {
    if (!typed.dp_attention) {
        return;
    }
    if (engine == "llamacpp") {
        stop(Exit::usage, fmt::format("--dp-attention: {} (--dp counts replicas)", llama_attention_ranks));
    }
    if (typed.tp == 1 && typed.dp > 1) {
        stop(Exit::usage,
             fmt::format("--dp-attention and --dp {0}: --dp counts replicas, each of one tensor rank here; {0} ranks "
                         "that each hold whole requests are --tp {0} --dp-attention", typed.dp));
    }
}

Error attention_ranks_error(const ModelSpec& model, u32 tp, const EngineFace& face) {
    if (face.name != "sglang" || model.query_heads % tp == 0) {
        return {};
    }
    return {.code = Errc::query_heads_not_divisible, .got = model.query_heads, .want = tp};
}

Sharding split_under(const EngineFace& face, const ShardingOptions& typed) {
    Sharding split = typed.sharding();
    if (!face.remainder || !split.stage_layers.empty()) {
        return split;
    }
    if (!typed.pp_split.empty() && split.remainder != *face.remainder) {
        stop(Exit::usage, fmt::format("--pp-split: {} is not how {} deals spare layers; leave it out", typed.pp_split,
                                      face.title));
    }
    split.remainder = *face.remainder;
    return split;
}

void refuse_split(const Model& model, const Sharding& attention, const ShardingOptions& typed, const EngineFace& face) {
    const bool among = among_tensor_ranks(typed, face.name);
    const std::string refusal = among ? context_refusal(model.spec, attention) : "";
    if (!refusal.empty()) {
        stop(Exit::usage, refusal);
    }
    for (u32 stage = 0; stage < attention.pp; ++stage) {
        static_cast<void>(value_of(fold(model.spec, {.prompt = {1}}, attention, {.stage = stage}), model.label));
    }
    if (face.name == "vllm" && attention.cp > 1) {
        refuse_vllm_ranks(model, attention, flag_of(typed));
    }
}

}  // namespace kvcap::cli

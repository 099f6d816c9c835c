// SPDX-License-Identifier: MIT
// Context ranks of their own, or among the tensor ranks.
#include "context_ranks.hpp"

#include <kvcap/report/size.hpp>

namespace kvcap::cli {

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

}  // namespace kvcap::cli

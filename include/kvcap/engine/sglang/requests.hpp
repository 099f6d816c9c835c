// SPDX-License-Identifier: MIT
// How many requests does SGLang run at once, and how much does its host tier hold?
// Sources: KVCacheConfigurator.resolve_max_num_reqs; mem_cache/memory_pool_host.py.
#pragma once

#include <kvcap/engine/sglang/compressed.hpp>
#include <kvcap/engine/sglang/states.hpp>

namespace kvcap::inline v1::sglang {

/// Requests of one attention-data-parallel worker, from tokens alone. pre: context > 0
constexpr u64 requests_by_tokens(u64 tokens, const Options& options) noexcept {
    const u64 asked = per_worker(options.max_running_requests, options);
    return asked == not_set ? estimated_requests(tokens, options.context) : smaller(asked, tokens / 2);
}

/// slots: 0 in a model without states.
constexpr Result<u64> request_limit(u64 tokens, u64 slots, bool has_states, const Options& options) noexcept {
    if (options.context == 0) {
        return Errc::zero_dimension;
    }
    const u64 by_tokens = requests_by_tokens(tokens, options);
    if (!has_states) {
        return by_tokens;
    }
    const u64 each = slots_per_request(options);
    const u64 limit = smaller(by_tokens, slots / each);
    return limit != 0 ? Result<u64>{limit} : Error{.code = Errc::too_few_state_slots, .got = slots, .want = each};
}

/// Tokens of the host pool (HiCache): a decimal size, or a multiple of the device's tokens; one page more
/// than whole.
struct HostTier {
    double ratio = 2.0;
    double size_gb = 0;  ///< 10^9 bytes; 0: by ratio
};

/// pre: bytes_per_token > 0, page > 0
constexpr u64 host_tokens(const HostTier& tier, u64 device_tokens, u64 bytes_per_token, u64 page) noexcept {
    const u64 asked = tier.size_gb > 0
                          ? floor_div(tier.size_gb * 1e9, static_cast<double>(bytes_per_token))
                          : truncated(static_cast<double>(device_tokens) * tier.ratio);
    return saturating_product(asked / page + 1, page);
}

}  // namespace kvcap::inline v1::sglang

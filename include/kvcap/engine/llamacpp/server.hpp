// SPDX-License-Identifier: MIT
// What does llama-server choose by itself? Slots, unified cache, context: -np unset means 4 slots in a
// unified cache; --fit with no -c asks for the model's context times the slots, then lowers it until the
// memory margin is kept.
// Source: llama.cpp v0.5.0, tools/server/server.cpp, common/fit.cpp.
#pragma once

#include <kvcap/engine/llamacpp/rows.hpp>

namespace kvcap::inline v1::llamacpp {

/// As given on the command line; negative parallel and unset (0) n_ctx mean "choose".
struct ServerOptions {
    Options engine{};
    int parallel = -1;
    bool fit = true;
    u32 draft_tokens = 0;   ///< of MTP-like speculation: rollback rows
    u32 per_slot = 0;       ///< --kv-unified-per-slot
    bool embeddings = false;
    friend constexpr bool operator==(const ServerOptions&, const ServerOptions&) = default;
};

/// The options of the context that the server makes, before --fit lowers anything.
constexpr Options server_context(const Card& card, const ServerOptions& server) noexcept {
    Options to = server.engine;
    const bool automatic = server.parallel < 0;
    to.n_seq_max = automatic ? 4 : static_cast<u32>(server.parallel);
    to.kv_unified = automatic || to.kv_unified;
    to.n_rs_seq = server.draft_tokens;
    to.swa_full = to.swa_full && card.window != 0;
    if (to.n_ctx == 0 && server.per_slot != 0) {
        to.n_ctx = static_cast<u32>(smaller(saturating_product(to.n_seq_max, server.per_slot), ~u32{0}));
    } else if (to.n_ctx == 0 && server.fit) {
        to.n_ctx = static_cast<u32>(smaller(saturating_product(to.n_seq_max, card.context), ~u32{0}));
    }
    if (server.embeddings) {
        to.n_batch = static_cast<u32>(smaller(to.n_batch, to.n_ubatch == 0 ? to.n_batch : to.n_ubatch));
    }
    return to;
}

/// Tokens one slot may hold.
constexpr u64 slot_context(const Card& card, const Resolved& to, u32 per_slot = 0) noexcept {
    const u64 own = smaller(to.n_ctx_seq, card.context);
    return per_slot == 0 ? own : smaller(own, per_slot);
}

/// --fit between two projections of device memory (at the smallest and the largest context): the context
/// whose projection, on the line between them, leaves `margin` free; rounded down to 256 a stream, at least
/// the smallest.
struct FitPoint {
    u64 n_ctx = 0;
    u64 bytes = 0;
    friend constexpr bool operator==(const FitPoint&, const FitPoint&) = default;
};

constexpr u64 fitted_context(FitPoint least, FitPoint most, u64 free_bytes, u64 margin,
                             u32 streams) noexcept {
    const u64 usable = free_bytes > margin ? free_bytes - margin : 0;
    if (most.bytes <= usable || most.n_ctx <= least.n_ctx) {
        return most.n_ctx;
    }
    if (usable <= least.bytes || most.bytes <= least.bytes) {
        return least.n_ctx;
    }
    const u64 wanted =
        least.n_ctx + product_over(most.n_ctx - least.n_ctx, usable - least.bytes, most.bytes - least.bytes);
    const u64 step = cell_step * larger(streams, 1);
    return larger(wanted - wanted % step, least.n_ctx);
}

}  // namespace kvcap::inline v1::llamacpp

// SPDX-License-Identifier: MIT
// How many blocks does one request of TensorRT-LLM need: at most, in the next step, until it ends? Beams
// share whole prompt blocks; a sequence that outgrows its window needs one block more. Source:
// kvCacheManager.cpp calculateMaxBlockRequirements, getNeededBlocksOneStep, getRemainingBlocksToCompletion.
#pragma once

#include <kvcap/units.hpp>

namespace kvcap::inline v1::trtllm {

/// What the counts depend on. sinks: tokens that stay; they are padded to whole blocks by a bubble.
struct BlockShape {
    u64 tokens_per_block = 32;
    u64 window = 0;
    u64 beams = 1;
    u64 sinks = 0;

    constexpr u64 bubble() const noexcept { return round_up(sinks, tokens_per_block) - sinks; }
};

constexpr u64 blocks_of_one_beam(u64 tokens, const BlockShape& shape) noexcept {
    return ceil_div(smaller(tokens, shape.window) + shape.bubble(), shape.tokens_per_block) +
           (tokens > shape.window ? 1 : 0);
}

/// Most blocks of a sequence of so many input and output tokens.
constexpr u64 most_blocks(u64 input, u64 output, const BlockShape& shape) noexcept {
    const u64 whole = input + output;
    if (shape.beams == 1) {
        return blocks_of_one_beam(whole, shape);
    }
    if (shape.window <= output) {
        return blocks_of_one_beam(output, shape) * shape.beams;
    }
    const u64 context = smaller(shape.window, whole) - output;
    const u64 shared = (context + shape.bubble()) / shape.tokens_per_block;
    const u64 in_shared = shared * shape.tokens_per_block;
    const u64 own_tokens = output + context > in_shared ? output + context - in_shared : 0;
    const u64 own = ceil_div(own_tokens, shape.tokens_per_block) + (whole > shape.window ? 1 : 0);
    return shared + own * shape.beams;
}

/// Blocks of a prompt when it is admitted: beams share all but a last block that is not full, or even that
/// one.
constexpr u64 prompt_blocks(u64 context_blocks, u64 beams, bool share_last) noexcept {
    return share_last || context_blocks == 0 ? context_blocks : context_blocks - 1 + beams;
}

/// A request as the scheduler sees it.
struct InFlight {
    u64 prompt = 0;
    u64 generated = 0;
    u64 max_new = 0;
    u64 drafts = 0;
};

/// Blocks the first prefill step takes.
constexpr u64 prefill_blocks(const InFlight& request, const BlockShape& shape) noexcept {
    const u64 tokens =
        smaller(request.prompt + request.drafts, shape.window + request.max_new) + shape.bubble();
    const u64 rest = tokens % shape.tokens_per_block;
    return tokens / shape.tokens_per_block + (rest != 0 ? shape.beams : 0);
}

/// Blocks the next decode step takes, or the next two.
constexpr u64 decode_blocks(const InFlight& request, bool two_steps, const BlockShape& shape) noexcept {
    const u64 now = request.prompt + request.generated;
    const u64 left = request.max_new > request.generated ? request.max_new - request.generated : 0;
    const u64 next = now + smaller((two_steps ? 2 : 1) * (request.drafts + 1), left);
    return (ceil_div(next, shape.tokens_per_block) - ceil_div(now, shape.tokens_per_block)) * shape.beams;
}

/// Blocks still needed until the request ends. temporary: tokens beyond the window during a chunked prefill.
constexpr u64 blocks_to_completion(const InFlight& request, u64 allocated, u64 temporary,
                                   const BlockShape& shape) noexcept {
    const u64 per = shape.tokens_per_block;
    const u64 bound = shape.window + temporary;
    const u64 end = request.prompt + request.max_new;
    const u64 context = (smaller(request.prompt, bound) + shape.bubble()) / per;
    const u64 total = ceil_div(smaller(end, bound) + shape.bubble(), per);
    const u64 last = ceil_div(end, per);
    const bool slides =
        end > shape.window && last > ceil_div(request.prompt + request.generated, per) && last > total;
    const u64 extra = slides ? 1 : 0;
    if (allocated < context) {
        return context - allocated + (total - context + extra) * shape.beams;
    }
    return (total + extra > allocated ? total + extra - allocated : 0) * shape.beams;
}

}  // namespace kvcap::inline v1::trtllm

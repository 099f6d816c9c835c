// SPDX-License-Identifier: MIT
// Why does vLLM not start, in words? The engine's categories (engine/vllm/refusal.hpp) as sentences for people; their
// own names are for JSON.
#pragma once

#include <kvcap/engine/vllm/refusal.hpp>
#include <string_view>

namespace kvcap::inline v1::report {

constexpr std::string_view words_of(vllm::Reason reason) noexcept {
    switch (reason) {
        case vllm::Reason::none: return "nothing is refused";
        case vllm::Reason::no_memory: return "no memory is left for cache blocks";
        case vllm::Reason::not_enough_memory: return "one request of the full length does not fit";
        case vllm::Reason::cannot_unify_page_size:
            return "the layers' blocks take different numbers of bytes, and its rules cannot bring them to one "
                   "page size";
        case vllm::Reason::cannot_promote_to_single_type:
            return "without the hybrid manager (--disable-hybrid-kv-cache-manager) all layers must have one type of "
                   "cache, and these cannot";
        case vllm::Reason::window_mismatch:
            return "layers that share a group have windows of different lengths, and a group has one";
        case vllm::Reason::context_parallel_unsupported:
            return "context ranks (--decode-context-parallel-size) cannot deal the tokens of these layers";
        case vllm::Reason::auto_fit_impossible:
            return "not even the shortest length fits (--max-model-len auto)";
        case vllm::Reason::match_unit_not_divisible:
            return "a group's block is no multiple of --prefix-match-unit";
        case vllm::Reason::assertion: return "an assertion inside vLLM fails for these layers and options";
        case vllm::Reason::no_valid_backend: return "no attention backend serves this cache on this GPU";
    }
    return "unknown";
}

}  // namespace kvcap::inline v1::report

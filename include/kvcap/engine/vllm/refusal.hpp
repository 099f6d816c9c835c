// SPDX-License-Identifier: MIT
// Why does vLLM not start? The engine's own categories and the numbers it computes for them.
#pragma once

#include <kvcap/result.hpp>

namespace kvcap::inline v1::vllm {

/// assertion: an internal assertion of vLLM fails.
enum class Reason : u8 {
    none,
    no_memory,
    not_enough_memory,
    cannot_unify_page_size,
    cannot_promote_to_single_type,
    window_mismatch,
    context_parallel_unsupported,
    auto_fit_impossible,
    match_unit_not_divisible,
    assertion,
    no_valid_backend,
};

constexpr const char* name_of(Reason reason) noexcept {
    switch (reason) {
        case Reason::none: return "none";
        case Reason::no_memory: return "no_memory";
        case Reason::not_enough_memory: return "not_enough_memory";
        case Reason::cannot_unify_page_size: return "cannot_unify_page_size";
        case Reason::cannot_promote_to_single_type: return "cannot_promote_to_single_type";
        case Reason::window_mismatch: return "window_mismatch";
        case Reason::context_parallel_unsupported: return "context_parallel_unsupported";
        case Reason::auto_fit_impossible: return "auto_fit_impossible";
        case Reason::match_unit_not_divisible: return "match_unit_not_divisible";
        case Reason::assertion: return "assertion";
        case Reason::no_valid_backend: return "no_valid_backend";
    }
    return "unknown";
}

/// The memory reasons carry numbers of the worker that fails first: bytes available, bytes of them kept back
/// for the null block, bytes one request of the full length needs, and the longest length that fits (0:
/// none).
struct Refusal {
    Reason reason = Reason::none;
    u32 worker = 0;
    u64 available = 0;
    u64 kept_back = 0;
    u64 needed = 0;
    u64 longest = 0;

    friend constexpr bool operator==(const Refusal&, const Refusal&) = default;
};

/// Errc::does_not_fit: got usable, want needed, hint longest. Errc::no_memory: got available, want one block.
/// Errc::refused_combination: got the Reason.
constexpr Error error_of(const Refusal& refusal) noexcept {
    switch (refusal.reason) {
        case Reason::none: return {};
        case Reason::no_memory:
            return {.code = Errc::no_memory, .got = refusal.available, .want = refusal.kept_back};
        case Reason::not_enough_memory:
            return {.code = Errc::does_not_fit,
                    .got = refusal.available - refusal.kept_back,
                    .want = refusal.needed,
                    .hint = refusal.longest};
        default: break;
    }
    return {.code = Errc::refused_combination, .got = static_cast<u64>(refusal.reason)};
}

/// The Reason of an Error that error_of made of one without numbers; none: of another.
constexpr Reason reason_of(const Error& error) noexcept {
    const bool ours =
        error.code == Errc::refused_combination && error.got <= static_cast<u64>(Reason::no_valid_backend);
    return ours ? static_cast<Reason>(error.got) : Reason::none;
}

}  // namespace kvcap::inline v1::vllm

// SPDX-License-Identifier: MIT
// An Error in words, without a formatting library: the one place where core errors become sentences.
#pragma once

#include <cstddef>
#include <kvcap/result.hpp>

namespace kvcap::inline v1 {

/// The sentence of a code. %g, %w, %h stand for got, want and hint.
constexpr const char* sentence(Errc code) noexcept {
    switch (code) {
        case Errc::ok: return "no error";
        case Errc::capacity: return "the model has more than %w parts of one kind; kvcap keeps at most %w (%g asked)";
        case Errc::overflow: return "the number of bytes does not fit into 64 bits";
        case Errc::negative: return "%g is less than %w, so nothing is left";
        case Errc::divided_by_zero: return "%g cannot be divided into pieces of size 0";
        case Errc::block_not_divisible: return "a row of %g elements cannot be stored in blocks of %w";
        case Errc::heads_not_divisible: return "%g heads cannot be dealt to %w ranks";
        case Errc::query_heads_not_divisible: return "%g query heads cannot be dealt to %w ranks";
        case Errc::channels_not_divisible: return "%g state heads or channels cannot be dealt to %w ranks";
        case Errc::stages_exceed_layers: return "%g pipeline stages are more than the model's %w layers";
        case Errc::stage_layers_mismatch: return "the list of layers per stage gives %g where %w are wanted";
        case Errc::rank_out_of_range: return "rank %g does not exist among %w";
        case Errc::zero_parallelism: return "a parallel size of 0 is no size; 1 means not divided";
        case Errc::no_layers: return "the model has no layers";
        case Errc::zero_dimension: return "a size that must be at least 1 is 0";
        case Errc::no_memory: return "%g bytes are left for the cache, less than one unit of %w bytes";
        case Errc::does_not_fit: return "%w bytes are needed and %g are available";
        case Errc::unsupported: return "these rules do not cover this case";
        case Errc::not_divisible: return "%g is not a multiple of %w";
        case Errc::refused_combination: return "the engine refuses these options together";
        case Errc::unknown_version: return "no rules are known for this version";
        case Errc::window_pool_too_small: return "a window pool of %g tokens admits no request; %w are wanted";
        case Errc::no_state_slots: return "%g bytes are left, less than one state slot of %w bytes";
        case Errc::pool_of_no_tokens: return "%g tokens are less than one page of %w";
    }
    return "unknown error";
}

/// Writes the message of `error` into `text`, at most `size` characters with the final NUL, and returns `text`.
constexpr char* message(const Error& error, char* text, std::size_t size) noexcept {
    std::size_t at = 0;
    const auto put = [&](char c) noexcept {
        if (at + 1 < size) {
            text[at++] = c;
        }
    };
    const auto put_text = [&](const char* s) noexcept {
        while (*s != '\0') {
            put(*s++);
        }
    };
    const auto put_number = [&](u64 n) noexcept {
        char digits[20]{};
        int count = 0;
        do {
            digits[count++] = static_cast<char>('0' + n % 10);
            n /= 10;
        } while (n != 0);
        while (count > 0) {
            put(digits[--count]);
        }
    };
    if (error.layer != no_layer) {
        put_text("layer ");
        put_number(error.layer);
        put_text(": ");
    }
    for (const char* s = sentence(error.code); *s != '\0'; ++s) {
        if (*s != '%' || s[1] == '\0') {
            put(*s);
            continue;
        }
        ++s;
        put_number(*s == 'g' ? error.got : *s == 'w' ? error.want : error.hint);
    }
    if (size > 0) {
        text[at] = '\0';
    }
    return text;
}

}  // namespace kvcap::inline v1

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
        case Errc::too_few_state_slots: return "%g state slots are fewer than the %w that one request takes";
        case Errc::no_state_slots: return "%g bytes are left, less than one state slot of %w bytes";
        case Errc::pool_of_no_tokens: return "%g tokens are less than one page of %w";
    }
    return "unknown error";
}

/// The feature behind "these rules do not cover". %g and %w stand for got and want.
constexpr const char* words_of(Uncovered what) noexcept {
    switch (what) {
        case Uncovered::nothing: return "this case";
        case Uncovered::sinks: return "first tokens that stay (sinks) beside a window, chunk or budget";
        case Uncovered::prompt_only: return "tokens of the prompt alone";
        case Uncovered::encoder_part: return "encoder tokens that are not kept as whole keys and values";
        case Uncovered::encoder_prefix: return "a prefix of encoder tokens";
        case Uncovered::budget: return "a budget of tokens";
        case Uncovered::lag: return "entries that lag %g tokens behind";
        case Uncovered::stride: return "entries of %g tokens each";
        case Uncovered::strided_window: return "a window of entries of %g tokens each";
        case Uncovered::dealt_stride: return "entries of %g tokens each that context ranks share";
        case Uncovered::dealt_runs: return "context ranks that take %g tokens at a time";
        case Uncovered::chunked_latent: return "latents in chunks";
        case Uncovered::stream: return "a stream that is no key, value, latent or rope key";
        case Uncovered::unequal_widths: return "values of width %g beside keys of width %w";
        case Uncovered::unequal_heads: return "%g heads of one stream beside %w of another";
        case Uncovered::second_shape: return "keys and values of a second shape";
        case Uncovered::second_window: return "a window of %g tokens beside one of %w, or beside a chunk";
        case Uncovered::second_state: return "recurrent states of a second shape";
        case Uncovered::compressor: return "states of compressors";
        case Uncovered::mamba1: return "Mamba-1 states";
        case Uncovered::mamba2: return "Mamba-2 states";
        case Uncovered::gated_delta: return "gated delta states";
        case Uncovered::kda: return "KDA states";
        case Uncovered::lightning: return "lightning attention states";
        case Uncovered::gla: return "gated linear attention states";
        case Uncovered::rwkv: return "RWKV states";
        case Uncovered::rglru: return "RG-LRU states";
        case Uncovered::short_conv: return "short convolutions";
        case Uncovered::mlstm: return "mLSTM states";
        case Uncovered::state: return "recurrent states of no known kind";
        case Uncovered::kv_format: return "this layer in the KV format asked for";
        case Uncovered::no_attention: return "a model without attention layers";
        case Uncovered::context_ranks: return "%g context ranks";
        case Uncovered::two_splits: return "tensor ranks and pipeline stages together";
        case Uncovered::devices: return "%g devices; at most %w";
        case Uncovered::sliced_state: return "slices of this recurrent state on tensor ranks";
        case Uncovered::saved_compressed: return "a saved sequence of compressed latents";
        case Uncovered::whole_group: return "a group that is reused as a whole or not at all";
        case Uncovered::position: return "position %g; positions are below %w";
        case Uncovered::bare_index: return "index keys beside keys and values";
    }
    return "this case";
}

/// Characters into a text of fixed size; what does not fit is left out.
struct MessageText {
    char* text = nullptr;
    std::size_t size = 0;
    std::size_t at = 0;

    constexpr void put(char c) noexcept {
        if (at + 1 < size) {
            text[at++] = c;
        }
    }
    constexpr void put_text(const char* s) noexcept {
        while (*s != '\0') {
            put(*s++);
        }
    }
    constexpr void put_number(u64 n) noexcept {
        char digits[20]{};
        int count = 0;
        do {
            digits[count++] = static_cast<char>('0' + n % 10);
            n /= 10;
        } while (n != 0);
        while (count > 0) {
            put(digits[--count]);
        }
    }
    /// %g, %w, %h are the numbers of `error`.
    constexpr void put_filled(const char* s, const Error& error) noexcept {
        for (; *s != '\0'; ++s) {
            if (*s != '%' || s[1] == '\0') {
                put(*s);
                continue;
            }
            ++s;
            put_number(*s == 'g' ? error.got : *s == 'w' ? error.want : error.hint);
        }
    }
};

/// Writes the message of `error` into `text`, at most `size` characters with the final NUL, and returns `text`.
constexpr char* message(const Error& error, char* text, std::size_t size) noexcept {
    MessageText out{.text = text, .size = size};
    if (error.layer != no_layer) {
        out.put_text("layer ");
        out.put_number(error.layer);
        out.put_text(": ");
    }
    if (error.code == Errc::unsupported) {
        out.put_text("these rules do not cover ");
        out.put_filled(words_of(error.what), error);
    } else {
        out.put_filled(sentence(error.code), error);
    }
    if (size > 0) {
        text[out.at] = '\0';
    }
    return text;
}

}  // namespace kvcap::inline v1

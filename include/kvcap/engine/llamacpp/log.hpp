// SPDX-License-Identifier: MIT
// What does llama.cpp print about a cache? The numbers of its log lines, and the lines. Summaries turn bytes
// into a 32-bit float first; buffer lines are exact. Both print MiB with two decimals, ties to even, as
// printf does.
// Source: llama.cpp v0.5.0, llama-kv-cache.cpp, llama-memory-recurrent.cpp, llama-kv-cache-dsv4.cpp
// (LLAMA_LOG_INFO).
#pragma once

#include <kvcap/engine/llamacpp/rows.hpp>

namespace kvcap::inline v1::llamacpp {

/// Hundredths of a MiB, as "%.2f" shows them.
struct PrintedMib {
    u64 hundredths = 0;
    friend constexpr bool operator==(const PrintedMib&, const PrintedMib&) = default;
};

/// Buffer lines: exact bytes. The remainder is scaled first, so nothing overflows below 2^64 bytes.
constexpr PrintedMib exact_mib(u64 bytes) noexcept {
    constexpr u64 mib = u64{1} << 20;
    const u64 scaled = bytes % mib * 100;
    const u64 down = scaled / mib;
    const u64 rest = scaled % mib;
    const bool up = rest * 2 > mib || (rest * 2 == mib && down % 2 == 1);
    return {bytes / mib * 100 + down + (up ? 1 : 0)};
}

/// Summary lines: the bytes pass through a 32-bit float. pre: below 2^63 bytes
constexpr PrintedMib float_mib(u64 bytes) noexcept {
    return exact_mib(static_cast<u64>(static_cast<float>(bytes)));
}

constexpr u32 printed_layers(const Card& card, const CacheShape& cache) noexcept {
    return is_states(cache.part) ? card.layers : blocks_in(card, cache);
}

/// A line under construction: text and numbers appended to a buffer that is always terminated.
struct Line {
    char text[256]{};
    u32 size = 0;

    constexpr Line& put(char c) noexcept {
        if (size + 1 < sizeof(text)) {
            text[size++] = c;
        }
        return *this;
    }
    constexpr Line& put(const char* more) noexcept {
        while (*more != '\0') {
            put(*more++);
        }
        return *this;
    }
    constexpr Line& number(u64 value, u32 width = 0, bool left = false) noexcept {
        char digits[20]{};
        u32 count = 0;
        do {
            digits[count++] = static_cast<char>('0' + value % 10);
            value /= 10;
        } while (value != 0);
        for (u32 i = count; !left && i < width; ++i) {
            put(' ');
        }
        for (u32 i = count; i-- > 0;) {
            put(digits[i]);
        }
        for (u32 i = count; left && i < width; ++i) {
            put(' ');
        }
        return *this;
    }
    constexpr Line& mib(PrintedMib value, u32 width) noexcept {
        const u64 rest = value.hundredths % 100;
        number(value.hundredths / 100, width > 3 ? width - 3 : 0);
        return put('.').put(static_cast<char>('0' + rest / 10)).put(static_cast<char>('0' + rest % 10));
    }
};

constexpr u64 key_and_value(const BlockBytes& bytes) noexcept { return saturating_sum(bytes.k, bytes.v); }
constexpr u64 state_bytes(const BlockBytes& bytes) noexcept {
    return saturating_sum(saturating_sum(bytes.r, bytes.s), bytes.p);
}

/// "<backend> KV buffer size = X MiB", and RS for states.
constexpr Line buffer_line(const char* backend, Part part, u64 bytes) noexcept {
    constexpr u32 column = 10;
    u32 size = 0;
    while (backend[size] != '\0') {
        ++size;
    }
    Line line{};
    for (; size < column; ++size) {
        line.put(' ');
    }
    line.put(backend).put(is_states(part) ? " RS buffer size = " : " KV buffer size = ");
    return line.mib(exact_mib(bytes), 8).put(" MiB");
}

/// "size = X MiB (C cells, L layers, S/T seqs), K (type): ..., V (type): ..."; states: R, S and P.
constexpr Line summary_line(const Card& card, const Layout& layout, const CacheShape& cache,
                            const BlockBytes& bytes) noexcept {
    Line line{};
    const bool states = is_states(cache.part);
    line.put("size = ").mib(float_mib(states ? state_bytes(bytes) : key_and_value(bytes)), 7).put(" MiB (");
    line.number(cache.cells, 6).put(" cells, ").number(printed_layers(card, cache), 3).put(" layers, ");
    line.number(cache.sequences, 2);
    if (states) {
        line.put(" seqs ").number(layout.resolved.n_rs_seq).put(" rs_seq), R (f32): ");
        line.mib(float_mib(bytes.r), 7).put(" MiB, S (f32): ").mib(float_mib(bytes.s), 7);
        return line.put(" MiB, P (f32): ").mib(float_mib(bytes.p), 7).put(" MiB");
    }
    line.put('/')
        .number(cache.streams)
        .put(" seqs), K (")
        .put(ggml_type(layout.options.type_k).name)
        .put("): ");
    line.mib(float_mib(bytes.k), 7).put(" MiB, V (").put(ggml_type(layout.options.type_v).name).put("): ");
    return line.mib(float_mib(bytes.v), 7).put(" MiB");
}

}  // namespace kvcap::inline v1::llamacpp

// SPDX-License-Identifier: MIT
// What does SGLang take where its command line says nothing? Its server's defaults by the memory of a GPU. Source:
// srt/server_args.py _handle_gpu_memory_settings and reserve_for_graph_mb in 0.5.16 (2026-07), whose sums are in MiB.
#pragma once

#include <kvcap/engine/sglang/options.hpp>

namespace kvcap::inline v1::sglang {

/// `--chunked-prefill-size`: tokens of one prefill step. memory: of one GPU.
constexpr u64 chunked_prefill_unsaid(Bytes memory) noexcept {
    constexpr u64 gib = u64{1} << 30;
    return memory.value < 35 * gib ? 2048 : memory.value < 60 * gib ? 4096 : memory.value < 160 * gib ? 8192 : 16384;
}

/// `--max-prefill-tokens`, which a step has where it is not chunked (`--chunked-prefill-size -1`).
inline constexpr u64 prefill_unsaid = 16384;

/// The largest batch that CUDA graphs of decoding are captured for. tp: tensor ranks.
constexpr u64 decode_graphs_unsaid(Bytes memory, u32 tp) noexcept {
    constexpr u64 gib = u64{1} << 30;
    if (memory.value < 20 * gib) {
        return 8;
    }
    if (memory.value < 35 * gib) {
        return tp < 4 ? 24 : 80;
    }
    if (memory.value < 60 * gib) {
        return tp < 4 ? 32 : 160;
    }
    return memory.value < 160 * gib && tp < 4 ? 256 : 512;
}

/// How many CUDA graphs of prefill are captured up to `most` tokens: every 4, 16, 32, 64, 256, 512 of a range.
constexpr u64 prefill_graphs(u64 most) noexcept {
    struct Range {
        u64 first;
        u64 last;
        u64 step;
    };
    constexpr Range ranges[] = {{4, 32, 4},       {48, 256, 16},     {288, 512, 32},
                                {576, 1024, 64},  {1280, 4096, 256}, {4608, off_scale, 512}};
    u64 count = 0;
    for (const Range& range : ranges) {
        const u64 last = smaller(range.last, most);
        count += last < range.first ? 0 : (last - range.first) / range.step + 1;
    }
    return count;
}

/// ranks: tp x pp. attention_ranks: dp under --enable-dp-attention, else 1. latents: keys and values are MLA's.
struct ServerShape {
    Bytes memory{};
    u64 chunked_prefill = 0;
    u32 tp = 1;
    u32 ranks = 1;
    u32 attention_ranks = 1;
    bool latents = false;
};

/// `--mem-fraction-static`, rounded to thousandths as the server does. Not seen, and less: a vision tower (about 5%),
/// all-to-all of DeepEP (2 GiB), drafts. pre: memory > 0
constexpr double share_unsaid(const ServerShape& server) noexcept {
    constexpr double mib = double(u64{1} << 20);
    const double all = static_cast<double>(server.memory.value) / mib;
    const double graphs = static_cast<double>(decode_graphs_unsaid(server.memory, server.tp));
    double reserved = 512 + 1.5 * static_cast<double>(larger(server.chunked_prefill, 2048));
    reserved += server.ranks * 1024.0 / 8 + 2 * graphs;
    if (server.attention_ranks > 1) {
        reserved += graphs * server.attention_ranks * (graphs > 300 ? 4.5 : 3);
    }
    reserved += server.latents ? 1536 : 8 * static_cast<double>(prefill_graphs(server.chunked_prefill));
    reserved = all > 60 * 1024 && reserved < 10 * 1024 ? 10 * 1024 : reserved;
    const double thousandths = reserved < all ? (all - reserved) / all * 1000 + 0.5 : 0;
    return static_cast<double>(static_cast<u64>(thousandths)) / 1000;
}

// H100 (81,559 MiB): 512 + 12,288 of a step + 128 + 512 of 256 decode graphs + 464 of 58 prefill graphs.
static_assert(prefill_graphs(8192) == 58);
static_assert(share_unsaid({.memory = {u64{81559} << 20}, .chunked_prefill = 8192}) == 0.830);
static_assert(share_unsaid({.memory = {u64{24564} << 20}, .chunked_prefill = 2048}) == 0.833);

}  // namespace kvcap::inline v1::sglang

// SPDX-License-Identifier: MIT
// Which caches does llama.cpp make, of how many cells, for which blocks? A window cache has ceil256(min(C,
// window x (unified ? sequences : 1) + ubatch)) cells; compressed caches have one cell per ratio.
// Source: llama.cpp v0.5.0, llama-model.cpp (create_memory), llama-kv-cache*.cpp, llama-memory-*.cpp.
#pragma once

#include <kvcap/engine/llamacpp/options.hpp>

namespace kvcap::inline v1::llamacpp {

/// The engine's memory classes.
enum class Memory : u8 {
    none,
    plain,
    iswa,
    dsa,
    dsa_iswa,
    msa,
    dsv4,
    recurrent,
    hybrid,
    hybrid_iswa,
    hybrid_idx
};

enum class Part : u8 {
    kv,
    base,
    swa,
    mla,
    indexer,
    rs,
    raw_base,
    raw_swa,
    csa,
    hca,
    lid,
    csa_state,
    hca_state,
    lid_state,
    dsa_mla,
    dsa_indexer,
};

constexpr bool is_states(Part part) noexcept { return part == Part::rs; }
constexpr bool is_compressor(Part part) noexcept {
    return part >= Part::csa_state && part <= Part::lid_state;
}

/// One cache. cells: of one stream (rs: of all sequences). rows: f32 rows a block keeps (rs, compressors).
struct CacheShape {
    Part part = Part::kv;
    bool transposed = false;
    WindowType window_type = WindowType::none;
    bool draft = false;
    u32 streams = 1;
    u32 sequences = 1;
    u32 window = 0;
    u64 cells = 0;
    u64 rows = 0;
    friend constexpr bool operator==(const CacheShape&, const CacheShape&) = default;
};

struct Layout {
    Memory memory = Memory::none;
    bool can_shift = false;
    Resolved resolved{};
    Options options{};
    Inplace<CacheShape, 8> caches{};
    friend constexpr bool operator==(const Layout&, const Layout&) = default;
};

constexpr u64 window_cells(const Card& card, const Resolved& to, bool full, bool unified) noexcept {
    const u64 wanted = saturating_sum(u64{card.window} * (unified ? to.n_seq_max : 1), to.n_ubatch);
    return full ? to.n_ctx_seq : round_up(smaller(to.n_ctx_seq, wanted), cell_step);
}

constexpr u64 compressed_cells(const Resolved& to, u32 ratio) noexcept {
    return round_up(larger(1, ceil_div(to.n_ctx_seq, ratio)), cell_step);
}

/// Draft contexts of these architectures have one plain cache for the NextN blocks.
constexpr bool plain_draft(const Card& card, const Options& options) noexcept {
    if (options.context != Context::mtp) {
        return false;
    }
    switch (card.arch().arch) {
        case Arch::qwen3next:
        case Arch::qwen35:
        case Arch::bailingmoe3:
        case Arch::nemotron_h_moe: return true;
        default:
            return card.nextn > 0 && card.arch().family == Family::dsa && card.arch().arch != Arch::hy_v4;
    }
}

constexpr Memory memory_of(const Card& card, const Options& options) noexcept {
    const bool windows = card.window_type != WindowType::none;
    if (plain_draft(card, options)) {
        return Memory::plain;
    }
    switch (card.arch().family) {
        case Family::none: return Memory::none;
        case Family::recurrent: return Memory::recurrent;
        case Family::msa: return Memory::msa;
        case Family::dsv4: return options.context == Context::mtp ? Memory::iswa : Memory::dsv4;
        case Family::dsa: return !card.indexed ? Memory::plain : windows ? Memory::dsa_iswa : Memory::dsa;
        case Family::hybrid:
            return windows ? Memory::hybrid_iswa
                           : card.arch().arch == Arch::qwen4exp ? Memory::hybrid_idx : Memory::hybrid;
        case Family::attention: break;
    }
    return windows ? Memory::iswa : Memory::plain;
}

/// Makes the shapes of one layout; every member adds caches in the engine's order.
struct LayoutMaker {
    const Card& card;
    Layout& out;

    constexpr void add(Part part, u64 cells, u32 streams, bool window = false, u64 rows = 0) const noexcept {
        const Resolved& to = out.resolved;
        const bool draft = out.options.context == Context::mtp &&
                           (card.nextn > 0 || plain_draft(card, out.options));
        // A plain cache carries the model's window although it masks nothing.
        const bool named = window || (part == Part::kv && out.memory != Memory::msa);
        static_cast<void>(
            out.caches.push(CacheShape{.part = part,
                                       .transposed = !to.flash_attn,
                                       .window_type = window ? card.window_type : WindowType::none,
                                       .draft = draft,
                                       .streams = streams,
                                       .sequences = to.n_seq_max,
                                       .window = named ? card.window : 0,
                                       .cells = cells,
                                       .rows = rows}));
    }
    constexpr void add_full(Part part) const noexcept {
        add(part, out.resolved.n_ctx_seq, out.resolved.streams());
    }
    constexpr void add_window() const noexcept {
        const Resolved& to = out.resolved;
        add(Part::swa, window_cells(card, to, out.options.swa_full, to.kv_unified), to.streams(), true);
    }
    constexpr void add_states() const noexcept {
        const Resolved& to = out.resolved;
        add(Part::rs, to.n_seq_max, 1, false, u64{to.n_seq_max} * (1 + u64{to.n_rs_seq}));
    }
    constexpr void add_compressed() const noexcept {
        const Resolved& to = out.resolved;
        const u32 s = to.n_seq_max;
        const u64 rows = u64{s} * (1 + u64{to.n_rs_seq});
        add(Part::raw_base, to.n_ctx_seq, s);
        add(Part::raw_swa, window_cells(card, to, out.options.swa_full, false), s, true);
        add(Part::csa, compressed_cells(to, 4), s);
        add(Part::hca, compressed_cells(to, 128), s);
        add(Part::lid, compressed_cells(to, 4), s);
        add(Part::csa_state, 0, s, false, 8 * rows);
        add(Part::hca_state, 0, s, false, 128 * rows);
        add(Part::lid_state, 0, s, false, 8 * rows);
    }
    constexpr void add_all() const noexcept {
        switch (out.memory) {
            case Memory::none: return;
            case Memory::plain: return add_full(Part::kv);
            case Memory::recurrent: return add_states();
            case Memory::dsv4: return add_compressed();
            case Memory::iswa: add_full(Part::base); return add_window();
            case Memory::dsa: add_full(Part::mla); return add_full(Part::indexer);
            case Memory::dsa_iswa: add_full(Part::dsa_mla); add_full(Part::dsa_indexer); return add_window();
            case Memory::msa: add_full(Part::kv); return add_full(Part::indexer);
            case Memory::hybrid: add_full(Part::kv); return add_states();
            case Memory::hybrid_iswa: add_full(Part::base); add_window(); return add_states();
            case Memory::hybrid_idx: add_full(Part::kv); add_states(); return add_full(Part::indexer);
        }
    }
};

/// Positions can be shifted when every cache can: not with four positions a token, nor when the halves of a
/// window memory have different cells.
constexpr bool shifts(const Card& card, const Layout& layout) noexcept {
    if (layout.memory == Memory::none || layout.memory == Memory::dsv4) {
        return false;
    }
    if (layout.memory == Memory::recurrent) {
        return true;
    }
    if (card.four_positions || card.arch().arch == Arch::step35 || card.arch().arch == Arch::deepseek4) {
        return false;
    }
    u64 cells = 0;
    for (const CacheShape& cache : layout.caches) {
        if (is_states(cache.part)) {
            continue;
        }
        if (cells != 0 && cells != cache.cells) {
            return false;
        }
        cells = cache.cells;
    }
    return true;
}

/// The caches of a context. Errors: a refusal of the engine (refusal.hpp).
constexpr Result<Layout> layout(const Card& card, const Options& options) noexcept {
    const Result<Resolved> resolved = resolve(card, options);
    if (!resolved) {
        return resolved.error();
    }
    Layout out{};
    out.memory = memory_of(card, options);
    out.resolved = *resolved;
    out.options = options;
    LayoutMaker{card, out}.add_all();
    out.can_shift = shifts(card, out);
    return out;
}

}  // namespace kvcap::inline v1::llamacpp

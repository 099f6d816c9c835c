// SPDX-License-Identifier: MIT
// How does one worker of TensorRT-LLM divide its memory? States first, a fraction to cross attention, then
// the windows: shrunk where one sequence of all would not fit, and cut into blocks by the manager's own
// rounding.
#pragma once

#include <kvcap/engine/trtllm/layers.hpp>

namespace kvcap::inline v1::trtllm {

/// Slots of states: one a sequence, and one for padding.
constexpr u64 state_slots(const Options& options) noexcept {
    return saturating_sum(options.max_batch, 1);
}

/// How a worker's memory is divided before blocks are cut. memory: of self attention.
struct Division {
    double memory = 0;
    u64 cross = 0;
    u64 states = 0;
};

constexpr Result<Division> divide(u64 free_bytes, const StageLayers& stage, const Options& options) noexcept {
    const bool one_python_window = options.path == Path::python && stage.windows.size() == 1;
    Division division{.memory = one_python_window ? python_memory(free_bytes, options)
                                                  : static_cast<double>(primary_bytes(free_bytes, options)),
                      .states = saturating_product(stage.state, state_slots(options))};
    division.memory -= static_cast<double>(stage.state == 0 ? 0 : division.states);
    if (division.memory < 0) {
        return Error{
            .code = Errc::no_state_slots, .got = primary_bytes(free_bytes, options), .want = division.states};
    }
    if (stage.cross != 0) {
        division.cross = truncated(division.memory * options.cross_fraction);
        division.memory -= static_cast<double>(division.cross);
    }
    return division;
}

/// The windows of a stage as they fit: a single window is cut by its pool alone, several by one sequence of
/// all.
constexpr StageLayers fitted(StageLayers stage, u64 memory, const Options& options) noexcept {
    if (stage.windows.size() < 2 || options.path == Path::cpp) {
        return stage;
    }
    Windows windows{};
    for (const WindowElements& window : stage.windows) {
        static_cast<void>(windows.push({window.tokens, window.bytes(options.dtype)}));
    }
    windows = clamped(windows, memory, options.max_tokens);
    StageLayers fit{.cross = stage.cross, .state = stage.state};
    for (u32 i = 0; i < windows.size(); ++i) {
        static_cast<void>(
            add_window(fit, windows[i].tokens, stage.windows[i].elements, stage.windows[i].index));
    }
    return fit;
}

/// One stage: its windows after clamping, and blocks for each, and for cross attention.
struct StageBlocks {
    StageLayers layers{};
    Inplace<Blocks, 7> blocks{};
    Blocks cross{};
};

constexpr Result<StageBlocks> blocks_on_stage(u64 free_bytes, const StageLayers& all,
                                              const Options& options) noexcept {
    const Result<Division> division = divide(free_bytes, all, options);
    if (!division) {
        return division.error();
    }
    const u64 memory = truncated(division->memory);
    StageBlocks stage{.layers = fitted(all, memory, options)};
    const u32 count = stage.layers.windows.size();
    for (u32 i = 0; i < count; ++i) {
        const WindowElements& window = stage.layers.windows[i];
        const bool shared = options.path == Path::python && count > 1;
        const u64 bytes = shared ? window.without_scales(options.dtype) : window.bytes(options.dtype);
        const bool alone = options.path == Path::python && count == 1;
        static_cast<void>(stage.blocks.push(alone ? python_blocks(division->memory, bytes, options)
                                                  : blocks_of_window(memory, bytes, i, count, options)));
    }
    if (all.cross != 0) {
        const u64 bytes = bytes_of(all.cross, options.dtype);
        stage.cross = options.path == Path::cpp
                          ? cpp_blocks(division->cross, 1, bytes, true, options)
                          : python_blocks(static_cast<double>(division->cross), bytes, options);
    }
    return stage;
}

}  // namespace kvcap::inline v1::trtllm

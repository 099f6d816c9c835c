// SPDX-License-Identifier: MIT
#include "expert_blocks.hpp"

namespace kvcap::cli {

namespace {

bool cuts_blocks(const ReadModel& read, u64 ranks) {
    return read.weight_block != 0 && read.expert_width != 0 && ranks > 1 &&
           read.expert_width / ranks % read.weight_block != 0;
}

}  // namespace

void refuse_cut_blocks(const ReadModel& read, u64 ranks, std::string_view whole, EngineAnswer& answer) {
    if (answer.runs() && cuts_blocks(read, ranks)) {
        const u64 own = read.expert_width / ranks;
        answer.refusal = fmt::format(
            "the output_size of gate's and up's weight = {} is not divisible by weight quantization block_n = {}: "
            "experts of {} over {} ranks; fewer ranks, or {}",
            own, read.weight_block, report::grouped(read.expert_width), ranks, whole);
        answer.error = {.code = Errc::refused_combination, .got = own, .want = read.weight_block};
    }
}

void note_whole_experts(const ReadModel& read, u64 ranks, std::string_view whole, EngineAnswer& answer) {
    if (cuts_blocks(read, ranks)) {
        answer.notes.push_back({Origin::assumed, "--dp-attention",
                                fmt::format("whole experts on each rank, as {} deals them; the engine does not start "
                                            "with experts of {} over {} ranks: their FP8 blocks have {} rows",
                                            whole, report::grouped(read.expert_width), ranks, read.weight_block)});
    }
}

}  // namespace kvcap::cli

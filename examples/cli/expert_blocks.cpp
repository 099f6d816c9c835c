// SPDX-License-Identifier: MIT
#include "expert_blocks.hpp"

namespace kvcap::cli {

void refuse_cut_blocks(const ReadModel& read, u64 ranks, std::string_view whole, EngineAnswer& answer) {
    if (!answer.runs() || read.weight_block == 0 || read.expert_width == 0 || ranks < 2) {
        return;
    }
    const u64 own = read.expert_width / ranks;
    if (own % read.weight_block != 0) {
        answer.refusal = fmt::format(
            "the output_size of gate's and up's weight = {} is not divisible by weight quantization block_n = {}: "
            "experts of {} over {} ranks; fewer ranks, or {}",
            own, read.weight_block, report::grouped(read.expert_width), ranks, whole);
        answer.error = {.code = Errc::refused_combination, .got = own, .want = read.weight_block};
    }
}

}  // namespace kvcap::cli

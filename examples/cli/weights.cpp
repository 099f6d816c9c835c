// SPDX-License-Identifier: MIT
// Weights of one rank.
#include "memory.hpp"

namespace kvcap::cli {

RankWeights weights_on_rank(const Model&, const Sharding&, bool, u32) {
    return {};
}

}  // namespace kvcap::cli

// SPDX-License-Identifier: MIT
#include "model.hpp"

namespace odr {

const kvcap::ModelSpec* model_of_other() { return &model; }

kvcap::Footprint held_by_other(kvcap::u64 tokens, kvcap::u32 tp) {
    return kvcap::fold(model, {.prompt = {tokens}}, {.tp = tp}).value_or({});
}

}  // namespace odr

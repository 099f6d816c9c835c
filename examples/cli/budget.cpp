// SPDX-License-Identifier: MIT
// A budget beside a GPU that is named: does the GPU hold it together with the weights, and how much more could it be?
#include "deployment.hpp"

namespace kvcap::cli {

Bytes Deployment::most_extra(const Setting& setting) const {
    if (!memory.by_budget || memory.total.value == 0) {
        return {u64{1} << 50};
    }
    return minus(memory.total, memory.budget + most_own_weights(setting).bytes).value_or({});
}

void Deployment::judge_budget(const Setting& setting, EngineAnswer& answer) const {
    if (!memory.by_budget || memory.total.value == 0 || !answer.runs()) {
        return;
    }
    const Bytes cache = memory.budget + setting.extra_memory;
    const Bytes weights = most_own_weights(setting).bytes;
    if (!(memory.total < cache + weights)) {
        return;
    }
    answer.verdict.fits = false;
    answer.unfit = fmt::format("{} of cache{} are more than a GPU has, {}", report::amount(cache),
                               weights.value == 0 ? "" : " beside " + report::amount(weights) + " of weights",
                               report::amount(memory.total));
    answer.error = {.code = Errc::does_not_fit, .got = memory.total.value, .want = (cache + weights).value};
    answer.notes.push_back({Origin::derived, "--kv-budget", answer.unfit});
}

}  // namespace kvcap::cli

// SPDX-License-Identifier: MIT
// What vLLM's start says, as the answer that verbs show.
#include "engine_vllm_answer.hpp"

namespace kvcap::cli {

namespace {

std::string kind_words(const vllm::Spec& spec) {
    switch (spec.kind) {
        case vllm::SpecKind::window:
        case vllm::SpecKind::window_mla: return fmt::format("{} {}", vllm::name_of(spec.kind), spec.window);
        case vllm::SpecKind::chunked: return fmt::format("{} {}", vllm::name_of(spec.kind), spec.chunk);
        default: return vllm::name_of(spec.kind);
    }
}

}  // namespace

void judge_override(const vllm::Outcome& outcome, const EngineQuestion& question, EngineAnswer& answer) {
    Bytes there{off_scale};
    for (const Bytes each : question.available) {
        there = each < there ? each : there;
    }
    if (outcome.design.options.num_blocks_override == 0 || answer.plan.pools.empty() ||
        !(there < answer.plan.pools[0].allocated)) {
        return;
    }
    answer.verdict.fits = false;
    answer.unfit = fmt::format("{} blocks are {}, and {} are left for them",
                               report::grouped(outcome.design.options.num_blocks_override),
                               report::amount(answer.plan.pools[0].allocated), report::amount(there));
    answer.error = {.code = Errc::does_not_fit, .got = there.value, .want = answer.plan.pools[0].allocated.value};
    answer.notes.push_back({Origin::derived, "--num-gpu-blocks-override", answer.unfit});
}

void fill_rows(const vllm::Outcome& outcome, EngineAnswer& answer, const Lengths& lengths) {
    const auto& kinds = outcome.design.grouping.kinds;
    for (u32 k = 0; k < kinds.size(); ++k) {
        const vllm::GroupKind& kind = kinds[k];
        const GroupClass& as = outcome.plan.classes[k];
        PoolRow row{.holds = kind_words(kind.spec) + (kind.mixed ? " (mixed)" : ""),
                    .groups = kind.groups,
                    .tokens_per_unit = kind.spec.block,
                    .unit = {kind.page}};
        for (const Placement& place : outcome.plan.placed) {
            row.caches += place.group_class == k ? 1 : 0;
        }
        const u64 natural = kind.spec.natural_page();
        row.padding = {!kind.mixed && kind.page > natural ? kind.page - natural : 0};
        row.units_per_request = as.steps.units(lengths) * as.groups;
        answer.rows.push_back(row);
    }
}

void fill_log(const vllm::Outcome& outcome, EngineAnswer& answer) {
    const vllm::Log& log = outcome.log;
    if (log.state != 0 && log.padded_state > log.state) {
        answer.log.push_back(
            fmt::format("Setting attention block size to {} tokens to ensure that attention page size is "
                        ">= mamba page size.",
                        outcome.design.blocks.block));
        answer.log.push_back(fmt::format(
            "Padding mamba page size by {:.2f}% to ensure that mamba page size and attention "
            "page size are exactly equal.",
            100.0 * static_cast<double>(log.padded_state - log.state) / static_cast<double>(log.state)));
    }
    answer.log.push_back(fmt::format("GPU KV cache size: {} tokens", report::grouped(log.tokens)));
    const u64 hundredths = vllm::hundredths(log.concurrency);
    answer.log.push_back(fmt::format("Maximum concurrency for {} tokens per request: {}.{:02}x",
                                     report::grouped(log.max_len), hundredths / 100, hundredths % 100));
}

}  // namespace kvcap::cli

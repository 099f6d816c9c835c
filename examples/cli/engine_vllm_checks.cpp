// SPDX-License-Identifier: MIT
// vLLM's checks of a start beside its pool, in its own words.
#include "engine_vllm_checks.hpp"

#include "engine_vllm_version.hpp"

namespace kvcap::cli {

namespace {

void refuse(EngineAnswer& answer, std::string words, u64 got, u64 want) {
    answer.refusal = std::move(words);
    answer.error = {.code = Errc::refused_combination, .got = got, .want = want};
}

void refuse_step(const vllm::Outcome& outcome, const vllm::Rules& rules, EngineAnswer& answer) {
    const u64 least = vllm::least_step(outcome.design, rules);
    const u64 step = outcome.design.options.max_num_batched_tokens;
    if (step >= least) {
        return;
    }
    answer.reason = vllm::name_of(vllm::Reason::assertion);
    refuse(answer,
           fmt::format("in Mamba cache align mode, block_size ({}) must be <= max_num_batched_tokens ({}): "
                       "--max-num-batched-tokens {} or more, or vLLM 0.27.0, which fills a block by several steps",
                       report::grouped(least), report::grouped(step), report::grouped(least)),
           static_cast<u64>(vllm::Reason::assertion), least);
}

void refuse_captures(const EngineQuestion& question, const vllm::Outcome& outcome, const vllm::Rules& rules,
                     EngineAnswer& answer) {
    const u64 most = vllm::most_captured(outcome, rules);
    if (question.has("enforce-eager") || outcome.design.options.spec_tokens != 0) {  // drafts: by the backends
        return;
    }
    if (const u64 asked = question.number("max-num-seqs", 1); asked > most) {
        refuse(answer,
               fmt::format("max_num_seqs ({}) exceeds available Mamba cache blocks ({}), and decode CUDA graphs are "
                           "captured with one of each: --max-num-seqs {} or less, more memory, or --enforce-eager",
                           report::grouped(asked), report::grouped(most), report::grouped(most)),
               0, most);
        return;
    }
    const u64 usual = larger(requests_unsaid(question, rules), question.gpu_memory.value == 0 ? 1024 : 0);
    if (!question.has("max-num-seqs") && usual > most) {
        answer.notes.push_back(
            {Origin::assumed, "--max-num-seqs",
             fmt::format("the requests at once; vLLM's server takes up to {} where its line does not say it, and does "
                         "not start with more than the {} blocks there are (--enforce-eager: it does)",
                         report::grouped(usual), report::grouped(most))});
    }
}

}  // namespace

void refuse_requests(const EngineQuestion& question, u64 step, EngineAnswer& answer) {
    const u64 asked = question.number("max-num-seqs", 1);
    if (answer.runs() && question.has("max-num-seqs") && asked > step) {
        refuse(answer,
               fmt::format("max_num_batched_tokens ({}) must be greater than or equal to max_num_seqs ({})",
                           report::grouped(step), report::grouped(asked)),
               0, asked);
    }
}

void refuse_start(const EngineQuestion& question, const vllm::Outcome& outcome, const vllm::Rules& rules,
                  EngineAnswer& answer) {
    refuse_step(outcome, rules, answer);
    if (answer.runs()) {
        refuse_captures(question, outcome, rules, answer);
    }
}

void note_states(const EngineQuestion& question, const vllm::Rules& rules, const vllm::Options& options,
                 std::vector<Note>& notes) {
    bool states = false;
    for (const LayerForm& form : question.model->read.spec.forms) {
        states = states || vllm::is_state(form);
    }
    const bool said = question.has("enable-prefix-caching") || question.has("no-enable-prefix-caching");
    if (states && !said && !options.prefix_caching) {
        notes.push_back({Origin::derived, "--enable-prefix-caching",
                         fmt::format("off, as {} takes it for a model with states", name_of(rules))});
    }
    const std::string mode = question.text("mamba-cache-mode", "none");
    if (states && options.prefix_caching && mode == "none" && options.mode == vllm::StateMode::all) {
        notes.push_back({Origin::assumed, "--mamba-cache-mode",
                         fmt::format("all, as {} takes it for this class, in chunks of {} tokens", name_of(rules),
                                     options.state_chunk)});
    }
}

}  // namespace kvcap::cli

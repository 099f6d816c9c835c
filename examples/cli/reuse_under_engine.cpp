// SPDX-License-Identifier: MIT
// The engine's plan of a model, or its rules alone, with the flags that were given.
#include "context_ranks.hpp"
#include "engine_vllm_version.hpp"
#include "reuse_engine.hpp"

#include <kvcap/engine/vllm/versions.hpp>

namespace kvcap::cli {

namespace {

/// Memory that never binds: what a plan is made with when none was given.
constexpr Bytes plenty{u64{1} << 46};

/// Flags that turn the cache off, under which nothing is ever skipped.
constexpr std::string_view off_flags[] = {"no-enable-prefix-caching", "disable-radix-cache"};

/// vLLM's look-up is known as of 2026-08-20; partial hits, which it is built around, came with 0.26.
void check_vllm(const std::string& version) {
    constexpr u32 oldest = 26;
    const Result<vllm::Rules> rules = vllm::rules_named(version.c_str());
    if (!version.empty() && rules && !rules->has(vllm::Change::match_unit)) {
        stop(Exit::unknown_architecture,
             fmt::format(
                 "--engine: vLLM's look-up before 0.{} (2026-07-12) is not known, and {} is older; known "
                 "are 0.{} to 0.{} (nearest: 0.{})",
                 oldest, version, oldest, vllm::newest_release, oldest));
    }
}

/// A layer that keeps everything: for the rules of an engine without a model.
Model stand_in() {
    ModelOptions options;
    options.model = "1*gqa(1,64)";
    return load(options);
}

}  // namespace

UnderEngine::UnderEngine(const ReuseOptions& options, const Model* model, u64 longest)
    : face_{&options.engine.face()}, given_{options.engine.flags()} {
    if (model == nullptr) {
        stand_in_ = stand_in();
    }
    model_ = model;
    budgeted_ = !options.budget.empty();
    if (options.sharding.dp != 1) {
        stop(Exit::usage, "--dp: replicas share no cache; ask for one of them");
    }
    for (const std::string_view flag : off_flags) {
        if (given_.find(flag) != given_.end()) {
            stop(Exit::usage, fmt::format("--{}: then nothing is ever skipped", flag));
        }
    }
    const std::string version = options.engine.version();
    const bool caching_said = given_.find("enable-prefix-caching") != given_.end();
    if (name() == "vllm") {
        check_vllm(version);
        given_["enable-prefix-caching"] = "";  // also where this vLLM leaves it to the user
    }
    question_ = {.model = model == nullptr ? &*stand_in_ : model,
                 .version = version,
                 .kv_cache_dtype = options.model.kv_cache_dtype,
                 .sharding = split_under(*face_, options.sharding)};
    const Bytes budget = budgeted_ ? memory_of(options.budget, "--kv-budget") : plenty;
    question_.available.assign(question_.sharding.pp, budget);
    question_.each = {Lengths{.prompt = {longest}}};
    question_.counts = {1};
    // Where TensorRT-LLM's windows slide depends on it; it starts with the model's context.
    const u64 usual =
        model != nullptr && name() == "trtllm" ? larger(longest, model->read.max_context) : longest;
    question_.max_len = options.max_len.empty() ? usual : count_of(options.max_len, "--engine-max-len");
    question_.flags = &given_;
    if (question_.max_len < longest) {
        stop(Exit::usage, fmt::format("--engine-max-len: {} is less than a request of {} tokens",
                                      report::grouped(question_.max_len), report::grouped(longest)));
    }
    answer_ = face_->ask(question_);
    if (!answer_.runs()) {
        stop(exit_of(answer_), fmt::format("{} does not start: {}", title(), answer_.refusal));
    }
    if (model != nullptr) {
        notes_ = answer_.notes;
    }
    if (name() == "vllm" && model != nullptr && !caching_said) {
        note_caching(*model, version);
    }
    if (name() == "vllm" && !version.empty()) {
        note(Origin::assumed, "look-up", "the rules of 2026-08-20, whatever the version");
    }
}

void UnderEngine::note_caching(const Model& model, const std::string& version) {
    const vllm::Rules rules = rules_of(version);
    if (!vllm::caches_prefixes_unsaid(rules, model.read.spec)) {
        note(Origin::assumed, "--enable-prefix-caching",
             fmt::format("taken as given: {} caches nothing of a model with states without it", name_of(rules)));
    }
}

}  // namespace kvcap::cli

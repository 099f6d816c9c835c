// SPDX-License-Identifier: MIT
// Which vLLM is meant, which KV formats and blocks does it have, and what does it take where nothing is said?
#include "engine_vllm_version.hpp"

#include <vector>

namespace kvcap::cli {

namespace {

/// Digits and dashes alone.
bool is_written_as_day(const std::string& version) {
    return version.find('-') != std::string::npos && version.find_first_not_of("0123456789-") == std::string::npos;
}

}  // namespace

std::string day_text(u64 day) {
    return fmt::format("{:04}-{:02}-{:02}", day / 10000, day / 100 % 100, day % 100);
}

vllm::Rules rules_of(const std::string& version) {
    if (version.empty()) {
        return vllm::newest_rules;
    }
    const Result<vllm::Rules> rules = vllm::rules_named(version.c_str());
    const bool ahead = rules && rules->day > vllm::newest_day;  // a nightly whose rules may have changed since
    if (rules && vllm::candidate_named(version.c_str())) {
        stop(Exit::unknown_architecture,
             fmt::format("--engine: no rules are known for vLLM {}: a release candidate may lack changes of its "
                         "release (nearest: vllm@0.{}.{}, or the day it was built, as vllm@{})",
                         version, rules->release, rules->patch, day_text(vllm::newest_day)));
    }
    if (!rules && is_written_as_day(version) && rules.error().got < 10'000) {  // else a day before the first
        stop(Exit::unknown_architecture,
             fmt::format("--engine: vLLM {}: the calendar has no such day; wanted YYYY-MM-DD from {} to {}, or a "
                         "release from 0.{} to 0.{}",
                         version, day_text(vllm::oldest_day), day_text(vllm::newest_day), vllm::oldest_release,
                         vllm::newest_release));
    }
    if (!rules || ahead) {
        const u64 nearest = ahead ? vllm::newest_day : rules.error().want;
        stop(Exit::unknown_architecture,
             fmt::format("--engine: no rules are known for vLLM {}; known are 0.{} to 0.{}, and days from {} to {} "
                         "(nearest: vllm@{})",
                         version, vllm::oldest_release, vllm::newest_release, day_text(vllm::oldest_day),
                         day_text(vllm::newest_day),
                         nearest >= vllm::oldest_day ? day_text(nearest) : fmt::format("0.{}", nearest)));
    }
    return *rules;
}

std::string name_of(const vllm::Rules& rules) {
    if (rules.release != 0) {
        return fmt::format("vLLM 0.{}.{}", rules.release, rules.patch);
    }
    return "vLLM of " + day_text(rules.day);
}

vllm::KvDtype dtype_of(const EngineQuestion& question, const vllm::Rules& rules, bool& as_formed) {
    const std::string& name = question.kv_cache_dtype;
    as_formed = name == "bf16" || name == "bfloat16" || name == "f16" || name == "float16" || name == "half";
    if (as_formed) {
        return vllm::KvDtype::automatic;
    }
    std::vector<std::string> known;
    for (const vllm::DtypeName& row : vllm::dtype_names) {
        const bool had = vllm::has(rules, row);
        if (had && row.name == name) {
            return row.dtype;
        }
        if (row.name == name) {
            stop(Exit::usage, fmt::format("--kv-cache-dtype: {} has no {}; the first with it is vLLM 0.{}.0{}",
                                          name_of(rules), name, row.release,
                                          rules.release == 0 ? fmt::format(" of {}", day_text(row.day)) : ""));
        }
        if (had) {
            known.emplace_back(row.name);
        }
    }
    stop(Exit::usage,
         fmt::format("--kv-cache-dtype: {} has no {}; it has {}", name_of(rules), name, fmt::join(known, ", ")));
}

std::vector<std::string_view> line_dtypes(const std::string& version) {
    const vllm::Rules rules = rules_of(version);
    std::vector<std::string_view> names;
    for (const vllm::DtypeName& row : vllm::dtype_names) {
        if (vllm::has(rules, row)) {
            names.emplace_back(row.name);
        }
    }
    names.insert(names.begin() + 1, {"bfloat16", "float16"});  // words of CacheDType that change no rule
    return names;
}

void refuse_block(const EngineQuestion& question, const vllm::Rules& rules, EngineAnswer& answer) {
    const u64 block = question.number("block-size", 16);
    if (!answer.runs() || vllm::takes_block(rules, block)) {
        return;
    }
    std::vector<u32> known;
    for (const vllm::ListedBlock& each : vllm::listed_blocks) {
        if (vllm::has(rules, each.since)) {
            known.push_back(each.tokens);
        }
    }
    answer.refusal = fmt::format("--block-size {}: {} takes {}; the first that takes others is vLLM 0.18.0", block,
                                 name_of(rules), fmt::join(known, ", "));
    answer.error = {.code = Errc::refused_combination};
}

vllm::Options unsaid_options(const EngineQuestion& question, const vllm::Rules& rules) {
    const ReadModel& read = question.model->read;
    return vllm::options_unsaid(rules, read.spec,
                                {.memory = question.gpu_memory,
                                 .a100 = question.gpu.find("A100") != std::string::npos,
                                 .architecture = read.class_name.c_str(),
                                 .experts = read.experts});
}

u64 step_of(const EngineQuestion& question, const vllm::Rules& rules) {
    return question.number("max-num-batched-tokens", unsaid_options(question, rules).max_num_batched_tokens);
}

bool overlaps(const EngineQuestion& question, const vllm::Rules& rules) {
    if (question.has("async-scheduling") && question.has("no-async-scheduling")) {
        stop(Exit::usage, "--async-scheduling and --no-async-scheduling: one of them is wanted");
    }
    return question.has("async-scheduling") ||
           (vllm::overlaps_unsaid(rules) && !question.has("no-async-scheduling"));
}

void note_defaults(const EngineQuestion& question, const vllm::Rules& rules, std::vector<Note>& notes) {
    if (!question.has("max-num-batched-tokens")) {
        const bool known = question.gpu_memory.value != 0;
        notes.push_back({known ? Origin::derived : Origin::assumed, "--max-num-batched-tokens",
                         fmt::format("{} tokens a step, what vLLM's server takes {}",
                                     report::grouped(step_of(question, rules)),
                                     known ? "on such a GPU" : "on GPUs of 70 GiB and more but A100")});
    }
    const bool said = question.has("async-scheduling") || question.has("no-async-scheduling");
    if (!said && vllm::overlaps_unsaid(rules) && rules.has(vllm::Change::all_in_flight)) {
        const vllm::Options options = unsaid_options(question, rules);
        notes.push_back({Origin::derived, "--async-scheduling",
                         fmt::format("on, as vLLM does by default: {} batches are in flight",
                                     vllm::batches_in_flight(options, question.sharding.pp))});
    }
}

}  // namespace kvcap::cli

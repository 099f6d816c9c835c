// SPDX-License-Identifier: MIT
// Which vLLM is meant, which KV formats and blocks does it have, and what does it take where nothing is said?
#include "engine_vllm_version.hpp"

#include <algorithm>
#include <vector>

namespace kvcap::cli {

namespace {

/// Digits and dashes alone.
bool is_written_as_day(const std::string& version) {
    return version.find('-') != std::string::npos && version.find_first_not_of("0123456789-") == std::string::npos;
}

/// "0.10.1" of 0.10.1.1: a release behind a release changed no rule.
std::string without_fourth(const std::string& version) {
    const bool numbers = version.find_first_not_of("v0123456789.") == std::string::npos;
    const bool four = numbers && std::count(version.begin(), version.end(), '.') == 3 && version.back() != '.';
    return four ? version.substr(0, version.rfind('.')) : version;
}

bool is_a100(const EngineQuestion& question) { return question.gpu.find("A100") != std::string::npos; }

}  // namespace

std::string day_text(u64 day) {
    return fmt::format("{:04}-{:02}-{:02}", day / 10000, day / 100 % 100, day % 100);
}

vllm::Rules rules_of(const std::string& named) {
    const std::string version = without_fourth(named);
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
    // Words of CacheDType that change no rule: since 0.11.1 (its documentation), and 0.18 (pull request 37199).
    const bool later = rules.release != 0 ? rules.release >= 18 : rules.day >= 20260316;
    if (later) {
        names.insert(names.begin() + 1, "float16");
    }
    if (rules.release != 0 ? rules.release > 11 || (rules.release == 11 && rules.patch > 0) : rules.day >= 20251119) {
        names.insert(names.begin() + 1, "bfloat16");
    }
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
                                 .a100 = is_a100(question),
                                 .architecture = read.class_name.c_str(),
                                 .experts = read.experts});
}

bool caches_prefixes(const EngineQuestion& question, const vllm::Rules& rules) {
    if (question.has("enable-prefix-caching") && question.has("no-enable-prefix-caching")) {
        stop(Exit::usage, "--enable-prefix-caching and --no-enable-prefix-caching: one of them is wanted");
    }
    return question.has("enable-prefix-caching") ||
           (!question.has("no-enable-prefix-caching") &&
            vllm::caches_prefixes_unsaid(rules, question.model->read.spec));
}

vllm::StateMode state_mode_of(const EngineQuestion& question, const vllm::Rules& rules) {
    vllm::StateMode mode = vllm::StateMode::none;
    const std::string name = question.text("mamba-cache-mode", "none");
    if (!vllm::mode_named(name.c_str(), mode)) {
        stop(Exit::usage, fmt::format("--mamba-cache-mode: {} is none of none, align, all", name));
    }
    return mode != vllm::StateMode::none
               ? mode
               : vllm::state_mode_unsaid(rules, question.model->read.class_name.c_str());
}

bool drafts_from_text(const EngineQuestion& question) {
    const std::string method = question.text("spec-method", "mtp");
    if (method != "mtp" && method != "ngram" && method != "suffix") {
        stop(Exit::usage, fmt::format("--spec-method: {} is none of mtp, ngram, suffix; drafts of other models are not "
                                      "evaluated",
                                      method));
    }
    return method != "mtp";
}

u64 requests_unsaid(const EngineQuestion& question, const vllm::Rules& rules) {
    if (question.gpu_memory.value == 0) {
        return 0;
    }
    return smaller(vllm::requests_unsaid(question.gpu_memory, is_a100(question)), step_of(question, rules));
}

u64 step_of(const EngineQuestion& question, const vllm::Rules& rules) {
    if (question.has("max-num-batched-tokens")) {
        return question.number("max-num-batched-tokens", 1);
    }
    const u64 usual = unsaid_options(question, rules).max_num_batched_tokens;
    if (question.has("max-num-seqs")) {  // engine/arg_utils.py: all of them at their longest fill no more
        return smaller(usual, saturating_product(question.number("max-num-seqs", 1), question.max_len));
    }
    return larger(usual, question.requests());
}

bool overlaps(const EngineQuestion& question, const vllm::Rules& rules) {
    if (question.has("async-scheduling") && question.has("no-async-scheduling")) {
        stop(Exit::usage, "--async-scheduling and --no-async-scheduling: one of them is wanted");
    }
    return question.has("async-scheduling") ||
           (vllm::overlaps_unsaid(rules) && !question.has("no-async-scheduling") && !drafts_from_text(question));
}

namespace {

void note_step(const EngineQuestion& question, const vllm::Rules& rules, bool matters, std::vector<Note>& notes) {
    const u64 usual = unsaid_options(question, rules).max_num_batched_tokens;
    const u64 step = step_of(question, rules);
    const bool known = question.gpu_memory.value != 0;
    if (question.has("max-num-batched-tokens") || (!matters && step <= usual)) {
        return;
    }
    const std::string where = known ? "on such a GPU" : "on GPUs of 70 GiB and more but A100";
    std::string words = fmt::format("{} tokens a step, what vLLM's server takes {}", report::grouped(step), where);
    if (step > usual) {
        words = fmt::format("{} tokens a step, one for each request at once: vLLM starts with no fewer (its server "
                            "takes {} {})",
                            report::grouped(step), report::grouped(usual), where);
    }
    notes.push_back({known ? Origin::derived : Origin::assumed, "--max-num-batched-tokens", words});
}

}  // namespace

void note_defaults(const EngineQuestion& question, const vllm::Rules& rules, bool reserves, std::vector<Note>& notes) {
    note_step(question, rules, reserves, notes);
    const bool said = question.has("async-scheduling") || question.has("no-async-scheduling");
    if (reserves && !said && overlaps(question, rules) && rules.has(vllm::Change::all_in_flight)) {
        const vllm::Options options = unsaid_options(question, rules);
        notes.push_back({Origin::derived, "--async-scheduling",
                         fmt::format("on, as vLLM does by default: {} batches are in flight",
                                     vllm::batches_in_flight(options, question.sharding.pp))});
    }
}

}  // namespace kvcap::cli

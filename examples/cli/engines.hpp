// SPDX-License-Identifier: MIT
// How verbs ask an engine: one question (model, split, memory, load), one answer (rules used, plan, verdict,
// the lines the engine would print). An engine is one .cpp that defines an EngineFace, listed in engines.cpp.
#pragma once

#include "cli.hpp"
#include "memory.hpp"

#include <kvcap/plan/fit.hpp>
#include <map>
#include <optional>

namespace kvcap::cli {

/// Flags that only some engines know, by their long name without dashes ("block-size" -> "64",
/// "enforce-eager" -> "").
using EngineFlags = std::map<std::string, std::string, std::less<>>;

/// available: bytes for the cache on every rank of one replica, stages in order. each, counts: the load at
/// once on one replica, the longest first. max_len: the longest request the engine is started for.
struct EngineQuestion {
    const Model* model = nullptr;
    std::string version{};  ///< after the "@" of --engine; empty = newest rules
    std::string kv_cache_dtype = "auto";
    Sharding sharding{};
    std::vector<Bytes> available{};
    std::vector<Lengths> each{};
    std::vector<u64> counts{};
    u64 max_len = 0;
    const EngineFlags* flags = nullptr;
    u32 ranks = 1;            ///< that share the model's weights: tp x pp, also where attention is data-parallel
    u32 attention_ranks = 1;  ///< of attention data parallelism
    u32 dp = 1;               ///< data-parallel groups, over which vLLM's server deals experts too
    u32 capability = 0;   ///< CUDA compute capability of the GPU, 10 x major + minor; 0: no GPU named, or not CUDA
    std::string gpu{};    ///< its title; empty: none named
    Bytes gpu_memory{};   ///< all of it; 0: not said

    /// pre: each is not empty
    const Lengths& longest() const { return each.front(); }
    Load load() const { return {each.data(), counts.data(), static_cast<u32>(each.size())}; }

    /// The flag's value, or `otherwise`. Named in the error when it is no number.
    u64 number(std::string_view flag, u64 otherwise) const;
    /// The same, at most `most`.
    u64 number(std::string_view flag, u64 otherwise, u64 most) const;
    std::string text(std::string_view flag, std::string otherwise = {}) const;
    /// How many at once on one replica.
    u64 requests() const;
    bool has(std::string_view flag) const { return flags != nullptr && flags->find(flag) != flags->end(); }
};

/// One row of the pool table: what it holds, tokens per unit, units, bytes.
struct PoolRow {
    std::string holds{};
    u64 groups = 1;
    u64 caches = 0;
    u64 tokens_per_unit = 0;
    Bytes unit{};
    Bytes padding{};  ///< of one unit: reserved and never used
    u64 units_per_request = 0;
};

/// refusal: the engine's own reason, in words; then plan and verdict say nothing.
struct EngineAnswer {
    std::string rules{};         ///< "vLLM 0.28.0 (2026-08)"
    std::string unit = "units";  ///< what a pool counts: "blocks of 64", "cells", "bytes"
    std::string refusal{};
    std::string_view reason{};  ///< the engine's own category of it, for programs; empty: it has none
    std::string unfit{};   ///< why it does not fit although it starts, where the reason is none of bytes
    Error error{};         ///< behind the refusal, when it is one of numbers
    u64 longest_hint = 0;  ///< the longest request the engine itself says would fit; 0: none said
    PoolPlan plan{};
    Verdict verdict{};
    bool by_bytes = false;     ///< the verdict counts bytes of a rank, not units of one of the plan's pools
    bool by_load = false;      ///< pools and demands are of this load: how many more fit, another question says
    std::string backend{};     ///< the attention backend whose blocks were used, where the engine has several
    u64 request_units = 0;     ///< units one request takes of the first pool
    Bytes reserved_request{};  ///< bytes set aside for one request
    std::vector<PoolRow> rows{};
    std::vector<std::string> log{};
    std::vector<Note> notes{};

    /// These rules say nothing of the model or its split: no word of the engine.
    bool without_rules() const {
        return !runs() && (error.code == Errc::unsupported || error.code == Errc::capacity);
    }
    bool runs() const { return refusal.empty(); }
    bool fits() const { return runs() && verdict.fits; }
};

struct EngineFace;

/// `server` runs `most` at once, as `flag` says, and queues what comes beyond: then it does not fit as asked.
void judge_at_once(const EngineQuestion& question, std::string_view flag, u64 most, std::string_view server,
                   EngineAnswer& answer);

/// Its flags that limit what it runs at once, as far as it has them.
std::vector<std::string_view> at_once_flags(const EngineFace& face);

/// The exit code that every verb ends with where an engine gave this answer: of its refusal; where it starts 0, or 1
/// when what was asked does not fit. A refusal that is none of numbers is of the options.
Exit exit_of(const EngineAnswer& answer);

/// "kvcap has no rules of vLLM 0.28.0 for this model or split: layer 0: ..."
std::string no_rules_words(const EngineAnswer& answer);

/// The row of a plan's group class, with a name for what it holds.
PoolRow row_of(const PoolPlan& plan, u32 group_class, std::string holds, const Lengths& request);
/// What one request takes, of each pool: "2 pages of 256 (window tokens), 128 (entries per 4)"; of a single pool
/// "2,569 blocks of 16".
std::string units_words(const EngineAnswer& answer);
/// Bytes of all the units that one request takes of a plan's pools.
Bytes reserved_by(const PoolPlan& plan, const Demand& request);

/// A flag that `fit` may turn, and the values to try: the nearest to what holds now first. of_memory: it is the
/// share of a GPU's memory, not a flag of the engine's question. step: the flag takes multiples of it, less of which
/// takes less memory, so that the largest below `now` that fits can be found; 0: it takes the values listed.
struct Knob {
    std::string flag;
    std::vector<std::string> values;
    bool of_memory = false;
    u64 step = 0;
    u64 now = 0;
};

/// A KV format in the program's words and in the engine's.
struct FormatName {
    std::string_view ours;
    std::string_view theirs;
};

/// A flag of the engine that changes where caches lie or what else lies there, and is not evaluated. but: values that
/// change nothing, parted by |.
struct Unevaluated {
    std::string_view flag;
    std::string_view why;
    std::string_view but = "auto";
};

/// What a launch line of the engine says and what it leaves to it. unsaid: flags with the values that hold where nobody
/// gives them, for a line that says everything. block_flag: tokens of a block; empty: it has none. requests_flag:
/// requests at once, where that is a flag of its questions too. step_flag: tokens of a step, where that has one of each
/// request at once. says_budget: a flag gives the bytes of the cache. says_share: one gives the share of memory.
/// dtypes: KV formats that its parser takes in the version asked for; nullptr: not known here. requests_unsaid: how
/// many at once where a line does not say it; nullptr or 0: not known.
struct LaunchFace {
    std::vector<FormatName> formats{};
    std::vector<Unevaluated> unevaluated{};
    std::string_view block_flag{};
    std::string_view requests_flag{};
    std::string_view step_flag{};
    bool says_budget = true;
    bool says_share = true;
    EngineFlags (*unsaid)(const EngineQuestion& question) = nullptr;
    std::vector<std::string_view> (*dtypes)(const std::string& version) = nullptr;
    u64 (*requests_unsaid)(const EngineQuestion& question) = nullptr;
};

/// flags: long names it understands, with their help; "name=help" takes a value, "name!help" is a switch. formats:
/// smaller KV formats to suggest, in order. memory_flag: its name for the share of memory. knobs: what else can be
/// turned for this question; nullptr: nothing. state_format: in which format it stores recurrent states; nullptr: as
/// the model's forms have it. no_context_ranks: why it has none that divide the tokens of a request, as the end of a
/// sentence; empty: it has. remainder: which stages it gives the layers that are left over; none: as asked. share: of a
/// GPU's memory, where nothing is said; nullptr: 0.9, which is kvcap's own. share_of_free: it is of what the weights
/// and the rest leave. launch: nullptr: it has no launch line. beyond_context: what it does with a request longer than
/// the context that the model states, as a sentence. weights: of a rank, by its own rule; nullptr: as
/// `RankPlace::split` has it. of_kinds: flags about layers of one kind, without which they change nothing. states_rule:
/// why state_format, as the end of a sentence. kv_format: the one format of its own in which it stores this model's
/// keys and values, whatever it is asked for; nullptr, empty: as asked. context: the longest that it derives from a
/// config; nullptr: what is stated. follows_checkpoint: versions of it take fp8 where the checkpoint stores its scales.
struct EngineFace {
    std::string_view name;
    std::string_view title;
    std::vector<std::string_view> flags;
    EngineAnswer (*ask)(const EngineQuestion& question);
    std::vector<std::string_view> formats{"fp8"};
    std::string_view memory_flag{};
    std::vector<Knob> (*knobs)(const EngineQuestion& question) = nullptr;
    ElementFormat (*state_format)(const ReadModel& model) = nullptr;
    std::string_view no_context_ranks = "no context ranks of this engine are known; leave it out";
    std::optional<Remainder> remainder{};
    double (*share)(const EngineQuestion& question) = nullptr;
    bool share_of_free = false;
    const LaunchFace* launch = nullptr;
    std::string_view beyond_context = "engines refuse it";
    Result<Bytes> (*weights)(const Weights& weights, const RankPlace& place) = nullptr;
    std::vector<std::string_view> of_kinds{};
    std::string_view states_rule{};
    std::string_view (*kv_format)(const ReadModel& model) = nullptr;
    u64 (*context)(const ReadModel& model) = nullptr;
    bool follows_checkpoint = false;
};

/// Whether the model keeps recurrent states.
bool keeps_states(const ModelSpec& model);
/// DeepSeek-V4's latents, with the layout that its kernels have: "fp8_ds_mla"; empty for other models.
std::string_view packed_latents(const ReadModel& model);

/// An engine stores states and index keys by rules of its own: a usage error when options of `model` say otherwise.
void refuse_formats(const EngineFace& face, const ModelOptions& model);

/// Whole numbers of a doubling series around `now` (not itself) inside [least, most], the nearest ratio first,
/// smaller before larger.
std::vector<std::string> doublings(u64 now, u64 least, u64 most);
/// Halves of `now` down to `least`, which is the last.
std::vector<std::string> halves(u64 now, u64 least);
/// A flag whose halves are tried first, then multiples of `step` between them.
Knob halving(std::string flag, u64 now, u64 least, u64 step);

const std::vector<const EngineFace*>& engine_faces();

/// An engine as people write it, in the program's spelling: name or title in any case, with or without dashes,
/// underscores and points, a version without the v of a git tag ("vLLM@v0.28.0" is "vllm@0.28.0"). What is not known
/// stays as it is.
std::string engine_spelling(std::string_view text);

/// --engine NAME[@VERSION|@DATE] and every engine's own flags.
struct EngineOptions {
    std::string engine = "exact";
    std::map<std::string, std::string> values;
    std::map<std::string, bool> switches;
    std::map<std::string, const CLI::Option*> given;  ///< to tell an empty value from none

    void add_to(CLI::App& verb);
    /// Exit 4 with the nearest names when unknown; a flag the engine does not know is a usage error.
    const EngineFace& face() const;
    std::string version() const;
    EngineFlags flags() const;
};

}  // namespace kvcap::cli

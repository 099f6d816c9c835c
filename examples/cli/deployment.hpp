// SPDX-License-Identifier: MIT
// A model on GPUs under an engine: what verbs vary (length, sequences, split, format, memory) and what the
// engine says of each variation. Every number that `fit`, `pools` and `plan` print was evaluated here.
#pragma once

#include "engines.hpp"
#include "memory.hpp"

#include <kvcap/plan/changes.hpp>

namespace kvcap::cli {

/// Requests of different lengths: `share` of all sequences each, the longest first.
struct Mix {
    std::vector<Lengths> each{};
    std::vector<u64> shares{};

    /// How many of n sequences have each length: whole, largest remainders first.
    std::vector<u64> counts(u64 n) const;
    double average_tokens() const;
};

/// The model as stored in one KV dtype.
struct StoredModel {
    std::string dtype;
    Model model;
};

/// The model as the engine stores it: states, and formats of its own, whatever the model's dtype; convolutions as the
/// model has them.
Model load_for(const EngineFace& face, const ModelOptions& options, std::vector<Note>& notes);

class Deployment {
public:
    const EngineFace* face = nullptr;
    std::string version;
    EngineFlags flags;
    std::vector<StoredModel> formats;  ///< [0] as asked; then smaller ones that may be suggested
    std::vector<Knob> knobs;           ///< what Setting::knob counts
    Memory memory;
    Weights weights_known{};
    Weights beside_budget{};  ///< where --kv-budget is given and the GPU is named
    Mix mix;
    u32 dp = 1;                ///< replicas, or vLLM's data-parallel ranks
    u64 gpus = 1;             ///< that the split asked for takes
    bool cp_among_tp = false;  ///< context ranks are tensor ranks
    u64 max_len = 0;  ///< 0: the longest request of the mix
    bool longer_allowed = false;  ///< a launch line lets the engine take more tokens than the model states

    /// Tokens of the longest request, or that the engine is started for.
    u64 longest_asked() const;
    /// Whether those are more than the context that the model states.
    bool beyond_context() const;

    /// Requests of one engine: data-parallel replicas, and ranks under attention data parallelism, get whole
    /// requests; this is the fullest one.
    u64 sequences_of_one(const Setting& setting) const;
    RankWeights weights(const Setting& setting, u32 stage) const;
    /// Nothing tells the weights, and they lie beside the cache on a GPU that is known.
    bool lacks_weights(const Setting& setting) const;
    /// Of the stage that has most.
    RankWeights most_weights(const Setting& setting) const;
    /// The engine's answer when everything else takes `non_kv` on each rank, and what it is asked.
    EngineQuestion question(const Setting& setting, Bytes non_kv) const;
    EngineAnswer ask(const Setting& setting, Bytes non_kv) const;
    /// What weights and everything else take beyond what there is; 0 where they leave something.
    Bytes overdrawn(const Setting& setting, Bytes non_kv) const;
    /// Of a GPU's memory: as asked, else what the engine takes.
    double share(const Setting& setting) const;
    /// Non-KV bytes of the rank of `stage`, as far as they are known.
    Bytes known_non_kv(const Setting& setting) const;
    /// The most more memory that may be tried: under a budget what a GPU that is named leaves beside it.
    Bytes most_extra(const Setting& setting) const;
    /// Whether a variation of what was asked fits; one that the model or the engine refuses does not.
    bool bears(const Setting& setting, Bytes non_kv) const noexcept;
    bool bears(const Setting& setting) const noexcept;
    /// The most that everything else may take so that the load fits; nullopt when it does not fit even then.
    std::optional<Bytes> most_non_kv(const Setting& setting) const;
    u64 most_sequences(const Setting& setting, Bytes non_kv) const;
    /// The longest of which as many as the setting asks for fit at once, each started for: engines plan anew for
    /// another length. Of a mix, requests like its longest.
    u64 longest(const Setting& setting, Bytes non_kv, u64 limit) const;
    /// What may be turned for this setting: the engine's own knobs, and its share of a GPU's memory.
    std::vector<Knob> knobs_of(const Setting& setting) const;
    /// The flags of a setting's knob, as the engine would be given them; empty when none is turned.
    EngineFlags turned(const Setting& setting) const;

private:
    /// Weights of a rank of `stage`, also those beside a budget.
    RankWeights own_weights(const Setting& setting, u32 stage) const;
    RankWeights most_own_weights(const Setting& setting) const;
    /// A budget that the GPU named cannot hold beside the weights: engines start only to run out of memory.
    void judge_budget(const Setting& setting, EngineAnswer& answer) const;
    /// The question but for the memory.
    EngineQuestion unmeasured(const Setting& setting) const;
    u64 longest_guess(const Setting& setting, Bytes non_kv, u64 limit) const;
    /// Whether tensor ranks deal the tokens of expert layers among them, each with whole shared experts. Source: vLLM,
    /// config/parallel.py use_sequence_parallel_moe, models/deepseek_v2.py.
    bool shares_sequences(const Setting& setting) const;
    std::vector<Bytes> available(const Setting& setting, Bytes non_kv) const;
};

/// The longest request that is looked for: the context that the model states, else 2^24 tokens.
u64 context_limit(const Model& model);
/// What keeps the longest request from being longer: "model" (the context it states), "engine" (its memory and its
/// options), or "search" (no context is stated, and all of context_limit fits).
const char* bound_of(u64 longest, const Model& model);

/// "beyond the model's context: ...", and what the engine does then; empty when it is not.
std::string beyond_words(const Deployment& on);

/// A note where more encoder tokens are asked for than the model's encoder has positions.
void note_beyond_encoder(const LengthOptions& lengths, const ReadModel& model, std::vector<Note>& notes);

/// What one rank's attention is split by: whole requests under attention data parallelism.
Sharding attention_split(const Setting& setting);

/// "8k:70,32k:30" (tokens:weight), or quantiles "p50=2k,p90=8k,p100=32k"; empty: `tokens` alone.
Mix mix_of(const std::string& lengths, u64 tokens, const LengthOptions& like, const ReadModel& model);

/// What share of memory was taken, where it is the engine's own. each: of every split its own.
void note_share(const Deployment& on, const Setting& setting, bool each, std::vector<Note>& notes);

/// "TP 8 DP 2 attention-DP"
std::string split_words(const Sharding& sharding, u32 dp, bool attention_dp);

/// A note when `gpus` are there and the split takes fewer; 0: not said.
void note_idle(const Deployment& on, u32 gpus, std::vector<Note>& notes);

/// Weights that nothing tells count as none: then counts are upper bounds, and beside a budget nothing says whether a
/// GPU holds both.
void note_unknown_weights(const Deployment& on, const Setting& setting, std::vector<Note>& notes);
/// That, and the same of non-KV memory.
void note_unknown(const Deployment& on, const Setting& setting, std::vector<Note>& notes);

/// Common options of fit and pools, and the deployment they describe.
struct DeploymentOptions {
    ModelOptions model;
    ShardingOptions sharding;
    EngineOptions engine;
    MemoryOptions memory;
    LengthOptions lengths;
    std::string distribution;
    std::string max_model_len;
    std::string quantization;  ///< in what the engine shall store the weights; empty: as the checkpoint does

    void add_to(CLI::App& verb);
    Deployment deployment(std::vector<Note>& notes) const;
    /// What is asked. A usage error when no engine could deal the model so.
    Setting setting(const Deployment& on) const;
    /// The same, whatever the split.
    Setting any_setting(const Deployment& on) const;
};

}  // namespace kvcap::cli

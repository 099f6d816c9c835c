// SPDX-License-Identifier: MIT
// How much memory is there for the cache on each rank? From a GPU, a size, or a budget given outright; less
// the rank's weights and what else the engine takes, when that is known.
#pragma once

#include "cli.hpp"

#include <functional>
#include <kvcap/io/weights.hpp>
#include <optional>

namespace kvcap::cli {

/// One GPU of configs/gpus.json.
struct Gpu {
    std::string name;
    std::string title;
    Bytes nominal{};
    Bytes reported{};  ///< what its driver shows; 0: not known
    double bandwidth = 0;
    double dense_bf16 = 0;
    double dense_fp8 = 0;
    double link_bandwidth = 0;
    u32 capability = 0;  ///< CUDA compute capability, 10 x major + minor; 0: not a CUDA device
    Bytes total() const { return reported.value != 0 ? reported : nominal; }
};

/// By name or one of its other names, any case. A usage error with the nearest names when unknown, and what else does.
Gpu gpu_named(const std::string& name, std::string_view else_wanted = {});

/// Weights of one rank; `how`: where they are known from, or empty when they are not.
struct RankWeights {
    Bytes bytes{};
    std::string how{};
};

/// What an engine makes of a checkpoint as it loads it. quantization: in what it is told to store one of 16 bits.
/// in_16_bits: it casts one of 32.
struct Loading {
    std::string quantization{};
    bool in_16_bits = false;
};

/// Weights of the model that the argument names: source `unknown` when nothing tells. A usage error for a quantization
/// whose size is not known here.
Weights find_weights(const std::string& argument, std::vector<Note>& notes, const Loading& loading = {});

/// Its parts as files or a card have them, else as 16 bits a parameter whatever the config says of their storage.
Weights parts_of_weights(const std::string& argument);

struct EngineFace;

/// A rank of stage `stage` in one of `dp` data-parallel groups of `sharding`. whole_shared_experts: each rank holds
/// those whole.
struct RankPlace {
    Sharding sharding{};
    bool attention_dp = false;
    u32 dp = 1;
    u32 stage = 0;
    bool whole_shared_experts = false;

    /// Attention whole and experts over the ranks under attention data parallelism, `others` as said; else all divided.
    WeightSplit split(OtherParts others = OtherParts::divided) const;
};

/// By the engine's rule; without one, by `RankPlace::split`.
RankWeights weights_on_rank(const Weights& weights, const RankPlace& place, const EngineFace* face = nullptr);

/// --gpu --gpus --gpu-mem --util --fraction-of --kv-budget --non-kv-bytes --overhead --overhead-from
/// --weights-bytes
struct MemoryOptions {
    std::string gpu;
    u32 gpus = 0;
    std::string gpu_mem;
    std::string util;
    std::string fraction_of = "auto";
    std::string kv_budget;
    std::string non_kv;
    std::string overhead;
    std::string overhead_from;
    std::string weights;

    void add_to(CLI::App& verb);
    /// Whether the share is of what weights and the rest leave: as asked, else as the engine's is.
    bool of_free(bool of_engine) const { return fraction_of == "free" || (fraction_of == "auto" && of_engine); }
};

/// Non-KV memory of a rank that a log states; how: the sum, for the screen. engine: as the log's reader names it.
struct MeasuredOverhead {
    Bytes bytes{};
    std::string how{};
    std::string engine{};
};
/// A number above 0 and at most 1, or a usage error.
double share_of(const std::string& text);

/// For a device of so many bytes. Exit 3 when the log cannot be read or does not say.
MeasuredOverhead overhead_from(const std::string& path, Bytes total);

/// Of a GPU's memory, where nothing is said and no engine has a share of its own.
inline constexpr double usual_share = 0.9;

/// What is known of one rank's memory. The cache gets share x total - weights - non_kv, under `of_free` share x
/// (total - weights - non_kv), or `budget` outright.
struct Memory {
    bool by_budget = false;
    Bytes budget{};
    Bytes total{};
    bool of_free = false;  ///< the share is taken of what the weights and the rest leave
    std::optional<double> util{};  ///< none: as the engine does
    bool non_kv_known = false;
    std::string assumption;  ///< the name of --overhead, if that is where non-KV memory comes from
    std::string measured_by; ///< the engine of --overhead-from's log, likewise
    std::function<Bytes(Bytes weights)> non_kv;
    bool weights_given = false;
    Bytes weights{};
    std::string described;  ///< "H200 SXM 141GB, 143,771 MiB as its driver shows it"
    std::string gpu;        ///< the title of --gpu, if that is where the memory comes from
    u32 capability = 0;     ///< of that GPU

    /// Bytes for the cache on a rank with these weights when everything else takes `non_kv` and `total`, or `budget`,
    /// were `extra` larger, and the engine takes `share` of it; 0 when nothing is left.
    Bytes for_cache(double share, Bytes rank_weights, Bytes non_kv_bytes, Bytes extra = {}) const;
};

/// What `extra` of for_cache is: "5.763 GiB (6,187,576,933 B) more memory on each GPU", or more --kv-budget.
std::string more_words(const Memory& memory, const std::string& amount);

/// Stops when neither memory nor a budget is said.
/// share_of_free: whether the engine's share is.
Memory memory_of(const MemoryOptions& options, bool share_of_free, std::vector<Note>& notes);

}  // namespace kvcap::cli

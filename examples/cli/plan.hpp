// SPDX-License-Identifier: MIT
// kvcap plan: what is asked (plan.cpp), which splits that leaves (plan_space.cpp), what the engine says of
// each (plan_search.cpp), the answer as a screen or JSON (plan_screen.cpp) or as the launch line of the best
// (plan_emit.cpp), and the judgement of a given line (plan_judge.cpp).
#pragma once

#include "plan_launch.hpp"

#include <kvcap/plan/search.hpp>
#include <map>

namespace kvcap::cli {

struct PlanOptions {
    DeploymentOptions on;
    std::string goal = "sequences";
    std::string dtypes;
    std::string blocks = "0";
    std::string emit;
    std::string launch;
    u32 top = 8;
    Output output;
    std::map<std::string, const CLI::Option*> fixed;  ///< flags that leave the search one value
    const CLI::App* verb = nullptr;

    bool gives(const char* flag) const;
    bool fixes(const char* flag) const;
};

inline constexpr const char* fixable[] = {"--kv-cache-dtype", "--tp",      "--pp", "--cp", "--dp",
                                          "--dp-attention",   "--pp-split",
                                          "--decode-context-parallel-size"};

/// on.formats and blocks: what Candidate's `format` and `block` count; block 0: the engine's own.
struct Search {
    Deployment on;
    Goal goal{};
    SearchSpace space{};
    std::vector<u64> blocks;
    Setting asked{};
    bool routed = false;  ///< the model has routed experts
    bool lacks_weights = false;  ///< they are unknown, so what fits is an upper bound
    std::string rules{};
};

Search search_for(const PlanOptions& options, std::vector<Note>& notes);

/// All that the engine evaluates, ranked; the rest with the engine's reason.
SearchResult run_search(const Search& search);

/// A candidate that does not fit, and the least more memory on each GPU (or --kv-budget) with which it would.
struct Miss {
    Candidate candidate{};
    Bytes lacking{};
};

/// When nothing fits: what lacks least, the first on a tie; nullopt when something fits or no memory would help.
std::optional<Miss> nearest_miss(const Search& search, const SearchResult& found);

Setting setting_of(const Search& search, const Candidate& candidate);
Deployment deployment_of(const Search& search, const Candidate& candidate);

/// Ranks or groups of ranks that each hold whole requests: replicas, times tensor ranks under attention data
/// parallelism.
u64 holders_of(const Candidate& candidate);

/// "TP 2 PP 2 fp8 block 32"
std::string split_words(const Search& search, const Candidate& candidate);
/// Why `candidates` of them were dropped. by_rule: the split, the model or the engine's options rule them out, and no
/// memory would help.
struct Reason {
    std::string words{};
    u64 candidates = 0;
    bool by_rule = false;
};

/// What was dropped: "6 x not enough memory for the load beside the weights" and so on, each reason once.
std::vector<Reason> reasons_of(const Search& search, const SearchResult& found);
/// The engine's own words for refusing a candidate; empty when it has none.
std::string refusal_of(const Search& search, const Candidate& candidate);
std::string words(const Reason& reason);
/// Whether rules dropped all there is: nothing was possible, whatever the memory.
bool nothing_possible(const SearchResult& found);
/// 0 when something fits, 1 when nothing does; where the engine starts with none 2, or 4 when no rules are known for
/// any: exit_of of its answers (engines.hpp), the least.
Exit exit_of(const SearchResult& found);
/// "the nearest is TP 4 fp8: 1.5 GiB (1,610,612,736 B) more memory on each GPU would do"; empty without one.
std::string miss_words(const Search& search, const std::optional<Miss>& miss);
std::string plan_screen(const Search& search, const SearchResult& found, u32 top, const Session& session);
std::string plan_json(const Search& search, const SearchResult& found, const std::vector<Note>& notes);

/// "tp", "pp", "cp", "dp", "dp_attention" and "cp_among_tp", as both of plan's schemas have them.
void write_split(report::Json& json, const Sharding& sharding, u32 dp, bool attention_dp, bool cp_among_tp);

/// --emit: the line on stdout; what it rests on, or why there is none, as remarks.
void emit_line(const Search& search, const SearchResult& found, const PlanOptions& options,
               const std::vector<Note>& notes, Session& session);

/// --launch: what a line's engine says of it on this GPU.
void judge_line(const PlanOptions& options, Session& session);

}  // namespace kvcap::cli

// SPDX-License-Identifier: MIT
// Which splits, formats and block sizes does `plan` try? All that the engine can start, less what flags pin.
#include "context_ranks.hpp"
#include "llamacpp.hpp"
#include "plan.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace kvcap::cli {

namespace {

Goal goal_of(const std::string& name) {
    if (name == "sequences" || name == "context") {
        return name == "context" ? Goal::context : Goal::sequences;
    }
    if (name == "read") {
        return Goal::least_read;
    }
    stop(Exit::usage, fmt::format("--goal: {} is none of sequences, context, read", name));
}

template <class T>
std::vector<T> each_once(const std::vector<T>& list) {
    std::vector<T> out;
    for (const T& each : list) {
        if (std::find(out.begin(), out.end(), each) == out.end()) {
            out.push_back(each);
        }
    }
    return out;
}

/// --kv-cache-dtype or llama.cpp's -ctk and -ctv, else --dtypes, else the engine's usual two.
std::vector<StoredModel> formats_to_try(const PlanOptions& options, const EngineFace& face) {
    const std::string said = as_stored(options.on.model, options.on.engine.flags()).kv_cache_dtype;
    const bool by_engine = said != options.on.model.kv_cache_dtype;
    const bool pinned = options.fixes("--kv-cache-dtype") || by_engine;
    if (pinned && !options.dtypes.empty()) {
        stop(Exit::usage, fmt::format("{} and --dtypes: the formats are said twice; one of them is wanted",
                                      by_engine ? "--cache-type-k, --cache-type-v" : "--kv-cache-dtype"));
    }
    const std::string dtypes = pinned                    ? said
                               : !options.dtypes.empty() ? options.dtypes
                                                         : fmt::format("auto,{}", face.formats.front());
    std::vector<StoredModel> formats;
    for (const std::string& dtype : each_once(parts_of(dtypes))) {
        ModelOptions model = options.on.model;
        model.kv_cache_dtype = dtype;
        std::vector<Note> again;  // said with the deployment
        try {
            formats.push_back({dtype, load_for(face, model, again)});
        } catch (const Stop&) {
            if (formats.empty() || !options.dtypes.empty()) {
                throw;
            }  // else a format that nobody asked for and the model's widths do not allow
        }
    }
    return formats;
}

/// What the engine's launch line can say of a split.
void limit_space(Search& search) {
    const std::string_view engine = search.on.face->name;
    search.space.cp_inside_tp = engine == "vllm";
    search.on.cp_among_tp = search.space.cp_inside_tp;
    // vLLM's tensor ranks that hold whole requests are its data-parallel ranks: TP 1 DP N, unless asked for as such.
    search.space.attention_dp = engine == "vllm" ? search.asked.attention_dp : engine != "llamacpp";
    search.space.most_cp = search.on.face->no_context_ranks.empty() ? search.space.most_cp : 1;
    search.space.remainder = search.on.face->remainder.value_or(Remainder::first);
    const bool blocks = std::any_of(search.blocks.begin(), search.blocks.end(), [](u64 n) { return n != 0; });
    if (blocks && block_flag(*search.on.face).empty()) {
        stop(Exit::usage, fmt::format("--block-sizes: {} has no blocks", search.on.face->title));
    }
}

/// --pp-split 41,39: layers of every stage, which are the model's in all.
void fix_stages(Search& search, const PlanOptions& options, const Sharding& asked) {
    const ShardingOptions& said = options.on.sharding;
    const u64 sum = std::accumulate(asked.stage_layers.begin(), asked.stage_layers.end(), u64{0});
    const u32 layers = search.on.formats[0].model.spec.layers;
    const u32 stages = static_cast<u32>(asked.stage_layers.size());
    if (sum != layers) {
        stop(Exit::usage,
             fmt::format("--pp-split: {} are {} layers; the model has {}", said.pp_split, sum, layers));
    }
    if (options.fixes("--pp") && said.pp != stages) {
        stop(Exit::usage, fmt::format("--pp-split: {} stages, and --pp says {}", stages, said.pp));
    }
    if (!options.emit.empty()) {
        stop(Exit::usage,
             fmt::format("--emit: the launch line has no flag for --pp-split {}", said.pp_split));
    }
    search.space.only_pp = stages;
    search.space.stage_layers = asked.stage_layers;
}

void refuse_empty(const Search& search, const PlanOptions& options) {
    u64 splits = 0;
    each_candidate(search.space, [&](const Candidate&) { ++splits; });
    if (splits != 0) {
        return;
    }
    std::string said;
    for (const char* flag : fixable) {
        const bool counts = flag != std::string_view{"--kv-cache-dtype"} && options.fixes(flag);
        said += counts ? (said.empty() ? "" : " ") + std::string{flag} : "";
    }
    stop(Exit::usage, fmt::format("{}: no split of {} GPUs that {} can start has these values", said,
                                  search.space.devices, search.on.face->title));
}

/// Flags that name one split leave the search no other; one that no split has is refused.
void fix_space(Search& search, const PlanOptions& options) {
    const ShardingOptions& said = options.on.sharding;
    const Setting& asked = search.asked;
    const auto fixed = [&](const char* flag, u32 value) { return options.fixes(flag) ? value : 0; };
    const char* among = "--decode-context-parallel-size";
    if (options.fixes(among) && !search.space.cp_inside_tp) {
        stop(Exit::usage, fmt::format("{}: context ranks among the tensor ranks are vLLM's; {} has none", among,
                                      search.on.face->title));
    }
    search.space.only_tp = fixed("--tp", said.tp);
    search.space.only_pp = fixed("--pp", said.pp);
    search.space.only_cp = options.fixes(among) ? said.cp : fixed("--cp", said.cp);
    const bool one_group = asked.attention_dp && search.on.face->name == "vllm";  // more are as many ranks again
    search.space.only_dp = one_group && !options.fixes("--dp") ? 1 : fixed("--dp", said.dp);
    search.space.only_attention_dp = asked.attention_dp && search.space.only_tp != 1;  // one rank holds all anyway
    if (options.fixes("--pp-split")) {
        const Sharding split = split_under(*search.on.face, said);
        search.space.remainder = split.remainder;
        if (!split.stage_layers.empty()) {
            fix_stages(search, options, split);
        }
    }
    refuse_empty(search, options);
}

/// Whose rules answer, and how many they take to run at once where that is not said.
void take_rules(Search& search, std::vector<Note>& notes) {
    const EngineAnswer answer = search.on.ask(search.asked, {});
    search.rules = answer.rules;
    const std::string at_once = "--" + std::string{requests_flag(*search.on.face)};
    std::copy_if(answer.notes.begin(), answer.notes.end(), std::back_inserter(notes), [&](const Note& note) {
        return note.where == at_once && note.origin == Origin::assumed && !answer.without_rules();
    });
}

}  // namespace

Search search_for(const PlanOptions& options, std::vector<Note>& notes) {
    const Goal goal = goal_of(options.goal);
    Search search{.on = options.on.deployment(notes),
                  .goal = goal,
                  .blocks = each_once(counts_of(options.blocks, "--block-sizes"))};
    if (options.on.memory.gpus == 0) {
        stop(Exit::usage, "--gpus: how many there are is wanted");
    }
    search.on.formats = formats_to_try(options, *search.on.face);
    for (const WeightGroup& group : search.on.weights_known.groups) {
        search.routed = search.routed || group.part == WeightPart::experts;
    }
    search.asked = options.on.any_setting(search.on);
    note_share(search.on, search.asked, true, notes);
    search.space = {.devices = options.on.memory.gpus,
                    .formats = static_cast<u32>(search.on.formats.size()),
                    .blocks = static_cast<u32>(search.blocks.size())};
    limit_space(search);
    fix_space(search, options);
    const Setting load{.tokens = search.asked.tokens, .sequences = search.asked.sequences};
    search.lacks_weights = search.on.lacks_weights(load);
    note_unknown(search.on, load, notes);
    take_rules(search, notes);
    return search;
}

}  // namespace kvcap::cli

// SPDX-License-Identifier: MIT
// kvcap reuse MODEL --engine NAME --prompts FILE: whole prompts through the engine's own pool, one after the
// other, with what each hit, what the pages kept allowed, and what had been computed before.
#include "engine_vllm_version.hpp"
#include "reuse_engine.hpp"
#include "screen.hpp"

#include <functional>
#include <kvcap/engine/sglang/plan.hpp>
#include <kvcap/engine/trtllm/plan.hpp>
#include <kvcap/engine/vllm/names.hpp>
#include <kvcap/engine/vllm/versions.hpp>
#include <kvcap/report.hpp>
#include <kvcap/report/reuse_sglang.hpp>
#include <kvcap/report/reuse_trtllm.hpp>
#include <kvcap/report/reuse_vllm.hpp>

namespace kvcap::cli {

namespace {

using report::Replayed;
using report::ReplayRequest;
using Prompts = std::vector<ReplayRequest>;

/// The engine's pool, ready to run requests. pool: its size in words.
struct Replay {
    std::function<Replayed(const ReplayRequest&)> run;
    std::string pool;
};

constexpr const char* endless = "; no memory was given, so nothing is evicted";

/// Blocks of `block` tokens, and `more` each, that all requests together would fill.
u64 blocks_for(const Prompts& prompts, u64 block, u64 more) {
    u64 sum = 0;
    for (const ReplayRequest& one : prompts) {
        sum += ceil_div(one.tokens.size() + one.generated.size(), block) + more;
    }
    return sum;
}

std::vector<vllm::SimGroup> vllm_groups(const PoolPlan& plan, vllm::StateMode mode) {
    std::vector<vllm::SimGroup> groups;
    for (const GroupClass& kind : plan.classes) {
        const auto spec = static_cast<vllm::SpecKind>(kind.kind);
        if (spec == vllm::SpecKind::cross) {
            stop(Exit::usage, "vLLM skips no prefix of an encoder-decoder model");
        }
        const bool state = spec == vllm::SpecKind::state;
        groups.insert(groups.end(), kind.groups,
                      {.kind = spec,
                       .mode = mode,
                       .block = kind.block * (state ? 1 : larger(kind.steps.share, 1)),
                       .span = kind.retention.span.value,
                       .drafts = kind.draft});
    }
    if (groups.empty() || groups.size() > vllm::most_lookup_groups) {
        stop(Exit::usage, fmt::format("vLLM makes {} groups of this model; 1 to {} are run", groups.size(),
                                      vllm::most_lookup_groups));
    }
    return groups;
}

Replay vllm_replay(UnderEngine& engine, const Prompts& prompts) {
    const EngineQuestion& flags = engine.flags();
    const PoolPlan& plan = engine.plan();
    const Result<vllm::Rules> rules =
        flags.version.empty() ? vllm::newest_rules : vllm::rules_named(flags.version.c_str());
    const bool none = flags.text("mamba-cache-mode", "align") == "none";
    const vllm::StateMode mode = none ? vllm::StateMode::none : state_mode_of(flags, *rules);
    const u64 drafts = flags.number("num-speculative-tokens", 0);
    vllm::SimOptions options{.groups = vllm_groups(plan, mode),
                             .step = flags.number("max-num-batched-tokens", 8192),
                             .scheduler_block = plan.scheduler_block,
                             .hash_block = plan.hash_block,
                             .lookahead = drafts,
                             .speculative = drafts > 0,
                             .dense = !rules->has(vllm::Change::zero_retention)};
    u64 roomy = 2;
    for (u32 g = 0; g < options.groups.size(); ++g) {
        const vllm::SimGroup& group = options.groups[g];
        roomy += blocks_for(prompts, group.block, 4 + ceil_div(drafts, group.block));
    }
    for (const GroupClass& kind : plan.classes) {
        options.context_parallel = options.context_parallel || kind.steps.share > 1;
    }
    if (mode == vllm::StateMode::none &&
        std::any_of(options.groups.begin(), options.groups.end(),
                    [](const auto& g) { return g.kind == vllm::SpecKind::state; })) {
        stop(Exit::usage, "--mamba-cache-mode none: no state is kept, so nothing is ever skipped");
    }
    const bool sized = engine.has_memory("num-gpu-blocks-override");
    options.blocks = sized ? smaller(plan.pools[0].units, roomy) : roomy;
    engine.note(Origin::derived, "retention",
                options.dense
                    ? "every state and window that a scheduler block asks for is kept"
                    : "prefix_cache_retention_interval 0: only a request's own boundaries are kept");
    const std::string blocks =
        plan.scheduler_block == plan.reported_block
            ? fmt::format("blocks of {}", plan.reported_block)
            : fmt::format("blocks of {}, hits at multiples of {}", plan.reported_block, plan.scheduler_block);
    const auto replay = std::make_shared<report::VllmReplay>(options, roomy);
    return {[replay](const ReplayRequest& one) { return value_of(replay->run(one), "vLLM"); },
            (sized ? report::grouped(plan.pools[0].units) + " " + blocks : blocks + endless)};
}

void check_sglang(const PoolPlan& plan) {
    for (const GroupClass& kind : plan.classes) {
        const auto what = static_cast<sglang::PoolKind>(kind.kind);
        if (what != sglang::PoolKind::full && what != sglang::PoolKind::window &&
            what != sglang::PoolKind::state) {
            stop(Exit::unknown_architecture,
                 "--prompts: what SGLang's trees keep of compressed or encoder caches is not known here");
        }
    }
    const u32 none = plan.classes.size();
    if (class_of(plan, sglang::PoolKind::full) == none && class_of(plan, sglang::PoolKind::window) != none) {
        stop(Exit::unknown_architecture,
             "--prompts: SGLang's tree for models of windows alone is not known here");
    }
    if (class_of(plan, sglang::PoolKind::state) != none && plan.reported_block != 1) {
        stop(Exit::usage, "--page-size: states are kept with pages of 1 only (strategy no_buffer)");
    }
}

Replay sglang_replay(UnderEngine& engine) {
    const PoolPlan& plan = engine.plan();
    check_sglang(plan);
    const u32 none = plan.classes.size();
    const auto units = [&](sglang::PoolKind kind, std::string_view flag, u64 each) {
        const u32 c = class_of(plan, kind);
        return c == none || !engine.has_memory(flag) ? off_scale
                                                     : plan.pools[plan.classes[c].pool].units * each;
    };
    const u64 page = plan.reported_block;
    const u32 window = class_of(plan, sglang::PoolKind::window);
    const bool states = class_of(plan, sglang::PoolKind::state) != none;
    sglang::ServerOptions options{
        .rules = {.page = page,
                  .window = window == none ? 0 : plan.classes[window].retention.span.value,
                  .states = states,
                  .state_chunk = sglang::state_chunk(page),
                  .unified = states || window != none},
        .tokens = units(sglang::PoolKind::full, "max-total-tokens", page),
        .window_tokens = units(sglang::PoolKind::window, "max-total-tokens", page),
        .states = units(sglang::PoolKind::state, "max-mamba-cache-size", 1),
        .chunk = engine.flags().number("chunked-prefill-size", 8192)};
    if (options.chunk < page) {
        stop(Exit::usage,
             fmt::format("--chunked-prefill-size: {} is less than a page of {}", options.chunk, page));
    }
    if (states) {
        engine.note(Origin::assumed, "--mamba-radix-cache-strategy",
                    "no_buffer: a state at the end of each chunk, "
                    "prompt and request");
    }
    std::string pool = options.tokens == off_scale ? "" : report::grouped(options.tokens) + " tokens, ";
    pool +=
        options.window_tokens == off_scale ? "" : report::grouped(options.window_tokens) + " of windows, ";
    pool += options.states == off_scale ? "" : report::grouped(options.states) + " states, ";
    const auto replay = std::make_shared<report::SglangReplay>(options, window_rule(*engine.model()));
    return {[replay](const ReplayRequest& one) { return replay->run(one); },
            pool + fmt::format("pages of {}", page) + (pool.empty() ? endless : "")};
}

Replay trtllm_replay(UnderEngine& engine, const Prompts& prompts) {
    const PoolPlan& plan = engine.plan();
    if (engine.flags().has("use-kv-cache-manager-v2")) {
        stop(Exit::unknown_architecture,
             "--prompts: what the second manager keeps and evicts is not known here; --prompt N with --held "
             "asks "
             "for its look-up");
    }
    trtllm::ReuseRules rules{.tokens_per_block = plan.reported_block, .max_seq_len = engine.flags().max_len};
    const u64 roomy = blocks_for(prompts, rules.tokens_per_block, 2);
    const bool several = plan.classes.size() > 1;  // then its max_tokens does not count
    const bool sized = engine.has_memory(several ? std::string_view{} : "max-kv-tokens");
    if (several && engine.flags().has("max-kv-tokens")) {
        engine.note(Origin::assumed, "--max-kv-tokens", "ignored with several windows, as the engine does");
    }
    std::string pool;
    for (const GroupClass& kind : plan.classes) {
        const auto what = static_cast<trtllm::PoolKind>(kind.kind);
        if (what == trtllm::PoolKind::state || what == trtllm::PoolKind::cross) {
            stop(Exit::unknown_architecture,
                 what == trtllm::PoolKind::state
                     ? "--prompts: block reuse is off in the manager that keeps states"
                     : "--prompts: reuse beside cross attention is not known here");
        }
        const u64 units = sized ? plan.pools[kind.pool].units : roomy;
        rules.windows.push_back(what == trtllm::PoolKind::full ? rules.max_seq_len
                                                               : kind.retention.span.value);
        rules.primary_of.push_back(smaller(units, roomy));
        rules.secondary_of.push_back(smaller(plan.pools[kind.pool].second, roomy));
        pool += sized ? (pool.empty() ? "" : " and ") + report::grouped(units) : "";
    }
    const auto replay = std::make_shared<report::TrtllmReplay>(rules, roomy);
    return {[replay](const ReplayRequest& one) { return replay->run(one); },
            (sized ? pool + " " : "") + fmt::format("blocks of {}", rules.tokens_per_block) +
                (sized ? "" : endless)};
}

/// Lines under a request: first what keeps the hit below the ideal, then what of the seen was not kept.
std::string request_lines(const Replayed& one) {
    std::string out = one.rejected ? "          the pool has no room for it\n" : "";
    out += lifted_lines(one.lifted, true);
    if (one.hit > one.seen) {
        out += "          more than seen: the engine's key takes a salt for an adapter of that\n"
               "          name, and another's pages are read\n";
    } else if (one.other != 0) {
        out += fmt::format("          {} are those of a prompt with another salt or adapter\n",
                           report::grouped(one.other));
    }
    return out;
}

std::string screen_of(const std::vector<Replayed>& all) {
    constexpr const char* line = "  {:>6}  {:>9}  {:>9}  {:>9}  {:>9}\n";
    std::string out = fmt::format(fmt::runtime(line), "prompt", "tokens", "seen", "ideal", "hit");
    u64 number = 0;
    u64 hit = 0;
    u64 ideal = 0;
    u64 tokens = 0;
    for (const Replayed& one : all) {
        out += fmt::format(fmt::runtime(line), ++number, report::grouped(one.tokens),
                           report::grouped(one.seen), report::grouped(one.ideal), report::grouped(one.hit)) +
               request_lines(one);
        hit += one.hit;
        ideal += one.ideal;
        tokens += one.tokens;
    }
    return out + fmt::format("{} of {} prompt tokens skipped; the pages kept allowed {}\n",
                             report::grouped(hit), report::grouped(tokens), report::grouped(ideal));
}

std::string json_of(const UnderEngine& engine, const std::vector<Replayed>& all) {
    report::Json json;
    json.object()
        .field("schema", "kvcap.reuse.engine/1")
        .field("mode", "prompts")
        .field("engine", engine.name())
        .field("rules", std::string_view{engine.rules()});
    json.array("prompts");
    u64 hit = 0;
    u64 ideal = 0;
    u64 tokens = 0;
    for (const Replayed& one : all) {
        json.object()
            .field("tokens", one.tokens)
            .field("seen_tokens", one.seen)
            .field("ideal_tokens", one.ideal)
            .field("hit_tokens", one.hit)
            .field("other_key_tokens", one.other)
            .field("rejected", one.rejected);
        write_lifted(json, one.lifted);
        json.end();
        hit += one.hit;
        ideal += one.ideal;
        tokens += one.tokens;
    }
    json.end().field("prompt_tokens", tokens).field("ideal_tokens", ideal).field("hit_tokens", hit);
    report::write_notes(json, engine.notes());
    return json.end().text();
}

}  // namespace

void answer_prompts(const ReuseOptions& options, UnderEngine& engine, const Prompts& prompts,
                    const std::string& title, Session& session) {
    const Replay replay = engine.name() == "vllm"     ? vllm_replay(engine, prompts)
                          : engine.name() == "sglang" ? sglang_replay(engine)
                                                      : trtllm_replay(engine, prompts);
    std::vector<Replayed> all;
    for (const ReplayRequest& one : prompts) {
        all.push_back(replay.run(one));
        session.exit = all.back().rejected ? Exit::does_not_fit : session.exit;
    }
    if (options.output.json) {
        return session.print(json_of(engine, all));
    }
    session.print(title + paragraph("  " + replay.pool) + '\n' + screen_of(all) +
                  notes_text(engine.notes(), options.explain, session));
}

}  // namespace kvcap::cli

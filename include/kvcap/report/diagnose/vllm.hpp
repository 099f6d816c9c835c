// SPDX-License-Identifier: MIT
// What do vLLM's figures mean? The token count by version (blocks // groups x block, or concurrency x length), what
// one request takes, groups and padding, and where the memory of the share went.
#pragma once

#include <cmath>
#include <kvcap/report/diagnose/finding.hpp>

namespace kvcap::inline v1::report::vllm_log {

/// What the version says of the printed tokens: blocks // groups x block, or (from 0.21 on) concurrency x length.
/// Builds between 0.20 and 0.21 print either.
enum class TokenRule : unsigned char { unsaid, blocks, requests };

inline TokenRule token_rule(Diagnosis& on) {
    const std::string version = on.text("version");
    const auto parts = logs::match(std::string_view{version}.substr(version.starts_with('v') ? 1 : 0), "{n}.{n}");
    const auto major = parts ? logs::integer_of(parts->at[0]) : std::nullopt;
    const auto minor = parts ? logs::integer_of(parts->at[1]) : std::nullopt;
    if (!major || !minor || (*major == 0 && *minor == 20 && version.find("dev") != std::string::npos)) {
        return TokenRule::unsaid;
    }
    return *major > 0 || *minor > 20 ? TokenRule::requests : TokenRule::blocks;
}

/// A count made of requests says nothing of blocks. Where the log says the block, no other is asked.
inline void tokens_in_blocks(Diagnosis& on, double tokens) {
    if (token_rule(on) == TokenRule::requests) {
        return;
    }
    const double given = on["block_size"];
    for (const double block : {16.0, 32.0, 64.0, 128.0}) {
        if (std::fmod(tokens, block) == 0 && (!known(given) || block == given)) {
            on.add("blocks", {"capacity_tokens"},
                   said("{} tokens are whole blocks of {:.0f}", commas(tokens), block),
                   "one reading: a single uniform group; the block size in the arguments decides")
                .with("blocks", tokens / block)
                .with("block", block);
        }
    }
}

/// agrees: tokens are concurrency x length, to the printed digits. whole: they are whole blocks of 16 too.
inline std::string reported_words(TokenRule rule, bool agrees, bool both, bool whole) {
    if (rule == TokenRule::requests && both && !agrees) {
        return "from 0.21 on tokens are concurrency x length, and these are not: the lines are of unlike starts";
    }
    if (both && !agrees) {
        return "tokens are blocks // groups x block: they are not what can be admitted (vllm#40691); concurrency x "
               "length is";
    }
    if (rule == TokenRule::blocks) {
        return both ? "tokens are blocks x block of one group: so many requests fit at full length"
                    : "tokens are blocks // groups x block: of several groups more are admitted";
    }
    if (rule == TokenRule::unsaid && whole) {
        return "two readings: before vLLM 0.21 blocks of one group, from 0.21 on concurrency x length, which holds at "
               "this length only";
    }
    return "tokens are concurrency x length: they hold at this length only";
}

/// ratio = tokens / length against the printed concurrency: which rule gave the token count?
inline void reported(Diagnosis& on) {
    const double tokens = on["capacity_tokens"], length = on["max_model_len"], at_once = on["concurrency"];
    if (known(tokens)) {
        tokens_in_blocks(on, tokens);
    }
    if (!known(tokens, length) || !(length > 0)) {
        return;
    }
    const double ratio = tokens / length;
    const bool agrees = known(at_once) && std::abs(ratio - at_once) <= 0.0051;
    Finding& found = on.add(
        "reported", {"capacity_tokens", "concurrency"},
        known(at_once) ? said("{} tokens, {} requests of {}", commas(tokens), on.text("concurrency"),
                              commas(length))
                       : said("{} tokens, requests of at most {}", commas(tokens), commas(length)),
        reported_words(token_rule(on), agrees, known(at_once), std::fmod(tokens, 16) == 0));
    found.with("tokens", tokens).with("ratio", ratio).with("concurrency", at_once);
    if (known(at_once)) {
        found.with("admitted_tokens", std::floor(at_once * length));
    }
}

/// A share of the length holds as many more requests only where every block is of one group, which no count made of
/// requests tells: states, windows and drafts take theirs whatever the length.
inline void sequences(Diagnosis& on) {
    const double allowed = on["max_num_seqs"], at_once = on["concurrency"], length = on["max_model_len"];
    if (known(allowed, at_once)) {
        const bool fits = at_once >= allowed;
        const bool one_group = token_rule(on) == TokenRule::blocks &&
                               std::abs(on["capacity_tokens"] / length - at_once) <= 0.0051;
        const double whole = std::max(1.0, std::floor(at_once));
        const Sentence requests = said("{:.0f} {}", whole, whole == 1 ? "request" : "requests");
        on.add("seqs", {"max_num_seqs", "concurrency"},
               said("max_num_seqs {:.0f}, {} full-length requests fit", allowed, on.text("concurrency")),
               fits ? "all of them fit at full length; the rest keeps cached prefixes"
                    : "at full length some are preempted",
               fits        ? ""
               : one_group ? said("allow {} tokens a request, or {}", commas(std::floor(at_once * length / allowed)),
                                  requests)
                           : said("allow {}, or fewer tokens each: `kvcap pools` says how many", requests))
            .with("seqs", allowed)
            .with("concurrency", at_once)
            .with("preempted", std::max(0.0, allowed - std::floor(at_once)))
            .with("tokens_each", std::floor(at_once * length / allowed));
    }
}

inline void one_request(Diagnosis& on) {
    const double pool = on["available_kv_gib"], at_once = on["concurrency"], tokens = on["capacity_tokens"];
    if (known(pool, at_once) && at_once > 0 && pool > 0) {
        on.add("one-request", {"available_kv_gib", "concurrency"},
               said("{} GiB hold {} requests", on.text("available_kv_gib"), on.text("concurrency")),
               said("one of full length takes about {:.2f} GiB of a rank", pool / at_once))
            .with("per_request_gib", pool / at_once);
    }
    if (known(pool, tokens)) {
        per_token(on, "available_kv_gib", tokens);
    }
}

struct Reading {
    double blocks, groups, per_request, block, group_block;
};

/// Old rule: tokens = blocks // groups x block, concurrency = blocks / (full blocks + `state` for each other
/// group).
inline std::vector<Reading> group_readings(double tokens, double length, double low, double high, double block) {
    std::vector<Reading> all;
    for (double groups = 2; groups <= 12; ++groups) {
        for (const double state : {2.0, 1.0}) {
            const double per = std::ceil(length / block) + state * (groups - 1);
            const double least = std::max(tokens / block * groups, std::ceil(low * per));
            const double most = std::min(tokens / block * groups + groups - 1, std::floor(high * per));
            if (least <= most) {
                all.push_back({least, groups, per, block, tokens / block});
            }
        }
    }
    return all;
}

/// Blocks that hybrids use, where the log does not say: multiples of 16 that divide the tokens.
inline void groups(Diagnosis& on) {
    const double tokens = on["capacity_tokens"], length = on["max_model_len"], at_once = on["concurrency"],
                 given = on["block_size"];
    if (!known(tokens, length, at_once) || std::abs(tokens / length - at_once) <= 0.0051 || tokens > 1e9 ||
        token_rule(on) == TokenRule::requests) {
        return;
    }
    std::vector<Reading> all;
    const u32 candidates = known(given) ? 1 : (8192 - 256) / 16 + 1;
    for (u32 i = 0; i < candidates; ++i) {
        const double block = (known(given) ? given : 256) + 16 * i;
        if (block > 0 && std::fmod(tokens, block) == 0) {
            const auto some = group_readings(tokens, length, on.low("concurrency"), on.high("concurrency"), block);
            all.insert(all.end(), some.begin(), some.end());
        }
    }
    for (std::size_t i = 0; i < all.size() && i < 6; ++i) {
        on.add("tokens-x-groups", {"capacity_tokens", "concurrency", "block_size"},
               said("{} blocks of {} tokens in {} groups give {} tokens and {}x", all[i].blocks, all[i].block,
                    all[i].groups, commas(tokens), on.text("concurrency")),
               all.size() == 1 ? "one full group and groups of states or windows"
                               : said("one of {} readings; the block size and the model decide", all.size()))
            .with("blocks", all[i].blocks)
            .with("groups", all[i].groups)
            .with("block", all[i].block)
            .with("per_request", all[i].per_request)
            .with("blocks_per_group", all[i].group_block);
    }
}

/// Dummy layers: `pad` of them waste a share of the groups, so there are pad / share real ones.
inline void padding_layers(Diagnosis& on) {
    const double pad = on["padding_layers"], waste = on["padding_waste_pct"] / 100;
    if (known(pad, waste) && waste > 0) {
        on.add("dummy-layers", {"padding_layers", "padding_waste_pct"},
               said("{:.0f} padding layers, at most {}% wasted", pad, on.text("padding_waste_pct")),
               said("{:.0f} layers do not divide into groups of one size", std::round(pad / waste)))
            .with("padding_layers", pad)
            .with("padded_layers", std::round(pad / waste));
    }
}

/// New rule with padded groups: which group size gives round pages? blocks = ceil(tokens x per request / length).
inline void page_of_groups(Diagnosis& on) {
    const double pad = on["padding_layers"], waste = on["padding_waste_pct"] / 100, tokens = on["capacity_tokens"];
    const double length = on["max_model_len"], block = on["block_size"];
    const double places = std::round(pad / waste) + pad;
    if (!known(places, tokens, length, block, on["available_kv_gib"]) || places > 4096 ||
        token_rule(on) == TokenRule::blocks ||
        !(pad >= 0 && block > 0 && length > 0)) {
        return;
    }
    Round best;
    double best_size = 0, best_blocks = 0, best_per = 0;
    for (double size = pad + 1; size <= places; ++size) {
        const double per = std::ceil(length / block) + 2 * places / size;
        const double blocks = std::ceil(tokens * per / length);
        const Round page = roundest(on.low("available_kv_gib") * gib / (blocks * size),
                                    on.high("available_kv_gib") * gib / (blocks * size));
        if (std::fmod(places, size) == 0 && page.twos > best.twos) {
            best = page, best_size = size, best_blocks = blocks, best_per = per;
        }
    }
    if (best.twos >= 0) {
        on.add("page", {"available_kv_gib", "capacity_tokens", "padding_pct"},
               said("{} blocks of {} layers", commas(best_blocks), best_size),
               said("a page is {} bytes; a request takes {} blocks", commas(best.value), best_per))
            .with("blocks", best_blocks)
            .with("group", best_size)
            .with("per_request", best_per)
            .with("page_bytes", best.value)
            .with("state_bytes", best.value / (1 + on["padding_pct"] / 100));
    }
}

inline void reuse_step(Diagnosis& on) {
    const double block = on["block_size"];
    if (block > 64) {
        on.add("reuse-granularity", {"block_size_set", "block_size_metrics", "block_size"},
               said("blocks of {:.0f} tokens", block),
               said("a prefix shorter than {:.0f} tokens never hits; longer ones hit in steps of it, and a "
                    "request wastes up to {:.0f}",
                    block, block - 1),
               "this is the block size, not a broken cache: share longer prefixes, or give a smaller --block-size "
               "where the states allow")
            .with("min_prefix", block)
            .with("block", block);
    }
    if (on.facts().is("prefix_caching", false)) {
        on.add("prefix-cache-off", {"prefix_caching"}, "prefix caching is off", "equal prompts are computed again",
               "--enable-prefix-caching");
    }
}

inline void data_parallel(Diagnosis& on) {
    const logs::Datum* by_dp = on.find("capacity_by_dp");
    double sum = 0, least = 0, most = 0;
    for (std::size_t i = 0; by_dp != nullptr && i < by_dp->items.size(); ++i) {
        const double tokens = logs::number(by_dp->items[i].value).value_or(0);
        sum += tokens;
        least = i == 0 ? tokens : std::min(least, tokens);
        most = std::max(most, tokens);
    }
    if (by_dp != nullptr) {
        on.add("sum", {}, said("{} engines own pools of their own", by_dp->items.size()),
               said("{} tokens in all, but one request lives in one of them", commas(sum)))
            .with("total", sum)
            .with("difference", most - least);
    }
}

/// The engine's own estimate of graphs is held back from the pool; the note about shares gives the card's size.
inline void graphs(Diagnosis& on) {
    const double held = on["graph_estimate_gib"], used = on["graph_actual_gib"], pool = on["available_kv_gib"];
    const double delta = on["gpu_memory_utilization"] - on["equivalent_utilization"];
    const double graph = known(held) ? held : used;
    if (held > 0 && pool > 0) {
        Finding& found =
            on.add("graph-reserve", {"graph_estimate_gib", "graph_actual_gib", "available_kv_gib"},
                   said("{} GiB held back for graphs, pool {} GiB", on.text("graph_estimate_gib"),
                        on.text("available_kv_gib")),
                   known(used) ? said("{} GiB of it were used", on.text("graph_actual_gib"))
                               : "the pool is smaller by it",
                   "raise the share as the note says, or give the pool in bytes (--kv-cache-memory-bytes)");
        found.with("graph_gib", held).with("used", used).with("gain", held / pool).with("unused_gib", held - used);
        found.gain_bytes = (known(used) ? held - used : held) * gib;
    }
    const double card = graph / delta;
    const bool holds = !known(pool) || card * on["gpu_memory_utilization"] >= pool;  // else a figure is misprinted
    if (known(card) && delta > 0 && graph > 0 && holds) {
        Finding& found = on.add(
            "card-size", {"graph_estimate_gib", "equivalent_utilization"},
            said("{:.2f} GiB are {:.4f} of the card", graph, delta),
            said("the card has about {:.1f} GiB; each 0.01 of the share is {:.2f} GiB", card, card / 100));
        found.with("share_delta", delta).with("total_gib", card).with("per_hundredth", card / 100);
        const double budget = on["gpu_memory_utilization"] * card;
        found.with("budget_gib", budget)
            .with("rest_gib", budget - on["weights_gib"] - (known(held) ? held : 0) - pool);
    }
}

inline void suggestions(Diagnosis& on) {
    const double first = on["suggested_kv_bytes"], most = on["max_kv_bytes"], pool = on["kv_in_use_gib"];
    if (known(first) || known(most)) {
        Finding& found = on.add(
            "suggestion", {"suggested_kv_bytes", "max_kv_bytes"}, "two sizes in bytes are suggested",
            first < pool * gib ? "the first is less than the pool in use: it keeps a margin inside the share, no gain"
                               : "the first fits the share, the second the card",
            known(most) ? said("--kv-cache-memory-bytes={:.0f} is the most", most) : "");
        found.with("suggested_gib", first / gib).with("max_gib", most / gib).with("in_use_gib", pool);
        found.gain_bytes = std::max(0.0, most - pool * gib);
    }
}

}  // namespace kvcap::inline v1::report::vllm_log

// SPDX-License-Identifier: MIT
// What do TensorRT-LLM's figures mean? The fraction is of what is free after loading; blocks are rounded up;
// execution context memory grows with max_num_tokens; a pool too small cuts the context without an error.
#pragma once

#include <cmath>
#include <kvcap/report/diagnose/finding.hpp>

namespace kvcap::inline v1::report::trtllm_log {

inline void fraction(Diagnosis& on) {
    const double pool = on["kv_gib"], free = on["available_gib"];
    if (known(pool, free)) {
        on.add("fraction", {"kv_gib", "available_gib"},
               said("{} of {} GiB", on.text("kv_gib"), on.text("available_gib")),
               said("{:.2f} of what is free after loading, not of the card", pool / free))
            .with("fraction", pool / free);
    }
    if (const double given = on["default_fraction"]; known(given)) {
        on.add("default-fraction", {"default_fraction"},
               said("{} of free memory by default", on.text("default_fraction")),
               "a second engine on the card runs out of memory", "set the fraction or max_tokens")
            .with("fraction", given);
    }
}

/// What one request of the stated length takes of a pool that keeps every token: whole blocks. Pools of windows are not
/// divided so, and without a length there is no request to speak of.
inline void reserved(Diagnosis& on, double token) {
    const double length = on["max_model_len"], given = on["tokens_per_block"], pool = on.high("kv_gib");
    if (!(token > 0 && token <= gib) || on.has("pools") || on["window"] < length) {
        return;
    }
    const double block = known(given) && given > 0 ? given : 1;
    const double need = std::ceil(length / block) * block * token / gib;
    Finding& found = on.add(
        "reserved-vs-needed", {"kv_gib", "max_model_len"}, said("{} GiB are reserved", on.text("kv_gib")),
        known(need) ? said("one request of {} tokens needs {:.3f} GiB", commas(length), need)
                    : said("a GiB holds {} tokens; the log does not say how long a request may be",
                           commas(std::floor(gib / token))),
        need < pool / 2 ? "max_tokens or a lower fraction gives memory back, where fewer requests run at once" : "");
    found.with("request_gib", need)
        .with("gib_40k", 40960 * token / gib)
        .with("gib_8k", 8192 * token / gib)
        .with("tokens_per_gib", gib / token)
        .with("block_mib", token * given / mib)
        .with("fp8_bytes", token / 2);
}

/// One reading for each usual size where the log does not say how many tokens a block has.
inline void blocks(Diagnosis& on) {
    const double count = on["primary_blocks"], given = on["tokens_per_block"];
    for (const double block : {64.0, 32.0}) {
        const double size = known(given) ? given : block;
        Finding& found = on.add(
            "blocks", {"primary_blocks", "tokens_per_block"}, said("{} blocks", commas(count)),
            said("{} tokens at {:.0f} a block{}", commas(count * size), size,
                 known(given) ? "" : ", one reading: the block size is not in the log"));
        found.with("blocks", count).with("tokens", count * size);
        if (!known(on["capacity_tokens"]) && count > 1) {  // blocks that 0.9 of the free memory was rounded up to
            const Round each = roundest(on.low("available_gib") * 0.9 * gib / count / size,
                                        on.high("available_gib") * 0.9 * gib / (count - 1) / size);
            found.with("bytes_per_token", each.value);
        }
        if (known(given)) {
            return;
        }
    }
}

/// Full-length sequences at once: each pool of a window holds blocks of its own.
inline double sequences(Diagnosis& on) {
    const logs::Datum* pools = on.find("pools");
    double least = on["capacity_tokens"] / on["max_model_len"];
    for (std::size_t i = 0; pools != nullptr && i < pools->items.size(); ++i) {
        const logs::Facts pool{pools->items[i].value.items};
        const double fit = pool.number("primary_blocks").value_or(std::nan("")) /
                           pool.number("blocks_per_sequence").value_or(std::nan(""));
        least = i == 0 ? fit : std::min(least, fit);
    }
    return least;
}

inline void rate(Diagnosis& on) {
    const double tokens = on["capacity_tokens"], exact = on["kv_bytes"];
    if (known(exact, tokens)) {
        on.add("bytes-per-token", {"kv_bytes", "capacity_tokens"},
               said("{} bytes for {} tokens", commas(exact), commas(tokens)),
               said("{} bytes a token, {:.2f} GiB", commas(exact / tokens), exact / gib))
            .with("bytes_per_token", exact / tokens)
            .with("gib", exact / gib);
    } else if (known(tokens) && !on.has("pools")) {
        per_token(on, "kv_gib", tokens);
    }
    const Round token =
        known(tokens) ? roundest(on.low("kv_gib") * gib / tokens, on.high("kv_gib") * gib / tokens) : Round{};
    reserved(on, token.value);
    if (known(on["primary_blocks"])) {
        blocks(on);
    }
    if (const double fit = sequences(on); known(fit)) {
        on.add("sequences", {"capacity_tokens"}, said("length {}", commas(on["max_model_len"])),
               said("{:.2f} full-length sequences fit", fit))
            .with("sequences", fit);
    }
}

inline void context_memory(Diagnosis& on) {
    const std::string printed = on.text("context_memory");
    const auto parsed = logs::match(printed, "{d} MiB");
    const double amount = parsed ? logs::number(logs::words(parsed->at[0])).value_or(std::nan("")) : std::nan("");
    const double tokens = on["max_num_tokens"];
    if (known(amount, tokens) && amount > 0 && tokens > 8192) {
        const double gain = amount * (1 - 8192 / tokens) * mib;
        Finding& found =
            on.add("activation-eats-kv", {"context_memory", "max_num_tokens"},
                   said("{} of execution context for {} tokens at once", on.text("context_memory"),
                        commas(tokens)),
                   said("{:.4f} MiB a token", amount / tokens),
                   said("8,192 tokens with chunked context free about {:.1f} GiB for the cache", gain / gib));
        found.with("mib", amount).with("per_token_mib", amount / tokens).with("gain_gib", gain / gib);
        found.gain_bytes = gain;
    }
}

inline void cut(Diagnosis& on) {
    const logs::Datum* phases = on.find("phases");
    if (phases == nullptr || phases->items.size() < 2) {
        return;
    }
    const auto of = [&](std::size_t phase, std::string_view name) {
        for (const logs::Field& field : phases->items[phase].value.items) {
            if (field.name == name) {
                return logs::number(field.value).value_or(std::nan(""));
            }
        }
        return std::nan("");
    };
    const double wanted = of(0, "max_seq_len"), got = of(1, "max_seq_len"), block = on["tokens_per_block"];
    const double missing = std::ceil(wanted / block) - of(1, "primary_blocks");
    on.add("two-phases", {}, "the pool line is printed twice",
           "the first is a dry run for the estimate; the last one counts")
        .with("estimated_blocks", of(0, "primary_blocks"));
    if (got < wanted) {
        Finding& found =
            on.add("silent-cut", {"error_category"},
                   said("the context was cut from {:.0f} to {:.0f} without an error", wanted, got),
                   missing > 0 ? said("{:.0f} more blocks are missing", missing)
                               : "the pool is too small for it",
                   "free memory or raise the fraction");
        found.with("final", got).with("wanted", wanted).with("missing_blocks", missing > 0 ? missing : std::nan(""));
    }
}

inline void diagnose(Diagnosis& on) {
    fraction(on);
    rate(on);
    context_memory(on);
    cut(on);
}

}  // namespace kvcap::inline v1::report::trtllm_log

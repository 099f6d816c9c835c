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

/// Without an amount: blocks that 0.9 of the free memory was rounded up to.
inline void rate(Diagnosis& on) {
    const double tokens = on["capacity_tokens"], blocks = on["primary_blocks"], given = on["tokens_per_block"],
                 exact = on["kv_bytes"];
    if (known(exact, tokens)) {
        on.add("bytes-per-token", {"kv_bytes", "capacity_tokens"},
               said("{} bytes for {} tokens", commas(exact), commas(tokens)),
               said("{} bytes a token, {:.2f} GiB", commas(exact / tokens), exact / gib))
            .with("bytes_per_token", exact / tokens)
            .with("gib", exact / gib);
    } else if (known(tokens)) {
        per_token(on, "kv_gib", tokens);
    }
    const Round token =
        known(tokens) ? roundest(on.low("kv_gib") * gib / tokens, on.high("kv_gib") * gib / tokens) : Round{};
    if (known(token.value)) {
        on.add("reserved-vs-needed", {"kv_gib"}, said("{} GiB are reserved", on.text("kv_gib")),
               said("one request of 40,960 tokens needs {:.3f} GiB", 40960 * token.value / gib),
               "max_tokens or a lower fraction gives memory back")
            .with("gib_40k", 40960 * token.value / gib)
            .with("gib_8k", 8192 * token.value / gib)
            .with("tokens_per_gib", gib / token.value)
            .with("block_mib", token.value * given / mib)
            .with("fp8_bytes", token.value / 2);
    }
    if (known(blocks)) {
        for (const double block : {given, 64.0, 32.0}) {
            if (!known(block) || (known(given) && block != given)) {
                continue;
            }
            Finding& found = on.add(
                "blocks", {"primary_blocks", "tokens_per_block"}, said("{} blocks", commas(blocks)),
                said("{} tokens at {:.0f} a block{}", commas(blocks * block), block,
                     known(given) ? "" : ", one reading: the block size is not in the log"));
            found.with("blocks", blocks).with("tokens", blocks * block);
            if (!known(tokens) && blocks > 1) {
                const Round each = roundest(on.low("available_gib") * 0.9 * gib / blocks / block,
                                            on.high("available_gib") * 0.9 * gib / (blocks - 1) / block);
                found.with("bytes_per_token", each.value);
            }
        }
    }
    if (const double length = on["max_model_len"]; known(tokens, length)) {
        on.add("sequences", {"capacity_tokens"}, said("length {}", commas(length)),
               said("{:.2f} full-length sequences fit", tokens / length))
            .with("sequences", tokens / length);
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

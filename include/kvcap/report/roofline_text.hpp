// SPDX-License-Identifier: MIT
// A roofline sheet in words: a table of the step, then one sentence a finding. Bounds are called bounds.
#pragma once

#include <kvcap/report/quantity.hpp>
#include <kvcap/report/roofline.hpp>
#include <kvcap/report/table.hpp>

namespace kvcap::inline v1::report {

inline std::string step_table(const RooflineSheet& sheet) {
    Table table{{Align::left, Align::right, Align::right, Align::right, Align::right}};
    table.row({"one step reads", "bytes", "share", "flops", "flop/B"});
    const u64 all = sheet.step.bytes().value;
    for (const RooflinePart& part : sheet.parts) {
        const double share = all == 0 ? 0 : static_cast<double>(part.bytes.value) / static_cast<double>(all);
        table.row({part.name, amount(part.bytes), percent(share),
                   with_prefix(static_cast<double>(part.flops), ""),
                   fmt::format("{:.1f}", part.intensity())});
    }
    const double intensity =
        all == 0 ? 0 : static_cast<double>(sheet.step.flops()) / static_cast<double>(all);
    table.row({"all", amount(sheet.step.bytes()), "",
               with_prefix(static_cast<double>(sheet.step.flops()), ""), fmt::format("{:.1f}", intensity)});
    return table.text();
}

inline std::string bound_words(const RooflineSheet& sheet) {
    std::string out =
        fmt::format("a step takes at least {}: bound by {}", duration(sheet.step.at_least(sheet.device)),
                    sheet.reads_bind() ? "reading" : "computing");
    if (sheet.stages > 1) {
        out += fmt::format(" on the slowest stage; all {} stages take at least {}", sheet.stages,
                           duration(sheet.step_seconds));
    }
    return out + " (a bound, not a prediction)";
}

inline std::string crossing_words(const RooflineSheet& sheet) {
    if (!sheet.weights_known) {
        return "weights are not known (--weights-bytes): only the cache is counted";
    }
    if (sheet.cache_passes_at == off_scale) {
        return "the cache reads nothing";
    }
    return fmt::format(
        "cache reads pass weight reads from {} of this length on a rank; now the cache is {} of "
        "what is read",
        counted(sheet.cache_passes_at, "sequence", "sequences"), percent(sheet.cache_share()));
}

inline std::string intensity_words(const Intensity& one, double turning_point) {
    const auto side = [&](double intensity) { return intensity < turning_point ? "reading" : "computing"; };
    std::string out = fmt::format("attention on {}: {:.1f} flop/B against {:.0f}: bound by {}", one.name,
                                  one.per_position, turning_point, side(one.per_position));
    if (one.expanded > 0) {
        out += fmt::format(" (absorbed; expanded heads: {:.1f} flop/B)", one.expanded);
    }
    return out;
}

inline std::string generation_words(const RooflineSheet& sheet) {
    const u64 with = passes_with_cache(sheet.tokens, sheet.generated);
    const u64 without = passes_without_cache(sheet.tokens, sheet.generated);
    return fmt::format("{} after this prompt: {} token passes with a cache, {} without ({})",
                       counted(sheet.generated, "token", "tokens"), grouped(with), grouped(without),
                       factor(with == 0 ? 1 : static_cast<double>(without) / static_cast<double>(with)));
}

inline std::string expert_words(const RooflineSheet& sheet) {
    const Bytes experts = sheet.experts.per_token();
    const double times =
        static_cast<double>(experts.value) / static_cast<double>(larger(sheet.cache_per_token.value, 1));
    const LinkLimits limits = link_limits(sheet.device.link, sheet.cache_per_token, experts);
    const Ratio share = cache_share_of_link(sheet.cache_per_token, experts);
    return fmt::format(
        "experts on other ranks: {} a token ({} layers x {} x {} x {} B, before node-limited routing) "
        "against {} of "
        "cache: {}; they alone fill a link of {} at {} tokens/s, the cache at {}: {} saturate it first; the "
        "cache's "
        "share is {}",
        exact(experts), sheet.experts.moe_layers, sheet.experts.experts_per_token,
        grouped(sheet.experts.hidden), sheet.experts.dispatch_bytes + sheet.experts.combine_bytes,
        exact(sheet.cache_per_token), factor(times), with_prefix(sheet.device.link, "B/s"),
        grouped(static_cast<u64>(limits.expert_tokens)), grouped(static_cast<u64>(limits.cache_tokens)),
        limits.experts_first() ? "experts" : "caches",
        percent(static_cast<double>(share.over) / static_cast<double>(larger(share.under, 1))));
}

/// One sentence a line.
inline std::vector<std::string> sentences_of(const RooflineSheet& sheet) {
    std::vector<std::string> all{bound_words(sheet), crossing_words(sheet)};
    for (const Intensity& one : sheet.intensities) {
        all.push_back(intensity_words(one, sheet.device.turning_point()));
    }
    all.push_back(fmt::format(
        "a prompt of {} tokens: {}, at least {} on the replica at peak", grouped(sheet.tokens),
        with_prefix(static_cast<double>(sheet.prompt_flops), "flop"), duration(sheet.prompt_seconds)));
    all.push_back(generation_words(sheet));
    all.push_back(
        fmt::format("loading its {} beats computing it again above {} (at peak: measured efficiency lowers "
                    "it in proportion)",
                    amount_and_exact(sheet.prefix), with_prefix(sheet.break_even(), "B/s")));
    if (sheet.device.link > 0) {
        all.push_back(fmt::format("moving the {} of a rank from prefill to decode over {} takes at least {}",
                                  amount(sheet.prefix_on_rank), with_prefix(sheet.device.link, "B/s"),
                                  duration(sheet.transfer())));
        if (sheet.experts.per_token().value != 0 && sheet.cache_per_token.value != 0) {
            all.push_back(expert_words(sheet));
        }
    }
    return all;
}

}  // namespace kvcap::inline v1::report

// SPDX-License-Identifier: MIT
// A roofline sheet as JSON: schema kvcap.roofline/1. Bytes and flops are integers, rates and times decimals.
#pragma once

#include <kvcap/report/json.hpp>
#include <kvcap/report/roofline.hpp>

namespace kvcap::inline v1::report {

inline void add_parts(Json& json, const RooflineSheet& sheet) {
    json.array("parts");
    for (const RooflinePart& part : sheet.parts) {
        json.object({}, Layout::flat).field("part", part.name).field("kind", part.kind);
        json.field("bytes", part.bytes)
            .field("flops", part.flops)
            .field("intensity", part.intensity(), 3)
            .end();
    }
    json.end().array("attention");
    for (const Intensity& one : sheet.intensities) {
        json.object({}, Layout::flat).field("cache", one.name).field("intensity", one.per_position, 3);
        one.expanded > 0 ? json.field("expanded_intensity", one.expanded, 3)
                         : json.null("expanded_intensity");
        json.field("bound_by", one.per_position < sheet.device.turning_point() ? "reading" : "computing")
            .end();
    }
    json.end();
}

inline void add_links(Json& json, const RooflineSheet& sheet) {
    const Bytes experts = sheet.experts.per_token();
    const bool linked = sheet.device.link > 0;
    linked ? json.field("transfer_seconds", sheet.transfer(), 9) : json.null("transfer_seconds");
    if (experts.value == 0 || sheet.cache_per_token.value == 0 || !linked) {
        json.null("experts");
        return;
    }
    const LinkLimits limits = link_limits(sheet.device.link, sheet.cache_per_token, experts);
    json.object("experts")
        .field("bytes_per_token", experts)
        .field("cache_bytes_per_token", sheet.cache_per_token);
    json.field("tokens_per_second", limits.expert_tokens, 1)
        .field("cache_tokens_per_second", limits.cache_tokens, 1);
    json.field("saturates_first", limits.experts_first() ? "experts" : "cache").end();
}

/// The fields between the caller's own and the end of the object.
inline void add_roofline(Json& json, const RooflineSheet& sheet) {
    json.object("device").field("bandwidth", sheet.device.bandwidth, 0).field("peak", sheet.device.peak, 0);
    json.field("link", sheet.device.link, 0).field("turning_point", sheet.device.turning_point(), 3).end();
    json.field("tokens", sheet.tokens)
        .field("sequences_on_rank", sheet.sequences)
        .field("stages", sheet.stages);
    add_parts(json, sheet);
    json.object("step")
        .field("bytes", sheet.step.bytes())
        .field("cache_bytes", sheet.step.cache.per_sequence());
    json.field("flops", sheet.step.flops()).field("at_least_seconds", sheet.step.at_least(sheet.device), 9);
    json.field("all_stages_seconds", sheet.step_seconds, 9);
    json.field("bound_by", sheet.reads_bind() ? "reading" : "computing").end();
    sheet.cache_passes_at == off_scale || !sheet.weights_known
        ? json.null("cache_passes_weights_at")
        : json.field("cache_passes_weights_at", sheet.cache_passes_at);
    json.object("prompt")
        .field("flops", sheet.prompt_flops)
        .field("at_least_seconds", sheet.prompt_seconds, 9)
        .end();
    json.object("generation").field("tokens", sheet.generated);
    json.field("passes_with_cache", passes_with_cache(sheet.tokens, sheet.generated));
    json.field("passes_without_cache", passes_without_cache(sheet.tokens, sheet.generated)).end();
    json.field("prefix_bytes", sheet.prefix).field("prefix_bytes_on_rank", sheet.prefix_on_rank);
    json.field("break_even_bytes_per_second", sheet.break_even(), 0);
    add_links(json, sheet);
}

}  // namespace kvcap::inline v1::report

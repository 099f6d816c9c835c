// SPDX-License-Identifier: MIT
// Which caches of a model are stored as one object? Those that keep the same positions: they are present or missing
// together, so they share a window, a snapshot rule and a key.
#pragma once

#include <kvcap/fold.hpp>

namespace kvcap::inline v1 {

/// page: one object for each chunk of tokens, all of them kept. tail: one a chunk, only the last `span` tokens are
/// needed. snapshot: one object for a whole prefix, at its end. fixed: once a prompt or model, no chunks.
enum class ObjectKind : u8 { page, tail, snapshot, fixed };

constexpr ObjectKind kind_of(const Retention& retention) noexcept {
    switch (retention.keep) {
        case Keep::everything: return retention.source == Source::encoder ? ObjectKind::fixed : ObjectKind::page;
        case Keep::window:
        case Keep::chunk: return ObjectKind::tail;
        case Keep::budget:
        case Keep::last: return ObjectKind::snapshot;
        case Keep::once: break;
    }
    return ObjectKind::fixed;
}

/// span: tokens of a window or budget (sinks not among them). forms: indices into the model's forms.
struct ObjectGroup {
    ObjectKind kind = ObjectKind::page;
    Keep keep = Keep::everything;
    Source source = Source::decoder;
    Tokens span{};
    Tokens sinks{};
    Inplace<u16, 32> forms{};

    constexpr bool holds(const Retention& r) const noexcept {
        // Not one chain: GCC 12 merges `==` of neighbouring members from -O1 on, and fails on that in constants.
        const bool same_keep = keep == r.keep;
        const bool same_source = source == r.source;
        return same_keep && same_source && span == r.span && sinks == r.sinks;
    }
    friend constexpr bool operator==(const ObjectGroup&, const ObjectGroup&) = default;
};

using ObjectGroups = Inplace<ObjectGroup, 32>;

/// The groups of a model, in the order of their first cache. A stride or a lag makes no group of its own.
constexpr ObjectGroups object_groups(const ModelSpec& model) noexcept {
    ObjectGroups groups{};
    bool placed[32]{};
    for (const Cache& cache : model.caches) {
        if (placed[cache.form]) {
            continue;
        }
        placed[cache.form] = true;
        const Retention& kept = model.forms[cache.form].retention;
        u32 at = 0;
        while (at < groups.size() && !groups[at].holds(kept)) {
            ++at;
        }
        if (at == groups.size()) {
            groups.items[groups.count++] = {.kind = kind_of(kept), .keep = kept.keep, .source = kept.source,
                                            .span = kept.span, .sinks = kept.sinks};
        }
        groups[at].forms.items[groups[at].forms.count++] = cache.form;
    }
    return groups;
}

/// Chunks that must be present before a boundary: all (off_scale) of a page group, ceil((span - 1) / chunk) of a tail
/// group, 0 of the others (a snapshot lies on the boundary itself). pre: chunk > 0
constexpr u64 chunks_needed(const ObjectGroup& group, u64 chunk) noexcept {
    switch (group.kind) {
        case ObjectKind::page: return off_scale;
        case ObjectKind::tail: return group.span.value == 0 ? 0 : ceil_div(group.span.value - 1, chunk);
        case ObjectKind::snapshot:
        case ObjectKind::fixed: break;
    }
    return 0;
}

}  // namespace kvcap::inline v1

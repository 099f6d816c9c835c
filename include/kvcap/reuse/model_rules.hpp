// SPDX-License-Identifier: MIT
// What must be present for each group of a model's caches? Caches with one rule are one group: what one
// misses, all miss. Bytes of a page = page tokens / stride x bytes a slot, of a snapshot = its slots x bytes
// a slot, summed over the caches.
#pragma once

#include <kvcap/reuse/rule.hpp>
#include <kvcap/sharding.hpp>

namespace kvcap::inline v1 {

/// first_form: a form of the group, for its name. bytes: of one page or snapshot, all caches together, each
/// byte once.
struct ModelRule {
    Rule rule{};
    Retention retention{};
    u32 first_form = 0;
    u32 caches = 0;
    u64 bytes = 0;
    friend constexpr bool operator==(const ModelRule&, const ModelRule&) = default;
};

using ModelRules = Inplace<ModelRule, most_groups>;

/// Tokens of a page, and between places where a state may be kept.
struct PageSizes {
    u64 page = 16;
    u64 snapshot = 16;
    WindowEdge edge = WindowEdge::past;
};

constexpr u64 bytes_of_page(const Retention& kept, const Rule& rule, BytesPerSlot each) noexcept {
    const u64 slots = rule.needs == Needs::snapshot ? larger(1, (kept.span + kept.sinks).value) : rule.page;
    return saturating_product(slots, each.value) / (rule.needs == Needs::snapshot ? 1 : kept.stride);
}

/// Constants that exist once per model need nothing and are left out.
constexpr Result<ModelRules> rules_of(const ModelSpec& model, const PageSizes& sizes) noexcept {
    if (sizes.page == 0 || sizes.snapshot == 0) {
        return Errc::zero_dimension;
    }
    ModelRules rules{};
    for (const Cache& cache : model.caches) {
        const LayerForm& form = model.form_of(cache);
        Rule rule = rule_of(form.retention, sizes.page, sizes.edge);
        rule.page = rule.needs == Needs::snapshot ? sizes.snapshot : sizes.page;
        const Result<BytesPerSlot> each = bytes_per_slot(form);
        if (!each) {
            return each.error();
        }
        u32 g = 0;
        while (g < rules.size() && !(rules[g].rule == rule)) {
            ++g;
        }
        if (rule.needs == Needs::nothing) {
            continue;
        }
        if (g == rules.size() &&
            !rules.push({.rule = rule, .retention = form.retention, .first_form = cache.form})) {
            return Error{.code = Errc::capacity, .layer = cache.layer, .got = g + 1, .want = most_groups};
        }
        ++rules[g].caches;
        rules[g].bytes = saturating_sum(rules[g].bytes, bytes_of_page(form.retention, rule, *each));
    }
    return rules;
}

}  // namespace kvcap::inline v1

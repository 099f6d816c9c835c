// SPDX-License-Identifier: MIT
// The pool with the least room, in words and as JSON.
#include "margin.hpp"

namespace kvcap::cli {

namespace {

Bytes unit_of(const EngineAnswer& answer) {
    return answer.by_bytes ? Bytes{1} : answer.plan.pools[answer.verdict.pool].each;
}

}  // namespace

Bytes margin_of(const EngineAnswer& answer) {
    return answer.verdict.fits ? answer.verdict.spare_bytes : answer.verdict.lacking_bytes;
}

std::string margin_words(const EngineAnswer& answer) {
    const std::size_t pools = answer.plan.pools.size();
    const std::string where =
        answer.by_bytes ? "on the fullest rank"
        : pools > 1     ? fmt::format("in pool {} of {}, the tightest", answer.verdict.pool + 1, pools)
                        : "in the pool";
    return fmt::format("{} {} {}", report::amount(margin_of(answer)), answer.verdict.fits ? "spare" : "lacking", where);
}

void write_tightest_pool(report::Json& json, const EngineAnswer& answer) {
    if (!answer.runs() || (!answer.by_bytes && answer.plan.pools.empty())) {
        json.null("tightest_pool");
        return;
    }
    json.object("tightest_pool", report::Layout::flat);
    json.field("pool", answer.by_bytes ? 0 : answer.verdict.pool + 1).field("pools", answer.plan.pools.size());
    json.field("unit_bytes", unit_of(answer)).field("needed_units", answer.verdict.needed);
    json.field("usable_units", answer.verdict.usable).end();
}

}  // namespace kvcap::cli

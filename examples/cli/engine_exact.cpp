// SPDX-License-Identifier: MIT
// No engine: held bytes, and nothing else.
#include "engines.hpp"

namespace kvcap::cli {

namespace {

EngineAnswer ask_exact(const EngineQuestion& question) {
    EngineAnswer answer{.rules = "exact: held bytes only", .unit = "bytes"};
    if (!question.version.empty()) {
        stop(Exit::unknown_architecture, "--engine: exact has no versions");
    }
    const ModelSpec& model = question.model->spec;
    const std::size_t per_stage = question.available.size() / question.sharding.pp;
    answer.by_bytes = true;
    answer.verdict = {.fits = true, .spare_bytes = {off_scale}};
    for (u32 stage = 0; stage < question.sharding.pp; ++stage) {
        const Footprint own = value_of(fold(model, question.longest(), question.sharding, {.stage = stage}));
        Bytes needed = own.once;
        for (std::size_t i = 0; i < question.each.size(); ++i) {
            needed += value_of(fold(model, question.each[i], question.sharding, {.stage = stage})).per_sequence() *
                      question.counts[i];
        }
        needed = on_scale(std::max(needed, own.per_sequence() + own.once));  // the longest request alone must fit
        for (std::size_t i = 0; i < per_stage; ++i) {
            const Bytes have = question.available[stage * per_stage + i];
            Verdict here{.fits = !(have < needed), .pool = stage, .needed = needed.value, .usable = have.value};
            (here.fits ? here.spare_bytes : here.lacking_bytes) =
                here.fits ? minus(have, needed).value() : minus(needed, have).value();
            const bool tighter = here.fits ? answer.verdict.fits && here.spare_bytes < answer.verdict.spare_bytes
                                           : answer.verdict.fits || answer.verdict.lacking_bytes < here.lacking_bytes;
            answer.verdict = tighter ? here : answer.verdict;
        }
        if (answer.reserved_request < own.per_sequence()) {
            answer.reserved_request = own.per_sequence();
            answer.request_units = own.per_sequence().value;
        }
    }
    return answer;
}

}  // namespace

extern const EngineFace exact_face;
const EngineFace exact_face{
    .name = "exact", .title = "exact", .flags = {}, .ask = ask_exact, .no_context_ranks = {}};

}  // namespace kvcap::cli

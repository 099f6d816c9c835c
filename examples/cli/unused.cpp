// SPDX-License-Identifier: MIT
// Which options change nothing for this model and split? Each is said to, in a note.
#include "pairs.hpp"

#include <algorithm>

namespace kvcap::cli {

namespace {

bool fed_by(const ModelSpec& model, Source source) {
    return std::any_of(model.forms.begin(), model.forms.end(),
                       [&](const LayerForm& form) { return form.retention.source == source; });
}

}  // namespace

void note_unused(const LengthOptions& lengths, const ModelSpec& model, std::vector<Note>& notes) {
    if (count_of(lengths.decoded, "--decoded") != 0 && !fed_by(model, Source::prompt)) {
        notes.push_back({Origin::assumed, "--decoded", "changes nothing: no layer keeps the prompt alone"});
    }
    if (!lengths.encoder_tokens.empty() && !fed_by(model, Source::encoder)) {
        notes.push_back({Origin::assumed, "--encoder-tokens", "change nothing: no layer attends to an encoder"});
    }
}

void note_unused(const ShardingOptions& sharding, std::vector<Note>& notes) {
    if (!sharding.pp_split.empty() && sharding.pp == 1) {
        notes.push_back(
            {Origin::assumed, "--pp-split", sharding.pp_split + " changes nothing: there is one stage (--pp)"});
    }
    if (sharding.dp_attention && sharding.tp == 1 && sharding.dp == 1) {
        notes.push_back({Origin::assumed, "--dp-attention", "changes nothing: there is one rank (--tp)"});
    }
}

void note_unused(const Deployment& on, const Setting& setting, const EngineAnswer& with, std::vector<Note>& notes) {
    for (const std::string_view flag : on.face->of_kinds) {
        if (!with.runs() || on.flags.find(flag) == on.flags.end()) {
            continue;
        }
        Deployment without = on;
        without.flags.erase(without.flags.find(flag));
        const EngineAnswer plain = without.ask(setting, on.known_non_kv(setting));
        if (plain.runs() && plain.plan == with.plan && plain.verdict == with.verdict) {
            notes.push_back({Origin::assumed, fmt::format("--{}", flag),
                             fmt::format("changes nothing for this model under {}", on.face->title)});
        }
    }
}

}  // namespace kvcap::cli

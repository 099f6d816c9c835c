// SPDX-License-Identifier: MIT
// A vLLM plan in the words of the golden files.
#include "vllm.hpp"

#include <algorithm>
#include <map>

namespace golden {

VllmGroups::VllmGroups(const vllm::Design& design) : made{design} {
    for (const vllm::GroupKind& kind : design.grouping.kinds) {
        members.emplace_back(kind.groups);
    }
    std::vector<u32> order(design.layout.caches.size());
    for (u32 c = 0; c < order.size(); ++c) {
        order[c] = c;
    }
    std::sort(order.begin(), order.end(), [&](u32 a, u32 b) {
        const auto& placed = design.grouping.placed;
        return placed[a].place != placed[b].place ? placed[a].place < placed[b].place : a < b;
    });
    for (const u32 c : order) {
        if (const Placement& at = design.grouping.placed[c]; at != vllm::nowhere) {
            members.at(at.group_class).at(at.group).push_back(c);
        }
    }
}

std::vector<u32> VllmGroups::on_stage(u32 kind, u32 group, u32 stage) const {
    std::vector<u32> own;
    for (const u32 c : members[kind][group]) {
        if (made.layout.caches[c].stage == stage) {
            own.push_back(c);
        }
    }
    return own;
}

namespace {

u64 page_of(const VllmGroups& groups, u32 cache) {
    const vllm::GroupKind& kind = groups.made.grouping.kinds[groups.made.grouping.placed[cache].group_class];
    return kind.mixed ? groups.made.grouping.specs[groups.made.layout.caches[cache].spec].page() : kind.page;
}

/// Calls with every group of the stage, in order.
void each_group(const VllmGroups& groups, u32 stage, auto call) {
    for (u32 kind = 0; kind < groups.members.size(); ++kind) {
        for (u32 group = 0; group < groups.members[kind].size(); ++group) {
            call(kind, groups.on_stage(kind, group, stage));
        }
    }
}

Json names_of(const std::vector<u32>& caches, const std::vector<std::string>& names) {
    Json list = Json::array();
    for (const u32 c : caches) {
        list.push_back(names.at(c));
    }
    return list;
}

/// Dense in one slab: caches that begin at the same offset share an entry.
Json slab_tensors(const VllmGroups& groups, u32 stage, u64 blocks, const std::vector<std::string>& names,
                  const char* key) {
    std::map<u64, std::vector<u32>> at;
    u64 stride = 0;
    each_group(groups, stage, [&](u32, const std::vector<u32>& own) {
        u64 offset = 0;
        for (const u32 c : own) {
            at[offset].push_back(c);
            offset += page_of(groups, c);
        }
        stride = std::max(stride, offset);
    });
    Json tensors = Json::array();
    for (const auto& [offset, caches] : at) {
        tensors.push_back({{"bytes", stride * blocks}, {"offset", offset}, {"block_stride", stride},
                           {key, names_of(caches, names)}});
    }
    return tensors;
}

}  // namespace

Json vllm_tensors(const VllmGroups& groups, u32 stage, u64 blocks, const std::vector<std::string>& names,
                  const char* key) {
    const vllm::Shape shape = groups.made.grouping.shape;
    const bool several = groups.made.grouping.groups() > 1;
    if (shape == vllm::Shape::packed || (groups.made.options.cross_layer_blocks && several)) {
        return slab_tensors(groups, stage, blocks, names, key);
    }
    std::vector<std::vector<u32>> rows;
    each_group(groups, stage, [&](u32, const std::vector<u32>& own) {
        rows.resize(std::max(rows.size(), own.size()));
        for (std::size_t i = 0; i < own.size(); ++i) {
            rows[i].push_back(own[i]);
        }
    });
    Json tensors = Json::array();
    for (const std::vector<u32>& row : rows) {
        tensors.push_back({{"bytes", page_of(groups, row[0]) * blocks}, {key, names_of(row, names)}});
    }
    return tensors;
}

std::string vllm_group_kind(const VllmGroups& groups, u32 kind) {
    const vllm::GroupKind& of = groups.made.grouping.kinds[kind];
    if (!of.mixed) {
        return vllm::name_of(of.spec.kind);
    }
    bool same = true;
    bool full = true;
    for (const u32 c : groups.members[kind][0]) {
        const vllm::SpecKind own = groups.made.grouping.specs[groups.made.layout.caches[c].spec].kind;
        same = same && own == of.spec.kind;
        full = full && vllm::is_full(own);
    }
    return same ? vllm::name_of(of.spec.kind) : full ? "full_attention" : "unknown";
}

Json vllm_error(const vllm::Refusal& refusal) {
    Json error{{"category", vllm::name_of(refusal.reason)}};
    if (refusal.reason == vllm::Reason::not_enough_memory || refusal.reason == vllm::Reason::no_memory) {
        error["worker"] = refusal.worker;
        error["usable_bytes"] = static_cast<std::int64_t>(refusal.available) -
                                static_cast<std::int64_t>(refusal.kept_back);
    }
    if (refusal.reason == vllm::Reason::not_enough_memory) {
        error["needed_bytes"] = refusal.needed;
        error["estimated_max_model_len"] = refusal.longest;
    }
    return error;
}

std::string two_decimals(double value) {
    const u64 n = vllm::hundredths(value);
    const std::string cents = std::to_string(n % 100);
    return std::to_string(n / 100) + "." + (cents.size() < 2 ? "0" : "") + cents;
}

}  // namespace golden

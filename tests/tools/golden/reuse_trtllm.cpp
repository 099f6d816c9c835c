// SPDX-License-Identifier: MIT
// TensorRT-LLM's kind reuse_with_block_presence.
#include "reuse.hpp"

#include <kvcap/engine/trtllm/presence.hpp>
#include <vector>

namespace golden {

using namespace kvcap;

void trtllm_presence(const StrictObject& one, Report& report) {
    const StrictObject inputs{one.at("inputs")};
    const u64 block = inputs.get<u64>("tokens_per_block");
    const u64 matched = inputs.get<u64>("key_matched_tokens");
    const Json& groups = inputs.at("groups");
    const Json& missing = inputs.at("missing_blocks");
    if (groups.size() != missing.size()) {
        throw std::runtime_error("a list of missing blocks for each group");
    }
    const u64 blocks = block == 0 ? 0 : ceil_div(matched, block);
    std::vector<std::vector<u64>> words(groups.size(), std::vector<u64>(blocks / 64 + 1, ~u64{0}));
    std::vector<trtllm::MatchedGroup> matched_groups;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        for (const u64 i : missing[g].get<std::vector<u64>>()) {
            if (i >= blocks) {
                throw std::runtime_error("missing blocks inside the chain");
            }
            words[g][i / 64] &= ~(u64{1} << (i % 64));
        }
        if (groups[g].is_string() && groups[g] != "full") {
            throw std::runtime_error("a known group, not " + groups[g].dump());
        }
        u64 window = 0;
        if (groups[g].is_object()) {
            const StrictObject group{groups[g]};
            window = group.get<u64>("window");
            group.done("the group");
        }
        matched_groups.push_back({window, {words[g].data(), blocks}});
    }
    const Result<u64> got =
        trtllm::reused_tokens(matched_groups.data(), static_cast<u32>(matched_groups.size()), matched, block);
    const StrictObject expect{one.at("expect")};
    report.equal("reused_tokens", expect.at("reused_tokens"), got ? Json(*got) : Json("refused"));
    expect.done("expect");
    inputs.done("inputs");
}

}  // namespace golden

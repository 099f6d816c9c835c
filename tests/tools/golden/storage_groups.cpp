// SPDX-License-Identifier: MIT
// A storage layer's group rule: a chunk counts when every rank's shard is there, length L is servable by a
// group of window w (<= 0: full, 1: a state) when its last min(w, L) chunks are, and the hit is the longest
// that all serve.
#include "reuse.hpp"

#include <algorithm>
#include <kvcap/reuse.hpp>
#include <vector>

namespace golden {

using namespace kvcap;

namespace {

Rule chunk_rule(long long window) {
    if (window <= 0) {
        return {.needs = Needs::everything};
    }
    return {.needs = Needs::window, .reach = reach_of(static_cast<u64>(window), WindowEdge::full)};
}

/// words[rank], and the pointers a ShardBits reads.
struct Shards {
    std::vector<std::vector<u64>> words;
    std::vector<const u64*> pointers;
};

void put(std::vector<u64>& words, u64 chunk, u64 chunks, bool held) {
    if (chunk >= chunks) {
        throw std::runtime_error("chunks below num_chunks");
    }
    const u64 bit = u64{1} << (chunk % 64);
    words[chunk / 64] = held ? words[chunk / 64] | bit : words[chunk / 64] & ~bit;
}

Shards shards_of(const StrictObject& inputs, std::size_t group, u64 chunks, u64 ranks) {
    const bool absent = inputs.has("absent_chunks_per_group");
    Shards shards;
    shards.words.assign(ranks, std::vector<u64>(chunks / 64 + 1, absent ? ~u64{0} : 0));
    if (inputs.has("present_chunk_rank_per_group")) {
        for (const Json& cell : inputs.at("present_chunk_rank_per_group").at(group)) {
            put(shards.words.at(cell.at(1).get<u64>()), cell.at(0).get<u64>(), chunks, true);
        }
    } else {
        const Json& list =
            inputs.at(absent ? "absent_chunks_per_group" : "present_chunks_per_group").at(group);
        for (const u64 chunk : list.get<std::vector<u64>>()) {
            for (std::vector<u64>& words : shards.words) {
                put(words, chunk, chunks, !absent);
            }
        }
    }
    for (const std::vector<u64>& words : shards.words) {
        shards.pointers.push_back(words.data());
    }
    return shards;
}

void run_fold(const StrictObject& inputs, const StrictObject& expected, Report& report) {
    const u64 chunks = inputs.get<u64>("num_chunks");
    const u64 ranks = inputs.get<u64>("num_ranks");
    const auto windows = inputs.get<std::vector<long long>>("group_windows_chunks");
    inputs.ignore("note");
    std::vector<Shards> shards;
    std::vector<Group<ShardBits>> groups;
    for (std::size_t g = 0; g < windows.size(); ++g) {
        shards.push_back(shards_of(inputs, g, chunks, ranks));
        groups.push_back({chunk_rule(windows[g]), {nullptr, static_cast<u32>(ranks), false, chunks}});
    }
    for (std::size_t g = 0; g < windows.size(); ++g) {
        groups[g].pages.words = shards[g].pointers.data();
    }
    const u32 count = static_cast<u32>(groups.size());
    const Ask ask{.prompt = chunks, .limit = chunks};
    const u64 hit = reusable(groups.data(), count, ask);
    report.equal("hit_chunks", expected.at("hit_chunks"), hit);
    if (expected.has("servable_prefix_lengths")) {
        std::vector<u64> lengths;
        servable(groups.data(), count, ask, [&](u64 length) { lengths.insert(lengths.begin(), length); });
        report.equal("servable_prefix_lengths", expected.at("servable_prefix_lengths"), lengths);
    }
    if (expected.has("retain_bits")) {
        std::vector<u64> bits;
        for (u32 g = 0; g < count; ++g) {
            const PageRange range = needed(groups[g].rule, hit, ask.grid, chunks);
            for (u64 chunk = range.first; chunk < range.end; ++chunk) {
                for (u64 rank = 0; rank < ranks; ++rank) {
                    bits.push_back(chunk * count * ranks + g * ranks + rank);
                }
            }
        }
        std::sort(bits.begin(), bits.end());
        report.equal("retain_bits", expected.at("retain_bits"), bits);
    }
}

void run_unfold(const StrictObject& inputs, const StrictObject& expected, Report& report) {
    const u64 hit = inputs.get<u64>("hit_chunks");
    const PageRange range = needed(chunk_rule(inputs.get<long long>("window_chunks")), hit, {}, hit);
    report.equal("first_chunk", expected.at("first_chunk"), range.first);
    report.equal("end_chunk", expected.at("end_chunk"), range.end);
}

}  // namespace

bool storage_group(const std::string& kind, const StrictObject& one, Report& report) {
    if (kind != "group_fold" && kind != "group_unfold_range") {
        return false;
    }
    const StrictObject inputs{one.at("inputs")};
    const StrictObject expected{one.at("expected")};
    (kind == "group_fold" ? run_fold : run_unfold)(inputs, expected, report);
    inputs.done("inputs");
    expected.done("expected");
    return true;
}

}  // namespace golden

// SPDX-License-Identifier: MIT
// Any bytes as a reuse scenario: they are refused, or answered without contradiction.
#include "check.hpp"

#include <cstdint>
#include <kvcap/io/scenario.hpp>
#include <kvcap/reuse/repair.hpp>

using namespace kvcap;

namespace {

void answer(const ReuseScenario& scenario) {
    const ScenarioView view{scenario};
    const Group<ShardBits>* groups = view.groups.data();
    check(fault(groups, view.count(), scenario.ask).code == Errc::ok);
    const Grid& grid = scenario.ask.grid;
    const u64 tokens = reusable(groups, view.count(), scenario.ask);
    const Explanation known = explain(groups, view.count(), scenario.ask);
    check(known.tokens == tokens && tokens <= scenario.ask.limit && grid.down(tokens) == tokens);
    for (u32 g = 0; g < view.count(); ++g) {
        check(accepts(groups[g], tokens, grid));
        check(known.alone[g] >= tokens && known.without[g] >= tokens &&
               accepts(groups[g], known.alone[g], grid));
    }
    if (scenario.ask.limit / grid.unit > u64{1} << 16) {
        return;  // repair prices every boundary
    }
    const Repairs repairs = repair(groups, view.count(), scenario.ask, view.prices());
    check(repairs.now == tokens && (repairs.steps == 0 || repairs.cheapest.tokens > tokens));
    check(repairs.cheapest.bytes <= repairs.longest.bytes &&
           repairs.cheapest.tokens <= repairs.longest.tokens);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Diagnosed<ReuseScenario> read = read_scenario({reinterpret_cast<const char*>(data), size});
    if (settled(read)) {
        answer(*read);
    }
    return 0;
}

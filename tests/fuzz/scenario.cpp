// SPDX-License-Identifier: MIT
// Any bytes as a reuse scenario: they are refused, or answered without contradiction.
#include <cstdint>
#include <cstdlib>
#include <kvcap/io/scenario.hpp>
#include <kvcap/reuse/repair.hpp>

using namespace kvcap;

namespace {

void demand(bool holds) {
    if (!holds) {
        std::abort();
    }
}

void answer(const ReuseScenario& scenario) {
    const ScenarioView view{scenario};
    const Group<ShardBits>* groups = view.groups.data();
    demand(fault(groups, view.count(), scenario.ask).code == Errc::ok);
    const Grid& grid = scenario.ask.grid;
    const u64 tokens = reusable(groups, view.count(), scenario.ask);
    const Explanation known = explain(groups, view.count(), scenario.ask);
    demand(known.tokens == tokens && tokens <= scenario.ask.limit && grid.down(tokens) == tokens);
    for (u32 g = 0; g < view.count(); ++g) {
        demand(accepts(groups[g], tokens, grid));
        demand(known.alone[g] >= tokens && known.without[g] >= tokens &&
               accepts(groups[g], known.alone[g], grid));
    }
    if (scenario.ask.limit / grid.unit > u64{1} << 16) {
        return;  // repair prices every boundary
    }
    const Repairs repairs = repair(groups, view.count(), scenario.ask, view.prices());
    demand(repairs.now == tokens && (repairs.steps == 0 || repairs.cheapest.tokens > tokens));
    demand(repairs.cheapest.bytes <= repairs.longest.bytes &&
           repairs.cheapest.tokens <= repairs.longest.tokens);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Diagnosed<ReuseScenario> read = read_scenario({reinterpret_cast<const char*>(data), size});
    demand(read.value.has_value() != read.error.has_value());
    if (read) {
        answer(*read);
    }
    return 0;
}

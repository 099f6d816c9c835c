// SPDX-License-Identifier: MIT
// Any text as a trace: a trace that can be replayed or a reason; and where the fast scanner takes a line, the loader
// reads it alike.
#include "check.hpp"

#include <kvcap/core.hpp>
#include <kvcap/io/trace.hpp>
#include <kvcap/store/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <sstream>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace kvcap;
    const std::string text{reinterpret_cast<const char*>(data), size};
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        TraceLine fast;
        TraceLine slow;
        if (io::FlatScanner{line}.mooncake(fast)) {
            check(!io::read_trace_line(line, slow) && fast.at == slow.at && fast.tokens == slow.tokens &&
                  fast.ids == slow.ids);
        }
    }
    std::istringstream in{text};
    const Diagnosed<Trace> trace = read_trace(in);
    if (!settled(trace)) {
        return 0;
    }
    const StoredSizes sizes{.page = 3, .tails = {{2, 2}}, .snapshot = 5};
    const u64 listed = replay(*trace, sizes, {}, {.all = 40}).hit_tokens;
    if (is_prefix_forest(*trace)) {
        HybridCurve curve{sizes, {}, trace->block_tokens};
        for (const TraceRequest& request : trace->requests) {
            curve.add(request.tokens, trace->path(request), request.blocks);
        }
        const OwnedPaths paths{*trace};
        check(curve.curve().hit_tokens(40) == listed);
        check(RangeReplay{paths, sizes, {}, 40}.run().hit_tokens == listed);
    }
    return 0;
}

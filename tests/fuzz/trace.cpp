// SPDX-License-Identifier: MIT
// Any text as a trace: a trace that three ways to replay agree on, or a reason; and where the fast scanner takes a
// line, the loader reads it alike.
#include "check.hpp"

#include <kvcap/core.hpp>
#include <kvcap/io/trace.hpp>
#include <kvcap/store/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <sstream>

namespace {

using namespace kvcap;

/// The lines one by one, as a stream of them is read; a stream's buffer is large, so few inputs go through one.
Diagnosed<Trace> read(const std::string& text) {
    TraceReader reader;
    std::istringstream lines{text};
    for (std::string line; std::getline(lines, line);) {
        TraceLine fast;
        TraceLine slow;
        if (io::FlatScanner{line}.mooncake(fast)) {
            check(!io::read_trace_line(line, slow) && fast.at == slow.at && fast.tokens == slow.tokens &&
                  fast.ids == slow.ids);
        }
        if (auto problem = reader.add(line)) {
            return *std::move(problem);
        }
    }
    return reader.finish();
}

void check_replays(const Trace& trace) {
    const StoredSizes sizes{.page = 3, .tails = {{2, 2}}, .snapshot = 5};
    const u64 listed = replay(trace, sizes, {}, {.all = 40}).hit_tokens;
    if (!is_prefix_forest(trace)) {
        return;
    }
    HybridCurve curve{sizes, {}, trace.block_tokens};
    for (const TraceRequest& request : trace.requests) {
        curve.add(request.tokens, trace.path(request), request.blocks);
    }
    const OwnedPaths paths{trace};
    check(curve.curve().hit_tokens(40) == listed);
    check(RangeReplay{paths, sizes, {}, 40}.run().hit_tokens == listed);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text{reinterpret_cast<const char*>(data), size};
    const Diagnosed<Trace> trace = read(text);
    if (size % 64 == 0) {
        std::istringstream in{text};
        const Diagnosed<Trace> streamed = read_trace(in);
        check(streamed.value.has_value() == trace.value.has_value());
        check(!trace || (streamed->ids == trace->ids && streamed->tokens() == trace->tokens()));
        check(trace || streamed.error->text() == trace.error->text());
    }
    if (settled(trace)) {
        check_replays(*trace);
    }
    return 0;
}

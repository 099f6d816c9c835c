// SPDX-License-Identifier: MIT
// What curves cost, one core, beside one pass over the ids: block references a second, and bytes a distinct block. The
// trace is KVCAP_TRACE, copied KVCAP_TRACE_COPIES (40) times under other ids, or a made-up one of about the same shape.
#include "made_up_trace.hpp"

#include <benchmark/benchmark.h>
#include <kvcap/core.hpp>
#include <kvcap/io/trace.hpp>
#include <kvcap/store/trace.hpp>

#include <cstdlib>
#include <filesystem>

using namespace kvcap;

namespace {

u64 number_from(const char* name, u64 otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

const Trace& base() {
    static const Trace trace = [] {
        const char* path = std::getenv("KVCAP_TRACE");
        return path == nullptr ? made_up_trace(12'000) : *read_trace_file(path);
    }();
    return trace;
}

/// The trace many times over, interleaved, as 64-bit ids: nothing is shared between copies.
struct Copies64 {
    std::vector<u64> ids;
    std::vector<TraceRequest> requests;
    u64 distinct = 0;
};

const Copies64& large() {
    static const Copies64 copies = [] {
        Copies64 made;
        const u64 count = number_from("KVCAP_TRACE_COPIES", 40);
        for (const TraceRequest& request : base().requests) {
            for (u64 copy = 0; copy < count; ++copy) {
                TraceRequest other = request;
                other.first = made.ids.size();
                for (u32 i = 0; i < request.blocks; ++i) {
                    made.ids.push_back((u64{base().path(request)[i]} * count + copy) * 0x9e3779b97f4a7c15);
                }
                made.requests.push_back(other);
            }
        }
        made.distinct = u64{base().distinct} * count;
        return made;
    }();
    return copies;
}

Trace dense(const Copies64& from) {
    Trace trace;
    trace.block_tokens = 512;
    Interner intern{from.distinct};
    trace.ids.reserve(from.ids.size());
    for (const TraceRequest& request : from.requests) {
        for (u32 i = 0; i < request.blocks; ++i) {
            intern.prefetch(from.ids[request.first + i]);
        }
        for (u32 i = 0; i < request.blocks; ++i) {
            trace.ids.push_back(intern(from.ids[request.first + i]));
        }
    }
    trace.requests = from.requests;
    trace.distinct = intern.distinct();
    return trace;
}

const StoredSizes hybrid_sizes{.page = 12'582'912, .tails = {}, .snapshot = 77'266'944};

void references(benchmark::State& state, u64 each) {
    state.counters["refs/s"] =
        benchmark::Counter(static_cast<double>(each), benchmark::Counter::kIsIterationInvariantRate);
}

/// The limit of every curve: each id is read once, in the order of the trace.
void one_pass(benchmark::State& state, const Copies64& copies) {
    for (auto _ : state) {
        u64 sum = 0;
        for (const u64 id : copies.ids) {
            sum = (sum ^ id) + (sum << 1);
        }
        benchmark::DoNotOptimize(sum);
    }
    references(state, copies.ids.size());
}

void full_curve(benchmark::State& state, const Copies64& copies) {
    double bytes = 0;
    for (auto _ : state) {
        PageCurve curve{512};
        for (const TraceRequest& request : copies.requests) {
            curve.add(request.tokens, copies.ids.data() + request.first, request.blocks);
        }
        bytes = static_cast<double>(curve.bytes()) / static_cast<double>(curve.distinct());
        benchmark::DoNotOptimize(curve.distinct());
    }
    references(state, copies.ids.size());
    state.counters["B/block"] = bytes;
}

void hybrid_with_interning(benchmark::State& state, const Copies64& copies, const SavePolicy& policy) {
    for (auto _ : state) {
        const Trace trace = dense(copies);
        HybridCurve curve{hybrid_sizes, policy, 512};
        for (const TraceRequest& request : trace.requests) {
            curve.add(request.tokens, trace.path(request), request.blocks);
        }
        benchmark::DoNotOptimize(curve.curve().reachable());
    }
    references(state, copies.ids.size());
}

void replays_of_64(benchmark::State& state, const Trace& trace) {
    SavePolicy policy = junction_and_end;
    policy.engine_like = true;
    const u64 most = u64{trace.distinct} * (hybrid_sizes.page + hybrid_sizes.snapshot / 8);
    const std::vector<u64> capacities = log_spaced(most / 1024, most, 64);
    for (auto _ : state) {
        const OwnedPaths paths{trace};
        benchmark::DoNotOptimize(sweep(paths, hybrid_sizes, policy, capacities, 1));
    }
    references(state, trace.ids.size());
}

void from_jsonl(benchmark::State& state) {
    const std::filesystem::path path = std::filesystem::temp_directory_path() / "kvcap-bench-trace.jsonl";
    {
        std::ofstream out{path};
        for (const TraceRequest& request : base().requests) {
            out << "{\"timestamp\": 0, \"input_length\": " << request.tokens
                << ", \"output_length\": 1, \"hash_ids\": [";
            const u64 blocks = ceil_div(request.tokens, 512);
            for (u64 i = 0; i < blocks; ++i) {
                out << (i == 0 ? "" : ", ")
                    << (i < request.blocks ? base().path(request)[i] : 90'000'000 + request.first);
            }
            out << "]}\n";
        }
    }
    u64 count = 0;
    for (auto _ : state) {
        const Diagnosed<Trace> trace = read_trace_file(path.string());
        if (!trace) {
            state.SkipWithError(trace.error->text().c_str());
            break;
        }
        count = trace->ids.size();
        HybridCurve curve{hybrid_sizes, junction_and_end, 512};
        for (const TraceRequest& request : trace->requests) {
            curve.add(request.tokens, trace->path(request), request.blocks);
        }
        benchmark::DoNotOptimize(curve.curve().reachable());
    }
    references(state, count);
    std::filesystem::remove(path);
}

Copies64 single() {
    Copies64 one;
    one.ids.assign(base().ids.begin(), base().ids.end());
    one.requests = base().requests;
    one.distinct = base().distinct;
    return one;
}

void one_pass_one(benchmark::State& state) { one_pass(state, single()); }
void one_pass_large(benchmark::State& state) { one_pass(state, large()); }
void full_curve_one(benchmark::State& state) { full_curve(state, single()); }
void full_curve_large(benchmark::State& state) { full_curve(state, large()); }
void hybrid_large(benchmark::State& state) { hybrid_with_interning(state, large(), junction_and_end); }
void hybrid_dense_large(benchmark::State& state) { hybrid_with_interning(state, large(), every_block); }
void replays_one(benchmark::State& state) { replays_of_64(state, base()); }
void replays_large(benchmark::State& state) {
    static const Trace trace = dense(large());
    replays_of_64(state, trace);
}

BENCHMARK(one_pass_one)->Unit(benchmark::kMillisecond);
BENCHMARK(one_pass_large)->Unit(benchmark::kMillisecond);
BENCHMARK(full_curve_one)->Unit(benchmark::kMillisecond);
BENCHMARK(full_curve_large)->Unit(benchmark::kMillisecond);
BENCHMARK(hybrid_large)->Unit(benchmark::kMillisecond);
BENCHMARK(hybrid_dense_large)->Unit(benchmark::kMillisecond);
BENCHMARK(replays_one)->Unit(benchmark::kMillisecond);
BENCHMARK(replays_large)->Unit(benchmark::kMillisecond);
BENCHMARK(from_jsonl)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();

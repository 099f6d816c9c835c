// SPDX-License-Identifier: MIT
// The yardstick of the reuse benchmarks: S, a serial pass that only reads the words of all groups. Its chain
// of dependences cannot be vectorised, so that ratios to it move little between compilers. V is the
// vectorisable pass.
#pragma once

#include <benchmark/benchmark.h>
#include <bit>
#include <ctime>
#include <kvcap/units.hpp>
#include <vector>

namespace yardstick {

using kvcap::u32;
using kvcap::u64;

/// Time of this thread, so that a busy machine does not count.
inline double seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <class Pass>
double best_of(Pass pass) {
    double best = 1e9;
    for (int round = 0; round < 15; ++round) {
        u64 repeats = 1;
        double took = 0;
        for (; took < 2e-4; repeats *= 2) {
            const double begin = seconds();
            for (u64 i = 0; i < repeats; ++i) {
                pass();
            }
            took = seconds() - begin;
        }
        best = std::min(best, took / static_cast<double>(repeats / 2));
    }
    return best;
}

inline double serial_pass(const std::vector<std::vector<u64>>& groups) {
    return best_of([&] {
        u64 acc = 0;
        for (const std::vector<u64>& words : groups) {
            for (const u64 word : words) {
                acc = std::rotl(acc, 1) ^ word;
            }
        }
        benchmark::DoNotOptimize(acc);
    });
}

inline double or_pass(const std::vector<std::vector<u64>>& groups) {
    return best_of([&] {
        u64 acc = 0;
        for (const std::vector<u64>& words : groups) {
            for (const u64 word : words) {
                acc |= word;
            }
        }
        benchmark::DoNotOptimize(acc);
    });
}

/// Runs `work` in the benchmark's loop and reports the best of several rounds, also for each of `items`, and
/// as a multiple of S and of V, measured in the same run in the same way.
template <class Work>
void against(benchmark::State& state, const std::vector<std::vector<u64>>& words, double items, Work work) {
    const double serial = serial_pass(words);
    const double orred = or_pass(words);
    for (auto _ : state) {
        work();
    }
    const double each = best_of(work);
    state.counters["of_S"] = each / serial;
    state.counters["of_V"] = each / orred;
    state.counters["S_ns"] = serial * 1e9;
    state.counters["ns"] = each * 1e9;
    state.counters["ns_each"] = each * 1e9 / items;
}

}  // namespace yardstick

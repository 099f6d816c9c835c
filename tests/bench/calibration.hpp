// SPDX-License-Identifier: MIT
// A loop whose time is the machine's, not ours: dependent 64-bit multiplications, 4,096 a turn. Figures are compared
// between machines, and between days on a busy one, as multiples of it within one run (baseline.py).
#pragma once

#include <benchmark/benchmark.h>
#include <cstdint>

inline void calibration(benchmark::State& state) {
    std::uint64_t x = 0x9e3779b97f4a7c15;
    for (auto _ : state) {
        for (int i = 0; i < 4096; ++i) {
            x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9;
        }
        benchmark::DoNotOptimize(x);
    }
}

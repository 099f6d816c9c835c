// SPDX-License-Identifier: MIT
// GPUs, weights and what is left for the cache.
#include "memory.hpp"

#include "cards.hpp"
#include "options.hpp"

#include <cmath>
#include <kvcap/io/nearest.hpp>
#include <nlohmann/json.hpp>

namespace kvcap::cli {

namespace {

Gpu gpu_of(const nlohmann::json& row) {
    Gpu gpu{.name = row.at("name"), .title = row.at("title")};
    gpu.nominal = {row.at("nominal_bytes").get<u64>()};
    gpu.reported = {row.at("reported_mib").is_null() ? 0 : row.at("reported_mib").get<u64>() << 20};
    const auto rate = [&](const nlohmann::json& in, const char* key) {
        return in.contains(key) && in.at(key).is_number() ? in.at(key).get<double>() : 0.0;
    };
    gpu.bandwidth = rate(row, "bandwidth");
    const double bf16_rate = rate(row.at("dense_flops"), "bf16");
    gpu.dense_bf16 = bf16_rate > 0 ? bf16_rate : rate(row.at("dense_flops"), "fp16");
    gpu.dense_fp8 = rate(row.at("dense_flops"), "fp8");
    gpu.link_bandwidth = rate(row, "link_bandwidth");
    if (row.at("compute_capability").is_string()) {
        const std::string digits = row.at("compute_capability");
        gpu.capability = static_cast<u32>(std::lround(std::stod(digits) * 10));
    }
    return gpu;
}

}  // namespace

double share_of(const std::string& text) {
    char* end = nullptr;
    const double share = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(share > 0 && share <= 1)) {
        stop(Exit::usage, fmt::format("--util: {} is no share; wanted a number above 0 and at most 1", text));
    }
    return share;
}

namespace {

/// KAITO's published rule of June 2026: 2.3 GiB and 5% of the rank's weights.
Bytes kaito_2026_06(Bytes weights) {
    return Bytes{static_cast<u64>(2.3 * static_cast<double>(u64{1} << 30)) + weights.value / 20};
}

void read_non_kv(const MemoryOptions& options, Memory& memory) {
    if (!options.non_kv.empty()) {
        const Bytes fixed = memory_of(options.non_kv, "--non-kv-bytes");
        memory.non_kv_known = true;
        memory.non_kv = [fixed](Bytes) { return fixed; };
    } else if (!options.overhead_from.empty()) {
        const MeasuredOverhead measured = overhead_from(options.overhead_from, memory.total);
        memory.non_kv_known = true;
        memory.assumption = measured.how;
        memory.measured_by = measured.engine;
        memory.non_kv = [fixed = measured.bytes](Bytes) { return fixed; };
    } else if (!options.overhead.empty()) {
        if (options.overhead != "kaito-2026-06") {
            stop(Exit::usage,
                 fmt::format("--overhead: {} is not known; known: kaito-2026-06 (2.3 GiB + 5% of the rank's "
                             "weights)",
                             options.overhead));
        }
        memory.non_kv_known = true;
        memory.assumption = options.overhead;
        memory.non_kv = kaito_2026_06;
    }
}

/// The device: its memory, and what an engine chooses by it. Beside a budget that is all that it says.
void take_device(const MemoryOptions& options, Memory& memory, std::vector<Note>& notes) {
    const bool budget = !options.kv_budget.empty();
    if (!options.gpu_mem.empty()) {
        memory.total = memory_of(options.gpu_mem, "--gpu-mem");
        memory.described = report::amount(memory.total) + " a GPU";
    } else if (!options.gpu.empty()) {
        const Gpu gpu = gpu_named(options.gpu, ". Its memory can be given: --gpu-mem 80GiB");
        memory.total = gpu.total();
        memory.described = fmt::format("{}, {}", gpu.title, report::amount(gpu.total()));
        memory.gpu = gpu.title;
        memory.capability = gpu.capability;
        if (gpu.reported.value == 0 && !budget) {
            notes.push_back({Origin::assumed, "--gpu " + gpu.name,
                             "nominal memory: what its driver shows is a little less and not recorded"});
        }
    }
    if (budget && memory.total.value != 0) {
        notes.push_back({Origin::assumed, options.gpu.empty() ? "--gpu-mem" : "--gpu",
                         "says which device it is; the bytes for the cache are --kv-budget's"});
    }
}

/// "rtx4090" of "RTX 4090" and "rtx-4090".
std::string plain_name(const std::string& name) {
    std::string out = io::lower_case(name);
    std::erase_if(out, [](char c) { return c == ' ' || c == '-' || c == '_'; });
    return out;
}

}  // namespace

Gpu gpu_named(const std::string& name, std::string_view else_wanted) {
    const nlohmann::json catalogue = nlohmann::json::parse(gpu_catalogue());
    std::vector<std::string> known;
    for (const nlohmann::json& row : catalogue.at("gpus")) {
        std::vector<std::string> names{row.at("name"), row.at("title")};
        for (const nlohmann::json& other : row.value("also", nlohmann::json::array())) {
            names.push_back(other);
        }
        for (const std::string& each : names) {
            if (plain_name(each) == plain_name(name)) {
                return gpu_of(row);
            }
        }
        known.push_back(row.at("name"));
    }
    const std::string near = nearest(io::lower_case(name), known);
    stop(Exit::usage,
         fmt::format("--gpu: {} is not in the catalogue{}; known: {}{}", name,
                     near.empty() ? "" : " (did you mean " + near + "?)", fmt::join(known, ", "), else_wanted));
}

void MemoryOptions::add_to(CLI::App& verb) {
    const auto option = [&](const char* names, std::string& value, const char* text) {
        return verb.add_option(names, value, text)->group("Memory")->check(filled());
    };
    option("--gpu", gpu, "GPU by name (h100, h200, a100-80gb ...)");
    verb.add_option("--gpus", gpus, "How many there are; the split must not need more")
        ->group("Memory")->check(CLI::Range(1u, 65536u));
    option("--gpu-mem", gpu_mem, "Memory of one GPU, instead of a name: 80GiB");
    option("--util,--gpu-memory-utilization,--mem-fraction-static,--free-gpu-memory-fraction", util,
           "Share of the memory that the engine may use; else what it takes by itself");
    option("--fraction-of", fraction_of,
           "total, or free (what weights and the rest leave); auto: the engine's way");
    option("--kv-budget,--kv-cache-memory-bytes", kv_budget, "Bytes for the cache on a rank, outright");
    option("--non-kv-bytes", non_kv, "Memory a rank needs beside weights and cache");
    option("--overhead", overhead, "A named assumption for that: kaito-2026-06");
    option("--overhead-from", overhead_from, "The same, as an engine's start-up log measured it")->type_name("LOG");
    option("--weights-bytes", weights, "Weights of one rank, instead of those known or derived");
}

Bytes Memory::for_cache(double share, Bytes rank_weights, Bytes non_kv_bytes, Bytes extra) const {
    if (by_budget) {
        return minus(budget + extra, non_kv_bytes).value_or({});
    }
    const Bytes used = rank_weights + non_kv_bytes;
    const double all = static_cast<double>((total + extra).value);
    if (!of_free) {
        return minus(Bytes{static_cast<u64>(std::ceil(all * share))}, used).value_or({});
    }
    const Bytes free = minus(total + extra, used).value_or({});
    return {static_cast<u64>(static_cast<double>(free.value) * share)};
}

std::string more_words(const Memory& memory, const std::string& amount) {
    return amount + (memory.by_budget ? " more --kv-budget" : " more memory on each GPU");
}

Memory memory_of(const MemoryOptions& options, bool share_of_free, std::vector<Note>& notes) {
    Memory memory{};
    const auto util = options.util.empty() ? std::nullopt : std::optional{share_of(options.util)};
    const Bytes weights = options.weights.empty() ? Bytes{} : memory_of(options.weights, "--weights-bytes");
    if (!options.gpu.empty() && !options.gpu_mem.empty()) {
        stop(Exit::usage, "--gpu and --gpu-mem: the memory is said twice; one of them is wanted");
    }
    take_device(options, memory, notes);
    if (!options.kv_budget.empty()) {
        memory.by_budget = true;
        memory.budget = memory_of(options.kv_budget, "--kv-budget");
        memory.described = "budget " + report::amount_and_exact(memory.budget) + " a rank";
        if (!options.weights.empty()) {
            memory.weights_given = true;
            memory.weights = weights;
            notes.push_back({Origin::assumed, "--weights-bytes", "say whether the GPU holds them beside the budget"});
        }
        return memory;
    }
    if (memory.total.value == 0) {
        if (!options.gpu_mem.empty()) {
            stop(Exit::usage, "--gpu-mem: " + options.gpu_mem + " is no memory; wanted a size such as 80GiB");
        }
        stop(Exit::usage, "no memory is said: give --gpu NAME, --gpu-mem 80GiB, or --kv-budget 40GiB");
    }
    if (options.fraction_of != "total" && options.fraction_of != "free" && options.fraction_of != "auto") {
        stop(Exit::usage, fmt::format("--fraction-of: {} is none of total, free, auto", options.fraction_of));
    }
    memory.of_free = options.of_free(share_of_free);
    memory.util = util;
    if (!options.weights.empty()) {
        memory.weights_given = true;
        memory.weights = weights;
    }
    read_non_kv(options, memory);
    return memory;
}

}  // namespace kvcap::cli

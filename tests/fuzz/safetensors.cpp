// SPDX-License-Identifier: MIT
// Any bytes as the header of a safetensors file: weights, each byte of which is in a part and in a type, or a problem.
#include "check.hpp"

#include <cstddef>
#include <cstdint>
#include <kvcap/io/safetensors.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace kvcap;
    const auto header = load_json({reinterpret_cast<const char*>(data), size});
    if (!settled(header)) {
        return 0;
    }
    Weights weights{.source = WeightSource::safetensors};
    if (const auto problem = io::add_tensors(weights, *header)) {
        check(!problem->text().empty());
        return 0;
    }
    u64 parts = 0;
    u64 types = 0;
    for (const WeightGroup& group : weights.groups) {
        parts = saturating_sum(parts, group.bytes);
    }
    for (const WeightType& type : weights.types) {
        types = saturating_sum(types, type.bytes);
    }
    check(parts == types);
    return 0;
}

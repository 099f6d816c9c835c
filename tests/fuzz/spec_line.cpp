// SPDX-License-Identifier: MIT
// libFuzzer target of the spec line: any bytes give a model or a problem with an offset, and a model that was read is
// printed so that it reads the same. Run: fuzz-spec_line -max_total_time=600 corpus/spec_line
#include "check.hpp"

#include <cstdint>
#include <kvcap/io/spec_line.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto read = kvcap::read_spec_line({reinterpret_cast<const char*>(data), size});
    if (!settled(read)) {
        check(!read.error->where.empty() && !read.error->wanted.empty());
        return 0;
    }
    const auto again = kvcap::read_spec_line(kvcap::spec_line(read->spec, read->shared));
    check(again && again->spec == read->spec && again->shared == read->shared);
    return 0;
}

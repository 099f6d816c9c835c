// SPDX-License-Identifier: MIT
// TensorRT-LLM golden cases of kind prefix_reuse.
#include "trtllm.hpp"

namespace golden {

void trtllm_reuse(const StrictObject& one, Report& report) {
    for (const char* key : {"cache", "steps", "name"}) {
        one.ignore(key);
    }
    report.skip("prefix_reuse");
}

}  // namespace golden

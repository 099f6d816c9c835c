// SPDX-License-Identifier: MIT
// SGLang golden cases of kind prefix_reuse.
#include "sglang.hpp"

namespace golden {

void sglang_reuse(const StrictObject& one, Report& report) {
    for (const char* key : {"cache", "final", "name", "ops"}) {
        one.ignore(key);
    }
    report.skip("prefix_reuse");
}

}  // namespace golden

// SPDX-License-Identifier: MIT
// message: nodiscard
#include <kvcap/core.hpp>
#pragma GCC diagnostic error "-Wunused-result"
void f(const kvcap::ModelSpec& model) {
#ifdef FAIL
    kvcap::fold(model, {});
#else
    static_cast<void>(kvcap::fold(model, {}));
#endif
}

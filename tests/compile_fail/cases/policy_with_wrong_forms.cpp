// SPDX-License-Identifier: MIT
// message: needs to return kvcap::LayerForms
#include <kvcap/core.hpp>
using namespace kvcap;
struct Mine {
#ifdef FAIL
    constexpr int forms() const noexcept { return 0; }
#else
    constexpr LayerForms forms() const noexcept { return LayerForms{}; }
#endif
    friend bool operator==(const Mine&, const Mine&) = default;
};
static_assert(explain_policy<Mine>());

// SPDX-License-Identifier: MIT
// message: needs to be noexcept
#include <kvcap/core.hpp>
using namespace kvcap;
struct Mine {
#ifdef FAIL
    constexpr LayerForms forms() const { return LayerForms{}; }
#else
    constexpr LayerForms forms() const noexcept { return LayerForms{}; }
#endif
    friend bool operator==(const Mine&, const Mine&) = default;
};
static_assert(explain_policy<Mine>());

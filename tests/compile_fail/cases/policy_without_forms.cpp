// SPDX-License-Identifier: MIT
// message: needs .LayerForms forms\(\) const noexcept
#include <kvcap/core.hpp>
using namespace kvcap;
struct Mine {
#ifndef FAIL
    constexpr LayerForms forms() const noexcept { return LayerForms{}; }
#endif
    friend bool operator==(const Mine&, const Mine&) = default;
};
static_assert(explain_policy<Mine>());

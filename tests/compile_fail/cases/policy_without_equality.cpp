// SPDX-License-Identifier: MIT
// message: needs .operator==
#include <kvcap/core.hpp>
using namespace kvcap;
struct Mine {
    int x = 0;
    constexpr LayerForms forms() const noexcept { return LayerForms{}; }
#ifndef FAIL
    friend bool operator==(const Mine&, const Mine&) = default;
#endif
};
static_assert(explain_policy<Mine>());

// SPDX-License-Identifier: MIT
// message: no match for .operator-.|invalid operands
#include <kvcap/core.hpp>
using namespace kvcap;
#ifdef FAIL
constexpr auto rest = 2_B - 1_B;
#else
constexpr auto rest = minus(2_B, 1_B).value();
#endif

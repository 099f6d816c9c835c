// SPDX-License-Identifier: MIT
// message: no match for .operator\+.|invalid operands
#include <kvcap/core.hpp>
using namespace kvcap;
#ifdef FAIL
constexpr auto sum = 1_B + 1_tok;
#else
constexpr auto sum = 1_B + 1_B;
#endif

// SPDX-License-Identifier: MIT
// message: constraint|form_of
#include <kvcap/core.hpp>
using namespace kvcap;
constexpr Stream s{.width = 1};
#ifdef FAIL
constexpr auto form = form_of(Kind::state, {}, s, s, s, s, s, s, s);
#else
constexpr auto form = form_of(Kind::state, {}, s, s, s, s, s, s);
#endif

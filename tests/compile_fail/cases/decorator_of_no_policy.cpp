// SPDX-License-Identifier: MIT
// message: constraint|LayerPolicy
#include <kvcap/core.hpp>
using namespace kvcap;
#ifdef FAIL
constexpr Windowed windowed{42, 128_tok};
#else
constexpr Windowed windowed{Gqa{8, 128}, 128_tok};
#endif

// SPDX-License-Identifier: MIT
// message: constraint|QuantPolicy
#include <kvcap/core.hpp>
using namespace kvcap;
#ifdef FAIL
constexpr Quantized stored{Gqa{8, 128}, Gqa{8, 128}};
#else
constexpr Quantized stored{Gqa{8, 128}, Stored{fp8}};
#endif

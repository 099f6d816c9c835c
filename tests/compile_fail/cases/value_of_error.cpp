// SPDX-License-Identifier: MIT
// message: no_value_in_result
#include <kvcap/core.hpp>
using namespace kvcap;
constexpr auto model = compose(repeat(80, Gqa{.kv_heads = 8, .head_dim = 128})).value();
#ifdef FAIL
constexpr auto held = fold(model, {.prompt = 1_tok}, {.tp = 3}).value();
#else
constexpr auto held = fold(model, {.prompt = 1_tok}, {.tp = 4}).value();
#endif

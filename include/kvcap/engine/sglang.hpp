// SPDX-License-Identifier: MIT
// The door to SGLang's rules: pools, requests, host tier, architectures. The prefix trees are doors of their own
// (engine/sglang/tree.hpp), since they need containers.
#pragma once

#include <kvcap/engine/sglang/rank.hpp>
#include <kvcap/engine/sglang/release.hpp>

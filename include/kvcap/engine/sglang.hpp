// SPDX-License-Identifier: MIT
// The door to SGLang's rules: pools, requests, host tier, architectures. The prefix trees are a door of their
// own (engine/sglang/tree.hpp), since they need containers.
#pragma once

#include <kvcap/engine/sglang/architectures.hpp>
#include <kvcap/engine/sglang/context.hpp>
#include <kvcap/engine/sglang/defaults.hpp>
#include <kvcap/engine/sglang/engine.hpp>
#include <kvcap/engine/sglang/release.hpp>

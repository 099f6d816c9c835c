// SPDX-License-Identifier: MIT
// The door to vLLM's rules: pools, logs, refusals and hits. Its simulator (vllm/sim.hpp) is a door of its
// own.
#pragma once

#include <kvcap/engine/demand.hpp>
#include <kvcap/engine/vllm/checks.hpp>
#include <kvcap/engine/vllm/context.hpp>
#include <kvcap/engine/vllm/context_ranks.hpp>
#include <kvcap/engine/vllm/defaults.hpp>
#include <kvcap/engine/vllm/engine.hpp>
#include <kvcap/engine/vllm/names.hpp>
#include <kvcap/engine/vllm/registered.hpp>

// SPDX-License-Identifier: MIT
// The door to TensorRT-LLM's rules: pools of both managers, windows, sequences, states, presence. Block reuse
// is a door of its own (engine/trtllm/reuse.hpp), since it needs containers.
#pragma once

#include <kvcap/engine/trtllm/context.hpp>
#include <kvcap/engine/trtllm/engine.hpp>
#include <kvcap/engine/trtllm/presence.hpp>
#include <kvcap/engine/trtllm/sequences.hpp>
#include <kvcap/engine/trtllm/stored.hpp>

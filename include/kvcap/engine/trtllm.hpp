// SPDX-License-Identifier: MIT
// The door to TensorRT-LLM's rules: pools of both managers, windows, sequences, states. Block reuse is a door of its own
// (engine/trtllm/reuse.hpp), since it needs containers.
#pragma once

#include <kvcap/engine/trtllm/blocks.hpp>
#include <kvcap/engine/trtllm/sequences.hpp>
#include <kvcap/engine/trtllm/states.hpp>

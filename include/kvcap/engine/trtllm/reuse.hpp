// SPDX-License-Identifier: MIT
// Which prefix does TensorRT-LLM's first manager reuse, and in which blocks? A small simulator: a search tree
// of blocks per window, exact and partial matches, blocks taken over or copied, free queues by priority, and
// the host tier. Retention durations are not in it. A door of its own, since it needs containers.
#pragma once

#include <kvcap/engine/trtllm/reuse_block.hpp>
#include <kvcap/engine/trtllm/reuse_class.hpp>
#include <kvcap/engine/trtllm/reuse_requests.hpp>
#include <kvcap/engine/trtllm/reuse_window.hpp>

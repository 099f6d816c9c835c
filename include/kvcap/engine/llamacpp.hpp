// SPDX-License-Identifier: MIT
// The door to llama.cpp's memory (v0.5.0, 2026-09-28): sizes, refusals, log lines, splits over devices and
// saved sequences. The server's prefix reuse is a door of its own: engine/llamacpp/server_reuse.hpp.
#pragma once

#include <kvcap/engine/llamacpp/arch.hpp>
#include <kvcap/engine/llamacpp/card.hpp>
#include <kvcap/engine/llamacpp/engine.hpp>
#include <kvcap/engine/llamacpp/fit.hpp>
#include <kvcap/engine/llamacpp/from_spec.hpp>
#include <kvcap/engine/llamacpp/layout.hpp>
#include <kvcap/engine/llamacpp/log.hpp>
#include <kvcap/engine/llamacpp/offload.hpp>
#include <kvcap/engine/llamacpp/options.hpp>
#include <kvcap/engine/llamacpp/refusal.hpp>
#include <kvcap/engine/llamacpp/rows.hpp>
#include <kvcap/engine/llamacpp/sequence_state.hpp>
#include <kvcap/engine/llamacpp/server.hpp>
#include <kvcap/engine/llamacpp/split.hpp>
#include <kvcap/engine/llamacpp/types.hpp>

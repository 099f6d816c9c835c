// SPDX-License-Identifier: MIT
// The door to engines: plans, demand, and the rules of each. Simulators (sim.hpp, tree.hpp, reuse.hpp,
// server_reuse.hpp) need containers and stay doors of their own.
#pragma once

#include <kvcap/engine/concept.hpp>
#include <kvcap/engine/demand.hpp>
#include <kvcap/engine/exact.hpp>
#include <kvcap/engine/llamacpp.hpp>
#include <kvcap/engine/paged.hpp>
#include <kvcap/engine/plan.hpp>
#include <kvcap/engine/sglang.hpp>
#include <kvcap/engine/trtllm.hpp>
#include <kvcap/engine/vllm.hpp>

// SPDX-License-Identifier: MIT
// How big a pool pays? A trace of requests against a store of any capacity: exact curves in one pass where the policy
// allows it, replays where it does not, samples of trees for traces that are too large.
#pragma once

#include <kvcap/store/trace/hybrid.hpp>
#include <kvcap/store/trace/pages.hpp>
#include <kvcap/store/trace/sample.hpp>
#include <kvcap/store/trace/sweep.hpp>

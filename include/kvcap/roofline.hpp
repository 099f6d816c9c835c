// SPDX-License-Identifier: MIT
// The door to bounds on time: what decoding reads and computes, what loading a prefix saves, what links carry.
#pragma once

#include <kvcap/roofline/attention.hpp>
#include <kvcap/roofline/cache_work.hpp>
#include <kvcap/roofline/decode.hpp>
#include <kvcap/roofline/prefill.hpp>
#include <kvcap/roofline/transfer.hpp>
#include <kvcap/roofline/weight_reads.hpp>

// SPDX-License-Identifier: MIT
// Of which pool is a verdict's margin? Engines with several pools are judged by the one with the least room.
#pragma once

#include "engines.hpp"

namespace kvcap::cli {

/// What is spare where it fits, and what is lacking where it does not.
Bytes margin_of(const EngineAnswer& answer);

/// "2.382 GiB spare in the pool", "1.5 GiB lacking in pool 2 of 2, the tightest", "3 GiB spare on the fullest rank".
/// Bytes of a pool are not bytes of the GPU: an engine's share, weights and other pools stand between.
std::string margin_words(const EngineAnswer& answer);

/// "tightest_pool": its number as `pools` lists them (0: bytes of a rank are judged, not units), what it has and what
/// the load takes; null when the engine does not start.
void write_tightest_pool(report::Json& json, const EngineAnswer& answer);

}  // namespace kvcap::cli

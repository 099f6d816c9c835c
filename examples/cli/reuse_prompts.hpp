// SPDX-License-Identifier: MIT
// A file of prompts, to be run one after the other through an engine's caches.
#pragma once

#include <kvcap/report/reuse_replay.hpp>

namespace kvcap::cli {

/// One prompt a line: pieces of made-up texts (`a:0-600`) or token ids (`17,18,19`), after a `+` what is
/// generated
/// (`+8`: eight new tokens, `+b:0-8`: those of a text), `salt=` and `adapter=`; `#` begins a remark. Stops
/// with the line where it means nothing. Every token is below 2^32. Whoever runs them: at most 2^20 tokens, those
/// generated included, in at most 4,096 prompts.
std::vector<report::ReplayRequest> prompts_of(const std::string& file);

}  // namespace kvcap::cli

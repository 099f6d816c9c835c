// SPDX-License-Identifier: MIT
// Which questions does a log's start leave open? Version, ranks, cache dtype and drafts, where it does not say them.
#pragma once

#include "engines.hpp"

#include <kvcap/io/log.hpp>

namespace kvcap::cli {

/// One reading of what the log leaves open.
struct OpenReading {
    std::string version;
    u32 tp = 1;
    std::string kv_dtype;
    u32 drafts = 0;  ///< draft tokens a step that the log does not say
    u32 step = 0;    ///< tokens of a step that the log does not say; 0: as it says, or as without a GPU
};

/// What the log states alone; else the newest rules and older ones, and the usual sizes.
std::vector<OpenReading> readings(const LogStart& start);

/// The same readings with the model's own drafts (MTP), where the log may have said so: its arguments are cut
/// off or not there at all.
std::vector<OpenReading> with_drafts(const LogStart& start, const Model& model, const std::vector<OpenReading>& open);

/// The same readings with the steps that vLLM takes on one GPU or another, where the log says neither: windows, chunks
/// and so the concurrency depend on it. So do llama.cpp's windows on its micro-batch.
std::vector<OpenReading> with_steps(const LogStart& start, const std::vector<OpenReading>& open);

/// How one stage divides a request, as the log states it: ranks of attention data parallelism each hold whole requests
/// (SGLang), context ranks are among the tensor ranks (vLLM, SGLang).
Sharding split_of(const LogStart& start, u32 tp);

/// The options of the engine that the log states.
EngineFlags flags_of(const LogStart& start);

}  // namespace kvcap::cli

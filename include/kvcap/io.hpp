// SPDX-License-Identifier: MIT
// The door to readers: any MODEL argument (config.json, GGUF, card, spec line, folder, local cache), stored formats by
// name, weights. Needs nlohmann_json. Logs, traces, scenarios and identities are doors of their own under io/.
#pragma once

#include <kvcap/io/dtypes.hpp>
#include <kvcap/io/gguf.hpp>
#include <kvcap/io/hf.hpp>
#include <kvcap/io/locate.hpp>
#include <kvcap/io/model_weights.hpp>
#include <kvcap/io/read_model.hpp>
#include <kvcap/io/spec_line.hpp>

// SPDX-License-Identifier: MIT
// The door to GGUF files: header, weights, and the model that their metadata describes. No dependency.
#pragma once

#include <kvcap/io/gguf/card.hpp>
#include <kvcap/io/gguf/cursor.hpp>
#include <kvcap/io/gguf/file.hpp>
#include <kvcap/io/gguf/header.hpp>
#include <kvcap/io/gguf/keys.hpp>
#include <kvcap/io/gguf/lower.hpp>
#include <kvcap/io/gguf/map.hpp>
#include <kvcap/io/gguf/model.hpp>
#include <kvcap/io/gguf/states.hpp>
#include <kvcap/io/gguf/value.hpp>
#include <kvcap/io/gguf/weights.hpp>
#include <kvcap/io/gguf/windows.hpp>

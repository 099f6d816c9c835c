// SPDX-License-Identifier: MIT
// The door to GGUF files: header, weights, and the model that llama.cpp makes of the metadata. No dependency.
#pragma once

#include <kvcap/io/gguf/card.hpp>
#include <kvcap/io/gguf/header.hpp>
#include <kvcap/io/gguf/map.hpp>
#include <kvcap/io/gguf/weights.hpp>

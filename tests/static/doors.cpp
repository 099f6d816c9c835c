// SPDX-License-Identifier: MIT
// The wide door opens: every header of layers 0 to 9 beside the others.
#include <kvcap/kvcap.hpp>

static_assert(kvcap::Engine<kvcap::vllm::Engine> && kvcap::Engine<kvcap::sglang::Engine>);
static_assert(kvcap::Engine<kvcap::trtllm::Engine> && kvcap::Engine<kvcap::llamacpp::Engine>);

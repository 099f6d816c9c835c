// SPDX-License-Identifier: MIT
// The wide door opens: every header of layers 0 to 9 beside the others, and the version as CMake has it.
#include <kvcap/kvcap.hpp>

static_assert(KVCAP_VERSION_MAJOR == 0 && KVCAP_VERSION_MINOR == 1 && KVCAP_VERSION_PATCH == 0);
static_assert(kvcap::Engine<kvcap::vllm::Engine> && kvcap::Engine<kvcap::sglang::Engine>);
static_assert(kvcap::Engine<kvcap::trtllm::Engine> && kvcap::Engine<kvcap::llamacpp::Engine>);

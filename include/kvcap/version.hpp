// SPDX-License-Identifier: MIT
// Which kvcap is this? The inline namespace changes with the ABI; the numbers with every release.
#pragma once

#define KVCAP_VERSION_MAJOR 0
#define KVCAP_VERSION_MINOR 1
#define KVCAP_VERSION_PATCH 0
#define KVCAP_VERSION "0.1.0"

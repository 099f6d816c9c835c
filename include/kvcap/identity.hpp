// SPDX-License-Identifier: MIT
// When may one cache be used in another's place? Identities of format and content, their one encoding, what differs
// between two of them, and what the keys of known systems leave out. Key texts of those systems: identity/keys.hpp.
#pragma once

#include <kvcap/identity/decoding.hpp>
#include <kvcap/identity/encoding.hpp>
#include <kvcap/identity/systems.hpp>

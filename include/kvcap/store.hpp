// SPDX-License-Identifier: MIT
// The door to a KV store's side: objects and their copies, resharding, tiers. Traces, which need containers and
// threads, have a door of their own: store/trace.hpp.
#pragma once

#include <kvcap/store/copies.hpp>
#include <kvcap/store/groups.hpp>
#include <kvcap/store/objects.hpp>
#include <kvcap/store/reshard.hpp>
#include <kvcap/store/tiers.hpp>

// SPDX-License-Identifier: MIT
// The reuse door: how far a prompt can be skipped, and why not further. Repair, probing, fleets and snapshot placement
// are doors of their own.
#pragma once

#include <kvcap/reuse/descent.hpp>
#include <kvcap/reuse/explain.hpp>
#include <kvcap/reuse/floor.hpp>
#include <kvcap/reuse/needed.hpp>
#include <kvcap/reuse/presence.hpp>
#include <kvcap/reuse/rule.hpp>
#include <kvcap/reuse/tile.hpp>

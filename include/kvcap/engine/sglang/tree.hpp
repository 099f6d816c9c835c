// SPDX-License-Identifier: MIT
// Which prefix would SGLang skip after these insertions, lookups, locks and evictions? A small simulator of
// its radix trees. A door of its own, since it needs containers.
#pragma once

#include <kvcap/engine/sglang/tree_class.hpp>
#include <kvcap/engine/sglang/tree_evict.hpp>
#include <kvcap/engine/sglang/tree_node.hpp>
#include <kvcap/engine/sglang/tree_parts.hpp>

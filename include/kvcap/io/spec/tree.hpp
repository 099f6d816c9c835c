// SPDX-License-Identifier: MIT
// A spec line, parsed but not yet counted out: terms with counts, groups inside groups. Assembly makes the
// model of it, so that 1000000*none costs nothing and 600*gqa(8,128) is refused without 600 steps of parsing.
#pragma once

#include <kvcap/form.hpp>
#include <vector>

namespace kvcap::inline v1::spec {

enum class What : u8 { layer, group, share, at, heads, draft, forms };

struct Range {
    u64 first = 0;
    u64 last = 0;
};

/// layer, at: `caches`. group, draft, forms: `parts`. heads, share: `number`. at: `places`. relative: a share
/// counted back from here; places that need not be layers of the model.
struct Term {
    What what = What::layer;
    bool relative = false;
    std::size_t offset = 0;
    u64 count = 1;
    u64 number = 0;
    LayerForms caches{};
    std::vector<Term> parts;
    std::vector<Range> places;
};

}  // namespace kvcap::inline v1::spec

// SPDX-License-Identifier: MIT
// What a target does when something does not hold: it stops, so that the input is kept.
#pragma once

inline void check(bool holds) {
    if (!holds) {
        __builtin_trap();
    }
}

/// A reading is a value or a problem in words, never both.
template <class Diagnosed>
bool settled(const Diagnosed& read) {
    check(read.value.has_value() != read.error.has_value());
    check(!read.error || !read.error->text().empty());
    return read.value.has_value();
}

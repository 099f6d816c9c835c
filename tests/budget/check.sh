#!/bin/sh
# SPDX-License-Identifier: MIT
# check.sh CXX INCLUDE_DIR: what core.hpp costs whoever includes it. Gates: no standard header of ours outside the
# allow-list is opened; its own preprocessed lines (with it, less the allow-list alone) are at most 3,500.
set -u
cxx=$1
include=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for std in compare concepts cstdint cstddef bit type_traits limits; do echo "#include <$std>"; done > "$dir/allowed.cpp"
{ cat "$dir/allowed.cpp"; echo '#include <kvcap/core.hpp>'; } > "$dir/core.cpp"
lines() { "$cxx" -std=c++20 -I"$include" -E -P "$1" | wc -l; }
own=$(($(lines "$dir/core.cpp") - $(lines "$dir/allowed.cpp")))
echo "core.hpp: $own own lines (at most 3500)"

opened() { "$cxx" -std=c++20 -I"$include" -M "$1" | tr ' \\' '\n\n' | grep -v '^$' | grep -v 'kvcap/' | sort -u; }
opened "$dir/allowed.cpp" | grep -v allowed.cpp > "$dir/may"
opened "$dir/core.cpp" | grep -v core.cpp > "$dir/does"
extra=$(comm -13 "$dir/may" "$dir/does" | grep -v ':$')
[ -n "$extra" ] && { echo "core.hpp opens headers outside the allow-list:"; echo "$extra"; exit 1; }
echo "core.hpp: opens nothing outside the allow-list"
[ "$own" -gt 0 ] && [ "$own" -le 3500 ]

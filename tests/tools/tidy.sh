#!/bin/sh
# SPDX-License-Identifier: MIT
# tidy.sh [FILE...]: clang-tidy 14 with the list in .clang-tidy over all headers (one file that opens every one of them),
# the program and the examples, or over the FILEs. Needs: clang-tidy-14 nlohmann-json3-dev libfmt-dev libcli11-dev.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# = 0 ]; then
    find include -name '*.hpp' | LC_ALL=C sort | sed 's|^include/\(.*\)$|#include <\1>|' > "$work/headers.cpp"
    # shellcheck disable=SC2046
    set -- "$work/headers.cpp" $(find examples -name '*.cpp' | LC_ALL=C sort)
fi
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} sh -c '
    clang-tidy-14 --config-file=.clang-tidy --quiet "$1" -- -std=c++20 -Iinclude -Iexamples/cli -DNDEBUG -DKVCAP_CLI_VERSION=\"0\" \
        > "$2/$(echo "$1" | tr / _).log" 2>&1 || { grep -v "warnings generated\|warnings treated" "$2/$(echo "$1" | tr / _).log"; exit 1; }
' sh {} "$work" || { echo "clang-tidy: findings above" >&2; exit 1; }
echo "clang-tidy: $# files clean"

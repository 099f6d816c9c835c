#!/bin/sh
# SPDX-License-Identifier: MIT
# check.sh CXX INCLUDE_DIR: every snippet in cases/ must compile without -DFAIL (the control) and must not with it; the
# compiler's message must match the pattern after `// message:` on the snippet's second line.
set -u
cxx=$1
include=$2
cases=$(dirname "$0")/cases
out=$(mktemp)
trap 'rm -f "$out"' EXIT
passed=0
failed=0
for snippet in "$cases"/*.cpp; do
    name=$(basename "$snippet" .cpp)
    pattern=$(sed -n '2s|^// message: ||p' "$snippet")
    if [ -z "$pattern" ]; then
        echo "$name: no '// message:' on line 2"; failed=$((failed + 1))
    elif ! "$cxx" -std=c++20 -I"$include" -fsyntax-only "$snippet" > "$out" 2>&1; then
        echo "$name: the control does not compile"; head -5 "$out"; failed=$((failed + 1))
    elif "$cxx" -std=c++20 -I"$include" -DFAIL -fsyntax-only "$snippet" > "$out" 2>&1; then
        echo "$name: compiles, and must not"; failed=$((failed + 1))
    elif ! grep -Eq "$pattern" "$out"; then
        echo "$name: the message does not match '$pattern'"; head -5 "$out"; failed=$((failed + 1))
    else
        passed=$((passed + 1))
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]

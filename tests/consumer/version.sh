#!/bin/sh
# SPDX-License-Identifier: MIT
# version.sh SOURCE VERSION CXX: the macros say what the project says, core.hpp has them, and the changelog knows VERSION.
set -eu
source=$1
version=$2
cxx=$3
major=${version%%.*}
rest=${version#*.}
text=$(printf '#include <kvcap/core.hpp>\nKVCAP_VERSION_MAJOR KVCAP_VERSION_MINOR KVCAP_VERSION_PATCH KVCAP_VERSION\n' |
    "$cxx" -std=c++20 -I"$source/include" -E -P -x c++ - | tail -1)
want="$major ${rest%%.*} ${rest#*.} \"$version\""
[ "$text" = "$want" ] || { echo "version.hpp says $text, the project $want"; exit 1; }
grep -q "^## $version" "$source/docs/CHANGELOG.md" || { echo "docs/CHANGELOG.md has no section $version"; exit 1; }
grep -q "^version = \"$version\"" "$source/examples/python/pyproject.toml" || { echo "the Python package has another version"; exit 1; }
echo "version $version everywhere"

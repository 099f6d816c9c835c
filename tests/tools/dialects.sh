#!/bin/sh
# SPDX-License-Identifier: MIT
# dialects.sh DIALECT...: the headers, the static facts and the property tests of the core under another standard library,
# language level or word size. libcxx: clang 14 with libc++ (clang-14 libc++-14-dev libc++abi-14-dev); cxx23: g++ with
# -std=c++23; m32: g++ -m32 (g++-multilib), where indices into containers are narrowed to 32 bits, as they are there. Catch2 and fmt are not linked: their libraries exist for one dialect only.
set -eu
cd "$(dirname "$0")/../.."
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
properties="fold random_model reuse reuse_probe reuse_repair reuse_snapshots reuse_fleet"

compiler_of() {
    case $1 in
        libcxx) echo "clang++-14 -std=c++20 -stdlib=libc++" ;;
        cxx23) echo "g++ -std=c++23" ;;
        m32) echo "g++ -std=c++20 -m32" ;;
        *) echo "dialects.sh: unknown dialect $1 (libcxx, cxx23, m32)" >&2; exit 2 ;;
    esac
}

check() {
    compile="$(compiler_of "$1") $warnings -Iinclude -DFMT_HEADER_ONLY"
    [ "$1" = m32 ] && compile="$compile -Wno-conversion"
    find include -name '*.hpp' | LC_ALL=C sort | sed 's|^include/\(.*\)$|#include <\1>|' > "$work/headers.cpp"
    for source in "$work/headers.cpp" tests/static/*.cpp; do
        $compile -fsyntax-only "$source"
    done
    objects=
    for name in main $properties; do
        from=tests/property/$name.cpp
        [ "$name" = main ] && from=tests/tools/mutation/main.cpp
        $compile -Wno-unused-but-set-variable -O1 -Itests/tools/mutation -c "$from" -o "$work/$1-$name.o"
        objects="$objects $work/$1-$name.o"
    done
    # shellcheck disable=SC2086
    $(compiler_of "$1") $objects -o "$work/$1"
    "$work/$1"
    echo "$1: headers, static facts and core properties hold"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ $# -gt 0 ] || { sed -n '3,5s/^# //p' "$0"; exit 2; }
for dialect in "$@"; do
    compiler_of "$dialect" > /dev/null
    check "$dialect"
done

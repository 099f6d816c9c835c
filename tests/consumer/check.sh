#!/bin/sh
# SPDX-License-Identifier: MIT
# check.sh KIND SOURCE BUILD CXX: builds and runs a small program that uses kvcap as KIND: core and components (installed,
# then moved to another prefix), embedded (add_subdirectory), fetched (FetchContent), pkg-config.
set -eu
kind=$1
source=$(cd "$2" && pwd)
build=$(cd "$3" && pwd)
cxx=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
installed() {
    cmake --install "$build" --prefix "$dir/first" --component Unspecified > /dev/null
    mv "$dir/first" "$dir/moved"
}
configure() {
    cmake -S "$source/tests/consumer/$kind" -B "$dir/build" -DCMAKE_CXX_COMPILER="$cxx" "$@" > "$dir/log" 2>&1 ||
        { cat "$dir/log"; exit 1; }
    cmake --build "$dir/build" > "$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
    "$dir/build/consumer"
}
case $kind in
    core|components) installed; configure -DCMAKE_PREFIX_PATH="$dir/moved" ;;
    embedded|fetched) configure -DKVCAP_SOURCE="$source" ;;
    pkg-config)
        command -v pkg-config > /dev/null || { echo "pkg-config is not installed: not tried"; exit 0; }
        installed
        flags=$(PKG_CONFIG_PATH="$dir/moved/share/pkgconfig" pkg-config --cflags kvcap)
        # shellcheck disable=SC2086
        "$cxx" $flags "$source/tests/consumer/main.cpp" -o "$dir/consumer"
        "$dir/consumer" ;;
esac
echo "consumer $kind: ok"

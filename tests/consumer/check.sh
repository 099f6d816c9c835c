#!/bin/sh
# SPDX-License-Identifier: MIT
# check.sh KIND SOURCE BUILD CXX: builds and runs a small program that uses kvcap as KIND: core and components (installed,
# then moved to another prefix), refused (what the package must not find), embedded and reader (add_subdirectory), fetched
# (FetchContent), pkg-config, single (the generated header; prints what including it costs).
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
    if grep -rlF -e "$source" -e "$build" -e "$dir/first" "$dir/moved/share"; then
        echo "these installed files name folders of the machine they were made on"
        exit 1
    fi
}
configure() {
    cmake -S "$source/tests/consumer/$kind" -B "$dir/build" -DCMAKE_CXX_COMPILER="$cxx" "$@" > "$dir/log" 2>&1 ||
        { cat "$dir/log"; exit 1; }
    cmake --build "$dir/build" > "$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
    "$dir/build/consumer"
}
# Seconds of processor time that compiling a file takes, the least of three. POSIX `times`: own time, then the children's.
cost() {
    for _ in 1 2 3; do
        # shellcheck disable=SC2086
        sh -c '"$@"; times' - "$cxx" $flags -c "$1" -o "$dir/object.o" | sed -n '2s/\([0-9]*\)m\([0-9.]*\)s.*/\1 \2/p' |
            awk '{ printf "%.2f\n", 60 * $1 + $2 }'
    done | sort -n | head -1
}
case $kind in
    core|components|refused) installed; configure -DCMAKE_PREFIX_PATH="$dir/moved" ;;
    embedded|reader|fetched) configure -DKVCAP_SOURCE="$source" ;;
    pkg-config)
        command -v pkg-config > /dev/null || { echo "pkg-config is not installed: not tried"; exit 0; }
        installed
        flags=$(PKG_CONFIG_PATH="$dir/moved/share/pkgconfig" pkg-config --cflags kvcap)
        # shellcheck disable=SC2086
        "$cxx" $flags "$source/tests/consumer/main.cpp" -o "$dir/consumer"
        "$dir/consumer" ;;
    single)
        { cmake -S "$source" -B "$dir/build" -DKVCAP_TESTS=OFF -DKVCAP_EXAMPLES=OFF -DKVCAP_SINGLE_HEADER=ON \
            -DCMAKE_CXX_COMPILER="$cxx" && cmake --build "$dir/build" && cmake --install "$dir/build" --prefix "$dir/prefix"
        } > "$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
        mv "$dir/prefix/include/kvcap_core.hpp" "$dir"
        cmake -D INCLUDE="$source/include" -D DOOR=kvcap/kvcap.hpp -D OUT="$dir/kvcap_kvcap.hpp" \
            -P "$source/.cmake/single_header.cmake"
        flags="-std=c++20 -O2 -I$dir -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fno-exceptions -fno-rtti"
        for name in core kvcap; do
            echo "#include \"kvcap_$name.hpp\"" > "$dir/$name.cpp"
            # shellcheck disable=SC2086
            "$cxx" $flags -c "$dir/$name.cpp" -o "$dir/object.o"
            echo "kvcap_$name.hpp: $(wc -l < "$dir/kvcap_$name.hpp") lines, $(cost "$dir/$name.cpp") s to compile at -O2"
        done
        # shellcheck disable=SC2086
        "$cxx" $flags "$source"/tests/consumer/single/*.cpp -o "$dir/consumer"
        "$dir/consumer" ;;
    *) echo "check.sh: unknown kind $kind" >&2; exit 2 ;;
esac
echo "consumer $kind: ok"

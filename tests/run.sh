#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/run.sh [--yes] [--full [PART...]]: the fast tier on a Debian 12 machine (packages, build, all tests). --full adds
# PARTs, or all of them: clang14 clang19 dialects headers asan fuzz-replay bench-build tidy coverage web.
set -eu
cd "$(dirname "$0")/.."
packages="g++ cmake ninja-build git pkg-config nlohmann-json3-dev libfmt-dev catch2 libcli11-dev libssl-dev python3
    libhiredis-dev redis-server"
all_parts="clang14 clang19 dialects headers asan fuzz-replay bench-build tidy coverage web"
yes=no
full=no
parts=
for word in "$@"; do
    case $word in
        --yes) yes=yes ;;
        --full) full=yes ;;
        --help|-h) sed -n '3,4s/^# //p' "$0"; exit 0 ;;
        -*) echo "tests/run.sh: unknown flag $word (--yes, --full)" >&2; exit 2 ;;
        *) parts="$parts $word" ;;
    esac
done
[ "$full" = yes ] && [ -z "$parts" ] && parts=$all_parts
for part in $parts; do
    case " $all_parts " in *" $part "*) ;; *) echo "tests/run.sh: unknown part $part ($all_parts)" >&2; exit 2 ;; esac
    case $part in
        clang14|asan|fuzz-replay) packages="$packages clang-14 libclang-rt-14-dev" ;;
        clang19) packages="$packages clang-19" ;;
        dialects) packages="$packages clang-14 libc++-14-dev libc++abi-14-dev g++-multilib" ;;
        bench-build) packages="$packages libbenchmark-dev" ;;
        tidy) packages="$packages clang-14 clang-tidy-14" ;;
        coverage) packages="$packages clang-14 libclang-rt-14-dev llvm-14" ;;
        web) packages="$packages emscripten chromium nodejs npm" ;;
    esac
done
. examples/packages.sh
need_packages "$yes" $packages

jobs=$(nproc)
started=$(date +%s)
preset() {
    cmake --preset "$1" > build-"$1".log 2>&1 || { cat build-"$1".log; rm -f build-"$1".log; exit 1; }
    rm -f build-"$1".log
    cmake --build --preset "$1" -j "$jobs"
    ctest --preset "$1" -j "$jobs"
}
preset dev
sh tests/tools/format-check.sh .
for part in $parts; do
    echo "--- $part"
    case $part in
        clang14) preset dev-clang ;;
        clang19) preset dev-clang19 ;;
        asan) preset asan ;;
        headers) cmake --build --preset dev -j "$jobs" --target all_verify_interface_header_sets ;;
        dialects) sh tests/tools/dialects.sh libcxx cxx23 m32 ;;
        fuzz-replay) sh tests/fuzz/replay.sh ;;
        tidy) sh tests/tools/tidy.sh ;;
        coverage) sh tests/tools/coverage.sh ;;
        web) sh examples/web/test/run.sh --yes ;;
        bench-build) cmake --preset bench > /dev/null && cmake --build --preset bench -j "$jobs" ;;
    esac
done
echo "all tests passed in $(($(date +%s) - started)) s${parts:+ (with$parts)}"

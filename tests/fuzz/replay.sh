#!/bin/sh
# SPDX-License-Identifier: MIT
# replay.sh [SECONDS]: builds the libFuzzer programs (clang 14, ASan and UBSan) and runs the kept inputs of each; with
# SECONDS it goes on from them for so long. Stops at the first finding.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-0}
cmake --preset fuzz > /dev/null
cmake --build --preset fuzz -j "$(nproc)"
# The sanitizer's own store of freed memory counts towards the limit: keep it small.
export ASAN_OPTIONS="quarantine_size_mb=16:allocator_release_to_os_interval_ms=500${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
for program in build/fuzz/bin/fuzz-*; do
    name=${program##*/fuzz-}
    work=$(mktemp -d)
    kept=$PWD/tests/fuzz/corpus/$name
    [ "$name" = config ] && kept="$kept $PWD/configs/models"
    echo "--- $name, $seconds s"
    more="-max_total_time=$seconds"
    [ "$seconds" = 0 ] && more=-runs=0
    # shellcheck disable=SC2086
    "$program" $more -timeout=10 -rss_limit_mb=256 -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="$work/" "$work" $kept
    rm -rf "$work"
done

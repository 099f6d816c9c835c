#!/bin/sh
# SPDX-License-Identifier: MIT
# coverage.sh [BUILD]: builds the tests with clang's source-based coverage, runs them, and prints the line coverage of
# include/ with the headers below 90 %. What the build evaluates (static facts) leaves no trace and does not count. BUILD
# (build/coverage) is kept, so that a second run builds little. Needs: clang-14 llvm-14 and what the tests need.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build/coverage}
least=95
cmake --preset coverage -B "$build" > /dev/null
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target kvcap-cli kvcap-unit kvcap-property kvcap-golden
rm -rf "$build/profiles"
LLVM_PROFILE_FILE=$build/profiles/%8m.profraw  # eight files a program, merged as its runs end
case $LLVM_PROFILE_FILE in /*) ;; *) LLVM_PROFILE_FILE=$PWD/$LLVM_PROFILE_FILE ;; esac
export LLVM_PROFILE_FILE
(cd "$build" && ctest -j "${JOBS:-$(nproc)}" -R '^(unit|property|golden-.*)$' --output-on-failure)
llvm-profdata-14 merge -sparse "$build"/profiles/*.profraw -o "$build/all.profdata"
set -- "$build/bin/kvcap"
for program in unit property golden; do
    set -- "$@" -object "$build/bin/kvcap-$program"
done
llvm-cov-14 export -summary-only -instr-profile "$build/all.profdata" "$@" > "$build/coverage.json"
python3 - "$build/coverage.json" "$least" <<'END'
import json
import sys

lines = covered = 0
low = []
for file in json.load(open(sys.argv[1]))["data"][0]["files"]:
    if "/include/kvcap/" in file["filename"]:
        own = file["summary"]["lines"]
        lines += own["count"]
        covered += own["covered"]
        if own["count"] and own["percent"] < 90:
            low.append((own["percent"], own["count"] - own["covered"], file["filename"].split("/include/")[1]))
for percent, missed, name in sorted(low):
    print(f"{percent:5.1f} %  {missed:4d} lines never run  {name}")
print(f"include/: {100 * covered / lines:.2f} % of {lines} lines")
sys.exit(100 * covered < float(sys.argv[2]) * lines)
END

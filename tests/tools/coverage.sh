#!/bin/sh
# SPDX-License-Identifier: MIT
# coverage.sh [BUILD]: builds the tests with clang's source-based coverage, runs them, and prints the line coverage of
# include/ with the headers below 90 %. A line counts when any instance of it ran in any of the programs. What the build
# evaluates (static facts) leaves no trace; templates that nothing makes are no lines; fuzz corpora do not count. BUILD
# (build/coverage) is kept, so that a second run builds little; BUILD/never-run.txt lists the lines. Needs: clang-14
# libclang-rt-14-dev llvm-14 and what the tests need.
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build/coverage}
least=95
started=$(date +%s)
cmake --preset coverage -B "$build" > /dev/null
cmake --build "$build" -j "${JOBS:-$(nproc)}" --target kvcap-cli kvcap-unit kvcap-property kvcap-golden kvcap-docs
rm -rf "$build/profiles"
LLVM_PROFILE_FILE=$build/profiles/%4m.profraw  # four files a program, merged as its runs end
case $LLVM_PROFILE_FILE in /*) ;; *) LLVM_PROFILE_FILE=$PWD/$LLVM_PROFILE_FILE ;; esac
export LLVM_PROFILE_FILE
(cd "$build" && ctest -j "${JOBS:-$(nproc)}" -R '^(unit|property|golden-.*|conformance|docs)$' --output-on-failure)
llvm-profdata-14 merge -sparse "$build"/profiles/*.profraw -o "$build/all.profdata"
set -- "$build/bin/kvcap"
for program in unit property golden; do
    set -- "$@" -object "$build/bin/kvcap-$program"
done
# What only some programs use is "mismatched" in the others: no counts are lost.
llvm-cov-14 export -format=lcov -instr-profile "$build/all.profdata" "$@" > "$build/coverage.lcov" 2> "$build/coverage.log"
python3 - "$build" "$least" <<'END'
import sys

build, least = sys.argv[1], float(sys.argv[2])
files, counts = {}, None
for line in open(f"{build}/coverage.lcov"):
    kind, _, rest = line.rstrip("\n").partition(":")
    if kind == "SF":
        counts = files.setdefault(rest.split("/include/")[1], {}) if "/include/kvcap/" in rest else {}
    elif kind == "DA":
        number, count = map(int, rest.split(",")[:2])
        counts[number] = max(count, counts.get(number, 0))
lines = sum(len(own) for own in files.values())
missed = {name: sorted(n for n, count in own.items() if count == 0) for name, own in files.items()}
with open(f"{build}/never-run.txt", "w") as out:
    for name in sorted(missed):
        source = open(f"include/{name}").read().split("\n")
        out.writelines(f"{name}:{n}: {source[n - 1].strip()}\n" for n in missed[name])
low = [(100 - 100 * len(missed[name]) / len(own), name) for name, own in files.items() if len(missed[name]) * 10 > len(own)]
for percent, name in sorted(low):
    print(f"{percent:5.1f} %  {len(missed[name]):4d} of {len(files[name])} lines never run  {name}")
covered = lines - sum(map(len, missed.values()))
print(f"include/: {100 * covered / lines:.2f} % of {lines} lines")
sys.exit(100 * covered < least * lines)
END
echo "coverage in $(($(date +%s) - started)) s"

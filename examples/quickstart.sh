#!/bin/sh
# SPDX-License-Identifier: MIT
# examples/quickstart.sh [--yes]: from a fresh Debian 12 machine to answers: installs what is missing, builds the program,
# and asks it about DeepSeek-V3 and hybrid models.
set -eu
cd "$(dirname "$0")/.."
yes=no
[ "${1:-}" = --yes ] && yes=yes
. examples/packages.sh
need_packages "$yes" g++ cmake ninja-build nlohmann-json3-dev libfmt-dev libcli11-dev libssl-dev
cmake --preset release -DKVCAP_TESTS=OFF > /dev/null
cmake --build --preset release -j "$(nproc)" --target kvcap-cli
kvcap=build/release/bin/kvcap
for command in "size deepseek-v3 --tokens 32k --tp 8" "show qwen3-next-80b-a3b" \
               "compare deepseek-v3 gemma-3-27b qwen3-next-80b-a3b llama-3.1-70b --tokens 32k --textbook"; do
    printf '\n$ kvcap %s\n' "$command"
    # shellcheck disable=SC2086
    $kvcap $command
done
printf '\nThe program is %s; try  %s --help\n' "$kvcap" "$kvcap"

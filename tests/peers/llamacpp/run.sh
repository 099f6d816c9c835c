#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares kvcap's lines with those of the real llama.cpp inside node-llama-cpp. See README.md. KVCAP_PEER_FOLDER keeps the
# npm installation between runs.
set -eu
version=3.22.1
root=$(cd "$(dirname "$0")/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
node=${KVCAP_PEER_FOLDER:-$work/node}
mkdir -p "$node" "$work/cases"
if [ ! -d "$node/node_modules/node-llama-cpp" ]; then
    (cd "$node" && npm i --no-save --omit=optional --no-audit --no-fund --ignore-scripts --loglevel=error \
        "node-llama-cpp@$version" "@node-llama-cpp/linux-x64@$version")
fi
library=$node/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64/libggml-base.so
commit=$(strings -n 7 "$library" | grep -xE '[0-9a-f]{7}' | grep -vxE '(.)\1*' | head -1)
echo "node-llama-cpp $version, llama.cpp commit ${commit:-unknown}"
${CXX:-c++} -std=c++20 -O1 -I"$root/include" "$root/tests/peers/llamacpp/cases.cpp" -o "$work/write-cases"
"$work/write-cases" "$work/cases" "$root"/tests/golden/llama_cpp/*.json
node "$root/tests/peers/llamacpp/peer.cjs" "$node" "$work/cases"

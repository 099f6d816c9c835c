#!/bin/sh
# SPDX-License-Identifier: MIT
# Prompt cache on and off through the real llama.cpp: the same ids? See README.md. KVCAP_PEER_FOLDER keeps the npm
# installation between runs.
set -eu
version=3.22.1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
node=${KVCAP_PEER_FOLDER:-$work/node}
mkdir -p "$node"
if [ ! -d "$node/node_modules/node-llama-cpp" ]; then
    (cd "$node" && npm i --no-save --omit=optional --no-audit --no-fund --ignore-scripts --loglevel=error \
        "node-llama-cpp@$version" "@node-llama-cpp/linux-x64@$version")
fi
node "$here/on_off.cjs" "$node" "$here/../../golden/llama_cpp/prefix_reuse.json" "$work"

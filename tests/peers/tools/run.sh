#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/peers/tools/run.sh [KVCAP] [SCRATCH]: installs the pinned peers into SCRATCH (a new temporary folder, about 1 GB
# with caches) and scores each with tests/conformance/check.py. Needs python3, node, npm and, for gguf-parser, go.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
check=$here/../../conformance/check.py
kvcap=${1:-}
scratch=${2:-$(mktemp -d)}
mkdir -p "$scratch"
scratch=$(cd "$scratch" && pwd)
. "$here/install.sh"

score() {
    name=$1
    shift
    echo "== $name"
    python3 "$check" "$@" || true
}
[ -n "$kvcap" ] && score kvcap python3 "$here/kvcap/adapter.py" "$kvcap"
score textbook python3 "$here/textbook/adapter.py"
for peer in hf-mem hf-vram-calc inferpilot llm-analysis llm-mem-planner modelinfo-cli aiconfigurator; do
    score "$peer" "$scratch/venv/bin/python3" "$here/$peer/adapter.py"
done
cd "$scratch/npm"
score fitllm node "$here/fitllm/adapter.mjs"
score node-llama-cpp python3 "$here/gguf-parser/adapter.py" node "$here/node-llama-cpp/main.mjs"
if [ -x "$scratch/go/gguf-estimate" ]; then
    score gguf-parser python3 "$here/gguf-parser/adapter.py" "$scratch/go/gguf-estimate"
fi

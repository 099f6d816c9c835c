# SPDX-License-Identifier: MIT
# Read by run.sh and tests/bench/peers.py: puts the pinned peers into $scratch, once. $here is this folder.
if [ ! -e "$scratch/venv/done" ]; then
    python3 -m venv "$scratch/venv"
    "$scratch/venv/bin/pip" install -q hf-mem==0.5.6 inferpilot==0.1.0 modelinfo-cli==1.4.4 llm-mem-planner==0.2.2 \
        aiconfigurator-core==0.12.0 fire
    "$scratch/venv/bin/pip" install -q --no-deps llm-analysis==0.2.2 hf-vram-calc==1.0.9
    : > "$scratch/venv/done"
fi
if [ ! -e "$scratch/npm/node_modules/fitllm" ]; then
    mkdir -p "$scratch/npm"
    (cd "$scratch/npm" && npm init -y > /dev/null &&
        npm install -E --no-audit --no-fund --ignore-scripts --loglevel=error fitllm@2.18.0 node-llama-cpp@3.21.1)
fi
if command -v go > /dev/null && [ ! -x "$scratch/go/gguf-estimate" ]; then
    mkdir -p "$scratch/go"
    cp "$here/gguf-parser/main.go" "$scratch/go/"
    (cd "$scratch/go" && { [ -e go.mod ] || go mod init peer > /dev/null 2>&1; } &&
        go get github.com/gpustack/gguf-parser-go@v0.28.1 > /dev/null 2>&1 && go build -o gguf-estimate .) ||
        echo "gguf-parser: not built" >&2
fi

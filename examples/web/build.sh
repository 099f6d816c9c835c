#!/bin/sh
# SPDX-License-Identifier: MIT
# examples/web/build.sh [--yes]: builds the web calculator, one file that needs no server: build/wasm/kvcap.html.
set -eu
cd "$(dirname "$0")/../.."
yes=no
[ "${1:-}" = --yes ] && yes=yes
. examples/packages.sh
need_packages "$yes" emscripten cmake ninja-build nodejs nlohmann-json3-dev libfmt-dev libcli11-dev
export NODE_PATH=/usr/share/nodejs # where Debian keeps the acorn that emcc asks for
cmake --preset wasm > /dev/null
cmake --build --preset wasm -j "$(nproc)"

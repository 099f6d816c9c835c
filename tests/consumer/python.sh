#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs examples/python with pip into an environment of its own and runs its tests and its plot from there (some
# minutes: it compiles the C interface). On request: sh tests/consumer/python.sh
set -eu
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m venv "$scratch/env"
CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) "$scratch/env/bin/pip" install --quiet "examples/python[plot]"
cd examples/python
"$scratch/env/bin/python" -B -m unittest tests/test_kvcap.py
"$scratch/env/bin/python" -B scripts/growth.py "$scratch/growth.png"
[ "$(head -c 4 "$scratch/growth.png" | tail -c 3)" = PNG ]
echo "python: installed by pip, tested, plotted"

#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/bench/include_cost.sh [CXX]: what a header adds to the compile time of a translation unit, in ms of user CPU
# time, the best of five runs over an empty file, all in one run. What doors may cost: docs/performance.md.
set -eu
cxx=${1:-g++}
cd "$(dirname "$0")/../.."
exec python3 - "$cxx" <<'PY'
import os
import resource
import subprocess
import sys
import tempfile

CXX = sys.argv[1]
DOORS = ["", "core", "engine", "engine/vllm", "engine/sglang", "engine/llamacpp", "engine/trtllm", "reuse", "identity",
         "store", "kvcap"]


def cpu_ms(text, folder):
    path = os.path.join(folder, "unit.cpp")
    with open(path, "w") as file:
        file.write(text)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([CXX, "-std=c++20", "-Iinclude", "-fsyntax-only", path], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime - before.ru_utime)


with tempfile.TemporaryDirectory() as folder:
    best = {}
    for _ in range(5):
        for door in DOORS:
            text = f"#include <kvcap/{door}.hpp>\n" if door else ""
            best[door] = min(best.get(door, 1e9), cpu_ms(text, folder))
core = best["core"]
print(f"{CXX}: empty file {best['']:.0f} ms")
for door in DOORS[1:]:
    print(f"kvcap/{door + '.hpp':24}{best[door] - best['']:7.0f} ms over nothing{best[door] - core:7.0f} ms over core.hpp")
engines = [door for door in DOORS if door.startswith("engine")]
ok = all(best[door] - core <= 200 for door in engines) and best["kvcap"] - best[""] <= 600
print("within 200 ms (engine doors over core.hpp) and 600 ms (kvcap.hpp): " + ("yes" if ok else "NO"))
sys.exit(0 if ok else 1)
PY

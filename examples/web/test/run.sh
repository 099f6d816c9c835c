#!/bin/sh
# SPDX-License-Identifier: MIT
# examples/web/test/run.sh [--yes | PAGE.html KVCAP]: the page in headless Chromium against the command-line program.
# Without a page both are built. WORK names the scratch folder (build/web-test); npm installs playwright-core there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
work=${WORK:-$root/build/web-test}
mkdir -p "$work"
yes=no
[ "${1:-}" = --yes ] && yes=yes
yes_flag=
[ "$yes" = yes ] && yes_flag=--yes
if [ $# -ge 2 ]; then
    page=$(realpath "$1")
    kvcap=$(realpath "$2")
else
    cd "$root"
    . examples/packages.sh
    need_packages "$yes" chromium nodejs npm g++ libssl-dev
    sh examples/web/build.sh ${yes_flag}
    cmake --preset release -DKVCAP_TESTS=OFF > /dev/null
    cmake --build --preset release --target kvcap-cli
    page=$root/build/wasm/kvcap.html
    kvcap=$root/build/release/bin/kvcap
fi
[ -d "$work/node_modules/playwright-core" ] ||
    (cd "$work" && npm install --silent --no-audit --no-fund --no-save playwright-core)
cp "$here"/*.mjs "$work"
exec node "$work/check.mjs" "$page" "$kvcap" "$root" "$work"

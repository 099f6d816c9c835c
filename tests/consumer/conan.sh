#!/bin/sh
# SPDX-License-Identifier: MIT
# conan.sh [CONAN]: `conan create` with its test package, without any remote: the core alone, then with the readers and
# reports on the system's nlohmann_json and fmt. On request; CONAN defaults to `conan` (pip install conan).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
conan=${1:-conan}
command -v "$conan" > /dev/null || { echo "conan.sh: there is no $conan; pip install conan"; exit 2; }
CONAN_HOME=$(mktemp -d)
export CONAN_HOME
trap 'rm -rf "$CONAN_HOME"' EXIT
"$conan" profile detect > /dev/null 2>&1
sed -i 's/^compiler.cppstd=.*/compiler.cppstd=20/' "$CONAN_HOME/profiles/default"
cp "$CONAN_HOME/profiles/default" "$CONAN_HOME/profiles/system"
json=$(sed -n 's/.*#define NLOHMANN_JSON_VERSION_\(MAJOR\|MINOR\|PATCH\) \([0-9]*\).*/\2/p' \
    /usr/include/nlohmann/detail/abi_macros.hpp /usr/include/nlohmann/detail/macro_scope.hpp \
    /usr/include/nlohmann/json.hpp 2> /dev/null | head -3 | paste -sd.)
fmt=$(sed -n 's/#define FMT_VERSION \([0-9]*\)/\1/p' /usr/include/fmt/core.h | awk '{ print int($1 / 10000) "." int($1 / 100) % 100 "." $1 % 100 }')
printf '[platform_requires]\nnlohmann_json/%s\nfmt/%s\n' "$json" "$fmt" >> "$CONAN_HOME/profiles/system"
run() {
    "$conan" create "$source/.conan" --no-remote --build=missing \
        -c tools.cmake.cmake_layout:test_folder="$CONAN_HOME/test" "$@" > "$CONAN_HOME/log" 2>&1 || { cat "$CONAN_HOME/log"; exit 1; }
    grep -A2 'Running test()' "$CONAN_HOME/log"
}
run
run -pr:h system -o 'kvcap/*:report=True'
echo "conan: ok"

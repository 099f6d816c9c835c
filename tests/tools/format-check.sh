#!/bin/sh
# SPDX-License-Identifier: MIT
# format-check.sh SOURCE: lines over 120 columns (the style aims at 110), tabs, trailing blanks, missing final newline in our sources.
set -u
cd "$1" || exit 2
git ls-files '*.hpp' '*.cpp' '*.sh' '*.cmake' 'CMakeLists.txt' '*/CMakeLists.txt' | {
    bad=0
    while read -r file; do
        awk -v file="$file" -v cpp="$(case $file in *.hpp|*.cpp) echo 1 ;; *) echo 0 ;; esac)" '
            cpp && length($0) > 120 { print file ":" NR ": over 120 columns"; bad = 1 }
            cpp && /\t/ { print file ":" NR ": tab"; bad = 1 }
            /[ \t]$/ { print file ":" NR ": trailing blank"; bad = 1 }
            END { exit bad }' "$file" || bad=1
        [ -z "$(tail -c 1 "$file")" ] || { echo "$file: no newline at the end"; bad=1; }
    done
    [ "$bad" = 0 ] && echo "format-check: clean"
    exit "$bad"
}

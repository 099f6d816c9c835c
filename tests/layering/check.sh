#!/bin/sh
# SPDX-License-Identifier: MIT
# check.sh INCLUDE_DIR: a header includes only its own or lower layers (table.txt), without cycles; up to layer 7 only the
# standard headers of the allow-list; nlohmann_json only in io/, fmt only in report/; every header is in the table and
# has its SPDX line; none is over 300 lines.
set -u
here=$(dirname "$0")
root=$1/kvcap
bad=0
say() { echo "layering: $*"; bad=1; }

layer_of() {
    while read -r layer pattern; do
        case $layer in '#'*|'') continue ;; esac
        # shellcheck disable=SC2254
        case $1 in $pattern) echo "$layer"; return ;; esac
    done < "$here/table.txt"
    echo none
}

edges=$(mktemp)
trap 'rm -f "$edges"' EXIT
count=0
for path in $(find "$root" -name '*.hpp' | sort); do
    header=${path#"$root"/}
    count=$((count + 1))
    own=$(layer_of "$header")
    [ "$own" = none ] && { say "$header stands in no row of table.txt"; continue; }
    [ "$(sed -n 1p "$path")" = '// SPDX-License-Identifier: MIT' ] || say "$header: first line is no SPDX line"
    lines=$(wc -l < "$path")
    [ "$lines" -le 300 ] || say "$header has $lines lines; at most 300"
    for used in $(sed -n 's|^ *#include *[<"]\([^>"]*\)[>"].*|\1|p' "$path"); do
        case $used in
            kvcap/*)
                used=${used#kvcap/}
                below=$(layer_of "$used")
                [ "$below" = none ] && { say "$header includes $used, which stands in no row of table.txt"; continue; }
                [ "$below" -le "$own" ] || say "$header (layer $own) includes $used (layer $below)"
                echo "$header $used" >> "$edges" ;;
            nlohmann/*) case $header in io/*|io.hpp) ;; *) say "$header includes $used; only io/ may" ;; esac ;;
            fmt/*) case $header in report/*|report.hpp) ;; *) say "$header includes $used; only report/ may" ;; esac ;;
            compare|concepts|cstdint|cstddef|bit|type_traits|limits) ;;
            *)
                [ "$own" -ge 8 ] && continue
                say "$header includes <$used>; layers up to 7 use: compare concepts cstdint cstddef bit type_traits limits" ;;
        esac
    done
done
tsort "$edges" > /dev/null || say "includes form a cycle"
[ "$count" -gt 0 ] || say "no header under $root"
[ "$bad" = 0 ] && echo "layering: $count headers in order"
exit "$bad"

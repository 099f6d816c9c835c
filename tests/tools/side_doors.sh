#!/bin/sh
# SPDX-License-Identifier: MIT
# side_doors.sh SOURCE_DIR: the library and the program open no socket, start no process, write no temporary file, load no
# code and erase no file (docs/security.md). Finds the names of what would.
set -u
cd "$1" || exit 2
found=$(grep -rnE --include='*.hpp' --include='*.cpp' --include='*.h' \
    '(^|[^A-Za-z0-9_.>])(socket|getaddrinfo|popen|system|fork|vfork|posix_spawn|exec[lv]p?e?|dlopen|tmpfile|tmpnam|mkstemp|mkdtemp|remove_all)[[:space:]]*\(|temp_directory_path|#include <(sys/socket|netdb|arpa/inet|curl/.*|dlfcn|spawn)' \
    include examples/cli 2>/dev/null | grep -vE '^[^:]+:[0-9]+:[[:space:]]*(//|\*)')
if [ -n "$found" ]; then
    echo "names that the library and the program must not use:"
    echo "$found"
    exit 1
fi
echo "no socket, process, temporary file or loaded code in include/ and examples/cli/"

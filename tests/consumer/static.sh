#!/bin/sh
# SPDX-License-Identifier: MIT
# static.sh PROGRAM: it needs no shared library, and answers where nothing is set.
set -eu
needs=$(ldd "$1" 2>&1) || true
case $needs in
    *'not a dynamic executable'*|*'statically linked'*) ;;
    *) echo "ldd says: $needs"; exit 1 ;;
esac
answer=$(cd / && env -i "$1" size deepseek-v3 --tokens 32k --tp 8 --json)
case $answer in *2302672896*) ;; *) echo "it says: $answer"; exit 1 ;; esac
digest=$(env -i "$1" identity deepseek-v3 --json 2>&1) || true
[ -n "$digest" ] || { echo "identity says nothing"; exit 1; }
echo "static program: $(ls -l "$1" | awk '{ print $5 }') bytes, no shared library"

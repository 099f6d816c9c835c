# SPDX-License-Identifier: MIT
# need_packages YES PACKAGE...: installs what is missing of Debian's packages. Prints them first; asks unless YES is yes,
# CI is set or nobody is at a terminal; needs no root when everything is there; elsewhere prints what to install.
need_packages() {
    agreed=$1
    shift
    if ! command -v dpkg-query > /dev/null || ! command -v apt-get > /dev/null; then
        echo "This is no Debian-like system. Please install what these Debian packages hold, then run again:"
        echo "  $*"
        command -v cmake > /dev/null || exit 2
        return 0
    fi
    missing=
    for package in "$@"; do
        dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    [ -z "$missing" ] && return 0
    echo "Debian packages to install:$missing"
    if [ "$agreed" != yes ] && [ -z "${CI:-}" ] && [ -t 0 ]; then
        printf 'Install them now? [y/N] '
        read -r answer
        case $answer in y|Y|yes) ;; *) echo "Nothing installed."; exit 2 ;; esac
    fi
    as_root=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo > /dev/null || { echo "Not root, and no sudo: please run  apt-get install$missing"; exit 2; }
        as_root=sudo
    fi
    $as_root apt-get update -qq
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing > /dev/null
}

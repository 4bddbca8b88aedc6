#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What everybody who writes here has agreed on: the width of lines, the size of files, the licence,
# and that arrows go down.
set -eu

cd "${srcdir:-.}"
# without what a build in the tree makes
code() { find "$@" -name '*.[ch]' ! -name '*.skel.h' ! -path 'report/page.[ch]'; }
n=0
fail() { echo "FAILED: $1"; n=1; }

all=$(code common report collector plugin cli bpf tests)
wide=$(awk 'length > 100 { print FILENAME ":" FNR }' $all)
[ -z "$wide" ] || fail "more than 100 columns:
$wide"
long=$(awk 'FNR == 601 { print FILENAME }' $all)
[ -z "$long" ] || fail "more than 600 lines:
$long"
bare=$(awk 'FNR == 1 && !/SPDX-License-Identifier/ { print FILENAME }' $all)
[ -z "$bare" ] || fail "no licence in the first line:
$bare"

# may ROOM ROOM...: what files of the first include is of these
may() {
    from=$1
    others=$(code "$from" | xargs grep -nE '^#include "[a-z]+/' |
        grep -vE "#include \"($(echo "$*" | tr ' ' '|'))/" || true)
    [ -z "$others" ] || fail "arrows that go up:
$others"
}

may common
may report common
may bpf common
may collector report common bpf sql
may plugin report common bpf
may cli collector report common sql
exit $n

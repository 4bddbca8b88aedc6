#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The binaries that were built are hardened. In the build directory. HARDENING=yes also checks a build with
# --disable-hardening.
set -euo pipefail

failed=0
fail() { echo "FAILED: $1"; failed=1; }

# setting NAME: a variable of the Makefile that configure wrote
setting() { sed -n "s/^$1 = //p" Makefile; }

# has FILE WHAT PATTERN COMMAND...: what the command prints about the file matches
has() {
    local file=$1 what=$2 pattern=$3
    shift 3
    grep -qE -- "$pattern" <<< "$("$@" "$file")" || fail "$file: $what"
}

# Both kinds of files: programs and the plugin.
check_file() {
    has "$1" "not RELRO" 'GNU_RELRO' readelf -lW
    has "$1" "lazy binding (no -z now)" '\(FLAGS(_1)?\).*NOW' readelf -dW
    has "$1" "executable stack" 'GNU_STACK.* RW +0x' readelf -lW
    has "$1" "no stack protector" '__stack_chk_fail' readelf --dyn-syms -W
    ! readelf -dW "$1" | grep -q TEXTREL || fail "$1: text relocations"
    case $(setting FORTIFY) in
        no*) ;;
        *) has "$1" "no _FORTIFY_SOURCE" '__[a-z]+_chk@' readelf --dyn-syms -W ;;
    esac
    [ "$(uname -m)" != x86_64 ] || check_x86 "$1"
}

# On x86-64: most functions start with endbr64 (the start-up code of the C library has a few), and frames of
# more than a page touch each page. Each of the files has such a frame.
check_x86() {
    local code
    code=$(objdump -d --no-show-raw-insn "$1")
    [ "$(grep -c endbr64 <<< "$code")" -ge 16 ] || fail "$1: no -fcf-protection"
    awk '/sub +\$0x1000,%rsp/ { sub_at = NR }
        /\$0x0,\(%rsp\)/ && NR == sub_at + 1 { found = 1 }
        END { exit !found }' <<< "$code" || fail "$1: no -fstack-clash-protection"
}

check_binaries() {
    local file found=0
    for file in jobiod jobio record/jobio-record; do
        [ -e "$file" ] || continue
        found=1
        has "$file" "not position-independent" 'Type: +DYN' readelf -hW
        has "$file" "a shared object, not a PIE" '\(FLAGS_1\).*PIE' readelf -dW
        check_file "$file"
    done
    if [ -e plugin/jobio.so ]; then
        has plugin/jobio.so "not a shared object" 'Type: +DYN' readelf -hW
        check_file plugin/jobio.so
    fi
    [ "$found" = 1 ] || fail "nothing was built here"
}

[ "${HARDENING:-$(setting HARDENING)}" = yes ] || { echo "SKIPPED: built with --disable-hardening"; exit 77; }
check_binaries
[ $failed = 1 ] || echo ok
exit $failed

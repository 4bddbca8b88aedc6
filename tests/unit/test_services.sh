#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The systemd units are as confined as they can be, and jobiod stays in the mount namespace of the host.
set -euo pipefail

units=${srcdir:-.}/contrib/systemd
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() { echo "FAILED: $1"; failed=1; }

# No option that creates a mount namespace.
options='Protect(System|Home|Proc|Kernel(Tunables|Modules|Logs)|ControlGroups)|ProcSubset'
options+='|Private(Tmp|Devices|Mounts|IPC|PIDs)|Root[A-Z][A-Za-z]*|[A-Za-z]+Paths|TemporaryFileSystem|LogNamespace'
! grep -E "^($options)=" "$units/jobiod.service.in" || fail "jobiod.service has a mount namespace"

# exposure UNIT LIMIT: what systemd-analyze computes is at most that, in tenths
exposure() {
    sed 's|@[a-z]*dir@|/usr/sbin|' "$units/$1.service.in" > "$work/$1.service"
    systemd-analyze security --no-pager --offline=yes --threshold="$2" "$work/$1.service" \
        > "$work/out" 2>&1 || { cat "$work/out"; fail "$1.service: exposure above $2 tenths"; }
}

if systemd-analyze security --help 2> /dev/null | grep -q -- --offline; then
    exposure jobiod 40
    exposure jobio-record 20
else
    echo "this systemd-analyze cannot check files"
fi
[ $failed = 1 ] || echo ok
exit $failed

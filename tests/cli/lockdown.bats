#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The command and jobiod on a kernel that is locked down, in a guest that boots with lockdown=integrity, as
# Secure Boot has it. The last test raises the mode, which nothing but a reboot undoes.

load cli.bash
# As installed: a user may not be allowed to read the build directory.
PATH=${PATH#"$JOBIO_BUILD":}

mode=/sys/kernel/security/lockdown

setup_file() {
    [ -n "$JOBIO_GUEST" ] || { echo "locks the kernel down: in a guest only" >&2; return 1; }
    install "$JOBIO_BUILD"/{jobio,jobiod} /usr/local/bin/
    mount -t securityfs securityfs /sys/kernel/security
}

teardown() {
    [ -z "${jobiod-}" ] || kill "$jobiod" 2> /dev/null || :
}

# start_jobiod NAME: $jobiod; its log is $BATS_TEST_TMPDIR/log
start_jobiod() {
    export JOBIO_SOCKET=/run/$1/jobiod.sock
    jobiod --config /dev/null --runtime "/run/$1" --state "/run/$1.state" > "$BATS_TEST_TMPDIR/log" 2>&1 3>&- &
    jobiod=$!
    until_true 240 jobio status --json > /dev/null 2>&1 || { cat "$BATS_TEST_TMPDIR/log"; return 1; }
}

@test "with lockdown=integrity jobiod counts, and a report is complete and exact" {
    grep -F '[integrity]' $mode
    split jobio run --json --output "$BATS_TEST_TMPDIR/json" -- dd if=/dev/zero of=/dev/shm/file bs=4096 count=10
    expect 0
    jq -e '.complete and .lost == 0' "$BATS_TEST_TMPDIR/json"
    [ "$(jq -c '.mounts[] | select(.mount == "/dev/shm").ops.write | [.requests, .bytes, .errors]' \
        "$BATS_TEST_TMPDIR/json")" = "[10,40960,0]" ]
    start_jobiod integrity
    jobio status --json | jq -e '.not_counted == null and .operations.write != "none"'
    not grep lockdown "$BATS_TEST_TMPDIR/log"
}

@test "with lockdown=confidentiality one line says that nothing is counted, and commands run unharmed" {
    grep -F '[integrity]' $mode
    echo confidentiality > $mode
    split jobio run -- touch /run/counted
    expect 125
    one_line "lockdown mode 'confidentiality' forbids"
    [ ! -e /run/counted ]
    start_jobiod confidentiality
    [ "$(grep -c lockdown "$BATS_TEST_TMPDIR/log")" = 1 ]
    jobio status --json | jq -e '.not_counted | contains("lockdown")'
    split jobio status
    expect 2
    [[ $out == "NOT COUNTING: "*lockdown* && $(wc -l <<< "$out") = 1 ]]
    split as_nobody jobio run -- sh -c 'echo mine; exit 3'
    expect 3
    [ "$out" = mine ]
    [ "$(grep -c "not counted on this node (ask the" <<< "$err")" = 1 ] || { echo "$err"; return 1; }
}

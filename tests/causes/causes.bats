#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What jobio says first about programs that lose time for a known reason (causes.list), and that it says
# nothing about healthy ones (healthy.list). Real programs on real file systems, counted in the guest.

bats_require_minimum_version 1.5.0
. "$BATS_TEST_DIRNAME/causes.bash"
load ../cli/cli.bash

setup_file() {
    [ -n "$JOBIO_GUEST" ] || { echo "makes mounts: in a guest only" >&2; return 1; }
    unset JOBIO_SOCKET
    install "$JOBIO_BUILD"/{jobio,jobiod,tests/causes/cause} /usr/local/bin/
    causes_prepare
    mkdir -p /var/lib/jobio /run/jobio
    jobiod --runtime /run/jobio --state /var/lib/jobio > "$OUT/jobiod.log" 2>&1 3>&- &
    echo $! > /run/jobiod.pid
    until_true 240 jobio status --json > "$OUT/status" 2>&1 || { cat "$OUT/jobiod.log"; return 1; }
}

teardown_file() {
    kill "$(cat /run/jobiod.pid)"
}

setup() {
    unset JOBIO_SOCKET
    export JOBIO_ADVICE=$BATS_TEST_DIRNAME/../../contrib/advice
}

# column NUMBER LINE
column() {
    cut -d '|' -f "$1" <<< "$2" | sed 's/^ *//; s/ *$//'
}

# program LIST NAME: its line
program() {
    grep "^$2 |" "$BATS_TEST_DIRNAME/$1.list"
}

# counted NAME COMMAND: run it as a counted command, with readings each second; its report is in $report.
# With RECORD, only its account is written, for other tests.
counted() {
    causes_cold
    if [ -n "${RECORD-}" ]; then
        jobio run --no-jobiod --json --output "$OUT/$1.json" -- sh -c "$2" > "$OUT/$1.out" 2>&1 < /dev/null || :
        skip "recorded"
    fi
    jobio run --no-jobiod --output "$OUT/$1.txt" -- sh -c "$2" > "$OUT/$1.out" 2>&1 < /dev/null || :
    report=$(cat "$OUT/$1.txt")
    echo "$report"
}

# notes: those of the report, a line each
notes() {
    awk '/^(error|note): / { if (note) print note; note = $0; next }
        /^  / && note { sub(/^ */, ""); note = note " " $0; next }
        note { print note; note = "" }
        END { if (note) print note }' <<< "$report"
}

is_named() {
    local line
    line=$(program causes "$1")
    counted "$1" "$(column 2 "$line")"
    notes | head -n 1 | grep -E "$(column 3 "$line")"
}

is_silent() {
    counted "$1" "$(column 2 "$(program healthy "$1")")"
    [ -z "$(notes)" ]
}

@test "small-files is named first" {
    is_named small-files
}

@test "append-loop is named first" {
    is_named append-loop
}

@test "stat-storm is named first" {
    is_named stat-storm
}

@test "sync-writes is named first" {
    is_named sync-writes
}

@test "sync-records is named first" {
    is_named sync-records
}

@test "tiny-reads is named first" {
    is_named tiny-reads
}

@test "random-reads is named first" {
    is_named random-reads
}

@test "mapped-file is named first" {
    is_named mapped-file
}

@test "read-again is named first" {
    is_named read-again
}

@test "no-space is named first" {
    is_named no-space
}

@test "quota is named first" {
    is_named quota
}

@test "sequential-read is healthy" {
    is_silent sequential-read
}

@test "sequential-write is healthy" {
    is_silent sequential-write
}

@test "compile is healthy" {
    is_silent compile
}

@test "compute is healthy" {
    is_silent compute
}

@test "tar is healthy" {
    is_silent tar
}

@test "short-script is healthy" {
    is_silent short-script
}

@test "git is healthy" {
    is_silent git
}

@test "python is healthy" {
    is_silent python
}

@test "sleep is healthy" {
    is_silent sleep
}

@test "sort is healthy" {
    is_silent sort
}

@test "checkpoints is healthy" {
    is_silent checkpoints
}

@test "mapped-compute is healthy" {
    is_silent mapped-compute
}

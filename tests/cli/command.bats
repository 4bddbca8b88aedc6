#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `jobio run` and its command: streams, exit status and signals, on the machine that builds (make
# check-native). As root; $BUILD is the build directory. run.bats compares the numbers.

bats_require_minimum_version 1.5.0
JOBIO_BUILD=$BUILD
load cli.bash

setup_file() {
    [ "$(id -u)" = 0 ] || skip "not root"
    CGROUPS=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    [ -n "$CGROUPS" ] || skip "no cgroup v2"
    export CGROUPS GROUP="$CGROUPS/jobio-command-$$" T="$BATS_FILE_TMPDIR"
    export WORK=$BUILD/tests/cluster/work
    mkdir "$GROUP" "$T/tmpfs"
    mount -t tmpfs tmpfs "$T/tmpfs" || skip "no mount(2) here"
}

teardown_file() {
    ! mountpoint -q "$T/tmpfs" || umount "$T/tmpfs"
    [ -z "${GROUP-}" ] || find "$GROUP" -depth -type d -exec rmdir {} +
}

# jobio creates its cgroups below its own, so that those of other runs are not seen here.
setup() {
    echo $BASHPID > "$GROUP/cgroup.procs"
}

teardown() {
    echo $BASHPID > "$CGROUPS/cgroup.procs"
}

no_cgroup_is_left() {
    [ -z "$(find "$GROUP" -name 'jobio-run-*')" ]
}

@test "a terminal that is not UTF-8 gets no letter of a name that it would take for a command" {
    evil=$'\xc3\x9b31m'
    for words in --full --json; do
        LC_ALL=C script -qec "jobio run $words --html $BATS_TEST_TMPDIR/page.html -- true '$evil' > $BATS_TEST_TMPDIR/out" \
            /dev/null < /dev/null > "$BATS_TEST_TMPDIR/terminal"
        grep -E '(\?|u00db)31m' "$BATS_TEST_TMPDIR/terminal"
        not env LC_ALL=C grep -P '[\x80-\xff]' "$BATS_TEST_TMPDIR/terminal"
        grep -F "$evil" "$BATS_TEST_TMPDIR/page.html"
    done
}

@test "JSON comes last on stderr, the exit status is that of the command" {
    split jobio run --json -- sh -c 'echo words >&2; exit 4'
    expect 4
    [ "$(head -n 1 <<< "$err")" = words ]
    [ "$(tail -n +2 <<< "$err" | jq -c '[.job.command, .job.exit_status]')" = \
        '[["sh","-c","echo words >&2; exit 4"],4]' ]
    [ -z "$out" ]
}

@test "--full to a file; 128 + n for a signal" {
    split jobio run --full --timeline --output "$BATS_TEST_TMPDIR/text" -- \
        sh -c "$WORK write:$T/tmpfs/made:2000:4096; kill -KILL \$\$"
    expect 137
    [ -z "$err" ]
    holds "$(cat "$BATS_TEST_TMPDIR/text")" "$T/tmpfs" create "complete: 1/1 nodes" "time line from" "  written "
}

@test "126 and 127 as a shell has them" {
    split jobio run -- no-such-command
    expect 127
    one_line no-such-command
    split jobio run -- /etc/passwd
    expect 126
    one_line /etc/passwd
    printf '#!/no/interpreter\n' > "$T/bad"
    chmod +x "$T/bad"
    # More than once: its process may still be in its exit when jobio ends.
    for i in 1 2 3 4; do
        split jobio run -- "$T/bad"
        expect 127
        one_line "$T/bad"
        no_cgroup_is_left
    done
}

@test "a signal that is sent to jobio reaches the command" {
    rm -f "$T/ready"
    jobio run --output "$BATS_TEST_TMPDIR/text" -- \
        sh -c "trap 'exit 77' TERM; : > '$T/ready'; while :; do sleep 0.05; done" 3>&- &
    until_true 60 test -e "$T/ready"
    kill -TERM $!
    status=0
    wait $! || status=$?
    expect 77
    [ -s "$BATS_TEST_TMPDIR/text" ]
    no_cgroup_is_left
}

@test "a report that cannot be written changes nothing for the command" {
    split jobio run --output /dev/full -- sh -c 'exit 5'
    expect 5
    one_line /dev/full
    (trap '' PIPE; jobio run -- sh -c 'exit 6' || echo $? > "$T/status") 2> >(true)
    until_true 10 test -s "$T/status"
    [ "$(cat "$T/status")" = 6 ]
}

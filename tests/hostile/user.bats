#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# An unprivileged user, a user in a user namespace and one with subordinate uids against a real jobiod,
# on the machine that builds (make check-native). As root; $BUILD is the build directory. The attacks are in
# attack.py. After each, the account of another user is exact, and root has been answered.

bats_require_minimum_version 1.5.0
load hostile

# Mounts that the user makes; above the quota of a step they are aggregated.
MOUNTS=${HOSTILE_MOUNTS:-300}

setup_file() {
    prepare_hostile user
    configure < /dev/null
    serve
}

teardown_file() {
    tidy
}

setup() {
    OWN="$GROUP/own"
    make_own "$OWN"
}

teardown() {
    tidy_own
}

# --- the socket ----------------------------------------------------------------------------------

@test "connections without a request" {
    under_attack 111 attack local "$JOBIO_SOCKET" flood 3
}

@test "many connections that are held" {
    under_attack 211 attack local "$JOBIO_SOCKET" hold 3
    status '.socket.refused > 0'
}

@test "messages that are cut, too long or malformed" {
    under_attack 311 attack local "$JOBIO_SOCKET" malformed 3
    status '.socket.bad > 0'
}

# --- jobio run -----------------------------------------------------------------------------------

# runs [OPTION...] SCRIPT: eight of "jobio run" at once, as the user in its cgroup, each at most 4 s; in all
# of them the script must start
runs() {
    local i pids=
    rm -f "$T/open/started"
    echo on
    for i in {1..8}; do
        in_own "$OWN" timeout -k 1 4 "$T/jobio" run "${@:1:$#-1}" -- \
            sh -c "echo x >> $T/open/started; ${*: -1}" < /dev/null > "$T/out.$i" 2>&1 &
        pids="$pids $!"
    done
    for i in $pids; do
        wait "$i" || true
    done
    [ "$(wc -l < "$T/open/started")" = 8 ] || { cat "$T"/out.*; return 1; }
}

no_run_is_left() {
    until_true 90 status '.runs == 0'
}

# Runs that have to write their report to a FIFO that is full.
runs_into_fifo() {
    local holder
    as_uid $HOSTILE sh -c 'exec 9<> "$1"; timeout 0.5 cat /dev/zero >&9; echo > "$1.full"; exec sleep 5' sh "$T/open/fifo" &
    holder=$!
    until_true 10 test -e "$T/open/fifo.full"
    runs "$@"
    wait $holder
}

@test "reports that go to a FIFO that nobody reads" {
    as_uid $HOSTILE mkfifo "$T/open/fifo"
    under_attack 1611 runs_into_fifo --output "$T/open/fifo" true
    no_run_is_left
}

@test "a directory that nobody may read" {
    as_uid $HOSTILE mkdir "$T/open/closed"
    under_attack 641 runs --json "cd $T/open/closed; echo x > file; chmod 0 .; sleep 0.2; echo y > /dev/null"
    no_run_is_left
}

@test "processes that leave the cgroup of their run, which is removed" {
    under_attack 711 runs 'sleep 1 & run=$(sed -n s/^0:://p /proc/self/cgroup)
        echo $! > '"$OWN"'/cgroup.procs; echo $$ > '"$OWN/cgroup.procs; rmdir $CGROUPS"'$run; exec true'
    no_run_is_left
    [ -z "$(find "$OWN" -mindepth 1 -type d)" ]
}

# --- user namespaces -----------------------------------------------------------------------------

many_mounts() {
    echo on
    in_own "$OWN" "$T/jobio" run --json --output "$T/open/report" -- unshare -Urm --propagation private \
        env CGROUP="$OWN" "$T/step" mounts "$T/open/mounts" "$MOUNTS" touch "$T/open/mounts" "$MOUNTS"
}

@test "a user in a user namespace with many mounts" {
    as_uid $HOSTILE unshare -Urm true || skip "no user namespaces here"
    as_uid $HOSTILE mkdir "$T/open/mounts"
    under_attack 811 many_mounts
    # 10 bytes on each of them, by name or beyond the share of the run, or named as lost
    jq -c '[.complete, .lost, (.mounts | length)], (.mounts[] | select(.fstype != "tmpfs") | [.mount, .fstype, .ops.write.bytes])' \
        "$T/open/report"
    jq -e --argjson n "$MOUNTS" '.lost > 0 or
        ([.mounts[] | select(.fstype == "tmpfs" or .mount == "(other mounts)") | .ops.write.bytes // 0] | add) == 10 * $n' "$T/open/report"
}

# --- requests (after the runs, because run-begin is one of them) -----------------------------------

@test "requests of every kind, about the job of another user" {
    local held job
    tag_of $VICTIM 9999
    held=$group
    mkfifo "$T/go"
    # The process waits there, because a step without a process for 5 s is closed as vanished.
    CGROUP=$held timeout 60 "$BIN/step" join write "$T/tmpfs/victim" 9000 open "$T/go" write "$T/tmpfs/victim" 999 3>&- &
    job=$!
    under_attack 411 attack local "$JOBIO_SOCKET" requests 4 9999
    : > "$T/go"
    wait $job
    timed "$TELL" "$JOBIO_SOCKET" end JOBID=9999 STEP=0
    timed "$TELL" "$JOBIO_SOCKET" job-end JOBID=9999
    rmdir "$held"
    is_exact 9999
}

@test "requests whose sender does not read the answer" {
    under_attack 511 attack local "$JOBIO_SOCKET" vanish 3
}

@test "nothing of these is left in jobiod" {
    until_true 30 status '.socket.clients == 1 and .queues.questions <= 1 and .queues.large_questions == 0'
    [ "$(ls "/proc/$(cat "$T/pid")/fd" | wc -l)" -lt 200 ]
}

# --- subordinate uids ----------------------------------------------------------------------------

# subordinates ARGUMENT...: attack.py subuids in a user namespace. Its uids are mapped here, as newuidmap
# does it.
subordinates() {
    local attacker pid
    rm -f "$T/open/pid"
    in_own "$OWN" sh -c 'echo $$ > "$0" && exec "$@"' "$T/open/pid" \
        "$T/attack.py" subuids "$JOBIO_SOCKET" "$@" &
    attacker=$!
    until_true 10 test -s "$T/open/pid"
    pid=$(cat "$T/open/pid")
    until_true 10 eval '[ "$(readlink /proc/'"$pid"'/ns/user)" != "$(readlink /proc/self/ns/user)" ]'
    # With one write(2).
    printf '0 %d 1\n1 300000 1000\n' $HOSTILE | cat > "/proc/$pid/uid_map"
    wait $attacker
}

# other_users: while the attack is on, requests of other users are answered
other_users() {
    local i
    subordinates "$@" &
    until_true 10 status '.socket.clients > 100'
    for i in {1..10}; do
        as_uid $((VICTIM + i)) "$T/jobio" history --json > /dev/null
        status '.socket.clients > 100' || break
    done
    [ "$i" -gt 1 ] # else the attack was over before the first answer
    wait $!
}

@test "connections of subordinate uids do not keep other users out" {
    as_uid $HOSTILE unshare -U true || skip "no user namespaces here"
    under_attack 1811 other_users 20 20
}

#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# A hostile user and `jobio run`, with a real jobiod, on the machine that builds (make check-native). As
# root; $BUILD is the build directory. The user owns a cgroup subtree that has limits.

bats_require_minimum_version 1.5.0
load hostile

setup_file() {
    prepare_hostile run
    configure < /dev/null
    serve
    # The limits, if these controllers are enabled in cgroup v2.
    [ ! -e "$GROUP/pids.max" ] || echo 50 > "$GROUP/pids.max"
    [ ! -e "$GROUP/memory.max" ] || echo 200M > "$GROUP/memory.max"
}

teardown_file() {
    tidy
}

setup() {
    OWN="$GROUP/own"
    make_own "$OWN"
    touch "$T/before"
}

teardown() {
    tidy_own
}

# as_user DIRECTORY COMMAND...: in_own; its streams are in $T/out and $T/err
as_user() {
    status=0
    in_own "$@" > "$T/out" 2> "$T/err" < /dev/null 3>&- || status=$?
}

own_path() {
    sed -n 's/^0:://p' "$1"
}

# is_refused WORD...: the last command did not run, and jobio said why in one line
is_refused() {
    local word
    [ "$status" = 125 ] && [ ! -s "$T/out" ] || { cat "$T/out" "$T/err"; return 1; }
    [ "$(wc -l < "$T/err")" = 1 ]
    for word; do
        grep -F -- "$word" "$T/err" || { cat "$T/err"; return 1; }
    done
    has_not_left
}

# No process or cgroup of a run is anywhere but in the subtree.
has_not_left() {
    local left
    left=$(find "$CGROUPS" -name 'jobio-run-*' -newer "$T/before" -not -path "$OWN/*")
    [ -z "$left" ] || { echo "left the subtree: $left"; return 1; }
}

@test "a run of a user stays below the cgroup that the user is in, with its limits" {
    as_user "$OWN" "$T/jobio" run -- cat /proc/self/cgroup
    [ "$status" = 0 ] || { cat "$T/err" "$T/log"; return 1; }
    [[ $(own_path "$T/out") == "${OWN#"$CGROUPS"}"/jobio-run-* ]]
    has_not_left
}

@test "a cgroup path that is too long is not a way out of the subtree" {
    local deep="$OWN" n
    n=$((490 - ${#OWN} + ${#CGROUPS} - 1))
    if ((n > 250)); then
        deep+=/$(printf %0200d 0)
        n=$((n - 201))
    fi
    deep+=/$(printf "%0${n}d" 0)
    make_own "$deep"
    as_user "$deep" "$T/jobio" run -- cat /proc/self/cgroup
    is_refused "the path of its cgroup is too long" "in another cgroup"
    # Longer than jobiod reads.
    deep+=/$(printf %0100d 0)
    make_own "$deep"
    as_user "$deep" "$T/jobio" run -- cat /proc/self/cgroup
    is_refused "the path of its cgroup is too long"
}

@test "a cgroup that allows no cgroup below it is not a way out of the subtree" {
    echo 0 > "$OWN/cgroup.max.descendants"
    as_user "$OWN" "$T/jobio" run -- cat /proc/self/cgroup
    is_refused "cgroup.max.descendants" "in another cgroup"
}

@test "a threaded cgroup is not a way out of the subtree" {
    make_own "$OWN/threads"
    echo threaded > "$OWN/threads/cgroup.type"
    as_user "$OWN/threads" "$T/jobio" run -- cat /proc/self/cgroup
    is_refused "is threaded" "in another cgroup"
}

@test "a cgroup that has the name of the next run is not a way out of the subtree" {
    local name number
    as_user "$OWN" "$T/jobio" run -- cat /proc/self/cgroup
    name=$(own_path "$T/out")
    number=${name##*-}
    make_own "$OWN/jobio-run-$((number + 1))"
    as_user "$OWN" "$T/jobio" run -- cat /proc/self/cgroup
    is_refused "File exists"
    as_user "$OWN" "$T/jobio" run -- cat /proc/self/cgroup
    [ "$status" = 0 ]
    has_not_left
}

# begin UID: start a run without a command, which counts for a minute
begin() {
    as_uid "$1" "$T/tell" "$JOBIO_SOCKET" run-begin 2>&1 3>&-
}

# begin_many N: up to N runs, 16 by each of many uids; its last word is their number
begin_many() {
    local i
    for ((i = 0; i < $1; i++)); do
        begin $((BASE + i / 16)) || break
    done
    echo $i
}

# The last test, because its runs stay until jobiod ends.
run_has_process() {
    grep -qs . "$OWN"/jobio-run-*/cgroup.procs
}

@test "a run of a user goes on when jobiod is killed, and the next one has all of its account" {
    local run code=0
    as_uid $HOSTILE mkfifo "$T/open/go"
    in_own "$OWN" "$T/jobio" run --json --output "$T/open/killed" -- env CGROUP="$OWN" "$T/step" write "$T/open/file" 5 \
        open "$T/open/go" write "$T/open/file" 3 > "$T/out" 2>&1 < /dev/null 3>&- &
    run=$!
    until_true 30 run_has_process || { cat "$T/out"; return 1; }
    end_it KILL pid
    serve
    status '.runs == 1'
    : > "$T/open/go"
    wait $run || code=$?
    cat "$T/out"
    [ $code = 0 ] && [ ! -s "$T/out" ]
    jq -c '{incomplete, lost, mounts: [.mounts[] | [.mount, .ops.write.bytes]]}' "$T/open/killed"
    jq -e --slurpfile causes "$T/causes" '.incomplete == $causes[0] and .lost == 0 and
        ([.mounts[].ops.write // {bytes: 0, requests: 0} | .bytes, .requests] | [add]) == [808]' "$T/open/killed"
}

@test "many uids of one user take neither all runs nor those of root" {
    local own=0 BASE=100000
    echo $BASHPID > "$OWN/cgroup.procs"
    # The uids of one login, if the kernel has login uids and this process has none.
    if [ "$(cat /proc/self/loginuid)" = 4294967295 ]; then
        (echo $HOSTILE > /proc/self/loginuid && begin_many 70) > "$T/answer"
        cat "$T/answer"
        grep "too many runs at once: user $HOSTILE has 64 already" "$T/answer"
        own=64
    fi
    BASE=200000
    begin_many 260 > "$T/answer"
    cat "$T/answer"
    grep "too many runs at once: this node has 224 already" "$T/answer"
    [ "$(tail -n 1 "$T/answer")" = $((224 - own)) ]
    begin 0
    end_it TERM pid
}

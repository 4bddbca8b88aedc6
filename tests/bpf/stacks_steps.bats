#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# jobiod records which code waits of steps that are tagged as the plugin does it, for a FUSE file system that is slow
# on purpose. As root, in a guest (make check-truth) or natively (make check-native); BUILD: the build directory.

bats_require_minimum_version 1.5.0
load steps.bash

setup_file() {
    # READS: the process that unwinds must have started before the waiter ends.
    export PATH=$BUILD:$PATH BIN=$BUILD/tests/bpf READS=300
    [ "$(id -u)" = 0 ] || skip "not root"
    [[ $("$BUILD/jobio" run --stacks -- true 2>&1) != *"built without libdw"* ]] || skip "built without libdw"
    # The kernel must have bpf_task_pt_regs.
    local linux
    linux=$(uname -r)
    printf '%s\n' 5.15 "${linux%%-*}" | sort -CV || skip "Linux $linux"
    modprobe fuse || true
    CGROUPS=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    export CGROUPS GROUP=$CGROUPS/jobio-stacks-$$ SLOW=$BATS_FILE_TMPDIR/slow
    mkdir "$GROUP" "$SLOW"
    CGROUP=$CGROUPS "$BIN/step" slow "$SLOW" 20
    chmod a+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/file"* "$BATS_FILE_TMPDIR" || true
}

teardown_file() {
    [ ! -d "${SLOW-}" ] || umount "$SLOW/0"
    [ ! -d "${GROUP-}" ] || find "$GROUP" -depth -type d -exec rmdir {} +
}

# start_jobiod LINE...: with these lines in [stacks]
start_jobiod() {
    run_jobiod "cluster = c1" "node = n1" "[stacks]" "$@"
}

# tag STEP LINE...
tag() {
    hold_step "$1" "${USER_ID:-65534}" "${@:2}"
}

# end STEP: also wait for its profile
end() {
    local kept
    kept=$(jobio status --json | jq .stacks.kept)
    end_step "$1"
    await status_is ".steps.unsaved == 0 and .stacks.kept > $kept and .stacks.steps == 0"
}

# waiter STEP CULPRIT COUNT: as the user of the step
waiter() {
    in_step "$1" setpriv --reuid="${USER_ID:-65534}" --regid=65534 --clear-groups "$BIN/waiter" "$SLOW/0/file" "$2" "$3"
}

# code STEP: its member waiting_code
code() {
    jobio job 7 --json --steps --stacks | jq --arg step "$1" '.steps[] | select(.step == $step).waiting_code'
}

# time_of STEP FUNCTION: nanoseconds of the stacks with that function
time_of() {
    code "$1" | jq --arg name "$2" '[.stacks[] | select(any(.functions[]; .function == $name)).time_ns] | add // 0'
}

# adds_up STEP: the stacks and the rest are all long calls
adds_up() {
    code "$1" > "$T/code"
    jq -e '([.stacks[].calls] + [.other.calls, .not_sampled.calls, .lost.calls, .not_unwound.calls] | add) == .all.calls
        and ([.stacks[].time_ns] + [.other.time_ns, .not_sampled.time_ns, .lost.time_ns, .not_unwound.time_ns] | add)
            == .all.time_ns' "$T/code" || {
        cat "$T/code"
        return 1
    }
}

# waited STEP: the time of reads of the slow file system
waited() {
    jobio job 7 --json --steps | jq --arg step "$1" --arg mount "$SLOW/0" \
        '.steps[] | select(.step == $step).mounts[] | select(.mount == $mount).ops.read.time_ns'
}

@test "the function that waits is found in a step of a user, and has all its time" {
    start_jobiod "sample = yes" "min = 10ms" "rate = 10000"
    tag 0
    waiter 0 culprit $READS
    end 0
    cat "$T/jobiod.log"
    adds_up 0
    # All reads of the waiter are long, and only the culprit reads.
    echo "culprit $(time_of 0 culprit), reads $(waited 0), all $(jq .all.time_ns "$T/code")"
    [ "$(time_of 0 culprit)" = "$(waited 0)" ]
    jq -e --argjson of "$(time_of 0 culprit)" \
        '$of >= 0.95 * ([.stacks[] | select(.thread == "waiter").time_ns] | add)' "$T/code"
    jobio job 7 --stacks=folded > "$T/folded"
    grep -E '^waiter;_start;(__libc_start_main;)?(__libc_start_call_main;)?main;(wait_in;)?culprit;[a-z_0-9]*pread[a-z_0-9]* [0-9]+$' "$T/folded"
    [ "$(awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$T/folded")" = "$(jq .all.time_ns "$T/code")" ]
    jobio job 7 --stacks > "$T/text"
    tr -s ' \n' ' ' < "$T/text" | grep -E \
        " [0-9.]+ m?s [0-9.]+ % $READS waiter [a-z_0-9]*pread[a-z_0-9]* \(libc\.so\.6\) culprit \(waiter\) (wait_in \(waiter\) )?main \(waiter\) "
}

# bats test_tags=any-backend
@test "a Python function is found in a step of a user" {
    start_jobiod "sample = yes" "min = 10ms" "rate = 10000"
    tag 0
    waiter 0 python $READS
    end 0
    adds_up 0
    echo "Loader.load $(time_of 0 Loader.load), reads $(waited 0)"
    [ "$(time_of 0 Loader.load)" = "$(waited 0)" ]
    jq -e '.stacks[0].functions | any(. == {"function": "Loader.load", "file": "loader/__init__.py"})' "$T/code"
}

# bats test_tags=any-backend
@test "only of the jobs that asked, and not of root" {
    start_jobiod "sample = asked" "min = 10ms" "rate = 10000"
    tag 0
    tag 1 STACKS=1
    USER_ID=0 tag 2 STACKS=1
    waiter 0 culprit 5
    waiter 1 culprit $READS
    end 1
    adds_up 1
    [ "$(time_of 1 culprit)" = "$(waited 1)" ]
    [ "$(code 0)" = null ]
    jobio job 7.0 --stacks | grep "waiting code: not recorded"
    grep "step 7.2: its waiting code is incomplete: only root can read the stacks of root" "$T/jobiod.log"
}

# bats test_tags=any-backend
@test "without the setting nothing is made in the kernel, and the log says so" {
    start_jobiod "sample = no"
    tag 0 STACKS=1
    grep "\"sample\" is \"no\"" "$T/jobiod.log"
    [ -z "$(find "$(jq -r .maps "$T/status")" -name stacks)" ]
    run jobio job 7 --stacks=folded
    [ "$status" = 1 ] && [[ $output == *"not recorded"* ]]
}

# unwinder: the process of jobiod
unwinder() {
    pgrep -P $jobiod
}

ended() {
    ! unwinder
}

# wakeups COMMAND...: how often this jobiod waits while it runs
wakeups() {
    local before
    before=$(awk '/^voluntary_ctxt_switches/ { print $2 }' /proc/$jobiod/status)
    "$@"
    awk -v before="$before" '/^voluntary_ctxt_switches/ { print $2 - before }' /proc/$jobiod/status
}

# bats test_tags=any-backend
@test "stacks of a program that is known are read together" {
    local without with
    start_jobiod "sample = yes" "rate = 10000"
    tag 0
    without=$(wakeups "$BIN/waiter" "$SLOW/0/file" culprit 250) # 5 s
    with=$(wakeups waiter 0 culprit 250)
    echo "$without times without stacks, $with times with 250"
    ((with - without < 125))
    end 0
    adds_up 0
    jq -e '.all.calls >= 250 and .lost.calls == 0 and .not_sampled.calls == 0' "$T/code"
}

# bats test_tags=any-backend
@test "the process that unwinds has the user's id and no capability" {
    start_jobiod "sample = yes" "rate = 10000"
    tag 0
    waiter 0 culprit 2
    await unwinder
    grep -E '^(Uid|Gid|Groups|Cap|NoNew)' "/proc/$(unwinder)/status" > "$T/proc"
    cat "$T/proc"
    [ "$(grep -cE '^(Uid|Gid):(.65534){4}$' "$T/proc")" = 2 ]
    grep -xE 'Groups:.*' "$T/proc" | grep -v '[0-9]'
    [ "$(grep -cE '^Cap(Inh|Prm|Eff|Amb):.0{16}$' "$T/proc")" = 4 ]
    grep -x 'NoNewPrivs:.1' "$T/proc"
    end 0
}

# bats test_tags=any-backend
@test "the stacks of a program with other privileges than its user are not handed to a process of the user" {
    install -m 4755 "$BIN/waiter" "$BATS_FILE_TMPDIR/setuid"
    start_jobiod "sample = yes" "min = 10ms" "rate = 10000"
    tag 0
    waiter 0 culprit $READS
    in_step 0 setpriv --reuid=65534 --regid=65534 --clear-groups "$BATS_FILE_TMPDIR/setuid" "$SLOW/0/file" culprit 20
    end 0
    adds_up 0
    jq -e '[.stacks[].thread] | (index("waiter") != null) and index("setuid") == null' "$T/code"
    jq -e '.not_unwound.calls >= 20' "$T/code"
}

# bats test_tags=any-backend
@test "a process that dies costs the stacks that it had, and they are counted" {
    start_jobiod "sample = yes" "min = 10ms" "rate = 10000"
    tag 0
    waiter 0 culprit 20
    await unwinder
    kill -9 "$(unwinder)"
    await ended
    waiter 0 culprit 5
    end 0
    adds_up 0
    jq -e '.stacks == [] and .not_unwound.calls == .all.calls and .all.calls >= 25' "$T/code"
    jobio job 7 --stacks | tr -s ' \n' ' ' | grep 'the process that unwinds them failed, was too slow or used up its CPU time: '
    grep "its waiting code is incomplete: the process that unwinds stacks was killed" "$T/jobiod.log"
    status_is ".steps.running == 0"
}

# bats test_tags=any-backend
@test "of more steps of a user than are unwound at once the calls are counted" {
    local step
    start_jobiod "sample = yes" "min = 10ms" "rate = 10000"
    for step in {0..16}; do
        tag "$step"
    done
    waiter 16 culprit 5
    for step in {0..16}; do
        end_step "$step"
    done
    await status_is ".stacks.kept == 17"
    adds_up 16
    jq -e '.stacks == [] and .not_unwound.calls == .all.calls and .all.calls >= 5' "$T/code"
    grep "step 7.16: its waiting code is incomplete: the stacks of 16 steps of the user are recorded already" "$T/jobiod.log"
}

# bats test_tags=any-backend
@test "if jobiod ends before the process that unwinds, the calls are counted without a stack" {
    start_jobiod "sample = yes" "min = 10ms" "rate = 10000"
    tag 0
    waiter 0 culprit 5
    await unwinder
    kill -STOP "$(unwinder)"
    waiter 0 culprit 5
    end_step 0
    await status_is ".steps.running == 0 and .steps.unsaved == 0"
    stop_jobiod
    start_jobiod "sample = yes"
    adds_up 0
    jq -e '.stacks == [] and .not_unwound.calls == .all.calls and .all.calls >= 10' "$T/code"
}

# bats test_tags=any-backend
@test "after a restart of jobiod the calls before it are counted without a stack" {
    start_jobiod "sample = yes" "min = 10ms" "rate = 10000"
    tag 0
    waiter 0 culprit 20
    stop_jobiod
    waiter 0 culprit 10 # into the ring buffer
    start_jobiod "sample = yes" "min = 10ms" "rate = 10000"
    await status_is ".steps.running == 1"
    waiter 0 culprit $READS
    end 0
    adds_up 0
    jq -e --argjson reads $READS '.all.calls >= 30 + $reads and .not_unwound.calls >= 20' "$T/code"
    [ "$(time_of 0 culprit)" -ge $((READS * 20000000)) ]
}

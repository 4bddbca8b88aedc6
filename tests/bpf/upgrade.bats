#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# jobiod is replaced by another version again and again while steps write: no byte is lost. The three
# versions have different layouts of the maps (JOBIO_LAYOUT) with the same shape. As root, natively
# (JOBIO_BACKEND=tp_btf) or in a guest; $BUILD is the build directory. $UPGRADES: how often.

bats_require_minimum_version 1.5.0

setup_file() {
    export T="$BATS_FILE_TMPDIR" BIN="$BUILD/tests/bpf"
    [ "$(id -u)" = 0 ] || skip "not root"
    [ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF"
    CGROUPS=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    [ -n "$CGROUPS" ] || skip "no cgroup v2"
    export CGROUPS GROUP="$CGROUPS/jobio-upgrade-$$"
    export PINS="/sys/fs/bpf/jobio${BATS_FILE_TMPDIR//[\/.]/-}-run"
    mkdir -p "$GROUP" "$T/run" "$T/state"
    printf '%s\n' "cluster = c" "node = n" "interval = 1s" ${JOBIO_BACKEND:+"backend = $JOBIO_BACKEND"} \
        > "$T/jobio.conf"
    export JOBIO_SOCKET="$T/run/jobiod.sock"
}

teardown_file() {
    local pid
    for pid in "$T"/*.pid; do
        [ ! -s "$pid" ] || kill -9 "$(cat "$pid")" || true
    done
    "$BUILD/jobiod" --detach --runtime "$T/run" || true
    for ((i = 0; i < 100; i++)); do
        ! find "$GROUP" -mindepth 1 -depth -type d -exec rmdir {} + || break
        sleep 0.1
    done
    rmdir "$GROUP"
}

# start PROGRAM
start() {
    "$1" --config "$T/jobio.conf" --runtime "$T/run" --state "$T/state" > "$T/jobiod.log" 2>&1 3>&- &
    jobiod=$!
    echo $jobiod > "$T/jobiod.pid"
    for ((i = 0; i < 600; i++)); do
        ! "$BUILD/jobio" status --json > "$T/status" 2> /dev/null || return 0
        kill -0 $jobiod || break
        sleep 0.05
    done
    cat "$T/jobiod.log"
    return 1
}

# stop SIGNAL
stop() {
    kill -s "$1" $jobiod
    wait $jobiod || true
    rm "$T/jobiod.pid"
}

# begin STEP: it is tagged by its step file before it writes, as by the plugin while jobiod is down
begin() {
    local file="$T/run/7.0.4294967294.$1"
    mkdir "$GROUP/step_$1"
    printf '%s\n' VERSION=1 TYPE=tag JOBID=7 RESTART=0 HET=4294967294 STEP="$1" UID=0 \
        CGROUP="${GROUP#"$CGROUPS"}/step_$1" CGROUP_ID="$(stat -c %i "$GROUP/step_$1")" CGROUP_LEVEL=2 \
        CGROUP_VERSION=2 TAGGED_AT="$(date +%s%N)" TAGGED_BOOT=1 NODES=1 SUMMARY=short > "$file"
    mv -t "$T/run/steps" "$file"
    for ((i = 0; i < 600; i++)); do
        ! "$BUILD/jobio" status --json | jq -e ".steps.running == $2" > /dev/null || break
        sleep 0.05
    done
    CGROUP="$GROUP/step_$1" "$BIN/step" join loop "$T/file$1" > "$T/calls$1" 3>&- &
    echo $! > "$T/step$1.pid"
    for ((i = 0; i < 600; i++)); do
        [ ! -s "$T/file$1" ] || return 0
        sleep 0.05
    done
    return 1
}

# finish STEP
finish() {
    kill "$(cat "$T/step$1.pid")"
    wait "$(cat "$T/step$1.pid")"
    rm "$T/step$1.pid"
    rmdir "$GROUP/step_$1"
}

steps_are() {
    for ((i = 0; i < 1200; i++)); do
        "$BUILD/jobio" status --json > "$T/status"
        ! jq -e ".steps.running == $1 and .steps.unsaved == 0" "$T/status" > /dev/null || return 0
        sleep 0.05
    done
    cat "$T/status" "$T/jobiod.log"
    return 1
}

# layouts N: as many layouts are pinned
layouts() {
    for ((i = 0; i < 200; i++)); do
        [ "$(find "$PINS" -mindepth 1 -maxdepth 1 | wc -l)" != "$1" ] || return 0
        sleep 0.05
    done
    ls "$PINS"
    cat "$T/jobiod.log"
    return 1
}

# Steps 0, 1 and 2 start in different layouts; each is counted there, whichever version reads it.
@test "${UPGRADES:=8} upgrades, downgrades and restarts while steps write: no byte is lost" {
    local versions=("$BUILD/jobiod" "$BIN/jobiod_next" "$BIN/jobiod_third") signals=(TERM KILL)
    local order=(0 1 1 2 2 0 0 2 1) upgrade at before
    local -A in=([0]=0) # the layout that counts a step
    start "${versions[0]}"
    begin 0 1
    for ((upgrade = 1; upgrade <= UPGRADES; upgrade++)); do
        at=${order[(upgrade - 1) % 8 + 1]}
        stop "${signals[upgrade / 3 % 2]}"
        start "${versions[at]}"
        layouts "$(printf '%s\n' "${in[@]}" "$at" | sort -u | wc -l)"
        [ $upgrade != 1 ] || { begin 1 2 && in[1]=$at; }
        [ $upgrade != $(((UPGRADES + 1) / 2)) ] || { finish 0 && steps_are 1 && unset 'in[0]' &&
            begin 2 2 && in[2]=$at; }
        before=$(stat -c %y "$T/file1")
        for ((i = 0; i < 600; i++)); do # the steps write on meanwhile
            [ "$(stat -c %y "$T/file1")" = "$before" ] || break
            sleep 0.05
        done
        [ "$i" != 600 ]
    done
    finish 1
    finish 2
    steps_are 0
    stop TERM
    "$BUILD/jobio" --store "$T/state/jobio.db" job 7 --steps --json > "$T/job"
    jq -c '.steps[] | {step, writes: [.mounts[].ops.write // {} | .requests // 0] | add}' "$T/job"
    # Each call wrote 100 bytes; the last one wrote their number.
    for step in 0 1 2; do
        jq -e --arg step $step --argjson calls "$(cat "$T/calls$step")" \
            --argjson last "$(stat -c %s "$T/calls$step")" '.steps[] | select(.step == $step)
            | .mounts | map(.ops.write // {})
            | ($calls > 100) and (map(.requests // 0) | add) == $calls + 1
              and (map(.bytes // 0) | add) == $calls * 100 + $last' "$T/job"
    done
    # No plugin tagged these steps (began-untracked) and reported their ends (step-vanished).
    jq -c .incomplete "$T/job"
    jq -e '.lost == 0 and ([.incomplete[].cause | select(test("missed|lost"))] == [])' \
        "$T/job"
    start "${versions[0]}" # the other layout counts no step any more
    [ "$(ls "$PINS")" = "$(sed -n 's/^LAYOUT=//p' "$T/run/probe")" ]
    stop TERM
}

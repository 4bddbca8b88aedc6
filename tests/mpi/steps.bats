#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# jobiod counts the MPI-IO of steps: the programs of mpi.bats, on the running kernel, in steps that are
# tagged as the plugin does it. As root; BUILD: the build directory.

bats_require_minimum_version 1.5.0
load sums.bash
load ../bpf/steps.bash

setup_file() {
    local mpi
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export D=$BATS_FILE_TMPDIR PATH=$BUILD:$PATH
    for mpi in mpich openmpi; do
        mpicc.$mpi -O1 -o "$D/calls.$mpi" "$BATS_TEST_DIRNAME/calls.c"
        mpicc.$mpi -O1 -o "$D/killed.$mpi" "$BATS_TEST_DIRNAME/killed.c"
        mpicc.$mpi -O1 -o "$D/phases.$mpi" "$BATS_TEST_DIRNAME/phases.c"
    done
    ${CC:-cc} -O1 -o "$D/many" "$BATS_TEST_DIRNAME/many.c"
    mpicc.mpich -O1 -c -o "$D/loaded.o" "$BATS_TEST_DIRNAME/loaded.c"
    cc -o "$D/loaded" "$D/loaded.o" -ldl
    CGROUPS=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    export CGROUPS GROUP=$CGROUPS/jobio-mpi-$$
    mkdir "$GROUP"
}

teardown_file() {
    find "$GROUP" -depth -type d -exec rmdir {} +
}

# start_jobiod COUNT LINE...: with that setting of [mpi], and more lines
start_jobiod() {
    run_jobiod "[mpi]" "count = $1" "${@:2}"
    [ "$1" != yes ] || await is_ready
}

# The programs are attached to the libraries.
is_ready() {
    jobio status --json | jq -e .mpi.ready
}

steps_are() {
    jobio status --json | jq -e ".steps.$1 == $2"
}

# tag STEP [MPI]: MPI 1: with --io-mpi
tag() {
    tag_step "$1" 0 ${2:+MPI=$2}
}

# end STEP: as the plugin
end() {
    printf '%s\n' VERSION=1 TYPE=end ENDED_AT="$(date +%s%N)" > "$T/run/steps/7.0.4294967294.$1.end"
}

# call STEP MPI RANKS: the program that calls every function; its truth is added to $T/truth
call() {
    local options=()
    [ "$2" = mpich ] || options=(--oversubscribe)
    rm -f "$T/file.$1"
    in_step "$1" timeout 120 "mpirun.$2" "${options[@]}" -n "$3" "$D/calls.$2" "$T/file.$1" | tee -a "$T/truth.$1" >> "$T/truth"
}

# job FILE: the document of the job
job() {
    jobio job 7 --json > "$1"
}

is_true() {
    diff <(summed < "$T/truth") <(counted "$1")
    jq -c .mpi.incomplete "$1"
    jq -e .mpi.complete "$1"
}

@test "the MPI-IO of a step is counted exactly, while it runs and after its end" {
    start_jobiod yes
    tag 0
    call 0 mpich 2
    call 0 openmpi 3
    job "$T/running"
    is_true "$T/running"
    end 0
    await steps_are running 0
    job "$T/ended"
    is_true "$T/ended"
}

@test "the steps of a job are counted apart, and added up" {
    start_jobiod yes
    tag 0
    tag 1
    call 0 mpich 2 &
    call 1 openmpi 2
    wait $!
    job "$T/running"
    is_true "$T/running"
    jobio job 7 --steps --json > "$T/steps"
    for step in 0 1; do
        jq --arg step $step '{mpi: (.steps[] | select(.step == $step).mpi)}' "$T/steps" > "$T/step"
        diff <(summed < "$T/truth.$step") <(counted "$T/step")
    done
    end 0
    await steps_are running 1
    call 1 mpich 1
    job "$T/one"
    is_true "$T/one"
    end 1
    await steps_are running 0
    job "$T/ended"
    is_true "$T/ended"
}

@test "in steps, processes that are killed in a call are reported, and an MPI that is loaded later is counted" {
    start_jobiod yes
    tag 0
    tag 1
    cp -L "$(ldconfig -p | sed -n 's|.*libmpich\.so\.12 .*=> ||p' | head -n 1)" "$T/libmpich.so.12"
    in_step 1 "$D/loaded" "$T/libmpich.so.12" "$T/file.1" later &
    run ! in_step 0 timeout 120 mpirun.mpich -n 2 "$D/killed.mpich" "$T/file.mpich"
    run ! in_step 0 timeout 120 mpirun.openmpi --oversubscribe -n 2 "$D/killed.openmpi" "$T/file.openmpi"
    wait $!
    end 0
    end 1
    await steps_are running 0
    jobio job 7 --steps --json > "$T/steps"
    jq '{mpi: (.steps[] | select(.step == "0").mpi)}' "$T/steps" > "$T/killed"
    jq '{mpi: (.steps[] | select(.step == "1").mpi)}' "$T/steps" > "$T/loaded"
    [ "$(counted "$T/killed")" = "open 4 0 0 0 0" ]
    jq -e '.mpi.incomplete == [{cause: "return-not-seen", count: 2}]' "$T/killed"
    printf '%s\n' "open 1 0 0 0 0" "close 1 0 0 0 0" "write 10 0 10000 0 0" "read_all 10 0 10000 0 0" > "$T/truth"
    is_true "$T/loaded"
}

@test "the MPI-IO of a step that disappears is incomplete" {
    start_jobiod yes
    tag 0
    call 0 mpich 2
    await steps_are running 0 # it has no process for 5 s
    call 0 mpich 2            # not counted
    job "$T/ended"
    jq -e '.mpi.calls.open.calls > 0 and (.mpi.complete | not)' "$T/ended"
    jq -e '.mpi.incomplete == [{cause: "step-vanished", count: 1}]' "$T/ended"
}

@test "without the setting, only jobs that want it are counted, and the first one is incomplete" {
    start_jobiod asked
    tag 0
    tag 1 1
    await is_ready
    call 0 mpich 2
    rm "$T/truth"
    call 1 mpich 2
    job "$T/running"
    diff <(summed < "$T/truth") <(counted "$T/running")
    jq -e '.mpi.incomplete == [{cause: "step-before-probes", count: 1}]' "$T/running"
    tag 2 1
    call 2 openmpi 1
    job "$T/running"
    diff <(summed < "$T/truth") <(counted "$T/running")
    jq -e '.mpi.incomplete == [{cause: "step-before-probes", count: 1}]' "$T/running"
}

# all_spans PROGRAM: of jq, for the spans of $T/spans with their attributes in .a
all_spans() {
    jq -e "[.resourceSpans[].scopeSpans[].spans[]
        | .a = (.attributes | map({key, value: (.value | to_entries[0].value)}) | from_entries)] | $1" "$T/spans"
}

# Both functions of a split call have a span; its bytes are those of the second one.
@test "the trace of MPI-IO of a step has a span for each of its calls and for nothing else" {
    local calls bytes
    run_jobiod "[mpi]" "count = yes" "[trace]" "allow = yes"
    await is_ready
    tag_step 0 0 MPI=1 TRACE=1 TRACE_OF=mpi
    tag_step 1 0 MPI=1 TRACE=1
    call 0 mpich 2
    call 0 openmpi 3
    call 1 mpich 1
    end 0
    end 1
    await status_is '.trace.kept == 2 and .steps.running == 0'
    read -r calls bytes < <(awk '{ calls += $2 * ($1 ~ /_split$/ ? 2 : 1); bytes += $4 + $5 } END { print calls, bytes }' "$T/truth.0")
    jobio trace 7.0 -o "$T/spans"
    [ "$(all_spans 'map(select(.name | startswith("MPI_File_"))) | length')" = "$calls" ]
    [ "$(all_spans 'map(select(.name | startswith("MPI_File_")).a["jobio.bytes"] // 0 | tonumber) | add')" = "$bytes" ]
    all_spans 'map(select(.a | has("jobio.mount"))) == []'
    all_spans 'map(.a["jobio.dropped"] // empty) == ["0"] and map(.a["jobio.trace_of"] // empty) == ["mpi"]'
    jobio trace 7.1 -o "$T/spans"
    all_spans 'map(select(.name == "write" and .a["jobio.mount"])) | length > 0'
    all_spans 'map(.a["jobio.trace_of"] // empty) == []'
    jobio job 7 --json > "$T/ended"
    is_true "$T/ended"
}

@test "a step is not counted if the site does not allow it" {
    start_jobiod no
    tag 0 1
    call 0 mpich 2
    job "$T/running"
    jq -e 'has("mpi") | not' "$T/running"
}

@test "a step that has not called MPI-IO has an empty account" {
    start_jobiod yes
    tag 0
    in_step 0 cat /etc/passwd > /dev/null
    job "$T/running"
    jq -e '.mpi.calls == {} and .mpi.complete' "$T/running"
}

@test "a restart of jobiod keeps what was counted, and is reported" {
    start_jobiod yes
    tag 0
    call 0 mpich 2
    stop_jobiod
    start_jobiod yes
    await steps_are running 1
    job "$T/restarted"
    diff <(summed < "$T/truth") <(counted "$T/restarted")
    jq -e '.mpi.incomplete == [{cause: "jobiod-restarted", count: 1}]' "$T/restarted"
    call 0 mpich 1
    stop_jobiod
    start_jobiod yes
    await steps_are running 1
    end 0
    await steps_are running 0
    job "$T/ended"
    diff <(summed < "$T/truth") <(counted "$T/ended")
    jq -e '.mpi.incomplete == [{cause: "jobiod-restarted", count: 1}]' "$T/ended"
}

# start_phases STEP MPI ROUNDS...: two ranks of phases.c, in $T/phases.STEP
start_phases() {
    local options=()
    [ "$2" = mpich ] || options=(--oversubscribe)
    mkdir "$T/phases.$1"
    in_step "$1" timeout 240 "mpirun.$2" "${options[@]}" -n 2 "$D/phases.$2" "$T/file.$1" "$T/phases.$1" "${@:3}" &
    programs+=($!)
}

# let_both EVENT.PHASE: go or stop
let_both() {
    touch "$T"/phases.{0,1}/"$1"
}

# await_truth PHASE: both steps have ended it; $T/truth.PHASE has their sums
await_truth() {
    await test -e "$T/phases.0/truth.$1"
    await test -e "$T/phases.1/truth.$1"
    cat "$T"/phases.{0,1}/"truth.$1" | summed > "$T/truth.$1"
}

# run_phase PHASE: one with a fixed number of calls
run_phase() {
    let_both "go.$1"
    await_truth "$1"
}

# counts FILE...: jobiod reports the sum of these
counts() {
    job "$T/job"
    diff <(cat "$@" | summed) <(counted "$T/job")
}

# writes: how many jobiod reports, of each step
writes() {
    jobio job 7 --steps --json | jq -c '[.steps | sort_by(.step)[].mpi.calls.write.calls]'
}

# writes_more BEFORE: than that, of each step
writes_more() {
    writes | jq -e --argjson before "$1" '.[0] > $before[0] and .[1] > $before[1]'
}

# at_most FILE LIMITS: no number is larger
at_most() {
    awk 'NR == FNR { for (i = 2; i <= NF; i++) limit[$1, i] = $i; next }
        { for (i = 2; i <= NF; i++) if ($i > limit[$1, i]) { print; above = 1 } }
        END { exit above }' "$2" "$1"
}

# kill_jobiod: what the store has then is in $T/stored
kill_jobiod() {
    kill -9 $jobiod
    wait $jobiod || true
    jobiod=
    jobio --store "$T/state/jobio.db" job 7 --json > "$T/job"
    counted "$T/job" > "$T/stored"
}

restart_jobiod() {
    start_jobiod yes
    await steps_are running 2
}

# Both steps are reported. A new jobiod has not seen the starts of programs, nor an old one the returns of
# calls in which it ended.
says_restarted() {
    jq -c .mpi.incomplete "$T/job"
    jq -e '.mpi.incomplete | any(. == {cause: "jobiod-restarted", count: 2}) and ([.[].cause] -
        ["jobiod-restarted", "started-before-probes", "programs-not-seen", "return-not-seen"] == [])' "$T/job"
}

# A call that is counted twice is seen although others are lost: after a restart, either no call is made before
# the next reading, or fewer are lost than were counted before.
@test "stops and crashes of jobiod while MPI programs run lose calls, and count none twice" {
    local programs=() program
    start_jobiod yes
    tag 0
    tag 1
    start_phases 0 mpich 5000 500 5000 0 5000 0 100
    start_phases 1 openmpi 5000 500 5000 0 5000 0 100
    run_phase 1
    counts "$T/truth.1"
    # On a busy machine a program of mpirun can end before jobiod has looked at it.
    jq -c .mpi.incomplete "$T/job"
    jq -e '[.mpi.incomplete[].cause] - ["programs-not-seen"] == []' "$T/job"

    # Calls while jobiod is stopped are lost; all others are counted.
    stop_jobiod
    run_phase 2
    restart_jobiod
    counts "$T/truth.1"
    run_phase 3
    counts "$T/truth.1" "$T/truth.3"

    # Killed while calls are made, and no calls after the restart: what the store has is counted once.
    let_both go.4
    await writes_more "$(writes)"
    kill_jobiod
    let_both stop.4
    await_truth 4
    at_most "$T/truth.1" "$T/stored"
    at_most "$T/stored" <(cat "$T"/truth.[134] | summed)
    restart_jobiod
    counts "$T/stored"
    run_phase 5
    counts "$T/stored" "$T/truth.5"

    # Killed and started again while calls are made.
    let_both go.6
    await writes_more "$(writes)"
    kill_jobiod
    restart_jobiod
    await writes_more "$(writes)"
    let_both stop.6
    await_truth 6
    job "$T/job"
    counted "$T/job" > "$T/counted"
    at_most "$T/counted" <(cat "$T/stored" "$T"/truth.[56] | summed)
    run_phase 7
    counts "$T/counted" "$T/truth.7"
    says_restarted

    for program in "${programs[@]}"; do
        wait "$program"
    done
    end 0
    end 1
    await steps_are running 0
    counts "$T/counted" "$T/truth.7"
    says_restarted
}

# jobiod forgets those that have ended once they take half of the room.
has_room() {
    [ "$(bpftool -j map dump name mpi_processes | jq length)" -le 8192 ]
}

@test "a step can start more processes than there is room for, if they end" {
    local i
    start_jobiod yes
    tag 0
    for i in 1 2 3; do # MPI_MAX_PROCESSES is 16384
        in_step 0 "$D/many" 6000
        await has_room
    done
    job "$T/running"
    jq -c .mpi.incomplete "$T/running"
    jq -e '.mpi.complete and .mpi.calls.close.calls == 18000' "$T/running"
}

# uprobes: how many perf events and links this jobiod has for uprobes
uprobes() {
    local fd
    for fd in "/proc/$jobiod/fdinfo"/*; do
        grep -l "link_type.*\(uprobe\|kprobe_multi\|perf\)" "$fd" 2> /dev/null
    done | wc -l
}

no_uprobes() {
    [ "$(uprobes)" = 0 ]
}

@test "the probes are attached for the first step that wants them, and stay for the next" {
    start_jobiod asked
    no_uprobes
    tag 0
    in_step 0 sleep infinity & # without a process, it has vanished after 5 s
    tag 1 1
    await is_ready
    [ "$(uprobes)" != 0 ]
    end 1
    await steps_are running 1
    [ "$(uprobes)" != 0 ]
}

# bats test_tags=long
@test "a library that no step uses any more does not keep its file system mounted, and is counted again" {
    local library
    library=$(ldconfig -p | sed -n 's|.*libmpich\.so\.12 .*=> ||p' | head -n 1)
    start_jobiod yes
    mkdir "$T/own"
    tag 0 # until the end, so that the programs stay attached
    in_step 0 sleep infinity &
    for step in 1 2; do
        mount -t tmpfs own "$T/own"
        cp -L "$library" "$T/own/libmpich.so.12"
        tag $step
        in_step $step "$D/loaded" "$T/own/libmpich.so.12" "$T/file" later
        jobio job 7 --steps --json | jq -e --arg step $step '.steps[] | select(.step == $step).mpi
            | .complete and .calls.write.calls == 10'
        end $step
        await steps_are running 1
        run ! umount "$T/own"
        for _ in 1 2 3 4; do # each for 20 s
            ! await umount "$T/own" || break
        done
        run ! mountpoint "$T/own"
        [ "$(uprobes)" != 0 ]
    done
}

# start_collector ANSWER: bad_collector.py; sets $port
start_collector() {
    timeout 300 "$BATS_TEST_DIRNAME/bad_collector.py" "$1" "$T" >> "$T/collector.log" 2>&1 3>&- &
    collector=$!
    await test -e "$T/port"
    port=$(cat "$T/port")
}

# time_call COMMAND...: a program that COMMAND starts; sets $ms
time_call() {
    local start
    start=$(date +%s%N)
    "$@" timeout 120 mpirun.mpich -n 1 "$D/calls.mpich" "$T/file" 100 > "$T/lines"
    ms=$((($(date +%s%N) - start) / 1000000))
}

# time_step STEP: a program in the step; sets $ms
time_step() {
    time_call in_step "$1"
    cat "$T/lines" >> "$T/truth"
}

# cpu_ms: the CPU time of jobiod
cpu_ms() {
    awk -v hz="$(getconf CLK_TCK)" '{ print int(($14 + $15) * 1000 / hz) }' "/proc/$jobiod/stat"
}

# not_delayed STEP: a program of the step takes at most 1.25 times as long as the one before it that belongs to no
# step. What else the machine does is in both, but only now and then to the same degree: one of 20 pairs is enough.
# What both pay for is the CPU time of jobiod: less than half a core.
not_delayed() {
    local ms i outside start cpu
    start=$(date +%s%N)
    cpu=$(cpu_ms)
    for ((i = 0; i < 20; i++)); do
        time_call env
        outside=$ms
        time_step "$1"
        ((ms * 4 > outside * 5)) || break
    done
    cpu=$(($(cpu_ms) - cpu))
    echo "$outside ms outside of steps, $ms ms in one, after $i pairs; jobiod: $cpu ms of CPU"
    [ $i -lt 20 ]
    ((cpu * 2 < ($(date +%s%N) - start) / 1000000))
}

# The spans of calls of MPI-IO that jobiod keeps
mpi_spans() {
    jobio trace 7 -o - | jq '[.resourceSpans[].scopeSpans[].spans[].name | select(startswith("MPI_File_"))] | length'
}

# survives ANSWER TIMEOUT FAILING END: step 0 ends, and jobiod sends its trace to a collector that answers so, until
# the status of the delivery is FAILING. Then step 1 calls MPI-IO, without delay. All is counted. With both traces,
# the status becomes END, where $spans and $requests are what the collector got.
survives() {
    start_collector "$1"
    start_jobiod yes "[trace]" "allow = yes" "url = http://127.0.0.1:$port" "timeout = $2"
    tag_step 0 0 TRACE=1
    for _ in 1 2 3; do
        time_step 0
    done
    end 0
    await status_is ".trace.delivery | $3"

    tag_step 1 0 TRACE=1
    not_delayed 1
    call 1 openmpi 2
    await status_is ".trace.delivery | $3"
    job "$T/running"
    is_true "$T/running"
    end 1
    await status_is ".steps.unsaved == 0 and .trace.kept == 2"
    job "$T/ended"
    is_true "$T/ended"
    [ "$(mpi_spans)" -gt 1000 ]
    await delivery_is "$4"
    kill $collector
}

delivery_is() {
    jobio status --json | jq -e --argjson spans "$(awk '{ n += $1 } END { print n + 0 }' "$T/requests")" \
        --argjson requests "$(wc -l < "$T/requests")" ".trace.delivery | $1"
}

@test "a collector that hangs delays neither MPI-IO nor its counters" {
    survives hang 1m '.sending' '.sending and .waiting == 2 and .given_up == 0'
}

@test "traces wait for a collector that does not answer in time" {
    survives hang 1s '.state == "backoff"' \
        '.state == "backoff" and .waiting == 2 and .given_up == 0 and (.last_error | contains("timed out"))'
}

@test "traces wait for a collector that is busy" {
    survives busy 10s '.state == "backoff"' '.state == "backoff" and .last_code == 503 and .waiting == 2 and .given_up == 0'
}

@test "traces wait for a collector that is full" {
    survives full 10s '.state == "backoff"' '.state == "backoff" and .last_code == 429 and .waiting == 2 and .given_up == 0'
}

@test "traces wait if an answer is not that of a collector" {
    survives garbage 10s '.state == "misconfigured"' \
        '.state == "misconfigured" and .waiting == 2 and .given_up == 0 and (.last_error | contains("It works!"))'
}

@test "spans that a collector refuses are reported" {
    survives refuse 10s '.refusals > 0' \
        '.waiting == 0 and .refusals == $requests and .refused == $spans and .spans == 0 and $spans > 0'
}

@test "spans that a collector rejects are reported" {
    survives partial 10s '.rejected > 0' \
        '.waiting == 0 and .rejected == 7 * $requests and .spans + .rejected == $spans and .refusals == 0'
}

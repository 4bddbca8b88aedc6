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

# start_jobiod COUNT: with that setting of [mpi]
start_jobiod() {
    run_jobiod "[mpi]" "count = $1"
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

@test "a step can start more processes than there is room for, if they end" {
    start_jobiod yes
    tag 0
    in_step 0 "$D/many" 18000 # MPI_MAX_PROCESSES is 16384
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

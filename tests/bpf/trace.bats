#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# jobiod traces steps that are tagged as the plugin does it, on the running kernel. As root; BUILD: the build
# directory; OTLP_COLLECTOR: a collector that takes an address and a file (tests/deliver/otlp-collector), by default
# otlp_receiver.py.

bats_require_minimum_version 1.5.0
load steps.bash

setup_file() {
    export PATH=$BUILD:$PATH WORK=$BUILD/tests/cluster/work
    CGROUPS=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    export CGROUPS GROUP=$CGROUPS/jobio-trace-$$ M=$BATS_FILE_TMPDIR/tmpfs
    mkdir "$GROUP" "$M"
    mount -t tmpfs tmpfs "$M"
}

teardown_file() {
    umount "$M"
    find "$GROUP" -depth -type d -exec rmdir {} +
}

# start_jobiod LINE...: with these lines in [trace]
start_jobiod() {
    run_jobiod "cluster = c1" "node = n1" "[trace]" "$@"
}

# tag STEP LINE...
tag() {
    hold_step "$1" 65534 "${@:2}"
}

# end STEP: also wait for its trace
end() {
    local kept
    kept=$(jobio status --json | jq .trace.kept)
    end_step "$1"
    await status_is ".trace.kept > $kept and .steps.unsaved == 0"
}

# counted STEP: mount, operation and requests of its account, one a line; a create is a part of an open
counted() {
    jobio job 7 --steps --json | jq -r --arg step "$1" '.steps[] | select(.step == $step).mounts[] | .mount as $mount
        | .ops | to_entries[] | select(.key != "create") | [$mount, .key, .value.requests] | @tsv' | sort
}

# spans FILE PART: the same of the spans of one part of a document
spans() {
    jq -r --argjson part "$2" '[.resourceSpans[$part].scopeSpans[0].spans[]
        | .mount = (.attributes[] | select(.key == "jobio.mount").value.stringValue) | [.mount, .name]]
        | group_by(.) | map(.[0] + [length])[] | @tsv' "$1" | sort
}

# attribute FILE PART KEY: of the step
attribute() {
    jq -r --argjson part "$2" --arg key "$3" '.resourceSpans[$part].scopeSpans[0].spans[]
        | select(.name | startswith("step ")).attributes[] | select(.key == $key).value | to_entries[0].value' "$1"
}

# ranks FILE PART: of its processes, one a line
ranks() {
    jq -r --argjson part "$2" '.resourceSpans[$part].scopeSpans[0].spans[].attributes[]? | select(.key == "jobio.rank")
        | .value.intValue' "$1" | sort -n
}

# all_are_said FILE PART STEP: the spans of requests and those that were left out are the requests of the account
all_are_said() {
    local kept counted
    kept=$(spans "$1" "$2" | awk '{ n += $NF } END { print n + 0 }')
    counted=$(counted "$3" | awk '{ n += $NF } END { print n + 0 }')
    echo "$kept spans, $(attribute "$1" "$2" jobio.dropped_requests) left out, $counted counted"
    [ $((kept + $(attribute "$1" "$2" jobio.dropped_requests))) = "$counted" ]
}

@test "the steps of a job are one trace, with a span for each request" {
    start_jobiod "allow = yes"
    tag 0 TRACE=1
    tag 1 TRACE=1
    tag 2
    # The program lives until jobiod has seen it.
    in_step 0 env PMI_RANK=3 "$WORK" write:"$M/a":300:100 read:"$M/a":50:200 await:"$M/go" &
    in_step 1 "$WORK" write:"$M/b":200:10
    in_step 2 "$WORK" write:"$M/c":100:10
    jobio status > /dev/null
    touch "$M/go"
    wait $!
    run jobio trace 7 -o "$T/spans"
    [ "$status" = 1 ] && [[ $output == *"no trace of an ended step"* ]]
    end 1
    end 0
    jobio trace 7 --output "$T/spans"
    diff <(counted 0) <(spans "$T/spans" 0)
    diff <(counted 1) <(spans "$T/spans" 1)
    [ "$(attribute "$T/spans" 0 jobio.dropped)" = 0 ]
    [ -z "$(attribute "$T/spans" 0 jobio.partial)" ]
    # one root, and each span inside of its parent
    jq -e '[.resourceSpans[].scopeSpans[].spans[]] | (map({key: .spanId, value: .}) | from_entries) as $by_id
        | length == ($by_id | length) and ([.[].traceId] | unique | length) == 1
        and (map(select(.parentSpanId == null).name) == ["job 7"])
        and all(.[] | select(.parentSpanId); $by_id[.parentSpanId] as $parent
            | $parent.startTimeUnixNano <= .startTimeUnixNano and .endTimeUnixNano <= $parent.endTimeUnixNano)' "$T/spans"
    [ "$(ranks "$T/spans" 0)" = 3 ]
    [ -z "$(ranks "$T/spans" 1)" ]
    [ "$(attribute "$T/spans" 0 jobio.ranks_unknown)" = 0 ]
    jobio trace 7.1 -o - | jq -e '[.resourceSpans[].scopeSpans[].spans[].name | select(startswith("step "))] == ["step 1"]'
    jobio trace 7.1 --format chrome -o - | jq -e '[.traceEvents[] | select(.name == "write" and .args.bytes == 10)] | length == 200'
    [ "$(jq .trace.steps <(jobio status --json))" = 0 ]
    # only for its user
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR/.." "$T" "$T/run"
    setpriv --reuid 65534 --clear-groups "$BUILD/jobio" trace 7 -o - | jq -e .resourceSpans
    run setpriv --reuid 65533 --clear-groups "$BUILD/jobio" trace 7 -o -
    [ "$status" = 1 ] && [[ $output == *"no trace"* ]]
}

@test "beyond the budget the slowest requests are kept, and the others are counted" {
    start_jobiod "allow = yes" "rate = 400" "max = 600"
    tag 0 TRACE=1
    tag 1 TRACE=1
    in_step 0 sh -c "$WORK write:$M/a:50000:10 & $WORK write:$M/b:50000:10; wait" &
    in_step 1 "$WORK" write:"$M/c":30000:10
    wait $!
    end 0
    end 1
    for step in 0 1; do
        jobio trace 7.$step -o "$T/spans"
        all_are_said "$T/spans" 0 $step
        [ "$(spans "$T/spans" 0 | awk '{ n += $NF } END { print n }')" -le 600 ]
        [ "$(attribute "$T/spans" 0 jobio.dropped)" -gt 29000 ]
    done
}

@test "programs that were loaded without traces cannot trace; those of an earlier jobiod can" {
    start_jobiod "allow = no"
    tag 0 TRACE=1
    in_step 0 "$WORK" write:"$M/a":100:10
    await grep -q 'step 7.0 has no trace: "allow = yes" is not in \[trace\]' "$T/jobiod.log"
    run jobio trace 7 -o -
    [ "$status" = 1 ] && [[ $output == *"does not trace jobs"* ]]
    end_step 0
    await status_is '.steps.running == 0 and .steps.unsaved == 0'
    [ "$(counted 0 | sed -n "s|^$M\twrite\t||p")" = 100 ]
    stop_jobiod
    start_jobiod "allow = yes"
    tag 1 TRACE=1
    await grep -q 'step 7.1 has no trace: cannot trace: the programs in the kernel were loaded without traces' "$T/jobiod.log"
    stop_jobiod
    jobiod --detach --runtime "$T/run" --config "$T/jobio.conf"
    start_jobiod "allow = yes"
    tag 2 TRACE=1
    in_step 2 "$WORK" write:"$M/a":100:10
    stop_jobiod
    start_jobiod "allow = yes"
    jq -e .maps_adopted "$T/status"
    await status_is '.trace.steps > 0'
    tag 3 TRACE=1
    in_step 2 "$WORK" write:"$M/a":200:20
    in_step 3 "$WORK" write:"$M/b":300:30
    end 2
    end 3
    jobio trace 7.2 -o "$T/spans"
    [ "$(attribute "$T/spans" 0 jobio.partial)" = true ]
    [ "$(jq '[.resourceSpans[].scopeSpans[].spans[].attributes[] | select(.key == "jobio.bytes" and .value.intValue == "20")] | length' \
        "$T/spans")" = 200 ]
    jobio trace 7.3 -o "$T/spans"
    [ -z "$(attribute "$T/spans" 0 jobio.partial)" ]
    diff <(counted 3) <(spans "$T/spans" 0)
}

# writes STEP: on the mount, of its account
writes() {
    counted "$1" | awk -v mount="$M" '$1 == mount && $2 == "write" { n += $3 } END { print n + 0 }'
}

@test "where MPI-IO is not counted, a step whose trace would have only that has none" {
    run_jobiod "cluster = c1" "node = n1" "[trace]" "allow = yes" "[mpi]" "count = no"
    tag 0 TRACE=1 TRACE_OF=mpi MPI=1
    tag 1 TRACE=1 MPI=1
    status_is '.trace.steps == 1 and .trace.failed == 1'
    grep -F 'step 7.0 has no trace: MPI-IO is not counted on this node' "$T/jobiod.log"
}

@test "a trace of MPI-IO has no span of a request and counts none as left out, also after a restart" {
    start_jobiod "allow = yes" "rate = 100" "max = 100"
    tag 0 TRACE=1 TRACE_OF=mpi
    tag 1 TRACE=1 TRACE_OF=of-a-newer-plugin
    in_step 0 "$WORK" write:"$M/a":5000:10
    in_step 1 "$WORK" write:"$M/b":5000:10
    end 1
    stop_jobiod
    start_jobiod "allow = yes" "rate = 100" "max = 100"
    await status_is '.trace.steps == 1'
    in_step 0 "$WORK" write:"$M/a":3000:10
    tag 2 TRACE=1 TRACE_OF=ops
    in_step 2 "$WORK" write:"$M/b":50:10
    end 0
    end 2
    jobio trace 7.0 -o "$T/spans"
    jq -e '[.resourceSpans[].scopeSpans[].spans[].name] == ["job 7", "step 0"]' "$T/spans"
    [ "$(attribute "$T/spans" 0 jobio.trace_of)" = mpi ]
    for key in dropped dropped_requests dropped_mpi_calls dropped_unseen; do
        [ "$(attribute "$T/spans" 0 jobio.$key)" = 0 ]
    done
    [ "$(writes 0)" = 8000 ]
    jobio trace 7.0 --format chrome -o - | jq -e '.otherData.requests_not_traced == 1 and .traceEvents == []'
    # the others are complete
    jobio trace 7.1 -o "$T/spans"
    [ -z "$(attribute "$T/spans" 0 jobio.trace_of)" ]
    all_are_said "$T/spans" 0 1
    [ "$(writes 1)" = 5000 ]
    jobio trace 7.2 -o "$T/spans"
    [ -z "$(attribute "$T/spans" 0 jobio.trace_of)" ]
    diff <(counted 2) <(spans "$T/spans" 0)
}

@test "the trace of a step has the paths of its opens if the tag asks for them" {
    local paths='[.resourceSpans[0].scopeSpans[0].spans[].attributes[]
        | select(.key == "file.path").value.stringValue | select(endswith("path"))]'
    start_jobiod "allow = yes"
    tag 0 TRACE=1 TRACE_PATHS=1
    tag 1 TRACE=1
    for step in 0 1; do
        in_step $step sh -c "cd $M; : > a-path; cat $M/a-path no-path; true"
        end $step
    done
    jobio trace 7.0 -o "$T/spans"
    diff <(counted 0) <(spans "$T/spans" 0)
    [ "$(jq -c "$paths" "$T/spans")" = "[\"a-path\",\"$M/a-path\",\"no-path\"]" ]
    [ "$(attribute "$T/spans" 0 jobio.paths_missing)" = 0 ]
    jobio trace 7.0 --format chrome -o - | jq -e '[.traceEvents[].args.path | select(. == "no-path")] | length == 1'
    jobio trace 7.1 -o "$T/spans"
    diff <(counted 1) <(spans "$T/spans" 0)
    [ "$(jq -c '[.resourceSpans[0].scopeSpans[0].spans[].attributes[].key | select(. == "file.path")]' "$T/spans")" = "[]" ]
    [ -z "$(attribute "$T/spans" 0 jobio.paths_missing)" ]
}

@test "a process that gives an address of the kernel as a path does not get what is there" {
    local code opens='.resourceSpans[0].scopeSpans[0].spans[] | select(.name == "open").attributes'
    code=0x$(sed -n 's/ . vfs_read$//p' /proc/kallsyms)
    start_jobiod "allow = yes"
    tag 0 TRACE=1 TRACE_PATHS=1
    in_step 0 python3 -c "import ctypes; assert ctypes.CDLL(None).openat(-100, ctypes.c_void_p($code), 0) == -1"
    end 0
    jobio trace 7.0 -o "$T/spans"
    jq -e "[${opens}[] | select(.key == \"file.path\")] != []" "$T/spans"
    # Where functions are traced, such an open is none.
    jq -e "[$opens | select(any(.value.stringValue == \"EFAULT\"))[] | select(.key == \"file.path\")] == []" "$T/spans"
    [ "$(attribute "$T/spans" 0 jobio.paths_missing)" = "$(jq "[${opens}[] | select(.value.stringValue == \"EFAULT\")] | length" "$T/spans")" ]
}

# start_collector: at $PORT; what it accepts is in $T/accepted
start_collector() {
    "${OTLP_COLLECTOR:-$BATS_TEST_DIRNAME/otlp_receiver.py}" "127.0.0.1:$PORT" "$T/accepted" >> "$T/collector.log" 2>&1 3>&- &
    collector=$!
    await curl -s -o /dev/null "http://127.0.0.1:$PORT/"
}

# accepted: its documents as one
accepted() {
    jq -s '{resourceSpans: map(.resourceSpans[])}' "$T/accepted"
}

# has_every_span FILE: the spans of all parts have parents, which enclose them, and are there once
has_every_span() {
    jq -e '[.resourceSpans[].scopeSpans[].spans[]] | (map({key: .spanId, value: .}) | from_entries) as $by_id
        | length == ($by_id | length) and ([.[].traceId] | unique | length) == 1
        and (map(select((.parentSpanId // "") == "").name) | sort) == ["step 0", "step 1"]
        and all(.[] | select((.parentSpanId // "") != ""); $by_id[.parentSpanId] as $parent
            | $parent != null and $parent.startTimeUnixNano <= .startTimeUnixNano
            and .endTimeUnixNano <= $parent.endTimeUnixNano)' "$1"
}

@test "a collector gets the traces, also of a time when it was down" {
    PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    start_jobiod "allow = yes" "rate = 20000" "url = http://127.0.0.1:$PORT"
    tag 0 TRACE=1
    in_step 0 "$WORK" write:"$M/a":5000:100 read:"$M/a":5000:100
    end 0
    await status_is '.trace.delivery | .state == "backoff" and .waiting == 1'
    stop_jobiod
    start_collector
    start_jobiod "allow = yes" "rate = 20000" "url = http://127.0.0.1:$PORT"
    tag 1 TRACE=1
    in_step 1 "$WORK" write:"$M/b":300:10
    end 1
    await status_is '.trace.delivery | .state == "ok" and .waiting == 0'
    kill $collector
    accepted > "$T/spans"
    has_every_span "$T/spans"
    jobio trace 7 -o "$T/kept"
    diff <(jq -r '.resourceSpans[].scopeSpans[].spans[].spanId' "$T/spans" | sort) \
        <(jq -r '.resourceSpans[].scopeSpans[].spans[] | select(.name != "job 7").spanId' "$T/kept" | sort)
    diff <(counted 0) <(spans "$T/kept" 0)
    diff <(counted 1) <(spans "$T/kept" 1)
    [ "$(counted 0 | awk -v mount="$M" '$1 == mount && /write|read/ { n += $3 } END { print n }')" = 10000 ]
    status_is ".trace.delivery | .spans == $(jq '[.resourceSpans[].scopeSpans[].spans[]] | length' "$T/spans")
        and .rejected == 0 and .refusals == 0 and .given_up == 0"
}

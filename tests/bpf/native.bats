#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The system call backend on the kernel of the build machine (make check-native): compares what a
# program did with what was counted, without tolerance. As root; $BUILD is the build directory.

bats_require_minimum_version 1.5.0

setup_file() {
    export T="$BATS_FILE_TMPDIR" BIN="$BUILD/tests/bpf"
    [ "$(id -u)" = 0 ] || skip "not root"
    [ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF"
    CGROUPS=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    [ -n "$CGROUPS" ] || skip "no cgroup v2"
    export CGROUPS GROUP="$CGROUPS/jobio-native-$$"
    # A container may lack the right to load programs, or to mount.
    "$BIN/count" -b tp_btf -g "$GROUP" -o "$T/tried" || skip "no BPF here"
    mkdir "$T/tmpfs"
    mount -t tmpfs tmpfs "$T/tmpfs" || skip "no mount(2) here"
}

teardown_file() {
    ! mountpoint -q "$T/tmpfs" || umount "$T/tmpfs"
    ! mountpoint -q "$T/plain" || umount "$T/plain"
    [ -z "${GROUP-}" ] || find "$GROUP" -depth -type d -exec rmdir {} +
}

# Pinned programs outlive jobiod and would run at every system call of this machine.
teardown() {
    [ -z "${pins-}" ] || rm -rf "$pins"
    [ -z "${jobiod-}" ] || kill $jobiod 2> /dev/null || true
    [ ! -s "$T/status" ] || rm -rf "$(jq -r .maps "$T/status")"
}

# Operations that this backend does not count, or counts only in part.
blind='mkdir rmdir unlink rename link symlink stat truncate close'

numbers() {
    jq -S --arg blind "$blind" '.mounts
        | if type == "array" then map({key: .dev, value: .ops}) | from_entries else . end
        | map_values(with_entries(select(.key | IN($blind / " " | .[]) | not))
                     | map_values({requests, bytes, errors, errno, size_log2}))' "$1"
}

@test "every call on a descriptor is counted exactly" {
    mkdir "$T/work"
    "$BIN/count" -b tp_btf -g "$GROUP" -o "$T/counted" -- \
        "$BIN/work" -u "$T/tmpfs" "$T/work" > "$T/truth"
    diff <(numbers "$T/truth") <(numbers "$T/counted")
    jq -e '[.lost, .lost_bytes, .lost_latencies, .lost_ends, .lost_errnos, .lost_mounts, .missed]
           | add == 0' "$T/counted"
    jq -e '[.mounts[] | to_entries[] | select(.key != "create").value
            | (.latency_log2 | add) == .requests and .time_ns > 0 and .max_ns <= .time_ns] | all' \
        "$T/counted"
    jq -e '[.mounts[].stat.requests // 0] | add > 0' "$T/counted" # fstat(2)
}

@test "consecutive threads add up their waits, concurrent threads do not" {
    local how waited
    for how in "chain 300" "crowd 20"; do
        "$BIN/count" -b tp_btf -g "$GROUP" -o "$T/${how% *}" -- \
            "$BIN/step" join ${how% *} "$T/tmpfs/${how% *}" ${how#* }
        jq . "$T/${how% *}"
    done
    waited='[.mounts[] | to_entries[] | select(.key != "create").value.time_ns] | add'
    jq -e ".longest_wait_ns == ($waited)" "$T/chain"
    jq -e ".longest_wait_ns < ($waited) * 0.9" "$T/crowd"
}

# mounted_by_user N: make N tmpfs as a user in a user namespace, in $CGROUP, and write 10 bytes to each
mounted_by_user() {
    export HOSTILE="$T/hostile"
    mkdir "$HOSTILE"
    chmod 755 "$BATS_RUN_TMPDIR" "$T"
    : > "$HOSTILE/cgroup.procs"
    chown -R 65533:65533 "$HOSTILE"
    "$BIN/count" -b tp_btf -p "$pins" -k -g "$GROUP/hostile" -o "$T/crowded" -- sh -c '
        echo $$ > "$CGROUP/cgroup.procs"
        CGROUP=$HOSTILE exec setpriv --reuid 65533 --regid 65533 --clear-groups unshare -Urm \
            "$BIN/step" mounts "$HOSTILE" '"$1 touch \"\$HOSTILE\" $1"
}

@test "a user with thousands of mounts takes no counters from another step" {
    local n=6000
    pins=/sys/fs/bpf/jobio-native-$$
    mkdir "$T/share" "$T/mine" "$T/plain"
    mount -t tmpfs tmpfs "$T/plain"
    mounted_by_user $n
    jq -e '[.lost, .lost_bytes, .lost_latencies, .lost_errnos, .lost_mounts] | add == 0' \
        "$T/crowded"
    jq -e --argjson n $n '[.mounts[].write.bytes // 0] | add == 10 * $n' "$T/crowded"
    jq -e --argjson n $n '[.mounts[].write.requests // 0] | add == $n' "$T/crowded"
    jq -e --argjson n $n '(.mounts | length) < 1000
        and .mounts["4095:1048575"].write.requests > $n - 1000' "$T/crowded"
    # The counters of these steps are in the same maps.
    "$BIN/count" -b tp_btf -p "$pins" -k -g "$GROUP/work" -o "$T/beside" -- \
        "$BIN/work" -u "$T/plain" "$T/share" > "$T/expected"
    jq -e .adopted "$T/beside"
    diff <(numbers "$T/expected") <(numbers "$T/beside")
    "$BIN/count" -b tp_btf -p "$pins" -g "$GROUP/first" -o "$T/first" -- \
        "$BIN/step" mounts "$T/mine" 32 join touch "$T/mine" 32
    umount "$T"/mine/* "$T/plain"
    jq -e '[.mounts[] | select(.write.bytes == 10)] | length == 32' "$T/first"
    jq -e '.mounts | has("4095:1048575") | not' "$T/first"
    for account in beside first; do
        jq -e '[.lost, .lost_bytes, .lost_latencies, .lost_ends, .lost_errnos, .lost_mounts, .missed]
               | add == 0' "$T/$account"
    done
}

@test "jobiod reports what this backend does not cover" {
    jq -e '.not_attached | has("32-bit system calls") and has("calls by path")' "$T/counted"
}

# start_jobiod [PREFIX...]: $jobiod; its log is $T/jobiod.log. With the backend $backend, if it is set.
start_jobiod() {
    printf '%s\n' "interval = 1s" ${backend:+"backend = $backend"} > "$T/jobio.conf"
    "$@" "$BUILD/jobiod" --config "$T/jobio.conf" --runtime "$T/run" --state "$T/state" \
        > "$T/jobiod.log" 2>&1 3>&- &
    jobiod=$!
    export JOBIO_SOCKET="$T/run/jobiod.sock"
    for ((i = 0; i < 400; i++)); do
        ! "$BUILD/jobio" status --json > "$T/status" 2> /dev/null || return 0
        sleep 0.05
    done
    cat "$T/jobiod.log"
    return 1
}

@test "jobiod runs its self-test, and a report has the cost of accounting" {
    mkdir "$T/run" "$T/state" "$T/open"
    chmod 755 "$BATS_RUN_TMPDIR" "$T"
    chmod 777 "$T/open"
    # On a busy machine the calls of the test may seem to cost nothing.
    for _ in 1 2 3; do
        start_jobiod
        [ "$(jq .self_test.ns_per_event "$T/status")" = 0 ] || break
        stop_jobiod
    done
    jq .self_test "$T/status"
    jq -e '.self_test | .failed == [] and .ns_per_event > 0
           and (.tested | contains(["read", "write", "open", "stat", "fsync", "readdir"]))' "$T/status"
    jq -e '.operations.read != "none" and .operations.write != "none"' "$T/status"
    setpriv --reuid 65533 --clear-groups \
        "$BUILD/jobio" run --json --output "$T/open/report" -- cat /etc/passwd > /dev/null
    stop_jobiod
    jq .accounting "$T/open/report"
    jq -e '.accounting.events == ([.mounts[].ops | to_entries[] | select(.key != "create")
                                   | .value.requests] | add)' "$T/open/report"
    jq -e '.accounting | (.seconds * 1e9 | round) == .events * .ns_per_event and .high_s > .low_s' \
        "$T/open/report"
    [ -z "$(find "$T/run" -name 'selftest-*')" ]
}

# The self-test gives up if the machine is too busy.
accounted() {
    "$BUILD/jobio" run --json --output "$T/own" -- cat /etc/passwd > /dev/null
    jq -e .accounting "$T/own"
}

@test "jobio run runs the self-test, and its report has the cost of accounting" {
    for ((i = 0; i < 20; i++)); do
        ! accounted || break
    done
    jq -e '.accounting.ns_per_event > 0 and .accounting.events ==
        ([.mounts[].ops | to_entries[] | select(.key != "create").value.requests] | add)' "$T/own"
    jq -e '[.mounts[] | select(.mount == "/run")] == []' "$T/own"
    [ -z "$(find /run -maxdepth 1 -name 'selftest-*')" ]
}

stop_jobiod() {
    kill $jobiod
    wait $jobiod
    jobiod=
}

# tags CGROUP...: a step file for each, as the plugin writes it; 500 steps per job, from job 7
tags() {
    stat -c '%i %n' "$@" | awk -v runtime="$T/run" -v mount="$CGROUPS" -v now="$(date +%s%N)" '{
        step = $2
        sub(".*_", "", step)
        job = 7 + int(step / 500)
        file = runtime "/" job ".0.4294967294." step
        print "VERSION=1\nTYPE=tag\nJOBID=" job "\nRESTART=0\nHET=4294967294\nSTEP=" step "\nUID=0" > file
        print "CGROUP=" substr($2, length(mount) + 1) "\nCGROUP_ID=" $1 > file
        print "CGROUP_LEVEL=2\nCGROUP_VERSION=2\nTAGGED_AT=" now "\nTAGGED_BOOT=1" > file
        print "NODES=1\nSUMMARY=short" > file
        close(file)
        print file
    }' | xargs mv -t "$T/run/steps"
}

# tag: one step, with a process in it
tag() {
    mkdir -p "$GROUP/step_0"
    (echo $BASHPID > "$GROUP/step_0/cgroup.procs" && exec sleep 600) 3>&- &
    member=$!
    tags "$GROUP/step_0"
}

status_is() {
    for ((i = 0; i < 400; i++)); do
        "$BUILD/jobio" status --json > "$T/status"
        ! jq -e "$1" "$T/status" > /dev/null || return 0
        sleep 0.05
    done
    jq . "$T/status"
    return 1
}

# The ring buffer has room for some 200 reports.
@test "mounts whose report finds no room while jobiod does not run have their type, and a line each" {
    local n=300 member
    mkdir -p "$T/run" "$T/state" "$T/unreported"
    start_jobiod
    tag
    status_is ".steps.running == 1"
    kill -STOP $jobiod
    (echo $BASHPID > "$GROUP/step_0/cgroup.procs" && CGROUP=$GROUP exec unshare --mount --propagation private \
        "$BIN/step" mounts "$T/unreported" $n touch "$T/unreported" $n) 3>&-
    kill -CONT $jobiod
    "$BUILD/jobio" job 7 --json > "$T/unreported.json"
    kill $member
    jq -c '[.lost, (.mounts | length)], (.mounts[] | select(.fstype != "tmpfs") | [.mount, .fstype, .ops.write.bytes])' \
        "$T/unreported.json"
    jq -e --argjson n $n '[.mounts[] | select(.fstype == "tmpfs" and .ops.write.bytes == 10)] | length == $n' \
        "$T/unreported.json"
}

# is_blind WORDS PREFIX...: jobiod runs, logs once what is missing, tracks steps, serves commands, and
# reports uncounted jobs as incomplete.
is_blind() {
    local words=$1 member
    shift
    rm -rf "$T/run" "$T/state" "$T/open/report"
    mkdir -p "$T/run" "$T/state" "$T/open"
    chmod 755 "$BATS_RUN_TMPDIR" "$T"
    chmod 777 "$T/open"
    start_jobiod "$@"
    cat "$T/jobiod.log"
    [ "$(grep -c "nothing is counted: .*$words.*restarted" "$T/jobiod.log")" = 1 ]
    [ -z "$(grep -v "nothing is counted\|no group jobio\|are followed" "$T/jobiod.log")" ]
    jq -e --arg words "$words" '(.not_counted | contains($words))
        and (.hooks | all(.backend == "none")) and (.operations | all(. == "none"))' "$T/status"
    [ ! -e "$T/run/probe" ]
    tag
    status_is '.steps.running == 1'
    "$BUILD/jobio" job 7 --json > "$T/job"
    "$BUILD/jobio" job 7 | tee "$T/job.text"
    run -9 setpriv --reuid 65533 --clear-groups "$BUILD/jobio" run --json --output "$T/open/report" \
        -- sh -c 'cat /etc/passwd > /dev/null; exit 9'
    for report in "$T/job" "$T/open/report"; do
        jq -c . "$report"
        jq -e --arg words "$words" '.complete == false and .mounts == []
            and ([.incomplete[].cause] | length == 1)
            and (.incomplete[0].cause | startswith("not counted: ") and contains($words))' "$report"
    done
    tr -s '\n ' ' ' < "$T/job.text" | grep -q "not counted on this node (ask the administrators)"
    [ -z "$(grep "waiting\|no I/O" "$T/job.text")" ]
    kill $member
    wait $member || true
    status_is '.steps.running == 0 and .steps.unsaved == 0'
    rmdir "$GROUP/step_0"
    "$BUILD/jobio" --store "$T/state/jobio.db" job 7 --json > "$T/stored"
    jq -e '.complete == false and .incomplete[0].cause[:13] == "not counted: "' "$T/stored"
    stop_jobiod
}

# KiB of memory that no other process has
own_memory() {
    awk '$1 == "RssAnon:" { print $2 }' "/proc/$jobiod/status"
}

# What the start needs is 7 MiB more.
@test "jobiod gives back the memory of its start, and needs little for a step" {
    rm -rf "$T/run" "$T/state"
    mkdir -p "$T/run" "$T/state"
    start_jobiod
    echo "$(own_memory) KiB"
    [ "$(own_memory)" -le 6144 ]
    tag
    status_is '.steps.running == 1'
    echo "$(own_memory) KiB"
    [ "$(own_memory)" -le 6144 ]
    kill $member
    wait $member || true
    status_is '.steps.running == 0'
    rmdir "$GROUP/step_0"
    stop_jobiod
}

@test "without CAP_BPF jobiod runs and reports that nothing is counted" {
    run -1 setpriv --bounding-set -sys_admin,-bpf --inh-caps -sys_admin,-bpf \
        "$BIN/count" -g "$GROUP" -o /dev/null
    [[ "$output" == *"CAP_BPF"* && "${#lines[@]}" = 1 ]]
    is_blind CAP_BPF setpriv --bounding-set -sys_admin,-bpf --inh-caps -sys_admin,-bpf
}

@test "without BTF jobiod runs and reports that nothing is counted" {
    is_blind "has no BTF" unshare -m sh -c 'mount --bind /dev/null /sys/kernel/btf/vmlinux &&
        exec "$@"' sh
}

@test "without a BPF file system jobiod runs and reports that nothing is counted" {
    is_blind "is /sys/fs/bpf mounted?" unshare -m sh -c 'umount -l /sys/fs/bpf; exec "$@"' sh
}

@test "without CAP_PERFMON jobiod runs and reports that nothing is counted" {
    mkdir -p "$T/run" "$T/state"
    start_jobiod setpriv --bounding-set -sys_admin,-perfmon --inh-caps -sys_admin,-perfmon
    cat "$T/jobiod.log"
    [ "$(grep -c "nothing is counted: .*CAP_PERFMON" "$T/jobiod.log")" = 1 ]
    jq -e '(.not_counted | contains("CAP_PERFMON")) and (.operations | all(. == "none"))' "$T/status"
    stop_jobiod
}

@test "with a forced backend that this kernel lacks jobiod runs and reports that nothing is counted" {
    "$BIN/count" -b kprobe -g "$GROUP" -o "$T/kprobe"
    jq -e '.not_attached | has("vfs_read")' "$T/kprobe" || skip "this kernel has kprobes"
    backend=kprobe is_blind "vfs_read: no kprobe: the kernel has no kprobe events"
}

@test "a second jobiod exits and does not disturb the first" {
    mkdir -p "$T/run" "$T/state"
    start_jobiod
    run -1 "$BUILD/jobiod" --config /dev/null --runtime "$T/run" --state "$T/state"
    [[ "$output" == *"another jobiod (process $jobiod)"* && "${#lines[@]}" = 1 ]]
    status_is '.not_counted == null and .operations.read != "none"'
    stop_jobiod
}

@test "jobiod starts with a small RLIMIT_MEMLOCK" {
    mkdir -p "$T/run" "$T/state"
    start_jobiod prlimit --memlock=65536:65536
    status_is '.not_counted == null and .operations.read != "none"'
    stop_jobiod
    # Works since 5.11; on older kernels, `make check-kernels` checks the error message.
    start_jobiod prlimit --memlock=65536:65536 \
        setpriv --bounding-set -sys_resource --inh-caps -sys_resource
    jq -e '.not_counted == null or (.not_counted | contains("RLIMIT_MEMLOCK"))' "$T/status"
    stop_jobiod
}

@test "jobiod names the hooks that the kernel refuses, and counts with the others" {
    mkdir -p "$T/run" "$T/state"
    start_jobiod
    stop_jobiod
    # If the kernel refuses nothing, the list is empty and the log has no such line.
    jq -r '.hooks[] | select(.backend == "none" and (.why // "" | test("refused"))) | .function' \
        "$T/status" > "$T/refused"
    while read -r function; do
        grep -q "$function: not counted: the kernel refused it: " "$T/jobiod.log"
    done < "$T/refused"
    [ "$(grep -c "not counted: the kernel refused it: " "$T/jobiod.log")" = "$(wc -l < "$T/refused")" ]
    jq -e '.operations | .read != "none" and .write != "none"' "$T/status"
}

@test "maps of another layout are removed, with a log line that has the reason" {
    local maps shape first
    first=$(sed -n 's/^#define JOBIO_FIRST_SHAPE //p' "$BATS_TEST_DIRNAME/../../bpf/records.h")
    mkdir -p "$T/run" "$T/state"
    start_jobiod
    maps=$(jq -r .maps "$T/status")
    stop_jobiod
    mkdir "$maps/1" "$maps/nothing"
    bpftool map create "$maps/1/steps" type hash key 8 value 8 entries 1 name steps
    bpftool map create "$maps/1/shape_$((first - 1))" type hash key 8 value 8 entries 1 name shape
    start_jobiod
    [ "$(grep -c "maps of another jobio in $maps cannot be used (an unknown layout)" "$T/jobiod.log")" = 1 ]
    status_is '.maps_adopted and .operations.read != "none"'
    [ ! -e "$maps/1" ]
    [ -d "$maps/nothing" ]
    stop_jobiod
    # The shape is known, but maps are missing.
    shape=$(echo "$maps"/*/shape_*)
    for shape in "shape_$first" "${shape##*/}"; do
        mkdir "$maps/1"
        bpftool map create "$maps/1/steps" type hash key 8 value 8 entries 1 name steps
        bpftool map create "$maps/1/$shape" type hash key 8 value 8 entries 1 name shape
        start_jobiod
        [ "$(grep -c "maps of another jobio in $maps cannot be used (the maps in '$maps/1' are incomplete)" "$T/jobiod.log")" = 1 ]
        [ ! -e "$maps/1" ]
        stop_jobiod
    done
}

# The kernel takes many milliseconds to move a process, so only a few steps do I/O.
@test "5,000 concurrent steps are tracked and counted" {
    local step work=100 home
    home=$CGROUPS$(sed -n 's/^0:://p' /proc/self/cgroup)
    rm -rf "$T/run" "$T/state"
    mkdir -p "$T/run/steps" "$T/state" "$T/tmpfs/steps" "$GROUP/alive"
    start_jobiod
    (echo $BASHPID > "$GROUP/alive/cgroup.procs" && exec sleep 600) 3>&- &
    member=$!
    for ((step = 0; step < 5000; step++)); do
        printf '%s\n' "$GROUP/step_$step"
    done | xargs mkdir
    tags "$GROUP"/step_*
    status_is '.steps.running == 5000'
    for ((step = 0; step < work; step++)); do
        echo $BASHPID > "$GROUP/step_$((step * 50))/cgroup.procs"
        echo word > "$T/tmpfs/steps/$step"
    done
    echo $BASHPID > "$home/cgroup.procs"
    kill $member
    wait $member || true
    status_is '.steps.running == 0 and .steps.unsaved == 0'
    jq -c '[.steps, .jobs, .lost]' "$T/status"
    stop_jobiod
    [ "$(ls "$T/tmpfs/steps" | wc -l)" = $work ]
    sqlite3 "$T/state/jobio.db" "SELECT count(*), sum(write_requests), sum(write_bytes), sum(lost)
        FROM step WHERE final" | tee "$T/sums"
    [ "$(cat "$T/sums")" = "5000|$work|$((work * 5))|0" ]
}

@test "the system call backend is chosen only if functions cannot be hooked" {
    "$BIN/count" -b fentry -g "$GROUP" -o "$T/fentry"
    "$BIN/count" -g "$GROUP" -o "$T/chosen" -- "$BIN/step" join write "$T/tmpfs/chosen" 7
    jq -e '[.mounts[].write.requests // 0] | add == 7' "$T/chosen"
    if jq -e '.not_attached | has("vfs_read")' "$T/fentry"; then
        jq -e '.not_attached | has("vfs_read") | not' "$T/chosen"
    else
        [ "$(jq -cS .not_attached "$T/chosen")" = "$(jq -cS .not_attached "$T/fentry")" ]
    fi
}

# ids KIND: of the maps or links that are pinned in $maps
ids() {
    local pin
    for pin in "$maps"/*; do
        [[ $pin != */shape_* ]] || continue # a second pin of a map
        bpftool -j "$1" show pinned "$pin" 2> /dev/null | jq -r '.id? // empty'
    done
}

@test "--detach leaves nothing of jobio in the kernel, and can be repeated" {
    local maps kind id i
    rm -rf "$T/run" "$T/state"
    mkdir -p "$T/run" "$T/state"
    backend=tp_btf start_jobiod
    maps=$(jq -r .maps "$T/status")/$(sed -n 's/^LAYOUT=//p' "$T/run/probe")
    for kind in map link; do
        ids $kind > "$T/$kind"
        [ -s "$T/$kind" ]
    done
    while read -r id; do
        bpftool -j link show id "$id" | jq -r .prog_id
    done < "$T/link" > "$T/prog"
    [ -s "$T/prog" ]
    tag
    run -1 "$BUILD/jobiod" --detach --runtime "$T/run"
    [[ $output == *"another jobiod (process $jobiod) serves $T/run" ]]
    [ -d "$maps" ]
    stop_jobiod
    mkdir "$CGROUPS/jobio-run-7" "$maps/../9" # an interrupted run; another layout
    printf '%s\0' VERSION=1 TYPE=run CGROUP=/jobio-run-7 > "$T/run/runs/7"
    run -0 "$BUILD/jobiod" --detach --runtime "$T/run"
    echo "$output"
    [[ $output == "removed from ${maps%/*}: $(wc -l < "$T/link") links, $(wc -l < "$T/map") maps"* ]]
    [[ $output == *"the counters of 1 running step(s) are lost"* ]]
    [ ! -e "${maps%/*}" ]
    [ ! -e "$T/run/probe" ]
    [ ! -e "$CGROUPS/jobio-run-7" ]
    [ -z "$(ls "$T/run/runs")" ]
    for kind in map link prog; do
        while read -r id; do # freed after a grace period
            for ((i = 0; i < 200; i++)); do
                bpftool "$kind" show id "$id" > "$T/left" 2>&1 || break
                sleep 0.05
            done
            [ $i -lt 200 ] || { cat "$T/left"; false; }
        done < "$T/$kind"
    done
    run -0 "$BUILD/jobiod" --detach --runtime "$T/run"
    [ "$output" = "nothing is attached in ${maps%/*}" ]
    kill $member
    wait $member || true
    rmdir "$GROUP/step_0"
}

# unseen_rings NAME: what the report $T/NAME lacks of io_uring
unseen_rings() {
    jq -r '.incomplete[].cause | select(startswith("unseen: io_uring"))' "$T/$1"
}

@test "a missing hook on io_uring makes only the reports incomplete that it affects" {
    "$BIN/count" -g "$GROUP" -o "$T/hooks"
    mkdir -p "$T/tmpfs/ring"
    "$BUILD/jobio" run --json --output "$T/no_rings" -- true
    [ -z "$(unseen_rings no_rings)" ]
    "$BUILD/jobio" run --json --output "$T/rings" -- "$BIN/workload" uring "$T/tmpfs/ring" > "$T/truth"
    jq -e '.mounts[].ops.read.async_requests | select(. > 0)' "$T/truth" || skip "no io_uring here"
    if jq -e '.not_attached | has("io_read")' "$T/hooks"; then
        unseen_rings rings | grep -x "unseen: io_uring without completion"
    elif jq -e '.not_attached | keys | any(startswith("io_")) | not' "$T/hooks"; then
        [ -z "$(unseen_rings rings)" ]
    fi
}

#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares what the probe counts with what a program did, field by field, without tolerance. Runs as
# root in a guest (make check-kernels); $BUILD is the build directory.

bats_require_minimum_version 1.5.0

setup_file() {
    export T="$BATS_FILE_TMPDIR" BIN="$BUILD/tests/bpf"
    mkdir -p "$T/ext4" "$T/tmpfs" "$T/small" "$T/overlay"
    modprobe -a loop ext4
    truncate -s 256M "$T/image"
    mkfs.ext4 -q "$T/image"
    mount -o loop "$T/image" "$T/ext4"
    mount -t tmpfs tmpfs "$T/tmpfs"
    mount -t tmpfs -o size=100k small "$T/small"
    mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf
}

teardown_file() {
    umount "$T/ext4" "$T/tmpfs" "$T/small"
}

# The numbers that must be equal, sorted. The workloads compare closes.
numbers() {
    jq -S '.mounts | if type == "array" then map({key: .dev, value: .ops}) | from_entries else . end
           | map_values(del(.close)) | with_entries(select(.value != {}))
           | map_values(map_values({requests, bytes, errors, errno, size_log2}))' "$1"
}

# compare TRUTH COUNTED: nothing else was counted, nothing was lost, and each timed call is in one
# latency bucket.
compare() {
    diff <(numbers "$1") <(numbers "$2") || { jq "del(.mounts)" "$2"; return 1; }
    jq -e '[.lost, .lost_bytes, .lost_latencies, .lost_ends, .lost_errnos, .lost_mounts, .missed]
           | add == 0' "$2" || { jq . "$2"; return 1; }
    jq -e '[.mounts[] | to_entries[] | select(.key != "create").value
            | (.latency_log2 | add) == .requests and .time_ns > 0 and .max_ns <= .time_ns] | all' "$2"
    jq -e '.events == ([.mounts[] | to_entries[] | select(.key != "create").value.requests] | add)' "$2"
}

# counted NAME OPTION... -- WORK'S ARGUMENTS: run the work under the probe; $T/NAME.truth and
# $T/NAME.counted
counted() {
    local name=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1"); shift; done
    shift
    # Read it now, so that no page fault reads it later.
    # shellcheck disable=SC2046 # a list of files
    cat "$BIN/work" $(ldd "$BIN/work" | grep -o '/[^ ]*') > /dev/null
    "$BIN/count" "${options[@]}" -o "$T/$name.counted" -- "$BIN/work" "$@" > "$T/$name.truth"
}

@test "every call on ext4, tmpfs, overlayfs and a full file system is counted exactly" {
    # A file of the overlay's lower layer: this test itself.
    counted all -- -c "$BATS_TEST_FILENAME" -s "$T/small/full" "$T/ext4" "$T/tmpfs" "$T/overlay"
    compare "$T/all.truth" "$T/all.counted"
    jq -e '.not_attached == {}' "$T/all.counted"
    [ "$(jq -r '.fstypes | [.[]] | sort | join(" ")' "$T/all.counted")" = "ext4 overlay tmpfs tmpfs" ]
}

# The open copies the file: its pages are added in the open, which has no file yet.
@test "pages that an open on overlayfs copies do not count on the mount that is used next" {
    local name below="$T/ext4/below"
    mkdir -p "$below"/{lower,upper,work} "$T/copied" "$T/second"
    head -c 1M /dev/zero > "$below/lower/file"
    mount -t overlay -o "lowerdir=$below/lower,upperdir=$below/upper,workdir=$below/work" overlay "$T/copied"
    truncate -s 64M "$T/second.image"
    mkfs.ext4 -q "$T/second.image"
    mount -o loop "$T/second.image" "$T/second"
    sync
    echo 3 > /proc/sys/vm/drop_caches
    # shellcheck disable=SC2016 # for that shell
    "$BIN/count" -o "$T/copies" -- \
        sh -c 'echo 0 > "$CGROUP/cgroup.procs"; : >> "$0/file"; head -c 65536 /dev/zero > "$1/file"' "$T/copied" "$T/second"
    name=$(mountpoint -d "$T/second")
    umount "$T/copied" "$T/second"
    ! by_kprobes "$T/copies" || skip "kprobes do not count pages"
    jq -c .caches "$T/copies"
    jq -e --arg next "$name" '.caches[$next] == {hit: 0, miss: 0, read: 0, fault: 0, prefetch: 0, write: 65536}' "$T/copies"
    jq -e --arg ext4 "$(mountpoint -d "$T/ext4")" '.caches[$ext4].read >= 1048576' "$T/copies"
}

@test "a step below a freezer cgroup of v1 is counted exactly" {
    mkdir -p "$T/freezer" "$T/overlay/v1"
    mount -t cgroup -o freezer freezer "$T/freezer"
    mkdir -p "$T/freezer/slurm/uid_0"
    counted v1 -1 -g "$T/freezer/slurm/uid_0/step" -- "$T/overlay/v1"
    compare "$T/v1.truth" "$T/v1.counted"
    rmdir "$T/freezer/slurm/uid_0/step"
    umount "$T/freezer"
}

# counter FILE OP FIELD: the sum over the mounts
counter() {
    jq "[.mounts[].$2.$3 // 0] | add // 0" "$1"
}

# With kprobes the return of a call has no arguments, but no other tracer can hide it.
by_kprobes() {
    [ "$(jq -r .backend "$1")" = kprobe ]
}

# await COMMAND...: until it succeeds, at most 20 s
await() {
    local i
    for ((i = 0; i < 400; i++)); do
        "$@" && return
        sleep 0.05
    done
    echo "never came true: $*" >&2
    return 1
}

pins=/sys/fs/bpf/jobio-test

@test "a probe that is killed and restarted during the work loses no call" {
    local group=/sys/fs/cgroup/jobio-adopt counting loop writes i
    "$BIN/count" -k -p $pins -g $group -o "$T/first" -- \
        "$BIN/step" join loop "$T/tmpfs/loop" > >(cat > "$T/writes") 3>&- &
    counting=$!
    await test -s "$T/tmpfs/loop"
    kill -KILL $counting
    loop=$(cat $group/cgroup.procs)
    for i in 0.3 1 2; do # at some moment of its start, too
        "$BIN/count" -k -p $pins -g $group -o "$T/again" 3>&- &
        sleep $i
        kill -KILL $! 2> /dev/null || true
        wait $! || true
    done
    "$BIN/count" -k -p $pins -g $group -o "$T/running"
    jq -e '.adopted' "$T/running"
    [ "$(counter "$T/running" write requests)" -gt 0 ]
    # From 7.0 on, one kprobe program serves entry and return; two would count the same and cost more.
    if [ "$(uname -r | cut -d. -f1)" -ge 7 ] && [ -n "$(find $pins -name 'kretprobe_*')" ]; then
        [ -z "$(find $pins -name 'kprobe_*')" ]
    fi
    kill -TERM "$loop"
    await test -s "$T/writes"
    writes=$(cat "$T/writes")
    "$BIN/count" -p $pins -g $group -o "$T/last"
    jq -e '.adopted' "$T/last"
    jq -c . "$T/last"
    [ "$(counter "$T/last" write requests)" -eq "$writes" ]
    [ "$(counter "$T/last" write bytes)" -eq $((writes * 100)) ]
    [ "$(jq '[.mounts[].write // empty | .latency_log2[], 0] | add' "$T/last")" -eq "$writes" ]
    [ "$(counter "$T/last" open requests)" -eq 1 ]
    jq -e '.missed == 0 and .lost == 0 and .lost_latencies == 0' "$T/last"
    [ -z "$(ls $pins)" ]
}

@test "mounts beyond the share of a step are aggregated, to the byte" {
    local n=500 requests
    mkdir "$T/many"
    "$BIN/count" -s 1 -o "$T/full" -- "$BIN/step" mounts "$T/many" $n join touch "$T/many" $n
    umount "$T"/many/*
    requests=$(jq '[.mounts[][].requests] | add' "$T/full")
    [ "$requests" -eq $((5 * n + 1)) ] # open, create, write, stat, close; at the end, the program's own file
    [ "$(counter "$T/full" write bytes)" -eq $((10 * n)) ]
    jq -e '[.lost, .lost_bytes, .lost_mounts, .missed] | add == 0' "$T/full"
    jq -e '(.mounts | length) > 32 and (.mounts | length) < 50
           and .mounts["4095:1048575"].write.requests > 400' "$T/full"
}

@test "errnos and cached bytes beyond the share of a step are aggregated, and add up" {
    local n=120 errnos=140 # 134 have names
    modprobe fuse
    mkdir "$T/fuse"
    "$BIN/count" -s 20 -o "$T/fused" -- \
        "$BIN/step" fuse "$T/fuse" $n join fail "$T/fuse" $n $errnos read "$T/fuse" $n
    umount "$T"/fuse/*
    jq -c '{lost, lost_errnos, lost_fills, lost_mounts, n: (.mounts | length), caches}' "$T/fused"
    jq -e '[.lost, .lost_errnos, .lost_fills, .lost_mounts, .missed] | add == 0' "$T/fused"
    [ "$(counter "$T/fused" open errors)" -eq $((n * errnos)) ]
    [ "$(counter "$T/fused" open requests)" -eq $((n * (errnos + 1))) ]
    [ "$(counter "$T/fused" read bytes)" -eq $((n * 8192)) ]
    jq -e '[.mounts[].open // empty | .errors == ([.errno[]] | add // 0)] | all' "$T/fused"
    # Some mounts have all errnos by name, later ones not, and the last ones no row.
    jq -e '[.mounts[].open // empty | select(.errors == 140) | .errno.other]
           | any(. == 6) and any(. > 6)' "$T/fused"
    jq -e '.mounts["4095:1048575"].open.errors > 1000 and (.mounts | length) > 32' "$T/fused"
    by_kprobes "$T/fused" || # they do not count the page cache
        jq -e --argjson n $n '([.caches[] | del(.hit, .miss)[]] | add) == $n * 8192
        and (.caches["4095:1048575"] | del(.hit, .miss) | add) > 0' "$T/fused"
}

# sums FROM TO: these bytes of the map `levels`
sums() {
    bpftool -j map lookup pinned $pins/*/levels key 0 0 0 0 |
        jq -c --argjson from "$1" --argjson to "$2" '[.value[$from:$to][] | select(. != "0x00")]'
}

@test "steps that take all that they can leave room for the next one" {
    local group=/sys/fs/cgroup/jobio-next key="key 0 0 0 0" value i
    mkdir "$T/next"
    CGROUP=/sys/fs/cgroup "$BIN/step" mounts "$T/next" 200
    for i in 1 2 3 4; do
        "$BIN/count" -s 8 -k -p $pins -g $group-$i -o "$T/next-$i" -- \
            "$BIN/step" join touch "$T/next" 200
        jq -e '[.mounts[].write.bytes // 0] | add == 2000' "$T/next-$i"
        jq -e '(.mounts | length) > 32 and (.mounts | has("4095:1048575"))' "$T/next-$i"
    done
    # A process that is killed while it drops a step leaves sums that are wrong.
    value=$(bpftool -j map lookup pinned $pins/*/levels $key |
        jq -r '.value | .[64:88] = [range(24) | if . % 4 == 3 then "0x7f" else "0xff" end] | join(" ")')
    bpftool map update pinned $pins/*/levels $key value $value
    "$BIN/count" -k -p $pins -g $group-5 -o "$T/next-5" -- "$BIN/step" join touch "$T/next" 40
    umount "$T"/next/*
    jq -e '.adopted and .lost == 0' "$T/next-5"
    jq -e '[.mounts[] | select(.write.bytes == 10)] | length == 40' "$T/next-5"
    [ "$(sums 64 352)" != "[]" ]
    for i in 1 2 3 4 5; do
        "$BIN/count" -d -p $pins -g $group-$i -o /dev/null
        rmdir $group-$i
    done
    [ "$(sums 64 352)" = "[]" ]
    "$BIN/count" -p $pins -o /dev/null
}

@test "a call that started before its step was tagged counts without its time, or not at all" {
    local group=/sys/fs/cgroup/jobio-late blocked opens=1
    mkdir $group
    mkfifo "$T/fifo"
    # The programs are attached before the call; the step is tagged after its start.
    "$BIN/count" -k -p $pins -g /sys/fs/cgroup/jobio-other -o /dev/null
    CGROUP=$group "$BIN/step" join open "$T/fifo" 3>&- &
    blocked=$!
    await grep -q . $group/cgroup.procs
    await grep -q "wait_for_partner\|fifo_open" /proc/$blocked/stack
    "$BIN/count" -p $pins -g $group -o "$T/late" -- bash -c ": > '$T/fifo'; wait; sleep 1"
    wait $blocked
    jq . "$T/late"
    ! by_kprobes "$T/late" || opens=0
    [ "$(counter "$T/late" open requests)" -eq $opens ]
    [ "$(counter "$T/late" open time_ns)" -eq 0 ]
    [ "$(jq .lost_latencies "$T/late")" -eq 0 ]
    rmdir $group
}

@test "a call whose return another tracer hid is reported, and the next calls are counted" {
    local group=/sys/fs/cgroup/jobio-hidden hidden=1
    mkfifo "$T/fifo2"
    cat > "$T/hide" << END
#!/bin/bash
"$BIN/step" join open "$T/fifo2" write "$T/tmpfs/after" 7 &
until grep -q "wait_for_partner\|fifo_open" /proc/\$!/stack; do sleep 0.05; done
"$BIN/count" -g /sys/fs/cgroup/jobio-other -o /dev/null # comes and goes
: > "$T/fifo2"
wait
END
    chmod +x "$T/hide"
    "$BIN/count" -g $group -o "$T/hidden" -- "$T/hide"
    jq . "$T/hidden"
    ! by_kprobes "$T/hidden" || hidden=0
    [ "$(counter "$T/hidden" write requests)" -eq 7 ]
    [ "$(counter "$T/hidden" open requests)" -eq $((2 - hidden)) ]
    [ "$(jq .lost_ends "$T/hidden")" -eq $hidden ]
}

@test "tasks without a task slot are counted exactly" {
    local group=/sys/fs/cgroup/jobio-no-slot key="key 0 0 0 0" value
    "$BIN/count" -k -p $pins -g $group -o /dev/null
    value=$(bpftool -j map lookup pinned $pins/*/levels $key |
        jq -r '.value | .[12:16] = ["0", "0", "0", "0"] | join(" ")')
    bpftool map update pinned $pins/*/levels $key value $value
    "$BIN/count" -k -p $pins -g $group -o "$T/none" -- "$BIN/step" join write "$T/tmpfs/none" 3
    [ "$(bpftool -j map dump pinned $pins/*/claims)" = "[]" ]
    [ "$(counter "$T/none" write requests)" -eq 3 ]
    "$BIN/count" -p $pins -g $group -o /dev/null
    rmdir $group
}

# waited FILE: the total time of all calls
waited() {
    jq '[.mounts[] | to_entries[] | select(.key != "create").value.time_ns] | add' "$1"
}

@test "consecutive threads add up their waits, concurrent threads do not" {
    local group=/sys/fs/cgroup/jobio-chain
    "$BIN/count" -k -p $pins -g $group -o "$T/chain" -- "$BIN/step" join chain "$T/tmpfs/chain" 300
    rmdir $group
    jq . "$T/chain"
    [ "$(counter "$T/chain" write requests)" -eq 30000 ]
    # The closes at the end of the first process are not in the chain: it lives as long as all others.
    jq -e --argjson all "$(waited "$T/chain")" '([.mounts[].close.time_ns // 0] | add) as $closes
        | .longest_wait_ns <= $all and .longest_wait_ns >= $all - $closes' "$T/chain"
    # by the same programs: to load them once more takes 10 s of CPU
    "$BIN/count" -p $pins -o "$T/crowd" -- "$BIN/step" join crowd "$T/tmpfs/crowd" 20
    jq . "$T/crowd"
    [ "$(counter "$T/crowd" write requests)" -eq 2000 ]
    [ "$(jq .longest_wait_ns "$T/crowd")" -lt $(($(waited "$T/crowd") * 9 / 10)) ]
}

@test "a task that enters and leaves a step is counted only while it is inside" {
    local group=/sys/fs/cgroup/jobio-in other=/sys/fs/cgroup/jobio-out # as deep
    mkdir $other
    cat > "$T/in-out" << END
#!/bin/bash
for directory in $other $group $other $group; do
    echo \$BASHPID > \$directory/cgroup.procs
    for i in 1 2 3; do printf 12345 >> "$T/tmpfs/in-out"; done
done
END
    chmod +x "$T/in-out"
    "$BIN/count" -g $group -o "$T/in-out.counted" -- "$T/in-out"
    jq . "$T/in-out.counted"
    [ "$(counter "$T/in-out.counted" write requests)" -eq 6 ]
    [ "$(counter "$T/in-out.counted" write bytes)" -eq 30 ]
    jq -e '[.mounts[].write // empty | .latency_log2[]] | add == 6' "$T/in-out.counted"
    rmdir $other
}

@test "a probe that cannot start prints one line" {
    run -1 setpriv --reuid 65534 --clear-groups "$BIN/count" -g /sys/fs/cgroup -o /dev/null
    [[ "$output" == *"CAP_BPF"* ]]
    run -1 "$BIN/count" -p "$T/pins" -o /dev/null
    [[ "$output" == *"does not lie on a BPF file system"* ]]
    # Before 5.11 maps are charged to a limit that needs CAP_SYS_RESOURCE to be raised.
    run prlimit --memlock=65536:65536 setpriv --bounding-set -sys_resource \
        --inh-caps -sys_resource "$BIN/count" -g /sys/fs/cgroup/jobio-limited -o /dev/null
    [ "$status" = 0 ] || [[ "$output" == *"RLIMIT_MEMLOCK: here it is 64 KiB"* && "${#lines[@]}" = 1 ]]
    [ ! -d /sys/fs/cgroup/jobio-limited ] || rmdir /sys/fs/cgroup/jobio-limited
}

@test "an incomplete set of pinned maps is replaced" {
    "$BIN/count" -k -p $pins -o /dev/null
    rm $pins/*/lost
    "$BIN/count" -k -p $pins -o "$T/anew" -- "$BIN/step" join write "$T/tmpfs/anew" 3
    jq -e '.adopted | not' "$T/anew"
    [ "$(counter "$T/anew" write requests)" -eq 3 ]
    "$BIN/count" -p $pins -o "$T/anew"
    jq -e '.adopted' "$T/anew"
    [ "$(counter "$T/anew" write requests)" -eq 3 ]
}

# If the kernel preempts a task in bpf(2), the guard of its maps prevents kprobes from running.
@test "steps that start and end do not prevent the calls of other steps from being counted" {
    local noise pids=()
    for noise in 1 2; do
        timeout 600 sh -c "while :; do dd if=/dev/zero of=$T/tmpfs/$noise bs=4k count=200 status=none; done" &
        pids+=($!)
    done
    run "${BATS_TEST_DIRNAME}/../bench/steps" 20 8
    kill "${pids[@]}"
    echo "$output"
    [ "$status" = 0 ]
}

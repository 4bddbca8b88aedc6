#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The backend of system calls on the kernel of the machine that builds (make check-native): what a
# program did against what was counted, with no tolerance. As root; $BUILD is the build folder.

bats_require_minimum_version 1.5.0

setup_file() {
    export T="$BATS_FILE_TMPDIR" BIN="$BUILD/tests/bpf"
    [ "$(id -u)" = 0 ] || skip "not root"
    [ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF"
    CGROUPS=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    [ -n "$CGROUPS" ] || skip "no cgroup v2"
    export GROUP="$CGROUPS/jobio-native-$$"
    # A container may lack the right to load programs, or to mount.
    "$BIN/count" -b tp_btf -g "$GROUP" -o "$T/tried" || skip "no BPF here"
    mkdir "$T/tmpfs"
    mount -t tmpfs tmpfs "$T/tmpfs" || skip "no mount(2) here"
}

teardown_file() {
    ! mountpoint -q "$T/tmpfs" || umount "$T/tmpfs"
    [ -z "${GROUP-}" ] || rmdir "$GROUP"
}

# What jobiod pins stays behind it, and its programs would run with every system call here.
teardown() {
    [ -z "${jobiod-}" ] || kill $jobiod 2> /dev/null || true
    [ ! -s "$T/status" ] || rm -rf "$(jq -r .maps "$T/status")"
}

# What this backend does not count, or not in all its ways.
blind='mkdir rmdir unlink rename link symlink stat truncate'

numbers() {
    jq -S --arg blind "$blind" '.mounts
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

@test "what this backend cannot see is said" {
    jq -e '.not_attached | has("32-bit system calls") and has("calls by path")' "$T/counted"
}

# start_jobiod [PREFIX...]: $jobiod; its log is $T/jobiod.log
start_jobiod() {
    "$@" "$BUILD/jobiod" --config /dev/null --runtime "$T/run" --state "$T/state" \
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

@test "jobiod tests itself, and a report says what the accounting cost" {
    mkdir "$T/run" "$T/state" "$T/open"
    chmod 755 "$BATS_RUN_TMPDIR" "$T"
    chmod 777 "$T/open"
    start_jobiod
    jq .self_test "$T/status"
    jq -e '.self_test | .failed == [] and .ns_per_event > 0
           and (.tested | contains(["read", "write", "open", "stat", "fsync", "readdir"]))' "$T/status"
    jq -e '.operations.read != "none" and .operations.write != "none"' "$T/status"
    setpriv --reuid 65533 --clear-groups \
        "$BUILD/jobio" run --json --output "$T/open/report" -- cat /etc/passwd > /dev/null
    kill $jobiod
    wait $jobiod
    jq .accounting "$T/open/report"
    jq -e '.accounting.events == ([.mounts[].ops | to_entries[] | select(.key != "create")
                                   | .value.requests] | add)' "$T/open/report"
    jq -e '.accounting | (.seconds * 1e9 | round) == .events * .ns_per_event' "$T/open/report"
    [ -z "$(find "$T/run" -name 'selftest-*')" ]
}

@test "what cannot work is said in one line" {
    run -1 setpriv --bounding-set -sys_admin,-bpf --inh-caps -sys_admin,-bpf \
        "$BIN/count" -g "$GROUP" -o /dev/null
    [[ "$output" == *"CAP_BPF"* && "${#lines[@]}" = 1 ]]
    run -1 unshare -m sh -c "mount --bind /dev/null /sys/kernel/btf/vmlinux &&
        '$BUILD/jobiod' --config /dev/null --runtime '$T/run' --state '$T/state'"
    [[ "$output" == *"has no BTF"* && "${#lines[@]}" = 1 ]]
    run -1 unshare -m sh -c "umount -l /sys/fs/bpf;
        '$BUILD/jobiod' --config /dev/null --runtime '$T/run' --state '$T/state'"
    [[ "$output" == *"is /sys/fs/bpf mounted?"* && "${#lines[@]}" = 1 ]]
    start_jobiod
    run -1 "$BUILD/jobiod" --config /dev/null --runtime "$T/run" --state "$T/state"
    kill $jobiod
    wait $jobiod
    [[ "$output" == *"another jobiod"* && "${#lines[@]}" = 1 ]]
    rm -r "$(jq -r .maps "$T/status")" # else it takes over the programs that are there
    start_jobiod setpriv --bounding-set -sys_admin,-perfmon --inh-caps -sys_admin,-perfmon
    kill $jobiod
    wait $jobiod
    [ "$(grep -c "nothing is counted.*CAP_PERFMON" "$T/jobiod.log")" = 1 ]
}

@test "where functions cannot be hooked, it is chosen by itself" {
    "$BIN/count" -b fentry -g "$GROUP" -o "$T/fentry"
    jq -e '.not_attached | has("vfs_read")' "$T/fentry" || skip "they can be hooked here"
    "$BIN/count" -g "$GROUP" -o "$T/chosen" -- "$BIN/step" join write "$T/tmpfs/chosen" 7
    jq -e '[.mounts[].write.requests // 0] | add == 7' "$T/chosen"
    jq -e '.not_attached | has("vfs_read") | not' "$T/chosen"
}

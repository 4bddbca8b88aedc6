#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# What the probe counts against what a program did, field by field, with no tolerance. Runs as root
# in a guest (make check-kernels); $BUILD is the build folder.

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

# The numbers that must be equal, sorted.
numbers() {
    jq -S '.mounts | map_values(map_values({requests, bytes, errors, errno, size_log2}))' "$1"
}

# compare TRUTH COUNTED: nothing else was counted, nothing was lost, and each timed call lies in one
# bucket of latency.
compare() {
    diff <(numbers "$1") <(numbers "$2")
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
    "$BIN/count" "${options[@]}" -o "$T/$name.counted" -- "$BIN/work" "$@" > "$T/$name.truth"
}

@test "every call on ext4, tmpfs, overlayfs and a full file system is counted exactly" {
    # A file of the overlay's lower layer: this test itself.
    counted all -- -c "$BATS_TEST_FILENAME" -s "$T/small/full" "$T/ext4" "$T/tmpfs" "$T/overlay"
    compare "$T/all.truth" "$T/all.counted"
    jq -e '.not_attached == {}' "$T/all.counted"
    jq -e '.outside > 0' "$T/all.truth"
    [ "$(jq -r '.fstypes | [.[]] | sort | join(" ")' "$T/all.counted")" = "ext4 overlay tmpfs tmpfs" ]
}

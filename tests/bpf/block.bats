#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the block requests that jobio counts with /sys/block/DEVICE/stat, and where they waited with what
# was done to the device. As root in a guest (make check-truth); $BUILD is the build directory.

bats_require_minimum_version 1.5.0
load disks.bash

setup_file() {
    export T="$BATS_FILE_TMPDIR" PATH="$PATH:/usr/sbin:/sbin"
    disks_prepare
    modprobe ext4
    modprobe dm-mod || : # the test of it is skipped
    mkdir -p "$T/mnt"
}

teardown() {
    ! mountpoint -q "$T/mnt" || umount "$T/mnt"
    ! dmsetup info half > /dev/null 2>&1 || dmsetup remove half
    disks_remove
    echo +io > /sys/fs/cgroup/cgroup.subtree_control
}

run_job() {
    "$BUILD/jobio" run --block --json --output "$T/report" -- timeout 300 "$@"
}

# A value of the job's device: of [CLASS]
ops() {
    jq --arg d "$D" ".block.devices[] | select(.device == \$d) | .ops$1 // 0" "$T/report"
}

# is_equal NUMBERS [FIELDS]
is_equal() {
    echo "kernel: $1"
    echo "jobio:  $(disk_counted "$T/report")"
    jq -c .block "$T/report"
    [ "$(cut -d ' ' -f "${2-1-}" <<< "$1")" = "$(disk_counted "$T/report" | cut -d ' ' -f "${2-1-}")" ]
    jq -e '.block.complete' "$T/report"
}

@test "reads, writes and discards of a job are those of the device" {
    device memory_backed=1 discard=1
    is_equal "$(delta run_job sh -c "
        dd if=/dev/zero of=/dev/$D bs=64k count=100 oflag=direct
        dd if=/dev/$D of=/dev/null bs=12k count=50 iflag=direct & dd if=/dev/$D of=/dev/null bs=128k count=20 iflag=direct
        wait
        blkdiscard -l 4M /dev/$D" 2> /dev/null)"
    [ "$(ops .write.bytes)" = 6553600 ]
    [ "$(ops .discard.bytes)" = 4194304 ]
    [ "$(ops .read.errors)" = 0 ]
    [ "$(ops '.read | .requests - (.latency_log2 | add) | . >= 0 and . < 10')" = true ]
}

@test "asynchronous and merged requests are those of the device, and nothing of them stays" {
    device memory_backed=1
    echo mq-deadline > "/sys/block/$D/queue/scheduler" # merges requests, too
    is_equal "$(delta run_job sh -c "
        fio --name=x --filename=/dev/$D --direct=1 --ioengine=libaio --iodepth=16 --iodepth_batch=16 \
            --rw=randwrite --bs=4k --size=64k --loops=20 --output=$T/fio
        for rw in write write:-8k randread; do
            fio --name=x --filename=/dev/$D --direct=1 --ioengine=libaio --iodepth=16 --iodepth_batch=16 \
                --rw=\$rw --bs=4k --size=1M --output=$T/fio
        done
        for map in block_bios block_requests; do bpftool -j map dump name \$map; done > $T/left" 2> /dev/null)"
    [ "$(awk '{ print $6 }' "/sys/block/$D/stat")" -gt 0 ] # merged
    [ "$(ops .write.bytes)" = 3407872 ]
    cat "$T/left"
    jq -es 'map(length) == [0, 0]' "$T/left"
}

@test "requests of processes outside of the job are not the job's" {
    device memory_backed=1
    mkfifo "$T/start" "$T/done"
    (cat "$T/start" > /dev/null; dd "if=/dev/$D" of=/dev/null bs=64k count=20 iflag=direct; echo > "$T/done") 2> /dev/null &
    run_job sh -c "dd if=/dev/$D of=/dev/null bs=64k count=3 iflag=direct; echo > $T/start; cat $T/done"
    wait
    jq -c .block "$T/report"
    [ "$(ops .read.bytes)" -ge 196608 ]
    [ "$(ops .read.bytes)" -lt 524288 ] # with what the open of the device reads
    jq -e '.block | .complete and (.devices[0] | has("shared") | not)' "$T/report"
}

# Write to a file, and leave it to the kernel to write it back.
write_back() {
    mkfs.ext4 -q -O ^has_journal -E lazy_itable_init=0 "/dev/$D" # nothing else writes later
    mount -o noatime "/dev/$D" "$T/mnt"
    sync
    sysctl -q vm.dirty_writeback_centisecs=10 vm.dirty_expire_centisecs=10
    is_equal "$(delta run_job sh -c "
        dd if=/dev/zero of=$T/mnt/file bs=64k count=100 status=none
        until filefrag -v $T/mnt/file | grep -q 'last,eof' && ! filefrag -v $T/mnt/file | grep -q delalloc; do sleep 0.1; done
        until [ \$(awk '\$1 == \"Writeback:\" || \$1 == \"Dirty:\" { n += \$2 } END { print n }' /proc/meminfo) = 0 ]; do sleep 0.1; done")" 3,4 # jobio itself may read
}

@test "pages that the kernel writes back belong to the step if its cgroup has the io controller" {
    device memory_backed=1
    write_back
    [ "$(ops .write.bytes)" -ge 6553600 ]
}

@test "pages that the kernel writes back are shared without the io controller" {
    device memory_backed=1
    echo -io > /sys/fs/cgroup/cgroup.subtree_control
    write_back
    [ "$(ops .write.bytes)" = 0 ]
    jq -e '.block.devices[] | select(.device == "nullb0").shared.write.bytes >= 6553600' "$T/report"
}

@test "flushes are those that the job has asked for" {
    device memory_backed=1 cache_size=4
    delta run_job python3 -S -E -c "
import os
fd = os.open('/dev/$D', os.O_RDWR)
for i in range(10):
    os.fdatasync(fd)" > "$T/kernel"
    cat "$T/kernel"
    jq -c .block "$T/report"
    [ "$(awk '{ print $7 }' "$T/kernel")" = 10 ]
    [ "$(ops .flush.requests)" = 10 ]
    jq -e '.block.devices[0] | .ops | keys == ["flush"]' "$T/report" # the kernel counts writes, too
}

@test "requests that fail are errors" {
    device memory_backed=1 badblocks=+800-807
    run_job python3 -S -E -c "
import mmap, os
fd, page = os.open('/dev/$D', os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 4096)
for i in range(7):
    try: os.preadv(fd, [page], 409600)
    except OSError: pass"
    ops .read
    [ "$(ops .read.errors)" = 7 ]
}

@test "of a device mapper the disk below is counted" {
    device memory_backed=1
    echo "0 65536 linear /dev/$D 0" | dmsetup create half || skip "no device mapper"
    is_equal "$(delta run_job dd "if=/dev/$(dmsetup info -c --noheadings -o blkdevname half)" of=/dev/null bs=64k count=10 iflag=direct status=none)"
    jq -e '[.block.devices[].device] == ["nullb0"]' "$T/report"
}

# read_all PROCESSES REQUESTS: of each process, one after the other
read_all() {
    run_job python3 -S -E -c "
import mmap, os
fd, page = os.open('/dev/$D', os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 4096)
for i in range($1):
    if not os.fork():
        for j in range($2):
            os.preadv(fd, [page], 8192 * (i * $2 + j))
        os._exit(0)
for i in range($1):
    os.wait()"
    ops .read
}

@test "a device that takes 20 ms is seen as time at the device" {
    BATS_TEST_RETRIES=3 # a busy host delays both
    device irqmode=2 completion_nsec=20000000
    read_all 1 30
    jq -e '.block.devices[0].ops.read | .requests >= 30 and .device_ns / (.latency_log2 | add) >= 20e6
        and .device_ns >= 0.95 * (.device_ns + .queued_ns) and (.latency_log2[:18] | add) == 0' "$T/report"
}

@test "a device that takes one request at a time is seen as time in the queue" {
    BATS_TEST_RETRIES=3
    device irqmode=2 completion_nsec=20000000 hw_queue_depth=1
    echo mq-deadline > "/sys/block/$D/queue/scheduler"
    echo 64 > "/sys/block/$D/queue/nr_requests"
    read_all 8 4
    jq -e '.block.devices[0].ops.read | .requests >= 32 and .queued_ns >= 4 * .device_ns' "$T/report"
}

#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# jobiod counts the block requests of steps that are tagged as the plugin does it; compared with
# /sys/block/DEVICE/stat. As root in a guest (make check-truth); BUILD: the build directory.

bats_require_minimum_version 1.5.0
load steps.bash
load disks.bash

setup_file() {
    export PATH=$BUILD:$PATH:/usr/sbin:/sbin
    CGROUPS=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    export CGROUPS GROUP=$CGROUPS/jobio-block-$$
    mkdir "$GROUP"
    disks_prepare
}

teardown_file() {
    disks_remove
    find "$GROUP" -depth -type d -exec rmdir {} +
}

# start_jobiod: with a disk
start_jobiod() {
    disks_remove
    device memory_backed=1
    run_jobiod "cluster = c1" "node = n1" "[block]" "count = yes"
}

# end STEP...: as the plugin does it; the job's report is in $T/report
end() {
    local step
    for step in "$@"; do
        end_step "$step"
    done
    await status_is ".steps.running == 0 and .steps.unsaved == 0"
    jobio job 7 --steps --json > "$T/report"
    jq -c '[.block, (.steps[] | [.step, .block])]' "$T/report"
}

# write_blocks STEP COUNT: of 64 KiB, from the first block
write_blocks() {
    in_step "$1" dd if=/dev/zero "of=/dev/$D" bs=64k "count=$2" oflag=direct conv=nocreat status=none
}

# written STEP: bytes
written() {
    jq --arg step "$1" '.steps[] | select(.step == $step).block.devices[] | select(.device == "nullb0").ops.write.bytes' \
        "$T/report"
}

# Also none of kernel threads, because there is no step.
no_counters() {
    [ "$(bpftool -j map dump name block_counters | jq length)" = 0 ]
}

no_programs() {
    [ -z "$(bpftool map list | grep block_counters)" ]
}

in_both() {
    write_blocks 0 100
    write_blocks 1 30
    in_step 1 dd "if=/dev/$D" of=/dev/null bs=128k count=20 iflag=direct status=none
}

@test "the requests of each step are counted, and those of the job are the device's" {
    start_jobiod
    status_is .block.ready
    hold_step 0 65534
    hold_step 1 65534
    delta in_both > "$T/kernel"
    end 0 1
    cat "$T/kernel"
    disk_counted "$T/report"
    [ "$(cat "$T/kernel")" = "$(disk_counted "$T/report")" ]
    [ "$(written 0)" = 6553600 ]
    [ "$(written 1)" = 1966080 ]
    jq -e '.block.complete and ([.steps[].block.complete] | all)' "$T/report"
    jobio job 7 --block > "$T/text"
    cat "$T/text"
    grep -Eq '^ *nullb0 .*8\.1 MiB' "$T/text"
    # Nothing stays in the kernel, also not of a run that is not a step.
    chmod 666 "/dev/$D"
    chmod a+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$T" "$T/run"
    setpriv --reuid=65534 --regid=65534 --clear-groups jobio run -- \
        dd if=/dev/zero "of=/dev/$D" bs=64k count=10 oflag=direct conv=nocreat status=none
    await no_counters
}

over_restarts() {
    write_blocks 0 100
    stop_jobiod
    write_blocks 0 7
    run_jobiod "cluster = c1" "node = n1" "[block]" "count = yes"
    await status_is ".steps.running == 2"
    write_blocks 0 30
    stop_jobiod KILL
    write_blocks 0 3
    run_jobiod "cluster = c1" "node = n1" "[block]" "count = yes"
    await status_is ".steps.running == 2"
    write_blocks 0 1
}

@test "restarts of jobiod change nothing of the requests of a step" {
    start_jobiod
    hold_step 1 65534
    exec 9<> "/dev/$D" # so that the kernel's threads write, whose requests are not of the other step
    dd if=/dev/zero "of=/dev/$D" bs=64k count=50 status=none conv=nocreat,notrunc
    sync
    exec 9<&-
    hold_step 0 65534
    delta over_restarts > "$T/kernel"
    end 0 1
    cat "$T/kernel"
    jq '.steps[] | select(.step == "0")' "$T/report" > "$T/step"
    disk_counted "$T/step"
    [ "$(cat "$T/kernel")" = "$(disk_counted "$T/step")" ]
    [ "$(written 0)" = $((141 * 65536)) ]
    jq -e '.block.complete' "$T/step"
    jq -e '.steps[] | select(.step == "1").block.devices[0].shared.write.requests > 0' "$T/report"
    await no_counters
}

# Programs whose pin is gone are detached.
# bats test_tags=long
@test "if a pin was removed, the requests of a step that runs at a restart are incomplete" {
    start_jobiod
    hold_step 0 65534
    write_blocks 0 100
    stop_jobiod
    rm "$(jq -r .maps "$T/status")"/*/block_link_1
    run_jobiod "cluster = c1" "node = n1" "[block]" "count = yes"
    await status_is ".steps.running == 1"
    hold_step 1 65534
    write_blocks 1 30
    end 0 1
    jq -e '[.steps[] | select(.step == "0" or .step == "1").block.complete] == [false, true]' "$T/report"
    [ "$(written 1)" = 1966080 ]
}

@test "after a restart without [block] the requests so far are incomplete, and nothing is counted" {
    start_jobiod
    hold_step 0 65534
    write_blocks 0 100
    stop_jobiod
    run_jobiod "cluster = c1" "node = n1"
    await status_is ".steps.running == 1"
    await no_programs
    hold_step 1 65534
    write_blocks 0 30
    write_blocks 1 30
    end 0 1
    [ "$(written 0)" = 6553600 ]
    jq -e '.block.complete == false and ([.steps[] | select(.step == "1") | has("block")] == [false])' "$T/report"
}

# SPDX-License-Identifier: GPL-2.0-or-later
# Disks of null_blk, for tests of what jobio counts of them. As root, in a guest.
# shellcheck shell=bash

disks_prepare() {
    modprobe null_blk nr_devices=0
    modprobe mq-deadline
    mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
}

disks_remove() {
    local d
    for d in /sys/kernel/config/nullb/*/; do
        [ ! -d "$d" ] || { echo 0 > "$d/power"; rmdir "$d"; }
    done
}

# device [ATTRIBUTE=VALUE]...: a disk; sets $D to its name, which is $disk, or else nullb0.
device() {
    local at=/sys/kernel/config/nullb/${disk:-nullb0} each

    mkdir "$at"
    for each in queue_mode=2 submit_queues=1 size=64 blocksize=4096 "$@"; do
        echo "${each#*=}" > "$at/${each%%=*}"
    done
    echo 1 > "$at/power"
    D=${disk:-nullb0}
    [ -b "/dev/$D" ]
    blockdev --flushbufs "/dev/$D"
}

# What the kernel has counted: read, write, discard: requests and sectors of each; flushes.
stats() {
    awk '{ print $1, $3, $5, $7, $12, $14, $16 + 0 }' "/sys/block/$D/stat"
}

# delta COMMAND...: what it adds to the kernel's numbers
delta() {
    local before after
    before=$(stats)
    "$@"
    after=$(stats)
    echo "$before $after" | awk '{ for (i = 1; i <= 7; i++) printf "%d%s", $(i + 7) - $i, i < 7 ? " " : "\n" }'
}

# disk_counted FILE: the same in a report of jobio, with the requests of kernel threads
disk_counted() {
    jq -r --arg d "$D" '[.block.devices[] | select(.device == $d)][0] as $x
        | [[(["read", "write", "discard"][] | [$x.ops[.], $x.shared[.]]
            | (map(.requests // 0) | add), (map(.bytes // 0) | add / 512)),
            $x.ops.flush.requests // 0] | .[] | tostring] | join(" ")' "$1"
}

# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the time that a run of strace in `jobio run` shows with what jobio says. A test sets $traces, the
# directory of traces (trace.PID), $on, the mount, and $T, where the report is.
# shellcheck shell=bash

# trace COMMAND...: run it, and set $T/report
trace() {
    rm -f "$traces"/trace.*
    "$BUILD/jobio" run --json --output "$T/report" -- strace -f -ff -y -T -o "$traces/trace" "$@"
    jq -c --arg on "$on" '.mounts[] | select(.mount == $on).ops | map_values([.requests, .time_ns / 1000000])' \
        "$T/report"
}

# Milliseconds inside the calls on the mount that match the expression, by strace. Calls that were answered at
# once are left out: their time is that of strace.
traced() {
    cat "$traces"/trace.* | grep -E "^($1)\(" | grep "$on" |
        sed -n 's/.*<\([0-9.]*\)>$/\1/p' | awk '$1 > 0.05 { sum += $1 } END { printf "%d\n", 1000 * sum }'
}

# The same of these operations, by jobio. Both sides of a copy have its time. Faults of mapped files are not calls.
counted() {
    jq --arg on "$on" "[.mounts[] | select(.mount == \$on).ops | to_entries[]
         | select(.key | test(\"^($1)\$\") and (IN(\"create\", \"copy_write\", \"mmap_read\", \"mmap_write\") | not)).value.time_ns]
        | (add // 0) / 1000000 | floor" "$T/report"
}

# agree CALLS OPERATIONS [LEAST]: within 2 %
agree() {
    local traced counted
    traced=$(traced "$1") counted=$(counted "$2")
    echo "$2: $counted ms, strace: $traced ms"
    [ "$traced" -ge "${3-600}" ] # by default, at least three messages
    [ $((100 * (traced > counted ? traced - counted : counted - traced))) -le $((2 * traced)) ]
}

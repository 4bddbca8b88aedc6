#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the NFS requests that jobio counts with /proc/self/mountstats, and where they waited with what
# was done to the server and the client. As root in a guest (make check-truth); $BUILD is the build directory.

bats_require_minimum_version 1.5.0
load steps.bash

setup_file() {
    export PATH=$BUILD:$PATH:/usr/sbin:/sbin
    CGROUPS=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
    export CGROUPS GROUP=$CGROUPS/jobio-rpc-$$
    mkdir "$GROUP"
    . "$BATS_TEST_DIRNAME/../causes/causes.bash"
    modprobe -a loop ext4 nfsv3 nfsv4
    # Daemons would keep bats from ending.
    rpcbind -w 3>&- 4>&-
    nfs_server 16 "-p 20048" "-V 3" 3>&- 4>&-
    chmod 777 /srv/nfs
}

teardown() {
    end_jobiod
    rm -rf /srv/nfs/*
    tc qdisc del dev lo root 2> /dev/null || : # first, because umount(8) makes requests
    ! mountpoint -q /nfs || umount /nfs
    echo 1 > /proc/sys/fs/leases-enable
    slots 65536
}

# mount_nfs VERSION [OPTION,...]
mount_nfs() {
    case $1 in
        3) mount -t nfs -o "vers=3,nolock,proto=tcp,port=2049,mountproto=tcp,mountport=20048${2:+,$2}" \
            127.0.0.1:/srv/nfs /nfs ;;
        *) mount -t nfs4 -o "vers=$1${2:+,$2}" 127.0.0.1:/ /nfs ;;
    esac
}

# slots N: of clients that connect from now on
slots() {
    echo "$1" > /sys/module/sunrpc/parameters/tcp_max_slot_table_entries
    echo $(($1 < 16 ? $1 : 16)) > /sys/module/sunrpc/parameters/tcp_slot_table_entries
    echo $(($1 < 64 ? $1 : 64)) > /sys/module/nfs/parameters/max_session_slots
}

slow_server() {
    modprobe -a sch_prio sch_netem cls_u32 2> /dev/null || skip "this kernel cannot delay messages"
    . "$BATS_TEST_DIRNAME/../causes/causes.bash"
    slow_nfs "$1"
}

# delta COMMAND...: what the command adds to mountstats. CLASS calls retransmissions sent received queued server time,
# the times in milliseconds. SEQUENCE and others of the whole client are left out: they belong to no mount.
stats() {
    awk '$0 ~ / mounted on \/nfs with / { mine = 1; next }
        /^device / { mine = 0 }
        mine && $1 ~ /^[A-Z_]+:$/ { sub(":", "", $1); print $1, $2, $3, $5, $6, $7, $8, $9 }' /proc/self/mountstats
}

delta() {
    stats > "$T/before"
    "$@"
    stats > "$T/after"
    awk 'NR == FNR { for (i = 2; i <= 8; i++) before[$1, i] = $i; next }
        { print $1, $2 - before[$1, 2], $3 - before[$1, 3] - ($2 - before[$1, 2]), $4 - before[$1, 4],
            $5 - before[$1, 5], $6 - before[$1, 6], $7 - before[$1, 7], $8 - before[$1, 8] }' "$T/before" "$T/after" |
        awk '
        BEGIN {
            n = split("read READ READ_PLUS|write WRITE|commit COMMIT|open OPEN OPEN_NOATTR OPEN_CONFIRM|" \
                "close CLOSE OPEN_DOWNGRADE|lock LOCK LOCKT LOCKU RELEASE_LOCKOWNER|getattr GETATTR|" \
                "setattr SETATTR|lookup LOOKUP LOOKUPP LOOKUP_ROOT READLINK|access ACCESS|" \
                "readdir READDIR READDIRPLUS|create CREATE MKDIR SYMLINK MKNOD LINK|remove REMOVE RMDIR|" \
                "rename RENAME|statfs STATFS FSSTAT FSINFO PATHCONF|delegation DELEGRETURN|" \
                "copy COPY CLONE|allocate ALLOCATE DEALLOCATE SEEK|" \
                "xattr GETXATTR SETXATTR LISTXATTRS REMOVEXATTR GETACL SETACL|" \
                "other SERVER_CAPS FREE_STATEID TEST_STATEID|" \
                "none NULL SEQUENCE RENEW EXCHANGE_ID CREATE_SESSION RECLAIM_COMPLETE", lines, "|")
            for (i = 1; i <= n; i++) {
                m = split(lines[i], words, " ")
                for (j = 2; j <= m; j++)
                    class[words[j]] = words[1]
            }
        }
        $2 && class[$1] == "" { print "procedure", $1, "has no class"; next }
        $2 && class[$1] != "none" { for (i = 2; i <= 8; i++) sum[class[$1], i] += $i; seen[class[$1]] = 1 }
        END {
            for (c in seen) {
                printf "%s", c
                for (i = 2; i <= 8; i++) printf " %d", sum[c, i]
                print ""
            }
        }' | sort
}

# counted [STEP]: the same by jobio, of the job or step and shared ones
counted() {
    jq -r --arg step "${1-}" 'if $step == "" then . else .steps[] | select(.step == $step) end
        | .mounts[] | select(.mount == "/nfs").rpc | [.ops, .shared.ops // {}] | map(to_entries) | add
        | group_by(.key)[] | [.[0].key] + (map(.value | [.calls, .retransmissions, .sent_bytes, .received_bytes,
            (.queued_ns, .server_ns, .time_ns) / 1e6]) | transpose | map(add)) | join(" ")' "$T/report" | sort
}

run_job() {
    "$BUILD/jobio" run --json --output "$T/report" -- timeout 300 "$@"
}

# A sum for the step, over all classes or for one: sum MEMBER [CLASS]
sum() {
    jq ".mounts[] | select(.mount == \"/nfs\").rpc.ops | [to_entries[] | select(.key | test(\"^(${2-.*})\$\")).value.$1]
        | add // 0 | floor" "$T/report"
}

# The kernel can preempt programs, and then does not run them for other tasks.
preempts() {
    grep -Eq '\((full|lazy)\)' /sys/kernel/debug/sched/preempt
}

# Counts and bytes are equal; times are those of mountstats, which rounds each procedure down to milliseconds. A kernel
# that preempts programs reads the clock later than jobio, and may run other tasks in between.
is_equal() {
    local later=0
    ! preempts || later=1
    join -a 1 -a 2 "$1" "$2" | awk -v later=$later '
        NF != 15 { print "only one has:", $0; bad = 1; next }
        { for (i = 2; i <= 5; i++) if ($i != $(i + 7)) { print "differs:", $0; bad = 1; break }
          for (i = 6; i <= 8; i++) {
              is_later = later && i == 8 && $i > $(i + 7)
              if (!is_later && ($i < $(i + 7) - 6 || $i > $(i + 7) + 6)) { print "time:", $0; bad = 1; break }
          } }
        END { exit bad }'
}

work() {
    cat << 'END'
cd /nfs
dd if=/dev/zero of=a bs=64k count=100 conv=fsync status=none
dd if=/dev/zero of=dirty bs=64k count=50 status=none
dd if=a of=direct bs=100k count=10 iflag=direct oflag=direct status=none
cat a > /dev/null
mkdir d
for i in 1 2 3 4 5 6 7 8; do echo $i > d/$i; done
ls -l d > /dev/null
ln d/1 d/link
ln -s 1 d/symlink
cat d/symlink > /dev/null
mv d/1 d/moved
chmod 600 d/2
stat -f . > /dev/null
cat absent 2> /dev/null
rm -r d
(echo child > child) &
wait
sync
END
}

equals_mountstats() {
    mount_nfs "$@"
    delta run_job sh -c "$(work)" > "$T/kernel"
    counted > "$T/jobio"
    cat "$T/kernel"
    is_equal "$T/kernel" "$T/jobio"
    jq -c '.mounts[] | select(.mount == "/nfs").rpc | {complete, ops: (.ops | keys)}' "$T/report"
    jq -e '.mounts[] | select(.mount == "/nfs").rpc | .complete and .ops.read.calls > 0
        and .ops.getattr.calls > 0 and .ops.write.calls > 0' "$T/report"
}

@test "the requests of a job on NFSv4.2 are those of mountstats" {
    equals_mountstats 4.2
}

@test "the requests of a job on NFSv3 are those of mountstats" {
    equals_mountstats 3
}

many_at_a_time() {
    run_job sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
        dd if=/nfs/file of=/dev/null bs=4k count=64 iflag=direct status=none &
        done; wait'
}

@test "the requests of many processes at a time are those of mountstats" {
    head -c 256k /dev/zero > /srv/nfs/file
    mount_nfs 4.2
    delta many_at_a_time > "$T/kernel"
    counted > "$T/jobio"
    grep '^read ' "$T/kernel" "$T/jobio"
    jq -c '.mounts[] | select(.mount == "/nfs").rpc | [.complete, .ops.read.calls]' "$T/report"
    if jq -e '.mounts[] | select(.mount == "/nfs").rpc.complete' "$T/report"; then
        is_equal "$T/kernel" "$T/jobio"
        [ "$(sum calls read)" = 1024 ]
    else # reported
        preempts
        [ "$(sum calls read)" -ge 973 ]
        [ "$(sum calls read)" -le 1024 ]
    fi
}

@test "requests of processes outside of the job are not the job's" {
    mount_nfs 4.2
    dd if=/dev/zero of=/srv/nfs/other bs=1M count=8 status=none
    # One that the job makes before another process reads; the job ends after that.
    mkfifo "$T/start" "$T/pipe"
    (cat "$T/start" > /dev/null; dd if=/nfs/other of=/dev/null bs=256k iflag=direct status=none; echo > "$T/pipe") &
    run_job sh -c "chmod 777 /nfs; echo > $T/start; cat $T/pipe"
    wait
    jq -c '.mounts[] | select(.mount == "/nfs").rpc' "$T/report"
    jq -e '.mounts[] | select(.mount == "/nfs").rpc | .complete and .ops.setattr.calls == 1
        and (.ops | has("read") or has("open") | not) and (.shared.ops // {} | has("read") | not)' "$T/report"
}

# --- steps under jobiod -----------------------------------------------------------------------------------

# The server gives no delegations: the client returns them when it wants.
start_jobiod() {
    echo 0 > /proc/sys/fs/leases-enable
    run_jobiod "cluster = c1" "node = n1"
}

# restart_jobiod SIGNAL [COMMAND...]: the command runs while no jobiod does
restart_jobiod() {
    stop_jobiod "$1"
    "${@:2}"
    start_jobiod
    await status_is ".steps.running == $(ls "$T/run/steps" | wc -l)"
}

# end STEP...: as the plugin does it; the job's report is in $T/report
end() {
    local step
    for step in "$@"; do
        end_step "$step"
    done
    await status_is ".steps.running == 0 and .steps.unsaved == 0"
    jobio job 7 --steps --json > "$T/report"
    jq -c '.steps[] | [.step, (.mounts[] | select(.mount == "/nfs").rpc)]' "$T/report"
}

# work_in STEP DIRECTORY: a new one
work_in() {
    in_step "$1" sh -c "mkdir /nfs/$2$(work | sed "1s,.*,; cd /nfs/$2,")"
}

# step_equals STEP: the requests in $T/report are those in $T/kernel
step_equals() {
    counted "$1" > "$T/jobio"
    cat "$T/kernel"
    is_equal "$T/kernel" "$T/jobio"
    jq -e --arg step "$1" '.steps[] | select(.step == $step).mounts[] | select(.mount == "/nfs").rpc
        | .complete and .ops.read.calls > 0 and .ops.write.calls > 0' "$T/report"
}

# Before Linux 5.15, kprobes end with the process that has attached them, except for kprobe.multi.
keeps_programs() {
    compgen -G "$(jq -r .maps "$T/status")/*/rpc_last_link" > /dev/null
}

over_restarts() {
    work_in "$1" before
    restart_jobiod KILL work_in "$1" without
    work_in "$1" between
    restart_jobiod TERM
    work_in "$1" after
}

# The upgrade below has the same work and restarts.
# bats test_tags=long
@test "restarts of jobiod change nothing of the requests of a step" {
    mount_nfs 4.2
    start_jobiod
    keeps_programs || skip "this kernel does not keep kprobes"
    hold_step 0 0
    delta over_restarts 0 > "$T/kernel"
    end 0
    step_equals 0
}

remove_pin() {
    rm "$(jq -r .maps "$T/status")"/*/rpc_link_3
}

# Programs whose pin is gone are detached.
# bats test_tags=long
@test "if a pin was removed, the requests of a step that runs at a restart are incomplete" {
    mount_nfs 4.2
    start_jobiod
    keeps_programs || skip "this kernel does not keep kprobes"
    hold_step 0 0
    in_step 0 chmod 777 /nfs
    restart_jobiod TERM remove_pin
    hold_step 1 0
    in_step 1 chmod 777 /nfs
    end 0 1
    jq -e '[.steps[] | select(.step == "0" or .step == "1").mounts[] | select(.mount == "/nfs").rpc | .complete]
        == [false, true]' "$T/report"
}

# bats test_tags=old-kernel
@test "where programs end with jobiod, the requests of a step that runs at a restart are incomplete" {
    mount_nfs 4.2
    start_jobiod
    ! keeps_programs || skip "this kernel keeps kprobes"
    hold_step 0 0
    in_step 0 chmod 777 /nfs
    restart_jobiod TERM
    in_step 0 chmod 777 /nfs
    end 0
    jq -e '.steps[0].mounts[] | select(.mount == "/nfs").rpc | .complete == false and .ops.setattr.calls == 1' "$T/report"
}

# The requests of kernel threads before the step are not its own.
# bats test_tags=long
@test "restarts of jobiod change nothing of the shared requests of a step" {
    mount_nfs 3
    start_jobiod
    keeps_programs || skip "this kernel does not keep kprobes"
    hold_step 0 0
    work_in 0 earlier
    hold_step 1 0
    delta over_restarts 1 > "$T/kernel"
    end 0 1
    step_equals 1
    jq -e '[.steps[] | select(.step == "0" or .step == "1").mounts[] | select(.mount == "/nfs").rpc.shared.ops
        | [.[].calls] | add // 0] | .[0] > .[1]' "$T/report"
}

@test "after an upgrade of jobiod to another layout the requests of a step are still counted" {
    [ -x "$BUILD/tests/bpf/jobiod_next" ] || skip "not built: jobiod_next"
    mount_nfs 4.2
    start_jobiod
    keeps_programs || skip "this kernel does not keep kprobes"
    hold_step 0 0
    delta over_upgrades > "$T/kernel"
    end 0
    step_equals 0
}

over_upgrades() {
    work_in 0 before
    JOBIOD=$BUILD/tests/bpf/jobiod_next restart_jobiod TERM work_in 0 without
    work_in 0 between
    restart_jobiod KILL work_in 0 again
}

# requests_in_progress N: of steps, that are asynchronous
requests_in_progress() {
    [ "$(bpftool -j map dump name rpc_tasks | jq length)" = "$1" ]
}

# One direct read, while no message reaches the server.
read_over_restart() {
    slow_server 100000
    echo > "$T/start"
    await requests_in_progress 1
    restart_jobiod KILL
    requests_in_progress 1
    tc qdisc del dev lo root
    wait "$1"
}

@test "a request that is in progress while jobiod is restarted is counted" {
    head -c 8192 /dev/zero > /srv/nfs/file
    mkfifo "$T/start"
    mount_nfs 4.2
    start_jobiod
    keeps_programs || skip "this kernel does not keep kprobes"
    hold_step 0 0
    in_step 0 python3 -S -E -c '
import os, sys
file = os.open("/nfs/file", os.O_RDONLY | os.O_DIRECT)
open(sys.argv[1] + "/opened", "w")
open(sys.argv[1] + "/start").read()
os.pread(file, 4096, 0)' "$T" &
    await [ -e "$T/opened" ]
    delta read_over_restart $! > "$T/kernel"
    cat "$T/kernel"
    end 0
    jq -e '.steps[0].mounts[] | select(.mount == "/nfs").rpc | .complete and .ops.read.calls == 1
        and .ops.read.time_ns > 1e9' "$T/report"
}

no_client() {
    modprobe -r nfsv4 nfsv3 nfs 2> /dev/null
}

@test "the requests of a job that was running when the client was loaded are incomplete" {
    echo > /srv/nfs/file
    for ((i = 0; i < 100; i++)); do # the programs of the last run may be attached for a while
        ! no_client || break
        sleep 0.1
    done
    [ ! -e /sys/module/nfs ]
    run_job sh -c 'modprobe nfsv4
        mount -t nfs4 -o vers=4.2 127.0.0.1:/ /nfs
        until bpftool prog show | grep -qE "rpc_(stats_latency|exit_task)"; do sleep 0.1; done
        chmod 600 /nfs/file'
    jq -c '.mounts[] | select(.mount == "/nfs").rpc' "$T/report"
    jq -e '.mounts[] | select(.mount == "/nfs").rpc | .complete == false and .ops.setattr.calls == 1' "$T/report"
}

# Requests one after the other.
stats_in_a_row() {
    run_job python3 -S -E -c '
import os
for i in range(30):
    os.stat("/nfs/file")'
}

# MEMBER of a getattr, in nanoseconds.
mean() {
    echo $(($(sum "$1" getattr) / $(sum calls getattr)))
}

# 95 % of what a request takes longer is time at the server.
delay_is_at_server() {
    local server time
    BATS_TEST_RETRIES=3 # a busy host delays the client, too
    echo > /srv/nfs/file
    mount_nfs "$1" noac
    stats_in_a_row
    server=$(mean server_ns) time=$(mean time_ns)
    slow_server 50
    stats_in_a_row
    server=$(($(mean server_ns) - server)) time=$(($(mean time_ns) - time))
    echo "$(sum calls getattr) calls take $time ns longer, at the server $server ns"
    [ "$(sum calls getattr)" -ge 30 ]
    [ "$server" -ge 47500000 ]
    [ $((100 * server)) -ge $((95 * time)) ]
    [ $((100 * server)) -le $((105 * time)) ]
}

# bats test_tags=long
@test "a server that takes 50 ms longer is seen as time at the server (NFSv4.2)" {
    delay_is_at_server 4.2
}

@test "a server that takes 50 ms longer is seen as time at the server (NFSv3)" {
    delay_is_at_server 3
}

# few_slots VERSION LEAST: 16 processes share two slots. Each waits for seven others on average, at least LEAST times
# as long as for the server.
few_slots() {
    echo > /srv/nfs/file
    slots 2
    mount_nfs "$1" noac
    slow_server 50
    run_job python3 -S -E -c '
import os
for i in range(16):
    if not os.fork():
        for j in range(3):
            os.stat("/nfs/file")
        os._exit(0)
for i in range(16):
    os.wait()'
    BATS_TEST_RETRIES=3
    echo "queued $(sum queued_ns getattr) ns, server $(sum server_ns getattr) ns"
    [ "$(sum calls getattr)" -ge 48 ]
    [ "$(sum queued_ns getattr)" -ge "$(($(sum server_ns getattr) * $2))" ]
}

@test "a client with two slots is seen as time in its queue (NFSv3)" {
    few_slots 3 4
}

# On Linux 7.2, the only tested kernel that preempts programs, it is 1.3 times; the cause is not known.
# bats test_tags=long
@test "a client with two slots is seen as time in its queue (NFSv4.2)" {
    local least=4
    ! preempts || least=1
    few_slots 4.2 $least
}

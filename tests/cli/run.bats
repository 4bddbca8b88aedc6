#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# `jobio run` on a real kernel, in the guest: its numbers are compared with the known I/O of programs.
# Each run loads its BPF programs, which takes about 10 s of CPU there. Tests that need no such kernel
# are in command.bats.

load cli.bash

setup_file() {
    export WORK=$JOBIO_BUILD/tests/cluster/work
    # ext4 on an image; tmpfs is /dev/shm and /run; / is an overlay
    truncate -s 64M /run/ext4.image
    mkfs.ext4 -q /run/ext4.image
    mkdir -p /mnt/ext4
    modprobe -a loop ext4
    mount -o loop /run/ext4.image /mnt/ext4
    # No library is left to be read by page faults, which count where the file really is.
    # shellcheck disable=SC2046 # a list of files
    cat "$WORK" $(ldd "$WORK" | grep -o '/[^ ]*') > /dev/null
    # A command that needs no library: its exec opens one file.
    mkdir /run/static
    cp "$(command -v busybox)" /run/static/
}

# the_run ARGUMENT...: jobio run --json --timeline, with the document in $json
the_run() {
    split jobio run --json --timeline --output "$BATS_TEST_TMPDIR/json" "$@"
    json=$(cat "$BATS_TEST_TMPDIR/json")
}

# value MOUNT OP FIELD
value() {
    jq -r --arg m "$1" --arg op "$2" --arg f "$3" \
        '[.mounts[] | select(.mount == $m).ops[$op][$f]] | first // 0' <<< "$json"
}

# is MOUNT OP REQUESTS BYTES
is() {
    local got
    got="$(value "$1" "$2" requests) $(value "$1" "$2" bytes)"
    [ "$got" = "$3 $4" ] || { echo "$1 $2: $got, not $3 $4"; jq -c .mounts <<< "$json"; return 1; }
}

# all I/O is on the time line of its mount, and nothing else
adds_up() {
    jq -e '[.mounts[] | (.ops | with_entries(select(.key != "create"))) as $ops | .timeline
        | [(.read_bytes | add // 0) == ([$ops.read, $ops.copy_read | .bytes // 0] | add),
           (.write_bytes | add // 0) == ([$ops.write, $ops.copy_write | .bytes // 0] | add),
           (.wait_ns | add // 0) == ([$ops[].time_ns] | add),
           (.meta_requests | add // 0) == ([$ops | to_entries[]
                | select(.key | test("^(copy_)?(read|write)$|^mmap|^clone|^close$|^lock$") | not).value.requests] | add // 0)]
        ] | flatten | length > 0 and all' <<< "$json" > /dev/null ||
        { jq -c '.mounts[]' <<< "$json"; return 1; }
}

complete() {
    adds_up
    [ "$(jq -c '[.complete, .lost, .incomplete]' <<< "$json")" = "[true,0,[]]" ] ||
        { jq -c '[.complete, .lost, .incomplete]' <<< "$json"; return 1; }
}

no_cgroup_is_left() {
    [ -z "$(find /sys/fs/cgroup -name 'jobio-run-*')" ]
}

@test "exact numbers on ext4, tmpfs and the overlay root" {
    the_run -- "$WORK" write:/mnt/ext4/a:100:4096 read:/mnt/ext4/a:100:4096 \
        write:/dev/shm/b:7:1000 read:/dev/shm/b:3:1000 pwritev:/dev/shm/b:5:8192 \
        write:/root/c:11:123 stat:/dev/shm/b:13 missing:/dev/shm/none:17 fsync:/mnt/ext4/a:2 \
        mkdir:/mnt/ext4/d rmdir:/mnt/ext4/d unlink:/mnt/ext4/a
    expect 0
    follows job "$BATS_TEST_TMPDIR/json"
    complete
    is /mnt/ext4 write 100 409600
    is /mnt/ext4 read 100 409600
    is /mnt/ext4 fsync 2 0
    is /mnt/ext4 mkdir 1 0
    is /mnt/ext4 rmdir 1 0
    is /mnt/ext4 unlink 1 0
    is /mnt/ext4 create 1 0
    is /mnt/ext4 open 3 0
    is /dev/shm write 12 47960
    is /dev/shm read 3 3000
    is /dev/shm create 1 0
    is /dev/shm stat 13 0
    is / write 11 1353
    # an open that found no file counts on the mount where it was looked for
    [ "$(value /dev/shm open errors)" = 17 ]
    [ "$(jq -c '.mounts[] | select(.ops.open.errors > 0).ops.open.errno' <<< "$json")" = '{"ENOENT":17}' ]
    [ "$(jq -c '.mounts | map(.mount + " " + .fstype) | sort' <<< "$json")" = \
        '["/ overlay","/dev/shm tmpfs","/mnt/ext4 ext4"]' ]
}

@test "nothing of jobio itself is counted" {
    the_run -- /run/static/busybox true
    expect 0
    complete
    # one open, by exec, its close, and nothing else
    [ "$(jq -c '[.mounts[] | [.mount, (.ops | map_values(.requests))]]' <<< "$json")" = '[["/run",{"open":1,"close":1}]]' ]
}

@test "children are included, in pipelines and in the background; the peak is that of an interval" {
    the_run --interval 200ms -- sh -c "sleep 2
        $WORK write:/dev/shm/1:10:100 & $WORK write:/dev/shm/2:500:1000 & wait
        setsid $WORK write:/dev/shm/3:490:100; cat /dev/shm/3 | (head -c 1 > /dev/null; cat > /dev/null)
        sleep 2"
    expect 0
    complete
    is /dev/shm write 1000 550000
    jq -e '.mounts[] | select(.mount == "/dev/shm").ops.write
        | .peak_bytes_per_s > 3 * .mean_bytes_per_s and .peak_requests_per_s > 2 * .mean_requests_per_s
        and .peak_bytes_per_s <= 5 * .bytes' <<< "$json"
}

@test "1,000 short programs one after the other count as one waiting thread" {
    # although each of them waited only for a thousandth of it
    : > /mnt/ext4/short
    the_run -- sh -c 'i=0; while [ $i -lt 1000 ]; do /run/static/busybox cat /mnt/ext4/short; i=$((i + 1)); done > /dev/null'
    expect 0
    complete
    is /mnt/ext4 open 1000 0
    jq -e '.wait | .longest_thread_ns > 0.9 * .total_ns and .longest_thread_ns <= .total_ns' <<< "$json" ||
        { jq -c .wait <<< "$json"; return 1; }
    jq -e '.wait.longest_thread_ns < .elapsed_s * 1e9' <<< "$json"
}

@test "standard input, output and error belong to the command; the text comes last" {
    echo "in" > "$BATS_TEST_TMPDIR/in"
    split jobio run -- sh -c "cat; echo said >&2; $WORK write:/mnt/ext4/t:2000:4096" < "$BATS_TEST_TMPDIR/in"
    expect 0
    [ "$out" = "in" ]
    [ "$(head -n 1 <<< "$err")" = said ]
    holds "$err" /mnt/ext4 7.8MiB "complete: 1/1 nodes"
    printable "$BATS_TEST_TMPDIR/err"
}

@test "processes that outlive the command are left alone and reported" {
    the_run -- sh -c "$WORK write:/dev/shm/x:5:10; sleep 1000 > /dev/null 2>&1 3>&- & echo \$! > /run/survivor"
    expect 0
    is /dev/shm write 5 50
    [ "$(jq -c '[.complete, [.incomplete[] | [.cause, .count]]]' <<< "$json")" = \
        '[false,[["still-running",1]]]' ]
    kill -0 "$(cat /run/survivor)"
    kill "$(cat /run/survivor)"
    no_cgroup_is_left
}

@test "a cgroup that cannot be removed is reported" {
    local folder
    split jobio run --output /tmp/stays.txt -- sh -c \
        'd=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup); echo "$d"; mount -t tmpfs stays "$d"; mkdir "$d/empty"'
    folder=$out
    expect 0
    one_line "the cgroup \"$folder\" stays"
    [ -d "$folder/empty" ] # not ours to remove
    umount "$folder"
    rmdir "$folder"
}

# Native tests see that a report says what the accounting cost: here a slow guest may not know.
@test "the self-test of the probe is in no account" {
    split jobio run --json --output /tmp/cost.json -- cat /etc/passwd
    expect 0
    jq -c .accounting /tmp/cost.json
    # nothing of the self-test of the probe, which is in /run
    [ "$(jq -c '[.mounts[] | select(.mount == "/run")]' /tmp/cost.json)" = "[]" ]
    [ -z "$(find /run -maxdepth 1 -name 'selftest-*')" ]
}

@test "cgroups and mounts that the command makes are counted" {
    mkdir -p /mnt/private /mnt/passing
    the_run -- sh -c '
        own=/sys/fs/cgroup$(sed -n "s/^0:://p" /proc/self/cgroup)
        mkdir -p $own/deep/deeper
        echo $$ > $own/deep/deeper/cgroup.procs
        '"$WORK"' write:/dev/shm/x:9:10
        mount -t tmpfs passing /mnt/passing
        '"$WORK"' write:/mnt/passing/x:6:11
        unshare -m --propagation private sh -c "
            mount -t tmpfs secret /mnt/private && '"$WORK"' write:/mnt/private/x:7:13 && sleep 1"
        umount /mnt/passing'
    expect 0
    is /dev/shm write 9 90
    is /mnt/passing write 6 66
    is /mnt/private write 7 91
    [ "$(jq -c '.mounts[] | select(.mount == "/mnt/private") | [.fstype, .source, .private]' <<< "$json")" = \
        '["tmpfs","secret",true]' ]
    no_cgroup_is_left
}

@test "mounts of many kinds: one row per super block, and only correct names" {
    modprobe -a loop btrfs squashfs fuse overlay
    mkdir -p /run/kinds/{sub,image} /mnt/{vol,home,bind,lower,squash,fuse,image,gone,short}
    truncate -s 120M /run/kinds/btrfs
    mkfs.btrfs -q /run/kinds/btrfs 2> /dev/null
    mount -o loop /run/kinds/btrfs /mnt/vol
    btrfs -q subvolume create /mnt/vol/@home
    mount -o loop,subvol=@home /run/kinds/btrfs /mnt/home
    head -c 5000 /dev/zero > /run/kinds/image/f
    mksquashfs /run/kinds/image /run/kinds/squashfs -quiet > /dev/null
    mount -o loop /run/kinds/squashfs /mnt/squash
    mkdir -p /mnt/ext4/below /mnt/ext4/over/{up,work,merged}
    mount --bind /mnt/ext4/below /mnt/bind
    mount -t overlay both -o lowerdir=/mnt/lower,upperdir=/mnt/ext4/over/up,workdir=/mnt/ext4/over/work \
        /mnt/ext4/over/merged
    # its mounts are its own: a tmpfs whose name has blanks, with a folder below it that is bound and
    # removed; the image, which the host has, too; and one that goes with the only task that sees it
    cat > /run/kinds/job << EOF
set -e
$WORK write:/mnt/vol/a:1:10 write:/mnt/home/a:2:20 write:/mnt/bind/a:3:30
$WORK write:/mnt/ext4/over/merged/a:4:40 read:/mnt/squash/f:1:5000
squashfuse /run/kinds/squashfs /mnt/fuse
$WORK read:/mnt/fuse/f:1:5000
unshare -m --propagation private sh -ec '
    mkdir "/mnt/a b"
    mount -t tmpfs "of mine" "/mnt/a b"
    mkdir "/mnt/a b/gone"
    mount --bind "/mnt/a b/gone" /mnt/gone
    rmdir "/mnt/a b/gone" || true
    ln -s "/mnt/a b" /run/kinds/link
    $WORK write:/run/kinds/link/a:5:50
    mount -o loop,ro /run/kinds/squashfs /mnt/image
    $WORK read:/mnt/image/f:1:5000
    unshare -m --propagation private sh -ec "mount -t tmpfs brief /mnt/short; $WORK write:/mnt/short/a:6:60"
    sleep 3'
umount /mnt/fuse
EOF
    the_run -- sh /run/kinds/job
    expect 0
    is /mnt/vol write 3 50
    is "/mnt/a b" write 5 250
    is /mnt/ext4/over/merged write 4 160
    is /mnt/squash read 2 10000
    is /mnt/fuse read 1 5000
    # the bind mount; I/O of the overlay on the lower file system cannot be distinguished from the job's
    [ "$(value /mnt/ext4 write requests)" -ge 3 ]
    [ "$(jq -c '[.mounts[] | select(.mount == "/mnt/a b") | .fstype, .source, .private]' <<< "$json")" = \
        '["tmpfs","of mine",true]' ]
    [ "$(jq -c '[.mounts[] | select(.ops.write.bytes == 360) | .fstype, .private,
        (.mount == "/mnt/short" or .mount == "(unknown)")]' <<< "$json")" = '["tmpfs",true,true]' ]
    [ "$(jq -c '[.mounts[] | select(.mount == "" or .fstype == "" or .source == "")]' <<< "$json")" = '[]' ]
    [ "$(jq '[.mounts[].mount | select(test("^/mnt/(home|bind|image|gone)"))] | length' <<< "$json")" = 0 ]
    umount /mnt/ext4/over/merged /mnt/bind /mnt/squash /mnt/home /mnt/vol
}

@test "a mount in the namespace of jobio run only keeps its name, also with a short command" {
    split unshare -m --propagation private sh -c "mount -t tmpfs own /mnt &&
        jobio run --json --output '$BATS_TEST_TMPDIR/json' -- '$WORK' write:/mnt/x:4:25"
    expect 0
    json=$(cat "$BATS_TEST_TMPDIR/json")
    is /mnt write 4 100
}

@test "concurrent and nested runs each count their own I/O" {
    "$WORK" trickle:/dev/shm/other:60000:1000 3>&- &
    other=$!
    jobio run --json --output "$BATS_TEST_TMPDIR/one" -- "$WORK" trickle:/dev/shm/1:300:1000 3>&- &
    one=$!
    the_run -- sh -c "$WORK write:/dev/shm/o:1:5;
        jobio run --json --output /run/inner -- $WORK write:/dev/shm/i:2:50"
    expect 0
    wait $one
    kill $other
    is /dev/shm write 3 105
    json=$(cat "$BATS_TEST_TMPDIR/one")
    is /dev/shm write 300 1228800
    json=$(cat /run/inner)
    is /dev/shm write 2 100
    no_cgroup_is_left
}

@test "below a cgroup that is not the root" {
    mkdir -p /sys/fs/cgroup/some/place
    there() {
        echo $BASHPID > /sys/fs/cgroup/some/place/cgroup.procs
        exec jobio run --json --output "$BATS_TEST_TMPDIR/json" -- \
            sh -c "sed -n 's/^0:://p' /proc/self/cgroup; $WORK write:/dev/shm/x:8:16"
    }
    split eval '(there)'
    expect 0
    [[ $out == /some/place/jobio-run-* ]]
    json=$(cat "$BATS_TEST_TMPDIR/json")
    is /dev/shm write 8 128
    no_cgroup_is_left
    rmdir /sys/fs/cgroup/some/place /sys/fs/cgroup/some
}

# traced ARGUMENT...: the_run with a trace, whose facts (trace.py) are in files trace and account
traced() {
    the_run --trace "$BATS_TEST_TMPDIR/spans" "$@"
    expect 0
    "$BATS_TEST_DIRNAME/trace.py" trace "$BATS_TEST_TMPDIR/spans" | sort > "$BATS_TEST_TMPDIR/trace"
    "$BATS_TEST_DIRNAME/trace.py" account "$BATS_TEST_TMPDIR/json" | sort > "$BATS_TEST_TMPDIR/account"
    not grep ^fault "$BATS_TEST_TMPDIR/trace"
}

# trace WORD...: the rest of the line of the last trace that starts with these words
trace() {
    sed -n "s|^$* ||p" "$BATS_TEST_TMPDIR/trace"
}

@test "a trace has a span for each of 10,000 calls and every other request, and they add up to the account" {
    traced -- sh -c "$WORK write:/mnt/ext4/t:10000:100 read:/mnt/ext4/t:50:200 &
        $WORK write:/dev/shm/t:30:4096 stat:/dev/shm/t:9 missing:/dev/shm/none:7; wait"
    complete
    is /mnt/ext4 write 10000 1000000
    [ "$(trace root jobio.dropped)" = 0 ]
    diff <(grep ^sum "$BATS_TEST_TMPDIR/trace") <(grep ^sum "$BATS_TEST_TMPDIR/account")
    # each where it was written, and below the process that made it
    [ "$(trace offsets /mnt/ext4 write)" = 100 ]
    [ "$(trace below /mnt/ext4 write)" = "work - 10000" ]
    [ "$(grep -c '^process work ' "$BATS_TEST_TMPDIR/trace")" = 2 ]
}

@test "a trace beyond its budget has the slowest requests, and reports how many it left out" {
    traced --trace-rate 300 --trace-max 500 -- "$WORK" write:/mnt/ext4/s:1:100 fsync:/mnt/ext4/s:1 write:/dev/shm/t:20000:10
    is /dev/shm write 20000 200000
    local kept
    kept=$(trace requests)
    ((kept >= 300 && kept <= 500))
    grep -qx "requests $((kept + $(trace root jobio.dropped_requests)))" "$BATS_TEST_TMPDIR/account"
    [ "$(trace below /mnt/ext4 fsync)" = "work - 1" ]
}

@test "a trace joins that of its caller, knows ranks, and has a second format" {
    TRACEPARENT=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01 traced -- env PMI_RANK=5 "$WORK" write:/dev/shm/t:5000:10
    [ "$(trace root trace)" = "4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7" ]
    [ "$(trace process work)" = 5 ]
    split jobio run --trace "$BATS_TEST_TMPDIR/trace" --trace-format chrome -- "$WORK" write:/dev/shm/t:3:10
    expect 0
    holds "$err" "trace: " " spans in $BATS_TEST_TMPDIR/trace"
    [ "$(jq -c '[.traceEvents[] | select(.name == "write").args.bytes]' "$BATS_TEST_TMPDIR/trace")" = '[10,10,10]' ]
    split jobio run --trace "$BATS_TEST_TMPDIR/trace" --trace-format pdf -- true
    expect 2
    one_line "otlp or chrome"
    split jobio run --trace "$BATS_TEST_TMPDIR/trace" --trace-of files -- true
    expect 2
    one_line "--trace-of is ops or mpi, not \"files\""
    split jobio run --trace-of ops -- true
    expect 2
    one_line "require --trace FILE"
    split jobio run --trace-max 10 -- true
    expect 2
    one_line "require --trace FILE"
    split jobio run --trace /nowhere/trace -- touch /run/was-run
    expect 125
    one_line /nowhere/trace
    [ ! -e /run/was-run ]
}

@test "a trace has the paths of opens only if they are asked for" {
    local spans=$BATS_TEST_TMPDIR/spans d=/dev/shm/paths long
    long=$(printf '%0238d' 0) # $d/./$long has 255 bytes, the most
    mkdir -p $d
    opened() {
        jq -r '.resourceSpans[].scopeSpans[].spans[] | select(.name == "open") | .attributes | map({key, value: .value[]})
            | from_entries | select(."file.path") | [."file.path", ."jobio.path_cut", ."error.type"] | @tsv' "$spans" |
            grep -E "^(/dev/shm/paths|new)"
    }
    cat > "$BATS_TEST_TMPDIR/opens" << END
cd $d
: > new
: < $d/new
: < new
(: < $d/./$long)
(: < $d/.//$long)
true
END
    split jobio run --trace "$spans" --trace-paths -- sh "$BATS_TEST_TMPDIR/opens"
    diff <(printf '%s\t%s\t%s\n' new "" "" $d/new "" "" new "" "" "$d/./$long" "" ENOENT "$d/.//${long%0}" true ENOENT) <(opened)
    [ "$(jq '[.resourceSpans[].scopeSpans[].spans[] | select(.name != "open").attributes[].key | select(. == "file.path")] | length' "$spans")" = 0 ]
    [ "$(jq -r '.resourceSpans[].scopeSpans[].spans[] | select(.name == "jobio run").attributes[]
        | select(.key == "jobio.paths_missing").value.intValue' "$spans")" = 0 ]
    split jobio run --trace "$spans" -- sh "$BATS_TEST_TMPDIR/opens"
    not grep -E 'file.path|paths_missing|dev/shm/paths' "$spans"
    split jobio run --trace-paths -- true
    expect 2
    one_line "require --trace FILE"
}

@test "an impossible run is reported before the command starts" {
    split jobio run --output /nowhere/report -- touch /run/was-run
    expect 125
    one_line /nowhere/report
    # root without capabilities
    split setpriv --bounding-set -all jobio run -- touch /run/was-run
    expect 125
    one_line run:
    # a user without a jobiod
    split as_nobody jobio run -- touch /run/was-run
    expect 125
    one_line "only root" "start jobiod"
    # a cgroup namespace
    split unshare -C jobio run -- touch /run/was-run
    expect 125
    one_line "cgroup namespace"
    [ ! -e /run/was-run ]
    no_cgroup_is_left
}

# The last test, because it changes /sys/fs/cgroup.
@test "a hybrid host: cgroup2 at /sys/fs/cgroup/unified" {
    umount /sys/fs/cgroup
    split jobio run -- true
    expect 125
    one_line "cgroup2" mount
    mount -t tmpfs none /sys/fs/cgroup
    mkdir /sys/fs/cgroup/unified
    mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
    the_run -- "$WORK" write:/dev/shm/x:8:16
    expect 0
    is /dev/shm write 8 128
    no_cgroup_is_left
}

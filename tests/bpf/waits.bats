#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the waiting of programs on NFS, whose messages to the server take 200 ms, and on a disk whose requests take
# 300 ms, with what strace says of the same run. As root in a guest (make check-truth); $BUILD is the build directory.

bats_require_minimum_version 1.5.0
load disks.bash
load waits.bash

setup_file() {
    export T="$BATS_FILE_TMPDIR"
    export on=/nfs traces=/dev/jobio-traces # files there are not counted: strace writes while its programs wait
    mkdir "$traces"
    . "$BATS_TEST_DIRNAME/../causes/causes.bash"
    modprobe -a loop ext4
    nfs 3>&- 4>&- # of bats: its daemons would keep bats from ending
    mkdir -p "$T/tree" /srv/nfs/old
    for i in 1 2 3; do
        head -c 100000 /dev/zero > "$T/tree/$i"
        cp "$T/tree/$i" /srv/nfs/old/
    done
    tar -cf "$T/tree.tar" -C "$T" tree
    ln -s old /srv/nfs/link
    repository /srv/nfs/repository
    mkdir /srv/nfs/directory
    slow_nfs 200
}

teardown_file() {
    tc qdisc del dev lo root
    umount /nfs
    rm -r "$traces"
}

# repository DIRECTORY: of git, with a file that is not yet in it
repository() {
    git init -q --template= "$1"
    echo "all the same" > "$1/file"
}

# Objects are written into the directory of the repository, whatever directory git has changed to. It looks at the
# file itself by relative paths.
commit() {
    echo "export HOME=/ GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a
        export GIT_COMMITTER_EMAIL=a@b GIT_DIR=$1/.git GIT_WORK_TREE=$1
        git add $1/file
        git -c gc.auto=0 -c maintenance.auto=false commit -q -m x"
}

insert() {
    echo "python3 -S -E -c '
import sqlite3
database = sqlite3.connect(\"$1/database\")
database.execute(\"create table t (x)\")
for i in range(2):
    database.execute(\"insert into t values (randomblob(3000))\")
    database.commit()
database.close()'"
}

# The programs: dd, Python with locks, tar, cp, rm, Python with lookups.
programs() {
    cat << 'EOF'
dd if=/dev/zero of=/nfs/dd bs=1M count=4 status=none
python3 -S -E -c '
import fcntl, os
with open("/nfs/python", "wb") as file:
    for i in range(3):
        fcntl.lockf(file, fcntl.LOCK_EX)
        file.write(b"x" * 100000)
        file.flush()
        fcntl.lockf(file, fcntl.LOCK_UN)
    fcntl.flock(file, fcntl.LOCK_EX)
'
tar -xf "$T/tree.tar" -C /nfs
cp -r /nfs/old /nfs/new
rm -r /nfs/new
python3 -S -E -c '
import os
os.access("/nfs/absent", os.F_OK)
os.readlink("/nfs/link")
os.statvfs("/nfs")
os.chdir("/nfs/directory")
'
EOF
}

@test "the time of all calls, of closes, locks and lookups on NFS is what strace says" {
    export T
    trace sh -e -c "$(programs)"
    agree '[a-z0-9_]+' '.*'
    agree close close
    agree 'fcntl|flock' lock
    agree 'access|faccessat2?|readlink(at)?|f?chdir|f?statfs' lookup
    jq -e '.complete' "$T/report"
}

# bats test_tags=long
@test "git and sqlite on NFS wait as long as strace says" {
    trace sh -e -c "$(commit /nfs/repository)
        $(insert /nfs)"
    agree '[a-z0-9_]+' '.*'
    agree 'fsync|fdatasync' fsync
    agree 'fcntl' lock
    jq -e '.complete' "$T/report"
}

# The other process holds the lock for 3 s.
local_programs() {
    cat << EOF
dd if=/dev/zero of=/slow/dd bs=64k count=4 conv=fsync status=none
dd if=/slow/cold of=/dev/null bs=64k count=10 iflag=direct status=none
tar -xf /slow/tree.tar -C /slow
$(insert /slow)
$(commit /slow/repository)
python3 -S -E -c '
import fcntl, os, sys, time
ready, start = os.pipe()
if not os.fork():
    with open("/slow/lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        os.write(start, b"x")
        time.sleep(3)
    os._exit(0)
os.read(ready, 1)
with open("/slow/lock", "w") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
os.wait()'
EOF
}

@test "dd, tar, git, sqlite and locks on a slow disk wait as long as strace says" {
    local on=/slow
    disks_prepare
    device memory_backed=1 irqmode=2 completion_nsec=300000000
    mkfs.ext4 -q -E lazy_itable_init=1,lazy_journal_init=1,nodiscard "/dev/$D"
    mkdir -p /slow
    mount "/dev/$D" /slow
    head -c 640k /dev/zero > /slow/cold
    cp "$T/tree.tar" /slow
    repository /slow/repository
    sync
    echo 3 > /proc/sys/vm/drop_caches
    trace sh -e -c "$(local_programs)"
    umount /slow
    disks_remove
    agree '[a-z0-9_]+' '.*' 2000
    agree 'fsync|fdatasync' fsync
    agree 'read|pread64' read
    agree flock lock
    jq -e '.complete' "$T/report"
}

# near A B N: milliseconds, within N
near() {
    echo "$1 ms, strace: $2 ms"
    [ $(($1 > $2 ? $1 - $2 : $2 - $1)) -le "$3" ]
}

# checkpoints N: N processes of fio write four checkpoints. fio pauses for 12 s after it has made its files, and
# between its checkpoints. The processes that write open their file before the first one and close it after the last
# one. fio itself waits before the first one, about half as long as they do.
checkpoints() {
    rm -f "$traces"/trace.*
    "$BUILD/jobio" run --json --timeline --output "$T/report" -- strace -f -ff -y -T -o "$traces"/trace \
        fio --name=checkpoints --directory=/nfs --filename_format=checkpoint.\$jobnum --numjobs="$1" \
        --rw=write --bs=512k --size=6M --sync=1 --startdelay=12s --thinktime=12s --thinktime_blocks=3
    jq -c '.mounts[] | select(.mount == "/nfs") | .write_bursts, .timeline' "$T/report"
    jq -e --argjson n "$1" '.mounts[] | select(.mount == "/nfs").write_bursts
        | .count == 4 and .bytes == $n * 6291456' "$T/report"
    grep -LE '^p?write(64)?\([0-9]+</nfs' "$traces"/trace.* | xargs rm
}

# Milliseconds that the process waited which waited longest.
traced_longest() {
    local file most=0 this
    mkdir -p "$traces"/all
    mv "$traces"/trace.* "$traces"/all
    for file in "$traces"/all/*; do
        mv "$file" "$traces"
        this=$(traced '[a-z0-9_]+')
        most=$((this > most ? this : most))
        rm "$traces"/trace.*
    done
    echo "$most"
}

# A member of the bursts, in milliseconds.
burst_ms() {
    jq ".mounts[] | select(.mount == \"/nfs\").write_bursts | (.$1) / 1000000 | floor" "$T/report"
}

# The stall is within 1 s of the time that strace reports, or unknown, if threads waited for more than 1 s and
# 10 % of it on other mounts: a machine that is busy reads the programs again while they run.
stall_is_near() {
    local elsewhere
    elsewhere=$(jq '[.mounts[] | select(.mount != "/nfs") | .timeline.wait_ns // [] | add // 0]
        | add / 1000000 | floor' "$T/report")
    if jq -e '.mounts[] | select(.mount == "/nfs").write_bursts | has("stall_ns")' "$T/report"; then
        near "$(burst_ms stall_ns)" "$1" 1000
    else
        echo "stall unknown; on other mounts: $elsewhere ms"
        [ "$elsewhere" -gt 1000 ] && [ $((10 * elsewhere)) -gt "$1" ]
    fi
}

# The wait is within 10 %: the time line has bins of 1 s.
@test "the checkpoints of fio on NFS are found, and how long it waited in them" {
    local traced
    checkpoints 1
    traced=$(traced '[a-z0-9_]+')
    [ "$traced" -ge 3000 ]
    near "$(burst_ms wait_ns)" "$traced" $((traced / 10))
    stall_is_near "$traced"
}

# bats test_tags=long
@test "two processes that write checkpoints at the same time wait as long as one" {
    local traced
    checkpoints 2
    traced=$(traced_longest)
    [ "$traced" -ge 3000 ]
    stall_is_near "$traced"
}

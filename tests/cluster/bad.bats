# SPDX-License-Identifier: GPL-2.0-or-later
# Bad input to the real daemon: each gets a clear error, and no recorded job is lost.
. "${BATS_TEST_DIRNAME}/cluster.bash"

store=/var/lib/jobio/jobio.db

setup_file() {
    cluster_start
    id=$(submit alice --wrap 'work write:/scratch/kept:7:1000')
    job_wait "$id"
    echo "$id" > $cluster_dir/kept
}

setup() {
    kept=$(< $cluster_dir/kept)
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || cluster_logs
}

# kept_is_there: jobiod runs, and the recorded job is unchanged
kept_is_there() {
    [ "$(systemctl is-active jobiod)" = active ]
    [ "$(account "$kept" /scratch | grep ^write)" = "write 7 7000 0" ]
}

# tell USER: sends stdin to jobiod's socket as one message; prints the answer
tell() {
    as "$1" perl -MSocket -e '
        socket(my $s, AF_UNIX, SOCK_SEQPACKET, 0) or die; local $/;
        connect($s, pack_sockaddr_un("/run/jobio/jobiod.sock")) or die "connect: $!\n";
        send($s, scalar <STDIN>, 0) // die "send: $!\n";
        my $answer = ""; recv($s, $answer, 65536, 0); $answer =~ tr/\0/\n/; print $answer'
}

@test "garbage, truncated and unknown messages get an error, and jobiod keeps running" {
    for message in 'garbage' 'VERSION=1' 'VERSION=1\0' 'VERSION=1\0TYPE=\0' 'VERSION=1\0TYPE=nonsense\0' \
        'TYPE=tag\0VERSION=1\0' '\0\0\0\0' 'VERSION=1\0TYPE=tag\0' '=\0=\0' \
        'VERSION=1\0TYPE=tag\0JOBID=-1\0RESTART=x\0' 'VERSION=99999999999999999999\0TYPE=status\0'; do
        run tell root < <(printf "$message")
        echo "$message: $output"
        [[ $output == *STATUS=error* && $output == *ERROR=?* ]]
    done
    kept_is_there
}

@test "oversized and random messages get an error, and jobiod keeps running" {
    run tell root < <(head -c 200000 /dev/zero | tr '\0' x)
    echo "$output"
    [[ $output == *STATUS=error* ]]
    run tell root < <(head -c 65536 /dev/urandom)
    [[ $output == *STATUS=error* ]]
    kept_is_there
}

@test "the error for an unknown protocol version names the version" {
    run tell root < <(printf 'VERSION=77\0TYPE=status\0')
    echo "$output"
    [[ $output == *STATUS=error* && $output == *77* ]]
    kept_is_there
}

@test "only root can tag a step" {
    run tell alice < <(printf 'VERSION=1\0TYPE=tag\0JOBID=4711\0UID=0\0STEP=0\0CGROUP=/\0CGROUP_ID=1\0')
    echo "$output"
    [[ $output == *STATUS=error* ]]
    [ "$(sql 'SELECT count(*) FROM job WHERE jobid = 4711')" = 0 ]
}

@test "a cgroup that does not exist is refused" {
    run tell root < <(printf '%s\0' VERSION=1 TYPE=tag JOBID=4712 RESTART=0 HET=4294967294 STEP=0 UID=0 \
        CGROUP=/no/such CGROUP_ID=999999999 CGROUP_LEVEL=2 CGROUP_VERSION=2 TAGGED_AT=1 TAGGED_BOOT=1 \
        NODES=1 NODE=guest NAME=x SUMMARY=short)
    echo "$output"
    [[ $output == *STATUS=error* && $output == */no/such* ]]
    kept_is_there
}

@test "a job name with escape sequences is printed as text" {
    id=$(submit alice -J $'ev\e[31mil\a"\\x' --wrap 'work write:/scratch/n:300:4096')
    job_wait "$id"
    for command in "jobio job $id" "jobio history" "jobio job $id --json"; do
        run $command
        echo "$output" | cat -v
        [ "$status" = 0 ]
        not grep -q $'[\e\a]' <<< "$output"
    done
    not grep -q $'\e' "/home/alice/slurm-$id.out"
}

# bad_config TEXT: jobiod must refuse it and name the file and line
bad_config() {
    cp /etc/jobio/jobio.conf $cluster_dir/good.conf
    printf '%s\n' "$1" > /etc/jobio/jobio.conf
    run jobiod_by_hand
    cp $cluster_dir/good.conf /etc/jobio/jobio.conf
    echo "$output"
    [ "$status" != 0 ]
    [[ $output == */etc/jobio/jobio.conf:* ]]
}

# Run the daemon in the foreground, while the service is stopped.
jobiod_by_hand() {
    timeout 20 jobiod 2>&1
}

@test "the error for an unknown key or a bad value names file, line and reason" {
    systemctl stop jobiod
    bad_config 'colour = red'
    [[ $output == *:1:*colour* ]]
    bad_config $'cluster = x\ninterval = soon'
    [[ $output == *:2:*interval* ]]
    bad_config $'[nowhere]\nurl = x'
    systemctl start jobiod
    kept_is_there
}

# bad_store WORDS...: jobiod must not start with this store, must print why, and must not change it
bad_store() {
    local before
    before=$(md5sum < $store)
    run jobiod_by_hand
    echo "$output"
    [ "$status" != 0 ]
    for word; do
        [[ ${output,,} == *${word}* ]]
    done
    [ "$(md5sum < $store)" = "$before" ]
}

@test "a store that is not a database, or of a newer jobio, is refused" {
    systemctl stop jobiod
    cp -a $store $cluster_dir/good.db
    echo 'this is no database, and long enough to be looked at as one' > $store
    bad_store "database"
    cp -a $cluster_dir/good.db $store
    sqlite3 $store 'PRAGMA user_version = 99' > /dev/null
    bad_store 99
    cp -a $cluster_dir/good.db $store
    systemctl start jobiod
    kept_is_there
}

@test "a store on NFS is refused" {
    systemctl stop jobiod
    mkdir -p /nfs/store
    mount --bind /nfs/store /var/lib/jobio
    run jobiod_by_hand
    umount /var/lib/jobio
    systemctl start jobiod
    echo "$output"
    [ "$status" != 0 ]
    [[ ${output,,} == *nfs* ]]
    kept_is_there
}

@test "a store that is read-only is refused, and jobs run on and are counted" {
    systemctl stop jobiod
    mount --bind /var/lib/jobio /var/lib/jobio
    mount -o remount,bind,ro /var/lib/jobio
    run jobiod_by_hand
    not systemctl start jobiod
    journalctl -u jobiod -n 30 --no-pager -o cat > $cluster_dir/readonly
    id=$(submit alice --wrap 'work write:/scratch/readonly:300:4096')
    job_wait "$id"
    systemctl stop jobiod
    umount /var/lib/jobio
    systemctl start jobiod
    echo "$output"
    cat $cluster_dir/readonly
    [ "$status" != 0 ]
    [[ ${output,,} == *read-only* && $output == *$store* ]]
    grep '/var/lib.*Read-only file system' $cluster_dir/readonly
    [ "$(job_field "$id" JobState)" = COMPLETED ]
    wait_for 60 eval '[ "$(account "$id" /scratch | grep ^write)" = "write 300 1228800 0" ]'
    kept_is_there
}

@test "without BTF or without a BPF file system, jobs run on, and jobiod logs once that nothing is counted" {
    local name
    local -A words=([btf]="has no BTF" [bpffs]="is /sys/fs/bpf mounted?")
    systemctl stop jobiod
    mount --bind /dev/null /sys/kernel/btf/vmlinux
    blind btf
    umount /sys/kernel/btf/vmlinux
    umount -l /sys/fs/bpf
    blind bpffs
    mount -t bpf bpf /sys/fs/bpf
    cluster_jobiod_anew
    for name in btf bpffs; do
        was_blind $name "${words[$name]}"
    done
    kept_is_there
}

# is_stored JOB N: true if the store has N writes of the job to /scratch
is_stored() {
    [ "$(sql "SELECT requests FROM v_job_io WHERE jobid = $1
        AND mount = '/scratch' AND op = 'write'")" = "$2" ]
}

@test "if the disk of the store is full, jobiod reports it and stores all rows once there is room" {
    systemctl stop jobiod
    cp -a /var/lib/jobio $cluster_dir/saved
    mount -t tmpfs -o size=1m tmpfs /var/lib/jobio
    cp -a $cluster_dir/saved/. /var/lib/jobio/
    systemctl start jobiod
    dd if=/dev/zero of=/var/lib/jobio/filler bs=4k 2> /dev/null || :
    id=$(submit alice --wrap 'work write:/scratch/full:300:4096')
    job_wait "$id"
    [ "$(job_field "$id" JobState)" = COMPLETED ]
    wait_for 60 eval 'jobiod_log | grep -i full'
    rm /var/lib/jobio/filler
    wait_for 60 eval '[ "$(account "$id" /scratch | grep ^write)" = "write 300 1228800 0" ]'
    wait_for 60 is_stored "$id" 300
    kept_is_there
}

@test "without jobiod, root reads the store and other users get the record of Slurm" {
    systemctl stop jobiod
    run jobio job "$kept"
    [ "$status" = 0 ]
    run as alice jobio job "$kept"
    echo "$output"
    systemctl start jobiod
    [ "$status" = 0 ]
    [[ ${lines[0]} == "jobio: jobiod is not running here "*"this is the job's record in Slurm" ]]
    [[ ${lines[-1]} == "complete: 1/1 nodes" ]]
}

# SPDX-License-Identifier: GPL-2.0-or-later
# A one-node Slurm with three mounts and all parts of jobio, inside the guest. No part is a fake. Sourced
# by the suites (setup_file calls cluster_start) and by the demo.
#
# cluster_start [v1]: start everything and wait for the idle node; Slurm with cgroup/v2 or cgroup/v1.
# cluster_start_lean: the same without NFS and Pushgateway. Both look at these variables:
#   CLUSTER_MEMORY    set: Slurm limits the memory of jobs (cgroup/v2 only: systemd has the controller)
#   CLUSTER_PROLOG    more PrologFlags, each with a comma before it; CLUSTER_SLURMD: SlurmdParameters
#   CLUSTER_CGROUP    lines for cgroup.conf
#   CLUSTER_PRIVATE   a directory: each job has a private /tmp in it (Slurm >= 23.02)
#   CLUSTER_DATABASE  set: with slurmdbd, see database.bash; CLUSTER_JOBCOMP: another JobCompType
#   CLUSTER_GATHER    JobAcctGatherType without its prefix (none): linux
#   CLUSTER_CONF      lines for slurm.conf; CLUSTER_JOBIO: for jobio.conf
#   CLUSTER_REPORTS   where the sanitizers of jobiod write reports
# In a guest with the cluster of an earlier suite, both only restart its parts, with the settings of this
# suite, an empty store and empty mounts.
# cluster_slurm_again: restart Slurm after a change of these variables.
# $CLUSTER_OUT: a directory with "install", a `make install` tree of jobio, and the programs "work" and "await".
# Three mounts: /scratch (ext4), /nfs (NFSv4.2, served by this machine), /fast (tmpfs).
# The jobs are alice's; bob is another user.

cluster_dir=/run/cluster
cluster_paranoid=/proc/sys/kernel/perf_event_paranoid
node=guest

# wait_for SECONDS COMMAND...: wait until COMMAND succeeds; on a timeout fail and print its last output.
wait_for() {
    local limit=$1 start now output
    shift
    uptime_read start
    until output=$("$@" 2>&1); do
        uptime_read now
        if [ $((now - start)) -ge "$limit" ]; then
            echo "waited in vain for: $*" >&2
            echo "$output" >&2
            return 1
        fi
        nap $((now - start))
    done
}

# uptime_read NAME: set the variable to the seconds since boot. $SECONDS changes when the clock is set.
uptime_read() {
    local seconds
    read -r seconds _ < /proc/uptime
    printf -v "$1" %d "${seconds%.*}"
}

# nap WAITED: a pause between two looks, longer the longer one has waited. Without a process: in an
# emulated guest, what looks in vain slows down what it waits for.
nap() {
    local pauses=(0.1 0.2 0.2 0.3 0.3 0.4 0.4) idle
    exec {idle}<> <(:)
    read -rt "${pauses[$1]:-0.5}" -u "$idle" || :
    exec {idle}>&-
}

# In bats, "! command" does not fail a test; this does.
not() {
    ! "$@"
}

as() {
    local user=$1
    shift
    (cd / && runuser -u "$user" -- "$@")
}

# unit NAME [-p PROPERTY]... COMMAND...: run it as a service with its output in a file
unit() {
    local name=cluster-$1
    shift
    systemctl reset-failed "$name" 2> /dev/null || :
    systemd-run --quiet --collect --unit="$name" -p LimitMEMLOCK=infinity \
        -p "StandardOutput=append:$cluster_dir/$name.log" \
        -p "StandardError=append:$cluster_dir/$name.log" "$@"
}

cluster_users() {
    useradd -M -d /home/alice alice
    useradd -M -d /home/bob bob
    mkdir -p /home/alice /home/bob /home/root
    chown alice: /home/alice
    chown bob: /home/bob
}

# cluster_image NAME MOUNTPOINT: an ext4 file system in a file
cluster_image() {
    truncate -s 256M "$cluster_dir/$1.img"
    mkfs.ext4 -q -E lazy_itable_init=1,lazy_journal_init=1 "$cluster_dir/$1.img"
    mkdir -p "$2"
    mount -o loop "$cluster_dir/$1.img" "$2"
    chmod 1777 "$2"
}

# End the NFS server's grace period. Newer kernels refuse this if there is none.
nfs_end_grace() {
    echo Y > /proc/fs/nfsd/v4_end_grace || :
}

cluster_nfs() {
    cluster_image nfs /srv/nfs
    modprobe -a nfsd nfs nfsv4
    mountpoint -q /proc/fs/nfsd || mount -t nfsd nfsd /proc/fs/nfsd
    echo 10 > /proc/fs/nfsd/nfsv4leasetime
    echo 10 > /proc/fs/nfsd/nfsv4gracetime
    exportfs -o rw,fsid=0,insecure,no_subtree_check,no_root_squash 127.0.0.1:/srv/nfs
    unit mountd rpc.mountd -F -N 3
    rpc.nfsd -N 3 -V 4.2 4
    nfs_end_grace
    mkdir -p /nfs
    mount -t nfs4 -o vers=4.2 127.0.0.1:/ /nfs
}

cluster_mounts() {
    modprobe -a loop ext4
    cluster_image scratch /scratch
    mkdir -p /fast
    mount -t tmpfs -o mode=1777 fast /fast
}

# slurmd needs an address that is not on the loopback interface.
cluster_network() {
    modprobe dummy
    ip link add dummy0 type dummy 2> /dev/null || :
    ip address add 10.99.0.1/24 dev dummy0
    ip link set dummy0 up
    hostname $node
    printf '127.0.0.1 localhost\n10.99.0.1 %s\n' $node > /etc/hosts
}

# slurm_is_from 26.05: true if this Slurm is of that series or a later one. Differences between series are
# decided by this function only.
slurm_is_from() {
    local series
    series=$(slurmd -V | grep -oE '[0-9]+\.[0-9]+' | head -n 1)
    [ "$(printf '%s\n' "$1" "$series" | sort -V | head -n 1)" = "$1" ]
}

# The plugin for a private /tmp has a new name since 25.11.
private_directories() {
    [ -n "${CLUSTER_PRIVATE-}" ] || return 0
    if slurm_is_from 25.11; then
        echo "NamespaceType=namespace/tmpfs"
    else
        echo "JobContainerType=job_container/tmpfs"
    fi
}

cluster_slurm_conf() {
    cat << END
ClusterName=test
SlurmctldHost=$node(10.99.0.1)
SlurmUser=slurm
AuthType=auth/munge
AuthInfo=cred_expire=30
CredType=cred/munge
ProctrackType=proctrack/cgroup
TaskPlugin=$([ -n "${CLUSTER_MEMORY-}" ] && echo task/cgroup || echo task/none)
JobAcctGatherType=jobacct_gather/${CLUSTER_GATHER:-none}
PrologFlags=Contain${CLUSTER_PROLOG-}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core${CLUSTER_MEMORY:+_Memory
DefMemPerNode=100}
SlurmdParameters=config_overrides${CLUSTER_SLURMD-}
$(private_directories)
ReturnToService=2
MpiDefault=none
KillWait=5
InactiveLimit=0
MessageTimeout=30
SchedulerParameters=sched_interval=1,batch_sched_delay=1
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/lib/slurm/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=$cluster_dir/slurmctld.log
SlurmdLogFile=$cluster_dir/slurmd.log
JobCompType=${CLUSTER_JOBCOMP:-$([ -e /etc/slurm/jobcomp.lua ] && echo jobcomp/lua || echo jobcomp/none)}
AccountingStorageType=accounting_storage/$([ -n "${CLUSTER_DATABASE-}" ] && echo slurmdbd || echo none)
PrologEpilogTimeout=30
NodeName=$node NodeAddr=10.99.0.1 CPUs=8 RealMemory=1000
PartitionName=main Nodes=ALL Default=YES MaxTime=10 State=UP OverSubscribe=YES
${CLUSTER_CONF-}
END
}

# The configuration of slurmctld and slurmd.
cluster_slurm_files() {
    local cgroup=$1
    cluster_slurm_conf > /etc/slurm/slurm.conf
    {
        echo "CgroupPlugin=cgroup/$cgroup"
        [ -z "${CLUSTER_MEMORY-}" ] || echo ConstrainRAMSpace=yes
        [ "$cgroup" = v2 ] || printf 'CgroupMountpoint=/sys/fs/cgroup\nCgroupAutomount=yes\n'
        echo "${CLUSTER_CGROUP-}"
    } > /etc/slurm/cgroup.conf
    [ -z "${CLUSTER_PRIVATE-}" ] ||
        printf 'AutoBasePath=true\nBasePath=%s\n' "$CLUSTER_PRIVATE" > /etc/slurm/job_container.conf
}

cluster_slurm_daemons() {
    unit slurmctld -p User=slurm -p RuntimeDirectory=slurmctld slurmctld -D -i
    unit slurmd -p Delegate=yes -p KillMode=process slurmd -D
    wait_for 60 node_is idle
}

cluster_slurm() {
    cluster_slurm_files "${1:-v2}"
    : > $cluster_dir/slurmctld.log
    chown slurm $cluster_dir/slurmctld.log
    install -d -o slurm /var/lib/slurm/slurmctld
    systemctl start munge
    [ -z "${CLUSTER_DATABASE-}" ] || cluster_database
    cluster_slurm_daemons
    # A job waits 2 s for its record, and the files read for the first one are on a slow disk.
    echo 'IO1:{}' | timeout 60 /usr/local/libexec/jobio/jobio-record --job 4000000000 --timeout 30s \
        > $cluster_dir/first-record.log 2>&1 || :
}

cluster_slurm_again() {
    systemctl stop cluster-slurmd cluster-slurmctld
    cluster_slurm_files v2
    cluster_slurm_daemons
}

cluster_is_there() {
    [ -e $cluster_dir/prepared ]
}

# For the next suite in the same guest; see cluster_start.
cluster_again() {
    systemctl stop cluster-slurmd cluster-slurmctld jobiod || :
    # An earlier suite may have left a small file system there.
    while mountpoint -q /var/lib/jobio; do umount /var/lib/jobio; done
    rm -rf /var/lib/jobio/* /run/jobio/down /scratch/* /fast/* /srv/nfs/* /home/alice/* /home/bob/*
    truncate -s 0 $cluster_dir/*.log
    cluster_settings
    cluster_jobiod
    cluster_slurm_files "$1"
    cluster_slurm_daemons
}

node_is() {
    [ "$(sinfo -h -o %T)" = "$1" ]
}

# submit USER ARGUMENTS...: run sbatch with the arguments, and its script on stdin; prints the id
submit() {
    local user=$1
    shift
    as "$user" sbatch --parsable -D "/home/$user" "$@"
}

job_field() {
    [[ " $(scontrol show job -o "$1")" =~ [[:space:]]$2=([^[:space:]]*) ]] && echo "${BASH_REMATCH[1]}"
}

# job_wait ID [SECONDS [STATE]]: until the job has ended, or is in that state
job_wait() {
    "$CLUSTER_OUT/await" "${2:-400}" "$1" "${3:-ENDED}"
}

# The settings of jobio in this suite
cluster_settings() {
    mkdir -p /etc/slurm/plugstack.conf.d /etc/jobio
    # This machine may be slow; the robust suite tests a slow jobiod with the default.
    echo "optional /usr/local/lib/slurm/jobio.so patience=${CLUSTER_PATIENCE:-10}" > /etc/slurm/plugstack.conf.d/jobio.conf
    cluster_config > /etc/jobio/jobio.conf
}

# Install the tree on this machine, then do the manual steps of a site.
cluster_install() {
    cp -a "$CLUSTER_OUT/install/." /
    install "$CLUSTER_OUT/work" /usr/local/bin/work
    cluster_settings
    if [ -e /usr/local/share/jobio/jobcomp.lua ]; then
        cp /usr/local/share/jobio/jobcomp.lua /etc/slurm/jobcomp.lua
        install -d -o slurm /var/log/slurm
    fi
    systemd-sysusers /usr/local/lib/sysusers.d/jobio.conf
    [ -z "${CLUSTER_REPORTS-}" ] || cluster_sanitizers
    systemctl daemon-reload
}

# jobiod has AddressSanitizer and UndefinedBehaviorSanitizer, which write reports to files. To look for
# leaks at its end, it stops its threads with ptrace(2). On emulated processors its start takes minutes.
cluster_sanitizers() {
    systemctl set-environment UBSAN_OPTIONS="log_path=$CLUSTER_REPORTS/undefined:print_stacktrace=1" \
        ASAN_OPTIONS="log_path=$CLUSTER_REPORTS/report:detect_stack_use_after_return=1"
    mkdir -p /etc/systemd/system/jobiod.service.d
    printf '[Service]\nSystemCallFilter=ptrace\nTimeoutStartSec=900\nWatchdogSec=0\n' \
        > /etc/systemd/system/jobiod.service.d/sanitizers.conf
}

cluster_config() {
    cat << END
cluster = test
interval = 1s

[push]
url = http://127.0.0.1:9091
${CLUSTER_JOBIO-}
END
}

cluster_gateway() {
    unit pushgateway prometheus-pushgateway --web.listen-address=127.0.0.1:9091
    wait_for 60 curl -sf http://127.0.0.1:9091/-/ready
}

cluster_jobiod() {
    systemctl start jobiod || { jobiod_log >&2; return 1; }
    [ -z "${CLUSTER_REPORTS-}" ] || grep -q libasan "/proc/$(systemctl show -P MainPID jobiod)/maps"
}

# Start jobiod with new maps, so that it selects a backend.
cluster_jobiod_anew() {
    systemctl stop jobiod
    rm -rf /sys/fs/bpf/jobio
    systemctl daemon-reload
    cluster_jobiod
}

cluster_prepare() {
    [ -n "$JOBIO_GUEST" ] || { echo "makes users, mounts and services: in a guest only" >&2; return 1; }
    mkdir -p $cluster_dir
    cluster_install
    cluster_network
    cluster_users
    cluster_mounts
    : > $cluster_dir/prepared
}

cluster_start() {
    if cluster_is_there; then
        cluster_again "${1:-v2}"
        return
    fi
    cluster_prepare
    cluster_nfs
    cluster_gateway
    cluster_jobiod
    cluster_slurm "${1:-v2}"
}

cluster_start_lean() {
    if cluster_is_there; then
        cluster_again "${1:-v2}"
        return
    fi
    cluster_prepare
    cluster_jobiod
    cluster_slurm "${1:-v2}"
}

# unit_log: print the log of jobiod since the last start of its unit
jobiod_log() {
    journalctl --no-pager -o cat "_SYSTEMD_INVOCATION_ID=$(systemctl show -P InvocationID jobiod)"
}

# Print the logs of the daemons after a failed test.
cluster_logs() {
    jobio history -n 5 --json | jq -r ".[].jobid" | while read -r id; do
        job_json "$id" | jq -c '{job, complete, lost, incomplete, nodes, unsupported}'
    done
    tail -n 20 $cluster_dir/*.log
    journalctl -b -u jobiod --no-pager -o cat | tail -n 30
}

# blind NAME: start jobiod where it cannot count, run a job, and stop jobiod. $cluster_dir/NAME.* have the state
# and the output of the job, the log of jobiod and the output of jobio status.
blind() {
    local id
    cluster_jobiod_anew
    id=$(submit alice --wrap 'work write:/scratch/blind:7:1000; echo worked')
    job_wait "$id"
    job_field "$id" JobState > "$cluster_dir/$1.state"
    cp "/home/alice/slurm-$id.out" "$cluster_dir/$1.out"
    jobiod_log > "$cluster_dir/$1.log"
    jobio status > "$cluster_dir/$1.status" || :
    systemctl stop jobiod
}

# was_blind NAME WORDS: the job was not harmed; its output, the log (once) and the status say why nothing is counted
was_blind() {
    tail -n 30 "$cluster_dir/$1".*
    [ "$(cat "$cluster_dir/$1.state")" = COMPLETED ]
    grep -x worked "$cluster_dir/$1.out"
    tr -s '\n ' ' ' < "$cluster_dir/$1.out" | grep "not counted on this node (ask the administrators)"
    [ "$(grep -c "nothing is counted: .*$2" "$cluster_dir/$1.log")" = 1 ]
    [[ $(cat "$cluster_dir/$1.status") == "NOT COUNTING: "*"$2"* ]]
    [ "$(wc -l < "$cluster_dir/$1.status")" = 1 ]
}

# Values that tests compare ------------------------------------------------------------------------

# job_json ID: print the job's document, once jobiod has its end
job_json() {
    jobio job "$1" --json
}

# account ID MOUNT [STEP]: print a line for each operation of the mount: op requests bytes errors
account() {
    job_json "$1" | jq -r --arg mount "$2" '
        .mounts[] | select(.mount == $mount) | .ops | to_entries[] |
        "\(.key) \(.value.requests) \(.value.bytes // 0) \(.value.errors // 0)"' | sort
}

# same EXPECTED ACTUAL: print the differences
same() {
    diff <(echo "$1") <(echo "$2") >&2
}

# steps_with_mpi DIRECTORY ID: print the steps of the job whose files in it ask for MPI-IO to be counted
steps_with_mpi() {
    grep -lx MPI=1 "$1/$2".* | sed 's/.*\.//; s/4294967291/batch/; s/4294967292/extern/' | sort | xargs
}

# record ID: print the JSON after IO1: in the job's AdminComment
record() {
    scontrol show job "$1" | sed -n 's/^ *AdminComment=.*IO1://p'
}

# metric NAME LABEL=VALUE...: print the value of the only series at the gateway with these labels
metric() {
    local name=$1 label lines
    shift
    lines=$(curl -sf http://127.0.0.1:9091/metrics | grep "^$name{")
    for label; do
        lines=$(grep -F "${label%%=*}=\"${label#*=}\"" <<< "$lines")
    done
    awk '{ printf "%.0f\n", $NF }' <<< "$lines"
}

metric_is() {
    local wanted=$1 found
    shift
    found=$(metric "$@")
    [ "$found" = "$wanted" ] || { echo "$* is '$found', not $wanted" >&2; return 1; }
}

sql() {
    sqlite3 -readonly -separator ' ' /var/lib/jobio/jobio.db "$1"
}

# SPDX-License-Identifier: GPL-2.0-or-later
# Four nodes on one kernel: four slurmd and four jobiod, each with its own address, socket, store and
# maps; one munged, one Pushgateway. Sourced by nodes.bats, after cluster.bash.
#
# nodes_start: start everything and wait for four idle nodes, n1 to n4.

nodes="n1 n2 n3 n4"
peer_port=9418

# address NODE
address() {
    echo "10.99.0.1${1#n}"
}

nodes_network() {
    local name
    cluster_network
    for name in $nodes; do
        ip address add "$(address "$name")/24" dev dummy0
        echo "$(address "$name") $name" >> /etc/hosts
    done
}

# node_conf NODE: write the jobio.conf of the node
node_conf() {
    cat << END
cluster = test
node = $1
interval = 1s

[peers]
listen = $(address "$1"):$peer_port
url = http://%n:$peer_port
readers = slurm

[push]
url = http://127.0.0.1:9091
interval = 5s
END
}

node_jobiod() {
    mkdir -p "/run/jobio/$1" "/var/lib/jobio/$1"
    node_conf "$1" > "/etc/jobio/$1.conf"
    # On a busy machine, four at once take longer than the 90 s that systemd allows.
    unit "jobiod-$1" --no-block -p Type=notify -p TimeoutStartSec=300 /usr/local/sbin/jobiod --config "/etc/jobio/$1.conf" \
        --runtime "/run/jobio/$1" --state "/var/lib/jobio/$1"
}

node_serves() {
    systemctl is-active "cluster-jobiod-$1"
}

nodes_slurm_conf() {
    cluster_slurm_conf | grep -vE '^(NodeName|PartitionName|SlurmdSpoolDir|SlurmdPidFile|SlurmdLogFile)='
    cat << END
SlurmdSpoolDir=/var/lib/slurm/slurmd.%n
SlurmdPidFile=/run/slurmd.%n.pid
SlurmdLogFile=$cluster_dir/slurmd.%n.log
TreeWidth=50
END
    local name
    for name in $nodes; do
        echo "NodeName=$name NodeHostname=$node NodeAddr=$(address "$name")" \
            "Port=1700${name#n} CPUs=8 RealMemory=400"
    done
    echo "PartitionName=main Nodes=ALL Default=YES MaxTime=10 State=UP OverSubscribe=YES"
}

nodes_slurm() {
    local name
    nodes_slurm_conf > /etc/slurm/slurm.conf
    echo "CgroupPlugin=cgroup/v2" > /etc/slurm/cgroup.conf
    : > $cluster_dir/slurmctld.log
    chown slurm $cluster_dir/slurmctld.log
    install -d -o slurm /var/lib/slurm/slurmctld
    unit slurmctld -p User=slurm -p RuntimeDirectory=slurmctld slurmctld -D -i
    for name in $nodes; do
        unit "slurmd-$name" -p Delegate=yes -p KillMode=process slurmd -D -N "$name"
    done
    wait_for 120 nodes_are_idle
}

nodes_are_idle() {
    [ "$(sinfo -h -o '%T %D')" = "idle 4" ]
}

nodes_start() {
    local name
    mkdir -p $cluster_dir
    cluster_install
    # Four nodes on one slow machine: allow enough time for all answers at the end of a job.
    echo 'optional /usr/local/lib/slurm/jobio.so socket=/run/jobio/%n/jobiod.sock patience=15' \
        > /etc/slurm/plugstack.conf.d/jobio.conf
    nodes_network
    cluster_users
    cluster_mounts
    cluster_gateway
    systemctl start munge
    for name in $nodes; do
        node_jobiod "$name"
    done
    for name in $nodes; do
        wait_for 300 node_serves "$name" || { cluster_logs; return 1; }
    done
    nodes_slurm
}

# at NODE ARGUMENTS...: run the jobio command on that node
at() {
    local name=$1
    shift
    JOBIO_SOCKET=/run/jobio/$name/jobiod.sock jobio "$@"
}

jobiod_pid() {
    systemctl show -P MainPID "cluster-jobiod-$1"
}

# job_json and account of cluster.bash query the first node.
job_json() {
    at n1 job "$1" --json
}

# nodes_reported ID: "4/4"
nodes_reported() {
    job_json "$1" | jq -r '"\(.nodes.reported)/\(.nodes.expected)"'
}

all_reported() {
    [ "$(nodes_reported "$1")" = 4/4 ]
}

# peers NODE FIELD: print a counter of `jobio status`
peers() {
    at "$1" status --json | jq -r ".peers.$2"
}

# SPDX-License-Identifier: GPL-2.0-or-later
# Causes that only a job on several nodes or a history shows; the others are in tests/causes.
. "${BATS_TEST_DIRNAME}/cluster.bash"
. "${BATS_TEST_DIRNAME}/nodes.bash"
. "${BATS_TEST_DIRNAME}/../causes/causes.bash"
nodes="n1 n2"

nodes_are_idle() {
    [ "$(sinfo -h -o '%T %D')" = "idle 2" ]
}

setup_file() {
    nodes_start
    cluster_nfs
    install "$CLUSTER_OUT/cause" /usr/local/bin/cause
    mkdir /srv/nfs/small
    local i
    for i in {0..149}; do
        echo "file $i" > /srv/nfs/small/$i
    done
    chmod -R a+rwX /srv/nfs
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || cluster_logs
}

# says_first ID SENTENCE: in the output of the job
says_first() {
    cat "/home/alice/slurm-$1.out"
    grep -A 3 -E '^(error|note): ' "/home/alice/slurm-$1.out" | head -n 4 | tr -s ' \n' ' ' | grep -E "$2"
}

# keep ID NAME: its account, for other tests
keep() {
    at n1 job "$1" --steps --timeline --json > "$OUT/$2.json"
}

sentence() {
    sed -n "s/^$1 |[^|]*| *//p" "$BATS_TEST_DIRNAME"/../causes/{causes,jobs}.list
}

both_reported() {
    [ "$(nodes_reported "$1")" = 2/2 ]
}

# 64 MiB by a network of 1.2 MB a second.
@test "one node writes for all" {
    slow_nfs 4 10mbit
    id=$(submit alice -N 2 --ntasks-per-node=1 << 'END'
#!/bin/sh
export CAUSE_PIPE=/fast/$SLURM_JOB_ID
mkfifo $CAUSE_PIPE.go
srun cause one-writer /nfs/all 64
END
    )
    job_wait "$id" 600
    wait_for 120 both_reported "$id"
    keep "$id" one-writer
    says_first "$id" "$(sentence one-writer)"
}

# cold: the client knows no file of the server
cold() {
    umount /nfs
    mount -t nfs4 -o vers=4.2 127.0.0.1:/ /nfs
}

ended() {
    [ "$(at n1 history -P -u alice -o JobID,State | grep -c '_[0-9]*|COMPLETED')" = 21 ]
}

# 21 jobs at its usual speed, then one on a slow day. jobiod reads the history when it starts.
@test "a mount that is slow for everybody" {
    slow_nfs 0
    cold
    submit alice -w n1 --array=1-21%2 << 'END'
#!/bin/sh
cause small-files /nfs/small 40
END
    wait_for 900 ended
    systemctl stop cluster-jobiod-n1
    slow_nfs 250
    cold
    node_jobiod n1
    wait_for 300 node_serves n1
    id=$(submit alice -w n1 << 'END'
#!/bin/sh
cause small-files /nfs/small 110
END
    )
    job_wait "$id" 600
    keep "$id" slow-mount
    says_first "$id" "$(sentence slow-mount)"
}

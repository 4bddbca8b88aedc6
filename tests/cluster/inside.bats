# SPDX-License-Identifier: GPL-2.0-or-later
# A job on four nodes with the prolog in the job (24.05 and later): Slurm does not call its hooks.
. "${BATS_TEST_DIRNAME}/cluster.bash"
. "${BATS_TEST_DIRNAME}/nodes.bash"

setup_file() {
    CLUSTER_PROLOG=,RunInJob nodes_start
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || cluster_logs
}

# $id: four ranks and the script each make 100 writes of 4096 bytes
four_ranks() {
    id=$(submit alice -N 4 --ntasks-per-node=1 << 'END'
#!/bin/sh
work write:/scratch/$SLURM_JOB_ID.script:100:4096
srun sh -c 'work write:/scratch/$SLURM_JOB_ID.$SLURM_PROCID:100:4096'
END
    )
    job_wait "$id" 120
    cat "/home/alice/slurm-$id.out"
}

@test "summary, record and history of the job include all nodes" {
    four_ranks
    grep -q '^complete.*4/4 nodes' "/home/alice/slurm-$id.out"
    wait_for 240 all_reported "$id"
    same "write 500 2048000 0" "$(account "$id" /scratch | grep -E '^(read|write) ')"
    job_json "$id" | jq -e .complete
}

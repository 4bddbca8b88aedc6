# SPDX-License-Identifier: GPL-2.0-or-later
# A job of an MPI program, whose MPI-IO is to be counted. MPICH is not in the other releases.
. "${BATS_TEST_DIRNAME}/cluster.bash"

setup_file() {
    cluster_start_lean
    mpicc.mpich -O1 -o /usr/local/bin/calls "$BATS_TEST_DIRNAME/../mpi/calls.c"
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || cluster_logs
}

# mpirun starts its ranks by srun: they are in step 0.
@test "sbatch --io-mpi reaches the step of mpirun" {
    local id truth=/home/alice/truth
    id=$(submit alice --io-mpi << 'END'
#!/bin/sh
mpirun.mpich -n 2 sh -c 'calls /scratch/calls && work await:/fast/mpi-go' > truth
END
    )
    wait_for 240 grep '^preallocate ' $truth
    same "0 batch extern" "$(steps_with_mpi /run/jobio/steps "$id")"
    touch /fast/mpi-go
    job_wait "$id"
    [ "$(job_field "$id" JobState)" = COMPLETED ]
    grep -x 'open 6 2 0 0 0' $truth
    job_json "$id" | jq -e .complete
}

# SPDX-License-Identifier: GPL-2.0-or-later
# The test cluster itself: a plain job runs on real Slurm, on all three mounts.
. "${BATS_TEST_DIRNAME}/cluster.bash"

setup_file() {
    cluster_start
}

@test "a batch job with a step runs to its end" {
    id=$(submit alice <<< "#!/bin/sh
work write:/scratch/a:4:4096 write:/nfs/a:4:4096 write:/fast/a:4:4096
srun cat /proc/self/cgroup")
    job_wait "$id"
    [ "$(job_field "$id" JobState)" = COMPLETED ]
    grep -q "job_$id/step_0" "/home/alice/slurm-$id.out"
    for mount in /scratch /nfs /fast; do
        [ "$(stat -c %s $mount/a)" = 16384 ]
    done
}

# SPDX-License-Identifier: GPL-2.0-or-later
# The main parts on Slurm with cgroup/v1, where the programs use the freezer hierarchy.
. "${BATS_TEST_DIRNAME}/cluster.bash"
. "${BATS_TEST_DIRNAME}/main.bash"

setup_file() {
    cluster_start v1
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || cluster_logs
}

@test "cgroup/v1: the main job has its account, summary and record" {
    id=$(submit alice << END
#!/bin/sh
cat /proc/self/cgroup
$(everything /scratch)
$(everything /nfs)
$(everything /fast)
END
    )
    job_wait "$id"
    grep -q 'freezer:.*/step_batch' "/home/alice/slurm-$id.out"
    for mount in /scratch /nfs /fast; do
        same "$expected_everything" "$(account "$id" $mount)"
        tail -n 14 "/home/alice/slurm-$id.out" | grep -q $mount
    done
    record "$id" | jq -e '.complete and .nodes == [1, 1]'
}

@test "cgroup/v1: srun steps and the batch step are counted separately" {
    id=$(submit alice << END
#!/bin/sh
work write:/scratch/batch:10:4096
srun work write:/scratch/step0:20:4096
END
    )
    job_wait "$id"
    same "batch 10 40960
0 20 81920" "$(sql "SELECT step, requests, bytes FROM v_step_io WHERE jobid = $id
        AND mount = '/scratch' AND op = 'write' ORDER BY requests")"
}

@test "cgroup/v1: two concurrent jobs are counted separately, and I/O outside of jobs is not counted" {
    for n in 1 2; do
        ids[n]=$(submit alice --wrap "work await:/fast/go trickle:/scratch/par$n:$((n * 50)):20000")
    done
    job_wait "${ids[1]}" 60 RUNNING
    job_wait "${ids[2]}" 60 RUNNING
    touch /fast/go
    work write:/scratch/outside:1000:4096
    for n in 1 2; do
        job_wait "${ids[n]}"
        [ "$(account "${ids[n]}" /scratch | grep ^write)" = "write $((n * 50)) $((n * 50 * 4096)) 0" ]
    done
}

# bats test_tags=long
@test "cgroup/v1: a job that runs without the plugin is named by jobio status" {
    names_untagged
}

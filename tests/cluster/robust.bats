# SPDX-License-Identifier: GPL-2.0-or-later
# Failures that must not disturb jobs: jobiod absent, hung, killed or restarted; failed jobs; dead sinks.
. "${BATS_TEST_DIRNAME}/cluster.bash"

setup_file() {
    CLUSTER_PATIENCE=1 CLUSTER_MEMORY=1 cluster_start
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || cluster_logs
    kill_jobiod CONT || :
    [ "$(systemctl is-active jobiod)" = active ] || systemctl restart jobiod || :
    rm -f /run/jobio/down
}

kill_jobiod() {
    kill "-$1" "$(systemctl show -P MainPID jobiod)"
}

writes() {
    account "$1" /scratch | grep ^write
}

# trickle_job NAME: a job with 200 writes of 4096 bytes in about 6 s; prints its id when it runs
trickle_job() {
    local id
    id=$(submit alice --wrap "work trickle:/scratch/$1:200:30000")
    wait_for 60 test -s "/scratch/$1"
    echo "$id"
}

whole_trickle="write 200 819200 0"

@test "no byte is lost if jobiod is killed and restarted during a job" {
    id=$(trickle_job killed)
    kill_jobiod KILL
    wait_for 60 systemctl is-active jobiod
    job_wait "$id"
    [ "$(writes "$id")" = "$whole_trickle" ]
    job_json "$id" | jq -e .complete
}

@test "no byte is lost if jobiod is upgraded (restarted) during a job" {
    id=$(trickle_job upgraded)
    systemctl restart jobiod
    job_wait "$id"
    [ "$(writes "$id")" = "$whole_trickle" ]
    job_json "$id" | jq -e .complete
}

@test "a job that runs while jobiod is down completes, and is adopted later" {
    systemctl stop jobiod
    id=$(submit alice --wrap 'work write:/scratch/absent:300:4096; srun work write:/scratch/absent2:20:4096')
    job_wait "$id"
    [ "$(job_field "$id" JobState)" = COMPLETED ]
    systemctl start jobiod
    wait_for 60 job_json "$id"
    wait_for 60 eval '[ "$(writes "$id")" = "write 320 1310720 0" ]'
}

# After a deadline the plugin does not contact jobiod for 60 s; on a slow machine the job takes longer.
@test "with jobiod stopped (SIGSTOP), jobs and steps are delayed by two deadlines in total" {
    local before start=$SECONDS
    before=$(wc -l < $cluster_dir/slurmd.log)
    kill_jobiod STOP
    id=$(submit alice --wrap 'work write:/scratch/hung:300:4096; for i in $(seq 10); do srun true; done')
    job_wait "$id"
    kill_jobiod CONT
    [ "$(job_field "$id" JobState)" = COMPLETED ]
    tail -n +$((before + 1)) $cluster_dir/slurmd.log | grep jobio:
    missed=$(tail -n +$((before + 1)) $cluster_dir/slurmd.log | grep -c "jobio:.*in time")
    [ "$missed" -ge 1 ]
    [ "$missed" -le $((2 + (SECONDS - start) / 60)) ]
    wait_for 60 eval '[ "$(writes "$id")" = "write 300 1228800 0" ]'
}

@test "a job at its time limit has its summary and its account" {
    id=$(submit alice -t 0:01 --wrap 'work write:/scratch/limit:300:4096; sleep 100')
    job_wait "$id"
    [ "$(job_field "$id" JobState)" = TIMEOUT ]
    [ "$(writes "$id")" = "write 300 1228800 0" ]
    wait_for 60 grep -q /scratch "/home/alice/slurm-$id.out"
}

@test "a cancelled job has its summary and its account" {
    id=$(submit alice --wrap 'work write:/scratch/cancel:300:4096; sleep 100')
    wait_for 60 test -s /scratch/cancel
    scancel "$id"
    job_wait "$id"
    [ "$(job_field "$id" JobState)" = CANCELLED ]
    wait_for 60 eval '[ "$(writes "$id")" = "write 300 1228800 0" ]'
    wait_for 60 grep -q /scratch "/home/alice/slurm-$id.out"
}

@test "a job that runs out of memory has its summary and its account" {
    id=$(submit alice --mem=40 --wrap 'work write:/scratch/oom:300:4096; exec tail /dev/zero')
    job_wait "$id"
    [ "$(job_field "$id" JobState)" = OUT_OF_MEMORY ]
    wait_for 60 eval '[ "$(writes "$id")" = "write 300 1228800 0" ]'
    wait_for 60 grep -q /scratch "/home/alice/slurm-$id.out"
}

@test "the runs of a requeued job have separate accounts" {
    id=$(submit alice --requeue << 'END'
#!/bin/sh
n=$((10 + ${SLURM_RESTART_COUNT:-0} * 10))
work write:/scratch/requeue$n:$n:4096
[ "${SLURM_RESTART_COUNT:-0}" = 1 ] || sleep 100
END
    )
    wait_for 60 test -s /scratch/requeue10
    scontrol requeue "$id"
    # Slurm holds a requeued job until its old credential has expired. Do not set StartTime=: slurmd
    # would then run it without a prolog, which reports the restart count to the plugin.
    wait_for 150 test -s /scratch/requeue20
    job_wait "$id"
    same "0 10
1 20" "$(sql "SELECT restart, requests FROM v_job_io WHERE jobid = $id AND mount = '/scratch'
              AND op = 'write' ORDER BY restart")"
    [ "$(writes "$id")" = "write 20 81920 0" ]
    jobio job "$id" --all --json | jq -e 'length == 2'
}

@test "a forged SLURM_JOB_ACCOUNT changes nothing" {
    id=$(SLURM_JOB_ACCOUNT=forged SLURM_JOB_PARTITION=forged SLURM_JOB_USER=root \
        submit alice --wrap 'SLURM_JOB_ACCOUNT=forged srun work write:/scratch/f:1:1000')
    job_wait "$id"
    job_json "$id" | tee /dev/stderr |
        jq -e '.job | .user == "alice" and .account != "forged" and .partition == "main"'
}

@test "a job ends in time if its output is on a hung NFS server" {
    id=$(submit alice -o /nfs/hung.out --wrap 'echo begin; work await:/fast/hung write:/scratch/h:300:4096')
    wait_for 60 test -s /nfs/hung.out
    rpc.nfsd 0
    touch /fast/hung
    start=$SECONDS
    job_wait "$id" 60 || { rpc.nfsd 4; false; }
    took=$((SECONDS - start))
    rpc.nfsd -N 3 -V 4.2 4
    nfs_end_grace
    echo "took $took s" >&2
    [ $took -le 15 ]
    [ "$(writes "$id")" = "write 300 1228800 0" ]
}

@test "if the Pushgateway is down, jobs are not affected, status shows it, and nothing is lost" {
    systemctl stop cluster-pushgateway
    id=$(submit alice --wrap 'work write:/scratch/g:10:4096')
    job_wait "$id"
    [ "$(job_field "$id" JobState)" = COMPLETED ]
    wait_for 60 eval 'jobio status | tee /dev/stderr | grep -iqE "refused|connect|fail"'
    cluster_gateway
    wait_for 60 metric_is 40960 jobio_write_bytes_total "jobid=$id" mountpoint=/scratch
}

@test "jobio run counts a command without Slurm, as root" {
    run jobio run --json --output $cluster_dir/run.json -- sh -c 'work write:/scratch/r:50:4096; exit 7'
    [ "$status" = 7 ]
    jq -e '.complete and (.mounts[] | select(.mount == "/scratch").ops.write |
        .requests == 50 and .bytes == 204800)' $cluster_dir/run.json
}

@test "jobio run of root in a step counts without jobiod, and the step includes it" {
    id=$(sbatch --parsable -D /root --wrap "
        jobio run --json --output $cluster_dir/in_step.json -- work write:/scratch/in_step:20:4096
        work write:/scratch/in_step:5:4096")
    job_wait "$id"
    [ "$(job_field "$id" JobState)" = COMPLETED ]
    jq -e '.complete and (.mounts[] | select(.mount == "/scratch").ops.write |
        .requests == 20 and .bytes == 81920)' $cluster_dir/in_step.json
    [ "$(writes "$id")" = "write 25 102400 0" ]
    job_json "$id" | jq -e .complete
}

@test "jobio run works for a user, through jobiod" {
    run as alice jobio run -- work write:/scratch/ru:300:4096
    echo "$output"
    [ "$status" = 0 ]
    [[ $output == */scratch* ]]
}

@test "users see only their own jobs, root sees all" {
    id=$(submit bob --wrap 'work write:/scratch/bob:1:1000')
    job_wait "$id"
    run as alice jobio job "$id"
    [ "$status" = 1 ]
    as bob jobio job "$id"
    jobio job "$id"
}

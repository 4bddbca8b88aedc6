# SPDX-License-Identifier: GPL-2.0-or-later
# The main job on Slurm with cgroup/v2: every output shows exactly its I/O.
. "${BATS_TEST_DIRNAME}/cluster.bash"
. "${BATS_TEST_DIRNAME}/main.bash"

setup_file() {
    CLUSTER_CONF=LaunchParameters=use_interactive_step
    cluster_start
    local id
    id=$(submit alice -J 'main job' << END
#!/bin/sh
echo output of the job
$(everything /scratch)
$(everything /nfs)
$(everything /fast)
END
    )
    job_wait "$id"
    echo "$id" > $cluster_dir/main
}

setup() {
    main=$(< $cluster_dir/main)
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || cluster_logs
}

@test "the job completes with all of its own output" {
    [ "$(job_field "$main" JobState)" = COMPLETED ]
    [ "$(head -n 1 "/home/alice/slurm-$main.out")" = "output of the job" ]
}

@test "jobio job --json has the exact requests and bytes on the three mounts" {
    for mount in /scratch /nfs /fast; do
        same "$expected_everything" "$(account "$main" $mount)"
    done
}

@test "jobio job --json is complete: nothing lost, one node" {
    job_json "$main" | tee /dev/stderr | jq -e '.version == 1 and .complete and .lost == 0
        and .nodes == {"expected": 1, "reported": 1} and .elapsed_s > 0
        and .wait.longest_thread_ns > 0 and .wait.total_ns >= .wait.longest_thread_ns'
}

@test "jobio job --json has plausible bandwidths" {
    job_json "$main" | jq -e '.elapsed_s as $s | [.mounts[] | select(.mount == "/scratch").ops |
        (.read, .write) | .peak_bytes_per_s >= .mean_bytes_per_s * 0.99
        and (.mean_bytes_per_s - .bytes / $s | fabs) <= 1 + .bytes / $s * 0.01
        and .max_ns > 0 and .time_ns >= .max_ns
        and (.size_log2 | add) == .requests - .errors and (.latency_log2 | add) == .requests] | all'
}

@test "the summary is at the end of the job's output" {
    tail -n 14 "/home/alice/slurm-$main.out" | tee /dev/stderr > $cluster_dir/summary
    for mount in /scratch /nfs /fast; do
        grep -q "$mount" $cluster_dir/summary
    done
    grep -qi 'complete' $cluster_dir/summary
    not grep -nE '.{81}' $cluster_dir/summary
}

@test "AdminComment holds the record" {
    record "$main" | tee /dev/stderr | jq -e --argjson meta $expected_meta '
        .v == 1 and .complete and .nodes == [1, 1] and .s > 0 and
        ([.m[] | select(.[0] == "/scratch" or .[0] == "/nfs" or .[0] == "/fast") |
        .[2:6] == [6563600, 6563600, 110, 110] and .[8] == $meta and .[9] == 0] == [true, true, true])'
}

@test "the job completion log has the record of the job" {
    jq -e --argjson id "$main" --argjson io "$(record "$main")" \
        'select(.jobid == $id) | .io == $io and .user == "alice" and .state == "COMPLETED"' \
        /var/log/slurm/jobio-jobcomp.jsonl
}

@test "jobio history lists the job and its sums" {
    as alice jobio history -P -o JobID,User,State,Exact,JobName,Meta
    wait_for 60 eval 'as alice jobio history -P -o JobID,User,State,Exact,JobName,Meta |
        grep "^$main|alice|COMPLETED|yes|main job|"'
    run jobio history --json
    jq -e --argjson id "$main" '.[] | select(.jobid == $id)' <<< "$output"
}

@test "SQLite has the same rows" {
    for mount in /scratch /nfs /fast; do
        same "$expected_everything" \
            "$(sql "SELECT op, requests, bytes, errors FROM v_job_io
                    WHERE jobid = $main AND mount = '$mount' ORDER BY op")"
    done
    # migrations/NNNN.sql
    local newest
    newest=$(basename -a -s .sql "$BATS_TEST_DIRNAME"/../../sql/migrations/[0-9]*.sql | tail -n 1)
    [ "$(sql 'PRAGMA user_version')" = "$((10#$newest))" ]
}

@test "the Pushgateway has the same numbers" {
    for mount in /scratch /nfs /fast; do
        labels=("jobid=$main" "mountpoint=$mount")
        wait_for 60 metric_is 6563600 jobio_read_bytes_total "${labels[@]}"
        metric_is 110 jobio_read_requests_total "${labels[@]}"
        metric_is 6563600 jobio_write_bytes_total "${labels[@]}"
        metric_is 110 jobio_write_requests_total "${labels[@]}"
        metric_is 7 jobio_metadata_requests_total "${labels[@]}" op=stat
        metric_is 6 jobio_metadata_requests_total "${labels[@]}" op=open
    done
    metric_is 1 jobio_job_info "jobid=$main" user=alice partition=main state=ended
}

@test "promtool finds no problem in the metrics" {
    curl -sf http://127.0.0.1:9091/metrics | grep jobio_ > $cluster_dir/metrics
    promtool check metrics < $cluster_dir/metrics
}

@test "jobio status reports the push" {
    run jobio status --full
    echo "$output"
    [ "$status" = 0 ]
    [[ $output == *http://127.0.0.1:9091* ]]
    [ "$(jobio status --json | jq -r '.delivery.targets[0] | "\(.state) \(.last_code)"')" = "ok 200" ]
    jobio status --json | jq -e '.plugin == .version'
}

@test "srun steps and the batch step are counted separately" {
    id=$(submit alice << END
#!/bin/sh
work write:/scratch/batch:10:4096
srun work write:/scratch/step0:20:4096
srun work write:/scratch/step1:30:4096
END
    )
    job_wait "$id"
    same "batch 10 40960
0 20 81920
1 30 122880" "$(sql "SELECT step, requests, bytes FROM v_step_io WHERE jobid = $id
        AND mount = '/scratch' AND op = 'write' ORDER BY requests")"
    jobio job "$id" --json --steps | jq -e '[.steps[] | .step as $s | .mounts[] |
        select(.mount == "/scratch") | [$s, .ops.write.requests]] | length == 3'
    [ "$(account "$id" /scratch | grep ^write)" = "write 60 245760 0" ]
}

@test "two concurrent jobs are counted separately, and I/O outside of jobs is not counted" {
    mkdir -p /fast/sync
    for n in 1 2; do
        ids[n]=$(submit alice --wrap "srun work await:/fast/sync/go trickle:/scratch/par$n:$((n * 50)):20000")
    done
    job_wait "${ids[1]}" 60 RUNNING
    job_wait "${ids[2]}" 60 RUNNING
    touch /fast/sync/go
    work write:/scratch/outside:1000:4096
    job_wait "${ids[1]}"
    job_wait "${ids[2]}"
    for n in 1 2; do
        [ "$(account "${ids[n]}" /scratch | grep ^write)" = "write $((n * 50)) $((n * 50 * 4096)) 0" ]
    done
}

@test "a job in its own mount namespace has its private mount and the shared ones" {
    id=$(submit root << END
#!/bin/sh
unshare -m sh -c 'mkdir -p /run/private && mount -t tmpfs private /run/private &&
    work write:/run/private/a:10:1000 write:/scratch/ns:20:1000; sleep 2'
END
    )
    job_wait "$id"
    [ "$(account "$id" /scratch | grep ^write)" = "write 20 20000 0" ]
    job_json "$id" | tee /dev/stderr | jq -e '.mounts[] | select(.mount == "/run/private") |
        .private and .fstype == "tmpfs" and .ops.write.bytes == 10000'
}

@test "a file system that is mounted and unmounted while the job runs keeps its name" {
    id=$(submit alice << 'END'
#!/bin/sh
work await:/fast/late-go write:/late/a:10:1000 write:/fast/late-done:1:1 await:/fast/late-end
END
    )
    job_wait "$id" 60 RUNNING
    mkdir -p /late
    mount -t tmpfs -o mode=1777 late /late
    touch /fast/late-go
    wait_for 60 test -s /fast/late-done
    umount /late
    touch /fast/late-end
    job_wait "$id"
    [ "$(account "$id" /late | grep ^write)" = "write 10 10000 0" ]
}

@test "salloc and srun without a batch script are counted" {
    run as alice salloc -Q --io-summary=full srun work write:/scratch/salloc:30:1000
    [ "$status" = 0 ]
    id=$(sql "SELECT max(jobid) FROM job")
    wait_for 60 eval '[ "$(account "$id" /scratch | grep ^write)" = "write 30 30000 0" ]'
}

# summaries FILE: the number of summaries in it
summaries() {
    grep -cE '^I/O (summary: |of )job [0-9]+ of alice, ' "$1"
}

@test "a job gets one summary: of its script, of the step of srun, of the shell of salloc" {
    local id shell
    # srun with an allocation of its own; none if it is quiet
    as alice srun work write:/scratch/own:30:1000 > $cluster_dir/own 2>&1
    cat $cluster_dir/own
    [ "$(summaries $cluster_dir/own)" = 1 ]
    grep -E '^I/O of job [0-9]+ of alice, running: .* 29.3 KiB written' $cluster_dir/own
    as alice srun -Q work write:/scratch/own:30:1000 > $cluster_dir/quiet 2>&1
    [ "$(summaries $cluster_dir/quiet)" = 0 ]
    # a script: at its end only, also if a step does not have its environment
    id=$(submit alice --wrap 'srun work write:/scratch/own:30:1000
        srun --export=NONE "$(command -v work)" write:/scratch/own:30:1000; echo end')
    job_wait "$id"
    [ "$(summaries "/home/alice/slurm-$id.out")" = 1 ]
    [ "$(tail -n +2 "/home/alice/slurm-$id.out" | summaries /dev/stdin)" = 1 ]
    # salloc with a command: nobody knows which step is the last
    as alice salloc sh -c 'srun work write:/scratch/own:30:1000; srun true' > $cluster_dir/salloc 2>&1
    [ "$(summaries $cluster_dir/salloc)" = 0 ]
    # salloc with a shell on the node: when the shell ends
    mkfifo $cluster_dir/typed
    as alice timeout --foreground 300 script -qec salloc /dev/null < $cluster_dir/typed > $cluster_dir/shell 2>&1 3>&- &
    shell=$!
    exec 4> $cluster_dir/typed
    # what is typed before the prompt may be lost, and srun would read the lines that follow it
    wait_for 120 grep -aq '[$] $' $cluster_dir/shell
    printf '%s < /dev/null\n' 'srun work write:/scratch/own:30:1000' 'srun true' exit >&4
    exec 4>&-
    wait $shell
    tr -d '\r' < $cluster_dir/shell > $cluster_dir/shell.text
    cat $cluster_dir/shell.text
    [ "$(summaries $cluster_dir/shell.text)" = 1 ]
}

@test "a nested cgroup belongs to the job" {
    id=$(submit root << 'END'
#!/bin/sh
own=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
mkdir -p $own/a/b
(echo 0 > $own/a/b/cgroup.procs; cat /proc/self/cgroup; exec work write:/scratch/nested:20:1000)
END
    )
    job_wait "$id"
    grep -q '/a/b$' /root/slurm-$id.out || grep -q '/a/b$' /home/root/slurm-$id.out
    [ "$(account "$id" /scratch | grep ^write)" = "write 20 20000 0" ]
}

@test "each task of an array is a job, and jobio array adds them up" {
    id=$(submit alice --array=0-2 --wrap 'work write:/scratch/array$SLURM_ARRAY_TASK_ID:$((SLURM_ARRAY_TASK_ID * 10 + 10)):1000
        srun work read:/scratch/array$SLURM_ARRAY_TASK_ID:$((SLURM_ARRAY_TASK_ID + 1)):1000')
    wait_for 120 eval '[ -z "$(squeue -h)" ]'
    same "10
20
30" "$(sql "SELECT requests FROM v_job_io WHERE jobid >= $id AND mount = '/scratch'
            AND op = 'write' ORDER BY requests")"
    same "0 10 1
1 20 2
2 30 3" "$(for task in 0 1 2; do jobio job "${id}_$task" --json; done |
        jq -r '"\(.job.array_task) \(.mounts[] | select(.mount == "/scratch").ops |
            "\(.write.requests) \(.read.requests)")"')"
    jobio array "$id" --json | tee /dev/stderr | jq -e --argjson id "$id" '.array_jobid == $id and
        (.tasks | map(.task)) == [0, 1, 2] and .running == 0 and .incomplete == 0 and
        (.sum.mounts[] | select(.mount == "/scratch") | [.write.requests, .write.bytes, .read.requests,
            .read.bytes]) == [60, 60000, 6, 6000]'
    same "${id}_0 ${id}_1 ${id}_2" "$(jobio history -P -n 3 -o JobID | tail -n +2 | sort | xargs)"
}

@test "--io-summary=off and full and JOBIO_SUMMARY work, also with --export=NONE" {
    off=$(submit alice --io-summary=off --wrap 'work write:/scratch/o:300:65536')
    full=$(submit alice --io-summary=full --export=NONE --wrap '/usr/local/bin/work write:/scratch/o:300:65536')
    env=$(JOBIO_SUMMARY=off submit alice --wrap 'work write:/scratch/o:300:65536')
    for id in $off $full $env; do
        job_wait "$id"
    done
    not grep -q /scratch "/home/alice/slurm-$off.out"
    not grep -q /scratch "/home/alice/slurm-$env.out"
    grep -q /scratch "/home/alice/slurm-$full.out"
    [ "$(account "$off" /scratch | grep ^write)" = "write 300 19660800 0" ]
    record "$off" | jq -e .complete
}

# bats test_tags=long
@test "--io-mpi and JOBIO_MPI=1 reach each step, also with --export=NONE" {
    local steps='srun true
        srun --export=NONE /bin/true' option none variable plain one salloc srun
    systemctl stop jobiod # the step files remain
    option=$(submit alice --io-mpi --wrap "$steps")
    none=$(submit alice --io-mpi --export=NONE --wrap "$steps")
    variable=$(JOBIO_MPI=1 submit alice --export=NONE --wrap "$steps")
    plain=$(submit alice --wrap "$steps")
    one=$(submit alice --wrap 'srun true
        srun --io-mpi true')
    salloc=$(as alice salloc -Q --io-mpi sh -c 'echo $SLURM_JOB_ID; srun true')
    srun=$(as alice srun -Q --io-mpi sh -c 'echo $SLURM_JOB_ID')
    for id in $option $none $variable $plain $one $salloc $srun; do
        job_wait "$id"
    done
    cp -r /run/jobio/steps $cluster_dir/steps
    systemctl start jobiod
    for id in $option $none $variable; do
        same "0 1 batch extern" "$(steps_with_mpi $cluster_dir/steps "$id")"
    done
    same "" "$(steps_with_mpi $cluster_dir/steps "$plain")"
    same "1" "$(steps_with_mpi $cluster_dir/steps "$one")"
    same "0 extern" "$(steps_with_mpi $cluster_dir/steps "$salloc")"
    same "0 extern" "$(steps_with_mpi $cluster_dir/steps "$srun")"
}

# states JOB...: how the jobs ended according to jobio, by number
states() {
    jobio history -P -n -o JobIDRaw,Restart,State,ExitCode -j "$(IFS=,; echo "$*")" | sort -n
}

@test "jobio learns how Slurm ended a job: also without its record, and after a restart" {
    local ok failed cancelled late requeued signalled missed lines
    late=$(submit alice -t 0:01 --wrap 'work write:/scratch/s1:1:1000; sleep 1000')
    ok=$(submit alice --wrap 'work write:/scratch/s2:1:1000')
    failed=$(submit alice --wrap 'work write:/scratch/s3:1:1000; exit 3')
    cancelled=$(submit alice --wrap 'work write:/scratch/s4:1:1000; : > /scratch/s4.done; sleep 1000')
    requeued=$(submit alice --requeue --wrap 'work write:/scratch/s5:1:1000; : > /scratch/s5.done; sleep 1000')
    wait_for 120 test -e /scratch/s4.done -a -e /scratch/s5.done
    scancel "$cancelled"
    scontrol requeuehold "$requeued"
    lines="$ok|0|COMPLETED|0:0
$failed|0|FAILED|3:0
$cancelled|0|CANCELLED|0:15
$requeued|0|REQUEUED|"
    wait_for 120 eval 'same "$lines" "$(states $ok $failed $cancelled $requeued)"'

    # the selection, and both pages
    same "$failed" "$(jobio history -P -n -o JobIDRaw -s F -j "$ok,$failed,$cancelled,$requeued")"
    same "$failed $cancelled" "$(jobio history -P -n -o JobIDRaw -s f,CA \
        -j "$ok,$failed,$cancelled,$requeued" | sort -n | xargs)"
    job_json "$failed" | jq -e '.job | [.state, .slurm_state, .exit_code, .exit_signal] == ["ended", "FAILED", 3, 0]'
    [[ $(jobio job "$failed" | head -n 1) == *"job $failed of alice, FAILED (exit code 3:0)"* ]]
    [[ $(jobio job "$ok" | head -n 1) == *"job $ok of alice, COMPLETED"[,:]* ]]
    same FAILED "$(sql "SELECT slurm_state FROM v_job WHERE jobid = $failed")"

    # without a record or a summary; and the job that ends while jobiod is down
    sed -i 's/^interval.*/&\n[report]\nrecord = off\nsummary = off/' /etc/jobio/jobio.conf
    systemctl restart jobiod
    signalled=$(submit alice --wrap 'work write:/scratch/s6:1:1000; kill -9 $$')
    wait_for 120 eval 'same "$signalled|0|FAILED|0:9" "$(states $signalled)"'
    [ -z "$(record "$signalled")" ]
    not grep "^I/O" "/home/alice/slurm-$signalled.out"
    missed=$(submit alice --wrap 'work write:/scratch/s7:1:1000; : > /scratch/s7.done; sleep 5; exit 7')
    wait_for 120 test -e /scratch/s7.done
    systemctl stop jobiod
    job_wait "$missed" 120
    systemctl start jobiod
    wait_for 120 eval 'same "$missed|0|FAILED|7:0" "$(states $missed)"'
    sed -i '/^.report.$/,+2d' /etc/jobio/jobio.conf
    systemctl restart jobiod
    wait_for 240 eval 'same "$late|0|TIMEOUT|0:15" "$(states $late)"'
    for id in $failed $cancelled $signalled $late; do
        same "$(job_field "$id" JobState)|$(job_field "$id" ExitCode)" "$(states "$id" | cut -d'|' -f 3-)"
    done
    scancel "$requeued"
}

@test "the summary of a small job has at most two lines" {
    id=$(submit alice --wrap 'echo hi')
    job_wait "$id"
    cat "/home/alice/slurm-$id.out"
    [ "$(grep -vxc hi "/home/alice/slurm-$id.out")" -le 2 ]
    [[ $(sed -n 2p "/home/alice/slurm-$id.out") == "I/O of job $id of alice, ended: "* ]]
}

# top_sums: kind, name and bytes written on /scratch, summed over the output of `jobio top`
top_sums() {
    jq -c -s '[.[].rows[] | select(.mount == "/scratch" and .write_bytes > 0)] |
        group_by([.kind, .name])[] | [.[0].kind, .[0].name, (map(.write_bytes) | add)]' /fast/top
}

# both_are_known: `jobio top` lists both writers
both_are_known() {
    jobio top --once --services --idle -i 300ms --json > $cluster_dir/known
    jq -c '[.rows[] | .name]' $cluster_dir/known
    grep -q beside $cluster_dir/known && grep -q cluster-writer $cluster_dir/known
}

@test "systemd services that run beside a job are counted separately, to the byte" {
    local lines want='["job","beside",1000000]
["service","cluster-writer.service",6553600]'
    sed -i 's/^interval.*/&\nservices = yes/' /etc/jobio/jobio.conf
    systemctl restart jobiod
    unit writer sh -c 'until [ -e /fast/services-go ]; do ls /scratch > /dev/null; sleep 0.2; done
        exec work write:/scratch/service:100:65536 await:/fast/services-end'
    id=$(submit alice -J beside --wrap \
        'work write:/scratch/beside:1:0 await:/fast/services-go write:/scratch/beside:100:10000 await:/fast/services-end')
    job_wait "$id" 60 RUNNING
    wait_for 60 both_are_known
    unit top sh -c 'exec jobio top --json --services -i 1s > /fast/top'
    wait_for 60 test -s /fast/top
    touch /fast/services-go
    wait_for 60 eval '[ "$(top_sums)" = "$want" ]' || { top_sums; return 1; }
    lines=$(wc -l < /fast/top)
    wait_for 60 eval '[ "$(wc -l < /fast/top)" -gt '$((lines + 1))' ]'
    systemctl stop cluster-top
    same "$want" "$(top_sums)"
    touch /fast/services-end
    job_wait "$id"
    account "$id" /scratch | grep -x "write 101 1000000 0"
    sed -i /services/d /etc/jobio/jobio.conf
    systemctl restart jobiod
}

@test "a job that runs without the plugin is named by jobio status" {
    names_untagged
}

@test "an unknown option in plugstack.conf is named, and the job runs" {
    cp /etc/slurm/plugstack.conf.d/jobio.conf $cluster_dir/plugstack
    echo 'optional /usr/local/lib/slurm/jobio.so colour=red' > /etc/slurm/plugstack.conf.d/jobio.conf
    run submit alice --wrap 'echo hi'
    id=${lines[-1]}
    job_wait "$id"
    cp $cluster_dir/plugstack /etc/slurm/plugstack.conf.d/jobio.conf
    [[ $output == *colour=red* ]]
    [ "$(job_field "$id" JobState)" = COMPLETED ]
    grep -q 'jobio:.*colour=red' $cluster_dir/slurmd.log
}

@test "with a plugin for another Slurm release, sbatch and the job work, and one line is logged" {
    cp /etc/slurm/plugstack.conf.d/jobio.conf $cluster_dir/plugstack
    echo "optional $CLUSTER_OUT/other.so" > /etc/slurm/plugstack.conf.d/jobio.conf
    run submit alice --wrap 'echo hi; srun echo ho'
    id=${lines[-1]}
    job_wait "$id"
    cp $cluster_dir/plugstack /etc/slurm/plugstack.conf.d/jobio.conf
    echo "$output"
    cat "/home/alice/slurm-$id.out"
    [ "$(job_field "$id" JobState)" = COMPLETED ]
    grep -x hi "/home/alice/slurm-$id.out"
    grep -x ho "/home/alice/slurm-$id.out"
    grep other.so $cluster_dir/slurmd.log | grep -i version
}

@test "jobiod leaves its group at the Pushgateway when it stops; jobio retire deletes it" {
    systemctl stop jobiod
    curl -sf http://127.0.0.1:9091/metrics | grep -q '^jobio_node_.*instance="guest"'
    systemctl start jobiod
    jobio retire
    not eval 'curl -sf http://127.0.0.1:9091/metrics | grep "^jobio_.*instance=\"guest\""'
}

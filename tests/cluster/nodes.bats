# SPDX-License-Identifier: GPL-2.0-or-later
# One job on four nodes: its summary, record and history are the sums over all ranks.
. "${BATS_TEST_DIRNAME}/cluster.bash"
. "${BATS_TEST_DIRNAME}/nodes.bash"

setup_file() {
    nodes_start
}

teardown() {
    local name
    for name in $nodes; do
        kill -CONT "$(jobiod_pid "$name")" "$(systemctl show -P MainPID "cluster-slurmd-$name")" || :
    done
    touch /scratch/late.go # what waits for it ends
    [ -n "$BATS_TEST_COMPLETED" ] || cluster_logs
}

# Rank r makes (r + 1) x 100 writes of 4096 bytes and reads them; the script makes 10 writes of 1000.
ranks='work write:/scratch/$SLURM_JOB_ID.$SLURM_PROCID:$((100 * (SLURM_PROCID + 1))):4096 \
    read:/scratch/$SLURM_JOB_ID.$SLURM_PROCID:$((100 * (SLURM_PROCID + 1))):4096'

four_ranks() {
    submit alice -N 4 --ntasks-per-node=1 "$@" << END
#!/bin/sh
work write:/scratch/\$SLURM_JOB_ID.script:10:1000
srun sh -c '$ranks'
END
}

# The job's summary and record are complete at its end.
is_complete_at_end() {
    job_wait "$1"
    [ "$(job_field "$1" JobState)" = COMPLETED ]
    cat "/home/alice/slurm-$1.out"
    grep -qE '(^|; )complete(: 4/4 nodes|$)' "/home/alice/slurm-$1.out"
    record "$1" | tee /dev/stderr | jq -e '.complete and .nodes == [4, 4]'
}

data() {
    account "$1" /scratch | grep -E '^(read|write) '
}

whole="read 1000 4096000 0
write 1010 4106000 0"

@test "summary and record at the end of the script are the exact sum of four nodes" {
    id=$(four_ranks)
    echo "$id" > $cluster_dir/main
    is_complete_at_end "$id"
    record "$id" | jq -e '[.m[] | select(.[0] == "/scratch") | .[2:6]] == [[4096000, 4106000, 1000, 1010]]'
}

@test "jobio job on the first node shows all steps of all nodes, complete" {
    id=$(< $cluster_dir/main)
    wait_for 240 all_reported "$id"
    same "$whole" "$(data "$id")"
    job_json "$id" | jq -e '.complete and .lost == 0 and
        .imbalance.write_bytes > 1.5 and .imbalance.write_bytes < 1.7'
    at n1 job "$id" --steps --json | jq -e '
        [.steps[] | select(.step == "0") | .node] == ["n1", "n2", "n3", "n4"] and
        [.steps[] | select(.step == "0") | .mounts[] | select(.mount == "/scratch").ops.write.bytes]
            == [409600, 819200, 1228800, 1638400]'
    at n1 job "$id" --nodes | tee /dev/stderr | grep -c '^  n[1-4] ' | grep -qx 4
    [ "$(at n1 history -P -o JobID,Exact | grep "^$id|")" = "$id|yes" ]
}

@test "the first node asks how Slurm ended the job; the others show it as ended" {
    id=$(< $cluster_dir/main)
    wait_for 120 eval '[ "$(at n1 history -P -n -o State,ExitCode -j '"$id"')" = "COMPLETED|0:0" ]'
    for name in n2 n3 n4; do
        same "ended|" "$(at $name history -P -n -o State,ExitCode -j "$id")"
    done
    at n2 history -P -n -s CD -j "$id" 2>&1 | tee /dev/stderr | grep -q 'Slurm ended 1 more job is not known'
}

# Rank 3 wrote 40 %, 1.6 times the mean.
@test "the full summary lists each node and the imbalance between them" {
    id=$(four_ranks --io-summary=full)
    job_wait "$id"
    cat "/home/alice/slurm-$id.out"
    [ "$(grep -c '^  n[1-4] ' "/home/alice/slurm-$id.out")" = 4 ]
    grep -q '^largest node over the mean: .*write 1.6x' "/home/alice/slurm-$id.out"
    wait_for 240 all_reported "$id"
}

@test "each node exports its own part of the metrics, and their sum is that of the job" {
    id=$(< $cluster_dir/main)
    sum_is() {
        [ "$(curl -sf http://127.0.0.1:9091/metrics | grep '^jobio_write_bytes_total{' |
            grep "jobid=\"$id\"" | grep 'mountpoint="/scratch"' |
            awk '{ s += $NF } END { printf "%.0f", s }')" = 4106000 ]
    }
    wait_for 60 sum_is
}

# Run by each rank after its work: the first rank waits for the others.
meet='touch /scratch/$SLURM_JOB_ID.done.$SLURM_PROCID
    [ $SLURM_PROCID != 0 ] || work await:/scratch/$SLURM_JOB_ID.done.1 \
        await:/scratch/$SLURM_JOB_ID.done.2 await:/scratch/$SLURM_JOB_ID.done.3'

# srun_four SCRIPT: runs it on four nodes; its output is in $cluster_dir/srun
srun_four() {
    as alice srun -t 5 -N 4 --ntasks-per-node=1 sh -c "echo id \$SLURM_JOB_ID; $1" > $cluster_dir/srun 2>&1
}

# srun_says LINE: the output has one summary of the job so far and a line that starts with LINE; sets $id
srun_says() {
    cat $cluster_dir/srun
    id=$(sed -n 's/^id //p' $cluster_dir/srun | head -n 1)
    [ "$(grep -c "I/O summary: job $id of alice, running, 4 nodes" $cluster_dir/srun)" = 1 ]
    grep -q "^$1" $cluster_dir/srun
}

@test "srun without a script prints the summary of all nodes so far" {
    srun_four "$ranks
        $meet"
    srun_says 'complete.*4/4 nodes'
    grep -qE '^/scratch +3.9MiB' $cluster_dir/srun
    wait_for 240 all_reported "$id"
    same "read 1000 4096000 0
write 1000 4096000 0" "$(data "$id")"
}

@test "if a rank outlives that of the first node, it is counted and the summary is incomplete" {
    rm -f /scratch/late.go $cluster_dir/srun
    srun_four "work write:/scratch/\$SLURM_JOB_ID.\$SLURM_PROCID:1000:4096
        $meet
        [ \$SLURM_PROCID != 3 ] || work await:/scratch/late.go write:/scratch/\$SLURM_JOB_ID.late:10:4096" 3>&- &
    wait_for 120 grep 'I/O summary' $cluster_dir/srun
    touch /scratch/late.go
    wait $!
    srun_says 'NOT complete.*3/4 nodes'
    wait_for 240 all_reported "$id"
    same "write 4010 16424960 0" "$(data "$id")"
}

# lacks_a_node ID: three of four nodes have counted their part, and the account says so
lacks_a_node() {
    at n1 job "$1" --json > $cluster_dir/hang.json && jq -e '.complete == false
        and .nodes == {expected: 4, reported: 3}
        and ([.mounts[] | select(.mount == "/scratch").ops.write.bytes] == [122880])' $cluster_dir/hang.json
}

# Run a step of some ms on four nodes while the slurmd of n4 hangs.
hang_at_begin() {
    rm -f /scratch/hang.*
    as alice salloc -N 4 --ntasks-per-node=1 sh -c 'echo $SLURM_JOB_ID > /scratch/hang.id
        while [ ! -e /scratch/hang.go ]; do sleep 0.1; done
        srun sh -c "work write:/scratch/hang.\$SLURM_PROCID:10:4096"' 3>&- &
    wait_for 60 test -s /scratch/hang.id
    id=$(< /scratch/hang.id)
    wait_for 60 at n4 job "$id"
    kill -STOP "$(systemctl show -P MainPID cluster-slurmd-n4)"
    touch /scratch/hang.go
    wait_for 120 lacks_a_node "$id" || { cat $cluster_dir/hang.json; false; }
    kill -CONT "$(systemctl show -P MainPID cluster-slurmd-n4)"
    wait $! || :
}

@test "the summary is incomplete while a node has not started the step that ended on the first node" {
    hang_at_begin
    wait_for 240 all_reported "$id"
    # srun gives up a node that does not answer within 10 s, which a slow machine may need
    case $(data "$id") in
        "write 40 163840 0" | "write 30 122880 0") ;;
        *) data "$id"; false ;;
    esac
}

@test "a job is complete if no step ran on some of its nodes" {
    id=$(submit alice -N 4 \
        --wrap 'work write:/scratch/alone:10:1000; srun -N 2 -n 2 work read:/scratch/alone:5:1000')
    is_complete_at_end "$id"
    wait_for 240 all_reported "$id"
    same "read 10 10000 0
write 10 10000 0" "$(data "$id")"
}

@test "steps that overlap on the same nodes are counted separately, and the job has their sum" {
    id=$(submit alice -N 4 --ntasks-per-node=1 << 'END'
#!/bin/sh
srun --overlap sh -c 'work write:/scratch/o1.$SLURM_PROCID:30:4096; sleep 2' &
srun --overlap sh -c 'work write:/scratch/o2.$SLURM_PROCID:70:1000; sleep 2' &
wait
END
    )
    job_wait "$id"
    wait_for 240 all_reported "$id"
    same "write 400 771520 0" "$(data "$id")"
    at n1 job "$id" --steps --json | jq -e '[.steps[] | select(.mounts[].mount == "/scratch") |
        select(.step != "batch" and .step != "extern") |
        [.step, (.mounts[] | select(.mount == "/scratch").ops.write.bytes)]] | group_by(.[0]) |
        map(map(.[1]) | add) | sort == [280000, 491520]'
}

@test "each component of a heterogeneous job is a job with its own first node" {
    id=$(submit alice -N 1 -n 1 : -N 2 -n 2 << 'END'
#!/bin/sh
work write:/scratch/het.script:5:1000
srun --het-group=0,1 sh -c 'work write:/scratch/het.$SLURM_PROCID:10:1000'
END
    )
    job_wait "$id"
    wait_for 240 eval '[ "$(at n1 job "$id" --json | jq -c .nodes)" = "{\"expected\":1,\"reported\":1}" ]'
    same "write 15 15000 0" "$(data "$id")"
    job_json() { at n2 job "$1" --json; }
    wait_for 240 eval '[ "$(job_json $((id + 1)) | jq -c .nodes)" = "{\"expected\":2,\"reported\":2}" ]'
    same "write 20 20000 0" "$(data $((id + 1)))"
}

# A job at whose end jobiod hangs on n3; sets $id.
hang_at_end() {
    id=$(submit alice -N 4 --ntasks-per-node=1 << END
#!/bin/sh
work write:/scratch/\$SLURM_JOB_ID.script:10:1000
srun sh -c '$ranks'
touch /scratch/\$SLURM_JOB_ID.ready
while [ ! -e /scratch/\$SLURM_JOB_ID.go ]; do sleep 0.1; done
END
    )
    wait_for 120 test -e "/scratch/$id.ready"
    kill -STOP "$(jobiod_pid n3)"
    touch "/scratch/$id.go"
    job_wait "$id"
    kill -CONT "$(jobiod_pid n3)"
}

# bats test_tags=long
@test "if one jobiod hangs at the end, the summary is in time with 3/4 nodes, and the rest follows" {
    hang_at_end
    cat "/home/alice/slurm-$id.out"
    grep -q '^NOT complete.*3/4 nodes' "/home/alice/slurm-$id.out"
    [ "$(record "$id" | jq .complete)" != true ]
    wait_for 240 all_reported "$id"
    same "$whole" "$(data "$id")"
    same '[true,[]]' "$(job_json "$id" | jq -c "[.complete, .incomplete]")"
}

@test "if jobiod of the first node is down, the accounts of the others are queued and arrive later" {
    id=$(submit alice -N 4 --ntasks-per-node=1 << END
#!/bin/sh
work write:/scratch/\$SLURM_JOB_ID.script:10:1000
srun sh -c '$ranks'
touch /scratch/\$SLURM_JOB_ID.ready
while [ ! -e /scratch/\$SLURM_JOB_ID.go ]; do sleep 0.1; done
END
    )
    wait_for 240 test -e "/scratch/$id.ready"
    systemctl stop cluster-jobiod-n1
    touch "/scratch/$id.go"
    job_wait "$id"
    [ "$(job_field "$id" JobState)" = COMPLETED ]
    node_jobiod n1
    wait_for 240 all_reported "$id"
    wait_for 60 eval '[ "$(data "$id")" = "$whole" ]'
}

# post PATH [FILE]: prints the answer of the first node; the body is on stdin
post() {
    curl -s -o /dev/stderr -w '%{http_code}\n' --data-binary @- "http://n1:$peer_port$1"
}

question() {
    printf '{"version":1,"cluster":"test","from":"n2","to":"n1","id":"1","jobid":%s,"restart":0}' "$(< $cluster_dir/main)"
}

# elsewhere USER WORDS...: the jobio command of that user on a host without jobiod
elsewhere() {
    local user=$1
    shift
    status=0
    printf '[ask]\nurl = http://n1:%d\n' $peer_port > /etc/jobio/jobio.conf
    as "$user" env JOBIO_SOCKET=/nonexistent/socket jobio "$@" > $cluster_dir/out 2> $cluster_dir/err || status=$?
    output=$(cat $cluster_dir/out)
    stderr=$(tee /dev/stderr < $cluster_dir/err)
}

@test "a host without jobiod: users query their own jobs from another node, and root queries all" {
    id=$(< $cluster_dir/main)
    elsewhere alice job "$id" --json
    [ "$status" = 0 ]
    [ "$stderr" = "jobio: jobiod is not running here (no answer on /nonexistent/socket): asking jobiod at http://n1:9418" ]
    same "$(job_json "$id" | jq -c .mounts)" "$(jq -c .mounts <<< "$output")"
    elsewhere alice history -S today -o JobID,WriteReq -n -p
    grep -qx "$id|1010|" <<< "$output"
    elsewhere bob job "$id"
    [ "$status" = 1 ] && [ -z "$output" ]
    elsewhere bob history -S today -n
    [ "$status" = 0 ] && [ -z "$output" ]
    elsewhere root history -S today -o JobID -n -p
    grep -qx "$id|" <<< "$output"
    elsewhere bob run true
    [ "$status" = 125 ]
}

# all_nodes WORDS...: jobio status --all, as a user on a host without jobiod
all_nodes() {
    printf '[peers]\nurl = http://%%n:%d\n' $peer_port > /etc/jobio/jobio.conf
    run as alice env JOBIO_SOCKET=/nonexistent/socket jobio status --all "$@"
    echo "$output"
}

@test "jobio status --all: the verdicts of all nodes, from any host" {
    all_nodes
    [ "$status" = 0 ]
    [ "${lines[0]}" = "OK: 4 of 4 nodes count" ]
    [[ ${lines[2]} == "OK "*" 4  n1,n2,n3 and 1 more: counting by fentry, 0 lost" ]]
    all_nodes --full
    [[ ${lines[2]} == *"  n1,n2,n3,n4: "* ]]
    all_nodes --json
    jq -e 'length == 4 and all(.slurm_state == "idle" and .verdict == "OK" and .status.node == .node)' <<< "$output"
    systemctl stop cluster-jobiod-n4
    all_nodes
    [ "$status" = 1 ]
    [ "${lines[0]}" = "DEGRADED: 3 of 4 nodes count, 1 without an answer" ]
    [[ ${lines[2]} == "UNKNOWN "*" 1  n4: no answer" ]]
    [[ ${lines[3]} == "  no answer from jobiod at http://n4:9418: "* ]]
    node_jobiod n4
    wait_for 240 node_serves n4
}

@test "requests by users, and forged, replayed or malformed ones, are refused and counted" {
    [ "$(question | as alice munge | post /v1/job)" = 403 ]
    [ "$(echo nonsense | post /v1/job)" = 401 ]
    [ "$(printf 'MUNGE:AwQFAAC%0200d:' 7 | post /v1/accounts)" = 401 ]
    question | munge > $cluster_dir/credential
    [ "$(post /v1/job < $cluster_dir/credential)" = 200 ]
    [ "$(post /v1/job < $cluster_dir/credential)" = 401 ]
    [ "$(question | sed s/n1/n2/ | munge | post /v1/job)" = 421 ]
    [ "$(question | sed s/test/other/ | munge | post /v1/job)" = 421 ]
    [ "$(question | sed 's/"version":1/"version":2/' | munge | post /v1/job)" = 409 ]
    [ "$(echo '[' | munge | post /v1/job)" = 400 ]
    [ "$(question | as slurm munge | post /v1/record)" = 200 ]
    [ "$(question | as slurm munge | post /v1/job)" = 403 ]
    [ "$(peers n1 not_root)" = 2 ]
    [ "$(peers n1 replayed)" = 1 ]
    [ "$(peers n1 forged)" = 2 ]
    [ "$(peers n1 other_version)" = 1 ]
    [ "$(peers n1 malformed)" = 3 ]
}

# account_of JOBID STEP NODE [FIRST]: an account as n2 might send it, of a job with this first node
account_of() {
    jq -nc --argjson job "$1" --arg step "$2" --arg node "$3" --arg first "${4-}" '{version: 1, cluster: "test",
        from: "n2", to: "n1", id: "7", accounts: [{version: 1, job: {cluster: "test", jobid: $job,
        restart: 0, state: "ended", first_node: $first}, complete: true, incomplete: [], lost: 0,
        nodes: {expected: 4, reported: 1}, elapsed_s: 1, wait: {longest_thread_ns: 1, total_ns: 1},
        unsupported: [], mounts: [], steps: [{step: $step, node: $node, state: "ended",
        tagged_at_s: 1.5, elapsed_s: 1, incomplete: [], lost: 0, wait: {longest_thread_ns: 1,
        total_ns: 1}, mounts: [{mount: "/scratch", fstype: "ext4", source: "/dev/loop0",
        private: false, ops: {write: {requests: 1, bytes: 7, errors: 0}}}]}]}]}'
}

@test "an account of an unknown job, or in the name of the receiver, changes nothing" {
    account_of 4711 0 n2 n3 | munge | curl -s --data-binary @- "http://n1:$peer_port/v1/accounts" |
        unmunge -n -m /dev/null -o - | tee /dev/stderr |
        jq -e '.refused | length == 1 and .[0].index == 0 and (.[0].why | test("never seen"))'
    [ "$(peers n1 unknown_jobs)" = 1 ]
    id=$(< $cluster_dir/main)
    [ "$(account_of "$id" 0 n1 | munge | post /v1/accounts)" = 400 ]
    same "$whole" "$(data "$id")"
}

# refused_more_than N: n1 refuses the account, after it has queried Slurm
refused_more_than() {
    [ "$(account_of 4712 0 n2 n1 | munge | post /v1/accounts)" = 200 ]
    [ "$(peers n1 unknown_jobs)" -gt "$1" ]
}

@test "an account of a job that Slurm does not know changes nothing, also for its first node" {
    local refused
    refused=$(peers n1 unknown_jobs)
    wait_for 60 refused_more_than "$refused"
    [ "$(peers n1 put_off)" -ge 1 ]
    [ -z "$(data 4712)" ]
}

# is_refused_from_outside N: n1 refuses an account of n2 about job $id, after it has queried Slurm
is_refused_from_outside() {
    [ "$(account_of "$id" 5 n2 n1 | munge | post /v1/accounts)" = 200 ]
    [ "$(peers n1 wrong_node)" -gt "$1" ]
}

@test "an account of a node that is not in the job changes nothing, and the node cannot query the job" {
    local refused
    id=$(submit alice -N 1 -w n1 --wrap 'work write:/scratch/single:10:1000')
    job_wait "$id"
    refused=$(peers n1 wrong_node)
    wait_for 60 is_refused_from_outside "$refused"
    same "write 10 10000 0" "$(data "$id")"
    [ "$(printf '{"version":1,"cluster":"test","from":"n2","to":"n1","id":"1","jobid":%s,"restart":0}' "$id" |
        munge | post /v1/job)" = 400 ]
}

@test "an account that is sent twice counts once; an older one is ignored" {
    id=$(< $cluster_dir/main)
    for _ in 1 2; do
        [ "$(account_of "$id" 5 n2 | munge | post /v1/accounts)" = 200 ]
    done
    same "read 1000 4096000 0
write 1011 4106007 0" "$(data "$id")"
    [ "$(account_of "$id" 5 n2 | jq -c 'del(.accounts[0].steps[0].mounts[])' | munge |
        post /v1/accounts)" = 200 ]
    same "read 1000 4096000 0
write 1011 4106007 0" "$(data "$id")"
    [ "$(peers n1 backwards)" = 1 ]
}

# SPDX-License-Identifier: GPL-2.0-or-later
# The record of a job in Slurm's accounting for each way a job can end, and the controller's completion
# lines and mails with it. slurmdbd, MariaDB, munge and the nodes' jobiod are real.
. "${BATS_TEST_DIRNAME}/cluster.bash"
. "${BATS_TEST_DIRNAME}/database.bash"

tool=/usr/local/libexec/jobio/jobio-record
share=/usr/local/share/jobio

# Start all jobs that Slurm takes long over at once.
setup_file() {
    export CLUSTER_MEMORY=1 CLUSTER_DATABASE=1 CLUSTER_GATHER=linux \
        CLUSTER_JOBCOMP=jobcomp/script CLUSTER_CONF \
        CLUSTER_JOBIO=$'[peers]\nlisten = 0.0.0.0:9418\nurl = http://%n:9418\nreaders = slurm'
    CLUSTER_CONF="JobCompLoc=$share/jobcomp-script
EpilogSlurmctld=$share/epilog-slurmctld
MailProg=$cluster_dir/mailprog
ScronParameters=enable
JobAcctGatherFrequency=1"
    mkdir -p $cluster_dir
    install -d -o slurm /var/spool/jobio /var/log/slurm
    site_mail
    cluster_mariadb > $cluster_dir/mariadb-install.log 2>&1 &
    cluster_start_lean
    (cd /home/alice && runuser -u alice -- "$CLUSTER_OUT/scron" 'work write:/scratch/scron:7:1000') \
        > $cluster_dir/id.scron || cluster_logs
    start sampled --wrap 'work write:/scratch/sampled:100:100000; : > /scratch/sampled.done
        until [ -e /scratch/sampled.go ]; do sleep 1; done'
    start limit -t 0:01 --wrap "$(work limit 3)"
    start requeued --requeue --wrap "$(work requeued 4)"
    start normal --mail-type=END -J "it's \"named\\" --wrap 'work write:/scratch/normal:5:1000'
    start cancelled --mail-type=END --wrap "$(work cancelled 6)"
    start oom --mem=40 --wrap 'work write:/scratch/oom:8:1000; exec tail /dev/zero'
    start array --array=1-2 --wrap 'work write:/scratch/a$SLURM_ARRAY_TASK_ID:1$SLURM_ARRAY_TASK_ID:1000
        : > /scratch/a$SLURM_ARRAY_TASK_ID.done; sleep 1000'
    start tagged --wrap "$(work tagged 9)"
}

# The site's mail program, called by the wrapper.
site_mail() {
    cat > $cluster_dir/mail << 'END'
#!/bin/sh
{ printf '%s\n' "$@" --; cat; echo ==; } >> /run/cluster/mails
END
    printf '#!/bin/sh\nexport JOBIO_MAILPROG=%s JOBIO_MAIL_WAIT=200\nexec %s/mailprog "$@"\n' \
        $cluster_dir/mail $share > $cluster_dir/mailprog
    chmod 755 $cluster_dir/mail $cluster_dir/mailprog
    install -o slurm /dev/null $cluster_dir/mails
}

# work NAME COUNT: a script that makes COUNT writes of 1000 bytes, creates NAME.done, and waits
work() {
    echo "work write:/scratch/$1:$2:1000; : > /scratch/$1.done; sleep 1000"
}

# start NAME ARGUMENTS...: submits a job of alice under this name
start() {
    local name=$1
    shift
    submit alice "$@" > "$cluster_dir/id.$name"
}

id() {
    cat "$cluster_dir/id.$1"
}

teardown() {
    [ -n "$BATS_TEST_COMPLETED" ] || {
        cluster_logs
        cat /var/spool/jobio/log
        sql 'SELECT jobid, restart, ended, nodes_reported FROM job' || :
        jobio status
        sacct -D -X -P -o JobIDRaw,JobID,State,Submit,Start,End,AdminComment
    }
}

# records JOB: its runs, oldest first: bytes written to /scratch, requests, restart count. They may be
# incomplete, because a task may be killed inside a call.
records() {
    comments "$1" | sed 's/.*IO1://; s/ end$//' | jq -r '"\([.m[] | select(.[0] == "/scratch") | .[3, 5]] |
        join(" ")) \(.restart // 0)"'
}

records_are() {
    local found
    found=$(records "$1")
    [ "$found" = "$2" ] || { echo "$found"; return 1; }
}

# records_come JOB RECORDS: waits for the records of the epilog, or of the service that the timer starts
records_come() {
    wait_for 240 or_service records_are "$@"
}

or_service() {
    "$@" && return
    systemctl start jobio-record
    return 1
}

# disk COMMAND...: the sum of the bytes written according to Slurm
disk() {
    "$@" -n -P --noconvert -o TRESUsageOutTot | grep -oE 'fs/disk=[0-9]+' |
        awk -F= '{ n += $2 } END { print n + 0 }'
}

@test "jobio explain compares the account with /proc, and after the end with sacct" {
    local id
    id=$(id sampled)
    wait_for 120 test -e /scratch/sampled.done
    run as alice jobio explain "$id"
    echo "$output"
    [ "$status" = 0 ]
    grep -E '^/proc io, calls +[0-9.]+ ([KM]i)?B +9\.[0-9] MiB ' <<< "$output"
    grep '^cgroup io.stat ' <<< "$output"
    wait_for 120 eval '[ "$(disk sstat -a -j '"$id"'.batch)" -ge 10000000 ]'
    touch /scratch/sampled.go
    job_wait "$id" 120
    wait_for 120 eval '[ "$(disk sacct -j '"$id"')" -ge 10000000 ]'
    run as alice jobio explain "$id"
    echo "$output"
    grep -E '^sacct fs/disk +[0-9.]+ ([KM]i)?B +9\.[0-9] MiB ' <<< "$output"
    [ "$(jobio explain "$id" --context | jq '.other_counters[0].written_bytes')" = "$(disk sacct -j "$id")" ]
}

@test "a requeued job has a record of its first run" {
    wait_for 120 test -e /scratch/requeued.done
    rm /scratch/requeued.done
    scontrol requeuehold "$(id requeued)"
    records_come "$(id requeued)" "4000 4 0"
}

@test "a job that ends normally has its record" {
    job_wait "$(id normal)" 120
    records_come "$(id normal)" "5000 5 0"
    comments "$(id normal)" | sed 's/^IO1://' | jq -e '.complete and .nodes == [1, 1]'
}

@test "a cancelled job gets its record from the epilog of slurmctld" {
    wait_for 120 test -e /scratch/cancelled.done
    : > /var/spool/jobio/log
    scancel "$(id cancelled)"
    wait_for 240 grep 'in the backlog' /var/spool/jobio/log
    records_come "$(id cancelled)" "6000 6 0"
}

@test "a job that runs out of memory has its record" {
    records_come "$(id oom)" "8000 8 0"
    [ "$(sacct -X -n -P -o State -j "$(id oom)")" = OUT_OF_MEMORY ]
}

@test "each task of an array has its own record, also the last one" {
    wait_for 120 test -e /scratch/a1.done -a -e /scratch/a2.done
    scancel "$(id array)"
    for task in 1 2; do
        records_come "$(id array)_$task" "1${task}000 1$task 0"
    done
}

@test "other tags in the comment are kept, whatever they contain" {
    local tag="JS1:it's \\n \"a\" tag%;"
    wait_for 120 test -e /scratch/tagged.done
    scontrol update job "$(id tagged)" AdminComment="$tag IO1:{\"v\":1,\"nodes\":[0,1],\"m\":[]} end"
    scancel "$(id tagged)"
    records_come "$(id tagged)" "9000 9 0"
    comments "$(id tagged)"
    [[ $(comments "$(id tagged)") == "$tag IO1:{"*"} end" ]]
}

@test "a job that reaches its time limit has its record" {
    records_come "$(id limit)" "3000 3 0"
    [ "$(sacct -X -n -P -o State -j "$(id limit)")" = TIMEOUT ]
}

@test "a requeued job has a record of each run" {
    scontrol release "$(id requeued)"
    wait_for 120 test -e /scratch/requeued.done
    scancel "$(id requeued)"
    records_come "$(id requeued)" $'4000 4 0\n4000 4 1'
}

# If a run starts before the credential of the last run has expired, slurmd 22.05 takes it for the known
# one and does not call the prolog, which reports the restart count.
@test "a job that is requeued and starts again at once has a record of each run" {
    local id
    start hurried --requeue --wrap "$(work hurried 12)"
    id=$(id hurried)
    wait_for 120 test -e /scratch/hurried.done
    rm /scratch/hurried.done
    scontrol requeue "$id"
    job_wait "$id" 120 PENDING
    scontrol update job "$id" StartTime=now
    wait_for 120 test -e /scratch/hurried.done
    as alice srun --overlap --jobid="$id" work write:/scratch/more:1:500
    scancel "$id"
    records_come "$id" $'12000 12 0\n12500 13 1'
}

@test "a later run that has the record of the first one gets its own" {
    local id
    id=$(id hurried)
    # A late epilog of the first run does this.
    mariadb slurm_acct_db -e "SET @first = (SELECT admin_comment FROM test_job_table WHERE id_job = $id
        ORDER BY time_submit LIMIT 1); UPDATE test_job_table SET admin_comment = @first WHERE id_job = $id"
    records_are "$id" $'12000 12 0\n12000 12 0'
    records_come "$id" $'12000 12 0\n12500 13 1'
}

@test "scrontab: the record is written after the end, because Slurm refuses to change a running job" {
    local id
    id=$(< $cluster_dir/id.scron)
    wait_for 240 or_service eval '[[ $(records '"$id"') == "7000 7 0"* ]]'
    as alice "$CLUSTER_OUT/scron" -r
    job_wait "$id" 120 # no run of it comes any more
    wait_for 240 $tool --backlog "$id"
}

# batch_down NAME: kill the processes of the job and slurmd on its node, and set the node down
batch_down() {
    local batch # its cgroup has the job's number in its name, or not (Slurm 26.05)
    batch=$(sed -n 's/^CGROUP=//p' /run/jobio/steps/"$(id "$1")".*.4294967291)
    systemctl kill -s KILL cluster-slurmd
    echo 1 > "/sys/fs/cgroup${batch%/step_*}/cgroup.kill"
    scontrol update nodename=$node state=down reason=test
}

@test "after a node failure with a hung jobiod, the timer writes the record" {
    start failed --no-requeue --wrap "$(work failed 10)"
    wait_for 120 test -e /scratch/failed.done
    systemctl kill -s STOP jobiod
    batch_down failed
    job_wait "$(id failed)" 120 NODE_FAIL
    run $tool --backlog --passes 1 --host-timeout 1s
    echo "$output"
    [ "$status" = 3 ]
    [[ $output == *"guest: job "*"timed out"*" left" ]]
    # Nobody listens at the URL of a file beside jobio.conf.
    mkdir -p /etc/jobio/jobio.conf.d
    printf '[peers]\nurl = http://%%n:9\n' > /etc/jobio/jobio.conf.d/url.conf
    run $tool --backlog --passes 1 --host-timeout 1s
    rm /etc/jobio/jobio.conf.d/url.conf
    echo "$output"
    [ "$status" = 3 ]
    [[ $output == *"guest: job "*"port 9"*" left" ]]
    systemctl kill -s CONT jobiod
    records_come "$(id failed)" "10000 10 0"
}

@test "a job that is unknown on its node is marked and not queried again" {
    local id marked
    unit slurmd -p Delegate=yes -p KillMode=process slurmd -D
    scontrol update nodename=$node state=resume || :
    wait_for 120 node_is idle
    rm /etc/slurm/plugstack.conf.d/jobio.conf
    id=$(submit alice --wrap true)
    job_wait "$id"
    wait_for 120 eval '$tool --backlog --unknown 1s '"$id"' && records_are '"$id"' " 0"'
    comments "$id"
    [[ $(comments "$id") == *'"nodes":[0,1]'*'"why":"its node has no account of it"'* ]]
    marked=$(comments "$id")
    run $tool --backlog
    echo "$output"
    [ "$status" = 0 ]
    [ "$(comments "$id")" = "$marked" ]
}

@test "only root and the readers can query accounts" {
    run as bob $tool --backlog --passes 1 --give-up 1s "$(id tagged)"
    echo "$output"
    [ "$status" = 0 ]
    run as bob $tool --backlog --passes 1
    echo "$output"
    [[ $output != *"records written"* || $output == *" 0 records written, 0 jobs marked"* ]]
}

@test "the examples of the manual work" {
    local example
    sed -n 's/^\.Dl # //p' "$BATS_TEST_DIRNAME/../../doc/jobio-record.8" > $cluster_dir/examples
    [ "$(wc -l < $cluster_dir/examples)" = 2 ]
    while read -r example; do
        run ${example/\/usr\/libexec\/jobio\/jobio-record/$tool}
        echo "$example: $output"
        [ "$status" = 0 ]
    done < $cluster_dir/examples
}

# line_of NAME FILTER: true if the filter holds for the completion line of the job
line_of() {
    jq -s -e --argjson id "$(id "$1")" "map(select(.jobid == \$id)) | length == 1 and (.[0] | $2)" \
        /var/log/slurm/jobio-jobcomp.jsonl
}

@test "the completion lines have the fields of jobcomp.lua and the record" {
    line_of normal '.state == "COMPLETED" and .name == "it\u0027s \"named\\" and .user == "alice"
        and .array_task_id == null and .exit_status == 0 and .end >= .start and has("io")'
    line_of tagged '.state == "CANCELLED" and .io.nodes[1] == 1'
    line_of limit '.state == "TIMEOUT"'
}

# mail_about NAME: prints the mail about the end of the job
mail_about() {
    awk -v RS='==\n' -v subject="Slurm Job_id=$(id "$1") " \
        'index($0, subject) && /Ended, Run time/' $cluster_dir/mails
}

@test "the mails about the end of jobs contain their summaries" {
    for name in normal cancelled; do
        wait_for 240 eval "mail_about $name | grep ^/scratch"
        mail_about $name
        same 'complete: 1/1 nodes' "$(mail_about $name | grep 'complete:')"
        [ "$(mail_about $name | head -n 1)" = -s ]
    done
    mail_about cancelled | grep -qE '^/scratch +- +5.9KiB +- +6 '
}

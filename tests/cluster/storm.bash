# SPDX-License-Identifier: GPL-2.0-or-later
# Storms: many short jobs while something around jobiod fails again and again. Sourced by
# storms.bats, after cluster.bash.
#
# storm_start: the cluster of the storms. storm JOBS FAULT...: run that many jobs while the faults (the
# functions fault_*) are injected, then compare each job with what it did. storm.awk has the conditions.
#
# Each job writes different numbers of bytes and requests to two files of its own in /scratch/storm; their
# names and sizes are the truth. Jobs take the deadlines of a real site (patience=1). The finished steps are
# queued for a history database that never answers.

storm_dir=$cluster_dir/storm
hooks=$storm_dir/hooks
jobcomp=/var/log/slurm/jobio-jobcomp.jsonl

storm_start() {
    mkdir -p $storm_dir
    rm -f $jobcomp
    CLUSTER_PATIENCE=1 CLUSTER_JOBIO='
[history]
url = http://127.0.0.1:9
' cluster_start_lean
    install -m 666 /dev/null $hooks
    storm_stopwatch a first
    storm_stopwatch z last
    install -d -o alice /scratch/storm
    cat > /home/alice/storm << 'END'
#!/bin/sh
i=$SLURM_ARRAY_TASK_ID n=$((2 + $SLURM_ARRAY_TASK_ID % 5))
exec work write:/scratch/storm/$SLURM_JOB_ID.$n:$n:$((1000 + i)) \
    trickle:/scratch/storm/$SLURM_JOB_ID.t:$((3 + i % 11)):20000
END
}

# Slurm calls the plugins in the order of these files.
storm_stopwatch() {
    cp "$CLUSTER_OUT/stopwatch.so" "/usr/local/lib/slurm/stopwatch-$2.so"
    echo "optional /usr/local/lib/slurm/stopwatch-$2.so $2 $hooks" > "/etc/slurm/plugstack.conf.d/$1-stopwatch.conf"
}

storm_stop() {
    rm -f /etc/slurm/plugstack.conf.d/?-stopwatch.conf
    storm_heal
}

# pause SECONDS: by a clock that nobody sets; shorter at the end of the storm
pause() {
    local idle i
    exec {idle}<> <(:)
    for ((i = 0; i < $1 * 5; i++)); do
        [ ! -e $storm_dir/over ] || break
        read -rt 0.2 -u "$idle" || :
    done
    exec {idle}>&-
}

# jobiod_is_up: true if it has been ready since the last start
jobiod_is_up() {
    [ "$(systemctl is-active jobiod)" = active ]
}

# jobiod_pid: fails if it does not run
jobiod_pid() {
    local pid
    pid=$(systemctl show -P MainPID jobiod)
    [ "$pid" -gt 1 ] && echo "$pid"
}

# Faults: one injection each, with the time until the next one -------------------------------------------

fault_none() {
    pause 2
}

fault_killed() {
    local pid
    jobiod_is_up && pid=$(jobiod_pid) && kill -KILL "$pid" || return 1
    pause 5
}

fault_stopped() {
    local pid
    pid=$(jobiod_pid) && kill -STOP "$pid" || return 1
    pause 3
    kill -CONT "$pid" || :
    pause 4
}

fault_restarted() {
    systemctl restart jobiod
    pause 3
}

# The store and its outbox, on a disk of their own.
fault_disk() {
    mountpoint -q /var/lib/jobio || return 1
    dd if=/dev/zero of=/var/lib/jobio/filler bs=4k 2> /dev/null || :
    pause 5
    rm -f /var/lib/jobio/filler
    pause 4
}

fault_munge() {
    systemctl restart munge
    pause 4
}

# 20 s back, and 20 s forward later: Slurm's credentials are valid for 30 s.
fault_clock() {
    date -s '20 seconds ago' > /dev/null
    pause 4
    date -s '20 seconds' > /dev/null
    pause 4
}

# The directory of the step files.
fault_run() {
    mountpoint -q /run/jobio || return 1
    dd if=/dev/zero of=/run/jobio/filler bs=4k 2> /dev/null || :
    pause 5
    rm -f /run/jobio/filler
    pause 4
}

# inject FAULT: until the storm is over; a line for each injection
inject() {
    : > "$storm_dir/injected-$1"
    until [ -e $storm_dir/over ]; do
        if "fault_$1"; then
            echo 1 >> "$storm_dir/injected-$1"
        else
            pause 1
        fi
    done
}

# Everything works again.
storm_heal() {
    rm -f /var/lib/jobio/filler /run/jobio/filler
    systemctl is-active -q munge || systemctl start munge
    wait_for 120 jobiod_is_up || systemctl start jobiod
}

# Jobs ---------------------------------------------------------------------------------------------------

# ended NAME: the number of jobs that have ended
ended() {
    grep -c "\"name\":\"$1\"" $jobcomp || :
}

all_ended() {
    [ "$(ended "$1")" -ge "$2" ]
}

no_job_is_open() {
    [ -z "$(find /run/jobio/steps -type f -name '[0-9]*')" ] &&
        [ "$(sql 'SELECT count(*) FROM job WHERE ended = 0')" = 0 ]
}

# storm JOBS FAULT...
storm() {
    local jobs=$1 name injector=() fault from to
    shift
    name=storm-$(IFS=+; echo "$*")
    rm -rf $storm_dir/over /scratch/storm/*
    : > $hooks
    uptime_read from
    first_line=$(($(wc -l < $cluster_dir/slurmd.log) + 1))
    submit alice -J "$name" --array="1-$jobs%4" -o /home/alice/storm.out < /home/alice/storm
    for fault; do
        inject "$fault" 3>&- &
        injector+=($!)
    done
    wait_for $((120 + jobs * 6)) all_ended "$name" "$jobs" || echo "jobs do not end" >&2
    : > $storm_dir/over
    wait "${injector[@]}"
    storm_heal
    wait_for 120 no_job_is_open || :
    uptime_read to
    echo "# storm: $jobs jobs took $((to - from)) s" >&3
    storm_check "$name" "$jobs" "$@"
}

# What happened, one line per job and fact: see storm.awk.
storm_facts() {
    jq -r --arg name "$1" 'select(.name == $name) | (.io.m // [] | map(select(.[0] == "/scratch"))[0]) as $m |
        ["slurm", .jobid, .state, .exit_status, .restart,
        if .io then (.io.complete | tostring) else "none" end, $m[5] // 0, $m[3] // 0] | @tsv' $jobcomp
    find /scratch/storm -type f -printf 'file %f %s\n'
    jobio history -n 100000 --json | jq -r '.[] | ["job", .jobid, .ended, .complete] | @tsv'
    jobio history -n 100000 --mount /scratch --json |
        jq -r '.[] | ["io", .jobid, .write.requests, .write.bytes] | @tsv'
    sql "SELECT 'cause', jobid, coalesce(json_extract(value, '\$.cause'), 'lost')
        FROM (SELECT jobid, step.incomplete, step.lost FROM job JOIN step ON job_id = job.id
            UNION ALL SELECT jobid, incomplete, lost FROM job)
        LEFT JOIN json_each(incomplete) WHERE lost OR incomplete NOT NULL"
    sql "SELECT 'unsent', jobid FROM step JOIN job ON job.id = job_id
        WHERE step.final AND NOT EXISTS (SELECT 1 FROM outbox WHERE step_id = step.id)"
    tail -n "+$first_line" $cluster_dir/slurmd.log |
        sed -nE 's/.*jobio: (job|step) ([0-9]+)[.:](.*not counted.*)/named \2 \3/p'
    sed 's/^/hook /' $hooks
}

# storm_check NAME JOBS FAULT...: print the row of the table; fail if an account is wrong, or a loss has no
# name
storm_check() {
    local name=$1 jobs=$2 status=0 times
    shift 2
    times=$(cat "${@/#/$storm_dir/injected-}" | wc -l)
    storm_facts "$name" > "$OUT/$name.facts"
    awk -v name="${name#storm-}" -v jobs="$jobs" -v times="$times" -f "$BATS_TEST_DIRNAME/storm.awk" \
        "$OUT/$name.facts" > "$OUT/$name.result" || status=1
    sed 's/^/# storm: /' "$OUT/$name.result" >&3
    [ "$(node_state)" = idle ] || { echo "the node is $(node_state)" >&2; status=1; }
    return $status
}

node_state() {
    sinfo -h -o %T
}

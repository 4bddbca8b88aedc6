#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Concurrent queries to a real jobiod, on the machine that builds (make check-native). As
# root; $BUILD is the build directory. Needs sqlite3, which fills the store.

bats_require_minimum_version 1.5.0
load ../deliver/native

JOBS=200000

jobiod_start() {
    jobiod --config "$T/jobio.conf" --runtime "$T/run" --state "$T/state" >> "$T/log" 2>&1 3>&- &
    echo $! > "$T/pid"
    until_true 60 eval 'jobio status --json > /dev/null 2>&1' || { cat "$T/log"; return 1; }
}

# Jobs without steps, a minute each, one after the other until an hour ago.
fill() {
    sqlite3 "$T/state/jobio.db" << END
PRAGMA synchronous = OFF;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $JOBS),
    j AS (SELECT i, ($(date +%s) - 3600 - ($JOBS - i) * 60) * 1000000000 AS start FROM n)
INSERT INTO job (cluster, jobid, restart, holder, uid, user, ended, start_ns, end_ns, elapsed_ns,
    nodes_expected, nodes_reported, longest_wait_ns, lost, read_bytes)
SELECT 'c1', i, 0, 0, 0, 'root', 1, start, start + 60000000000, 60000000000, 1, 1, 0, 0, i FROM j;
END
}

setup_file() {
    command -v sqlite3 > /dev/null || skip "no sqlite3"
    prepare questions
    printf 'cluster = c1\nnode = node1\n' > "$T/jobio.conf"
    jobiod_start
    end_it TERM pid
    fill
    jobiod_start
}

teardown_file() {
    tidy
}

# A query over all jobs; its answer is in a file.
ask_large() {
    "$TELL" "$JOBIO_SOCKET" query-history SORT=read LIMIT=1 > "$T/large/$1" 2> "$T/large/$1.err" || true
    touch "$T/large/$1.done"
}

# asks N: start N of these queries and wait until jobiod has received them
asks() {
    local i before
    before=$(jobio status --json | jq .socket.requests)
    rm -rf "$T/large"
    mkdir "$T/large"
    for ((i = 0; i < $1; i++)); do
        ask_large "$i" 3>&- &
    done
    # while they are processed
    until_true 30 eval 'asked=$((${asked:-0} + 1)); (($(jobio status --json | jq .socket.requests) == before + asked + '"$1"'))'
}

answered() {
    find "$T/large" -name '*.done' | wc -l
}

@test "a small query is answered while many large ones are queued" {
    asks 12
    jobio status --json | jq -e '.store.jobs == '$JOBS' and .queues.questions_refused == 0 and
        .queues.large_questions > 2 and .queues.large_questions_refused == 0'
    "$TELL" "$JOBIO_SOCKET" query-top | jq -e '.all'
    "$TELL" "$JOBIO_SOCKET" query-job JOBID=$JOBS | jq -e '.[0].job.jobid == '$JOBS
    echo "$(answered) of 12 are answered"
    [ "$(answered)" -lt 12 ]
    wait
    # those that were started within their time limit
    for i in "$T"/large/*.err; do
        [ -s "$i" ] && grep "took too long" "$i" || jq -e '.[0].jobid == '$JOBS "${i%.err}"
    done
}

@test "too many large queries are refused and counted" {
    asks 40
    "$TELL" "$JOBIO_SOCKET" query-top | jq -e '.all'
    wait
    refused=$(grep -l "too many queries at once: try again" "$T"/large/*.err | wc -l)
    [ "$refused" -gt 0 ]
    jobio status --json | jq -e '.queues.large_questions_refused == '"$refused"' and
        .queues.large_questions == 0 and .queues.questions_refused == 0'
    jobio history -P -S @0 -n 1 | grep -q "$JOBS"
}

# short_steps FIRST LAST: steps of job 9, of 1000 bytes each, one after the other
short_steps() {
    local i
    for ((i = $1; i <= $2; i++)); do
        tag 9 "$i"
        CGROUP=$group "$BIN/step" join write "$T/tmpfs/file" 10
        "$TELL" "$JOBIO_SOCKET" end JOBID=9 STEP="$i"
    done
}

# keep_asking N: query in a loop until the file exists
keep_asking() {
    local n
    for ((n = 0; ; n++)); do
        [ ! -e "$T/job/enough" ] || return 0
        jobio job 9 --steps --json > "$T/job/$1.$n" || return 1
    done
}

@test "the steps of an answer match its sums while steps are added and removed" {
    mkdir -p "$T/job"
    short_steps 0 99
    for i in {1..12}; do
        keep_asking $i 3>&- &
        pids="$pids $!"
    done
    short_steps 100 199
    touch "$T/job/enough"
    for pid in $pids; do
        wait "$pid"
    done
    written='[([.mounts[].ops.write.bytes] | add), ([.steps[].mounts[].ops.write.bytes] | add)]'
    cat "$T"/job/*.* | jq -c "$written" > "$T/job/written"
    jq -s '.[] | select(.[0] != .[1])' -c "$T/job/written" > "$T/job/apart"
    sums=$(sort -u "$T/job/written" | wc -l)
    echo "$(wc -l < "$T/job/written") answers, $sums sums, $(wc -l < "$T/job/apart") with other steps"
    # while steps were added and removed
    [ "$sums" -gt 5 ]
    [ ! -s "$T/job/apart" ]
    [ "$(jobio job 9 --steps --json | jq -c "$written")" = "[200000,200000]" ]
}

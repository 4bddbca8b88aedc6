#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Servers that lie to a real jobiod and to the command, on the machine that builds (make check-native). As
# root; $BUILD is the build directory. The lies are in liar.py.

bats_require_minimum_version 1.5.0
load hostile

setup_file() {
    prepare_hostile endpoints
    export LIAR="$T/liar"
    mkdir "$LIAR"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=other.example \
        -addext subjectAltName=DNS:other.example -keyout "$T/key.pem" -out "$T/cert.pem" 2> /dev/null
    "$BATS_TEST_DIRNAME/liar.py" "$LIAR" "$T/cert.pem" "$T/key.pem" > "$LIAR/output" 2>&1 3>&- &
    echo $! > "$T/liar.pid"
    start_munged key
    until_true 30 test -e "$LIAR/ports"
}

teardown_file() {
    tidy
    end_it TERM liar.pid
    end_it TERM munged-key
}

# port N: 1 http, 2 https, 3 the trap
port() {
    cut -d' ' -f"$1" "$LIAR/ports"
}

# restart: with the jobio.conf on stdin
restart() {
    [ ! -e "$T/pid" ] || end_it TERM pid
    configure
    serve
}

no_redirect_was_followed() {
    not grep -e '"lie": "trap"' -e '"method": "GET"' "$LIAR/log"
}

# words LIE: what an operator reads about it
words() {
    sed -n "s/^$1@//p" << 'END'
silent@timed out
slow@timed out
endless@too long
huge@too long
headers@[Hh]eader|[Tt]oo large|too long
header@[Hh]eader|[Mm]emory|[Tt]oo large
wide@headers of the answer are too long
trailers@headers of the answer are too long
continue@[Hh]eader|[Tt]oo large|timed out
garbage@HTTP/0.9
half@transfer closed
hangup@Empty reply
page@HTTP 200.*portal
binary@HTTP 200|NUL|Nul|no answer
bomb@HTTP 200|too long
chunks@chunk|Chunk|[Hh]ex
later@HTTP 503
moved@HTTP 302
there@HTTP 302
file@HTTP 302
loop@HTTP 302
END
}

LIES="silent slow endless huge headers header wide trailers continue garbage half hangup page binary bomb
    chunks later moved there file loop"

# --- [push] --------------------------------------------------------------------------------------

push_urls() {
    local lie
    for lie in $LIES; do
        echo "url = http://127.0.0.1:$(port 1)/$lie"
    done
    for lie in page half moved endless; do
        echo "url = http://127.0.0.1:$(port 1)/$lie/api/v1/import/prometheus"
    done
    echo "url = https://127.0.0.1:$(port 2)/page"
}

# The job of another user ends, which is pushed, until all targets have failed once.
all_fail() {
    echo on
    until_true 40 status '.delivery.targets | length == 26 and all(.failures > 0)'
}

@test "push: gateways that lie are named in the status" {
    local lie
    restart << END
[push]
timeout = 1s
ca_file = $T/cert.pem
$(push_urls)
END
    under_attack 101 all_fail
    jq -c '.delivery.targets[] | [.url, .state, .last_error]' "$T/status"
    status '.delivery.targets | all(.state != "ok" and .last_success == 0 and .last_error != "" and .pending > 0)'
    for lie in $LIES; do
        jq -e --arg lie "/$lie" --arg words "$(words $lie)" \
            '.delivery.targets | map(select(.url | startswith("http:") and endswith($lie)) | .last_error) |
                length == 1 and all(test($words))' "$T/status" > /dev/null ||
            { echo "not named: $lie"; return 1; }
    done
    status '.delivery.targets[] | select(.url | startswith("https")) | .last_error | test("other.example|name")'
    jobio status | grep 'HTTP 302'
    no_redirect_was_followed
}

@test "push: once they are honest, every one gets the jobs" {
    local path
    touch "$LIAR/honest"
    end_it TERM pid
    sed -i '/https:/d' "$T/jobio.conf"
    serve
    until_true 60 status '.delivery.targets | length == 25 and all(.state == "ok" and .pending == 0)'
    for path in $(jq -r '.delivery.targets[].url | sub("http://[^/]*"; "")' "$T/status"); do
        jq -r --arg path "$path/" 'select(.path + "/" | sub("[?].*"; "/") | startswith($path)).body' "$LIAR/kept" > "$T/bodies"
        # A push has all jobs of the node, each once.
        jq -Rrs --arg mount "$T/tmpfs" '[split("\n")[] | select(startswith("jobio_write_bytes_total{") and
            contains("jobid=\"101\"") and contains("mountpoint=\"\($mount)\"")) | sub(".*} "; "")] |
            unique | join(" ")' "$T/bodies" > "$T/values"
        [ "$(cat "$T/values")" = 10100 ] || { echo "$path: $(cat "$T/values")"; return 1; }
    done
    rm "$LIAR/honest" "$LIAR/kept"
}

# --- [history] -----------------------------------------------------------------------------------

history_fails() {
    echo on
    until_true 30 status '.history.failures > 0'
}

# history_lies JOBID FORMAT LIE...: to each lie a step is sent that it does not store
history_lies() {
    local job=$1 format=$2 lie
    shift 2
    for lie; do
        restart << END
[history]
url = http://127.0.0.1:$(port 1)/$lie
format = $format
delay = 100ms
timeout = 1s
END
        ROUNDS=1 under_attack "$job" history_fails
        jq -c --arg lie "$lie" '.history | [$lie, .state, .last_error, .waiting, .refused]' "$T/status"
        status '.history | .waiting > 0 and .refused == 0 and .given_up == 0 and .last_success == 0 and .last_error != ""'
        job=$((job + 100))
    done
    no_redirect_was_followed
}

# history_gets FILTER: once it is honest, it gets each step and mount once; the filter selects the rows
history_gets() {
    local steps
    touch "$LIAR/honest"
    end_it TERM pid
    serve
    until_true 60 status '.history | .state == "ok" and .waiting == 0 and .refused == 0 and .given_up == 0'
    rm "$LIAR/honest"
    steps=$(jq '.store.steps' "$T/status")
    jq -c "select(.path | test(\"query=|_bulk\")).body | split(\"\n\")[] | select(. != \"\") | fromjson | $1" \
        "$LIAR/kept" > "$T/rows"
    rm "$LIAR/kept"
    [ -z "$(jq -c '[.jobid, .step, .mount]' "$T/rows" | sort | uniq -d)" ]
    jq -e -s --arg mount "$T/tmpfs" 'map(select(.mount == $mount)) | length > 0 and
        all(.write_bytes == 100 * .jobid and .write_requests == .jobid)' "$T/rows"
    jq -s 'map(.jobid) | unique | length' "$T/rows"
}

# bats test_tags=long
@test "history: a ClickHouse that lies loses no step" {
    history_lies 1101 clickhouse endless page deep bomb
    history_gets .
}

@test "history: a _bulk that lies loses no step" {
    history_lies 3101 bulk many more deep
    history_gets 'select(has("jobid"))'
}

# --- the command ---------------------------------------------------------------------------------

# is_refused COMMAND...: it fails within 20 s with one line, and needs at most 128 MiB
is_refused() {
    status=0
    "$BATS_TEST_DIRNAME/bounded.py" 131072 20 "$@" > "$T/out" 2> "$T/err" || status=$?
    cat "$T/err"
    [ "$status" = 1 ] && [ ! -s "$T/out" ] && [ "$(wc -l < "$T/err")" = 1 ] && grep -q '^jobio: ' "$T/err" ||
        { echo "$*: $status"; head -c 300 "$T/out"; return 1; }
}

@test "history: the command refuses what a lying ClickHouse answers" {
    local lie
    for lie in endless lines jobs headers header wide trailers garbage half hangup page binary bomb chunks deep \
        moved there file loop; do
        printf '[history]\nread_url = http://127.0.0.1:%s/%s\nurl = http://127.0.0.1:1\n' "$(port 1)" $lie > "$T/read.conf"
        is_refused jobio job 101 --from clickhouse --config "$T/read.conf"
        is_refused jobio history --from clickhouse --config "$T/read.conf"
    done
    no_redirect_was_followed
}

@test "llm: the command refuses what a lying endpoint answers" {
    local lie
    for lie in headers header wide trailers garbage half hangup binary bomb chunks deep moved there file loop; do
        is_refused jobio --store "$T/state/jobio.db" explain 101 --llm "http://127.0.0.1:$(port 1)/$lie" \
            --model fake --timeout 5
    done
    no_redirect_was_followed
}

# --- [peers] -------------------------------------------------------------------------------------

PEERS="silent slow endless headers continue garbage half page bomb deep moved file"

# peer_jobs JOBID: jobs of which all other nodes lie; the report says how many have answered
peer_jobs() {
    local job
    echo on
    for job in $1 $(($1 + 1)); do
        job_file "$job" node1 "node1,${PEERS// /,}"
        tag_of 0 "$job" NODES=13 NODE=node1
        CGROUP=$group "$BIN/step" join write "$T/tmpfs/peer" "$job"
        timed "$TELL" "$JOBIO_SOCKET" end JOBID="$job" STEP=0
        timed "$TELL" "$JOBIO_SOCKET" report JOBID="$job" SUMMARY=full
        cp "$T/answer.$BASHPID" "$T/report"
        timed "$TELL" "$JOBIO_SOCKET" job-end JOBID="$job"
        grep -F '1/13 nodes' "$T/report" || { cat "$T/report"; return 1; }
    done
}

# Jobs of which the first node lies: it does not get the account, and that is counted.
first_nodes() {
    local job=$1 node
    for node in $PEERS; do
        job_file "$job" "$node" "$node,node1"
        tag_of 0 "$job" NODES=2 NODE=node1
        CGROUP=$group "$BIN/step" join write "$T/tmpfs/peer" "$job"
        timed "$TELL" "$JOBIO_SOCKET" end JOBID="$job" STEP=0
        timed "$TELL" "$JOBIO_SOCKET" job-end JOBID="$job"
        job=$((job + 1))
    done
    until_true 30 status '.peers.send_failures >= 12'
}

@test "peers: nodes that lie do not delay a report, and are named as missing" {
    restart << END
[peers]
url = http://127.0.0.1:$(port 1)/%n
timeout = 1s
munge_socket = $T/key/socket
END
    # The report waits for them for 1.3 s.
    LATENCY_MAX=4000 under_attack 4101 peer_jobs 4501
    : > "$T/latencies"
    watch_memory
    first_nodes 4601
    is_prompt
    has_bounded_memory
    status '.peers | .sent == 0 and .answered == 0 and .unanswered >= 24'
    no_redirect_was_followed
}

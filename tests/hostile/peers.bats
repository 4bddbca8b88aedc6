#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# Hosts and users against the port of the peers of a real jobiod, on the machine that builds (make
# check-native). As root; $BUILD is the build directory.

bats_require_minimum_version 1.5.0
load hostile

setup_file() {
    prepare_hostile peers
    export PEERS=$((32000 + $$ % 4000)) METRICS=$((36000 + $$ % 4000)) OLD="$T/old"
    start_munged key
    start_munged stranger
    configure << END
[peers]
listen = 127.0.0.1:$PEERS
url = http://%n:$PEERS
munge_socket = $T/key/socket
[metrics]
listen = 127.0.0.1:$METRICS
END
    serve
    # Too old by the time of its test.
    message | seal key --ttl=1 > "$OLD"
    # The job that the messages are about.
    job_file 999 node1 node1,node2
    : > "$T/latencies"
    tag_of $VICTIM 999 NODE=node1
    CGROUP=$group "$BIN/step" join write "$T/tmpfs/victim" 999
    timed "$TELL" "$JOBIO_SOCKET" end JOBID=999 STEP=0
    is_exact 999
    jq -c .nodes "$T/account" > "$T/nodes"
}

teardown_file() {
    tidy
    end_it TERM munged-key
    end_it TERM munged-stranger
}

# message [CHANGE]: of node2, about the job; CHANGE is a jq filter
# shellcheck disable=SC2120 # others pass no argument
message() {
    jq -nc '{version: 1, cluster: "c1", from: "node2", to: "node1", id: "1", jobid: 999, restart: 0} | '"${1:-.}"
}

# seal NAME [OPTION...]: a credential that root can open, by the munged of this name
seal() {
    munge --socket="$T/$1/socket" --restrict-uid=0 "${@:2}"
}

# send PATH: the credential on stdin; prints the HTTP status
send() {
    curl -sS -o "$T/reply" -w '%{http_code}' --max-time 10 --data-binary @- "http://127.0.0.1:$PEERS/v1/$1" || true
}

# counts CODE COUNTER COMMAND...: what the command prints is refused with this status and counted
counts() {
    local code=$1 counter=$2 before
    before=$(jobio status --json | jq ".peers.$counter")
    shift 2
    "$@" > "$T/credential"
    for path in accounts job record; do
        got=$(send $path < "$T/credential")
        [ "$got" = "$code" ] || { echo "$path: $got, not $code: $(cat "$T/reply")"; return 1; }
        # A credential can be opened once.
        [ "$counter" != replayed ] && [ "$counter" != forged ] && [ "$counter" != out_of_time ] || continue
        "$@" > "$T/credential"
    done
    status ".peers.$counter == $before + 3"
}

# Job 999 is as it was: its nodes, and what it wrote.
is_untouched() {
    status '.peers.taken == 0 and .peers.backwards == 0'
    is_exact 999
    [ "$(jq -c .nodes "$T/account")" = "$(cat "$T/nodes")" ] || { cat "$T/nodes"; jq -c .nodes "$T/account"; return 1; }
}

# One character in the middle of it becomes another.
change_credential() {
    sed 's/^\(MUNGE:.\{60\}\)A/\1B/; t; s/^\(MUNGE:.\{60\}\)./\1A/'
}

@test "a message of the node and the key is answered" {
    [ "$(message | seal key | send job)" = 200 ]
    unmunge --socket="$T/key/socket" --input="$T/reply" --metadata=/dev/null |
        jq -e '.from == "node1" and .to == "node2" and .account.job.jobid == 999'
}

@test "without the key" {
    under_attack 101 attack net 127.0.0.1 "$PEERS" posts 3
    counts 401 forged echo
    counts 401 forged echo 'MUNGE:'
    counts 401 forged echo 'MUNGE:AwQFAAD//////:'
    counts 401 forged eval 'message | seal stranger'
    counts 401 forged eval 'message | seal key | change_credential'
    counts 401 forged eval 'message | seal key | cut -c1-100'
    is_untouched
}

# repeat COUNT COMMAND...: "on" is printed at its start
repeat() {
    local i n=$1
    shift
    echo on
    for ((i = 0; i < n; i++)); do
        "$@" || return 1
    done
}

# account_of NODE: what it might send about job 999
account_of() {
    message '.from = "'"$1"'" | .accounts = [{version: 1, job: {cluster: "c1", jobid: 999, restart: 0, state: "ended",
        first_node: "node1"}, complete: true, incomplete: [], lost: 0, nodes: {expected: 1, reported: 1}, elapsed_s: 1,
        wait: {longest_thread_ns: 1, total_ns: 1}, unsupported: [], mounts: [], steps: [{step: "0", node: "'"$1"'",
        state: "ended", tagged_at_s: 1.5, elapsed_s: 1, incomplete: [], lost: 0, wait: {longest_thread_ns: 1, total_ns: 1},
        mounts: [{mount: "'"$T"'/tmpfs", fstype: "tmpfs", source: "tmpfs", private: false,
        ops: {write: {requests: 1, bytes: 1000000007, errors: 0}}}]}]}] | del(.jobid, .restart)'
}

# try_stranger: node3 sends an account of job 999, and queries it. The query is refused; the account is put
# off ("why" is empty), because a Slurm that could say whether the job has more nodes now is not here.
try_stranger() {
    local code
    code=$(account_of node3 | seal key | send accounts)
    [ "$code" = 200 ] || { echo "accounts: $code: $(cat "$T/reply")"; return 1; }
    unmunge --socket="$T/key/socket" --input="$T/reply" --metadata=/dev/null --output="$T/answer"
    jq -e '.refused == [{index: 0, why: ""}]' "$T/answer" > /dev/null ||
        { cat "$T/answer"; return 1; }
    code=$(message '.from = "node3"' | seal key | send job)
    [ "$code" = 400 ] && grep -q "node3 is not a node of job 999" "$T/reply" || { echo "job: $code: $(cat "$T/reply")"; return 1; }
}

@test "a node with the key that is not a node of the job" {
    local before put_off
    before=$(jobio status --json | jq .peers.wrong_node)
    put_off=$(jobio status --json | jq .peers.put_off)
    under_attack 121 repeat 10 try_stranger
    status ".peers.wrong_node == $before + 10 and .peers.put_off == $put_off + 10"
    is_untouched
}

@test "a node of the job, about another node" {
    local before
    before=$(jobio status --json | jq .peers.malformed)
    [ "$(account_of node2 | jq -c '.accounts[0].steps[0].node = "node1"' | seal key | send accounts)" = 400 ]
    status ".peers.malformed == $before + 1"
    is_untouched
}

is_answered() {
    [ "$(message | seal key | send job)" = 200 ]
}

is_scraped() {
    curl -sSf --max-time 10 -o "$T/scraped" "http://127.0.0.1:$METRICS/metrics" && grep -q '^jobio_' "$T/scraped"
}

# The attacker has the address of those who are served. Where it opens many connections at once, theirs may be
# the oldest and end; each of them tries again, as node2 and Prometheus would.
@test "connections without an end, at both ports" {
    attack net 127.0.0.1 "$PEERS" drip 15 > "$T/drip" 2>&1 3>&- &
    local other=$!
    until_true 30 grep -qx on "$T/drip"
    SECONDS=0
    under_attack 131 attack net 127.0.0.1 "$METRICS" drip 12 &
    local victims=$!
    while ((SECONDS < 10)); do
        until_true 3 is_answered
        until_true 3 is_scraped
    done
    wait $victims
    wait $other
    is_untouched
}

@test "a message that was sent before" {
    message | seal key > "$T/once"
    [ "$(send job < "$T/once")" = 200 ]
    counts 401 replayed cat "$T/once"
    is_untouched
}

@test "a user with the key, whose munged signs everything" {
    counts 403 not_root eval 'message | as_uid $HOSTILE munge --socket="$T/key/socket" --restrict-uid=0'
    # A credential for this user is not for jobiod.
    counts 401 forged eval "message | munge --socket='$T/key/socket' --restrict-uid=$HOSTILE"
    is_untouched
}

@test "an old message" {
    local made
    made=$(stat -c %Y "$OLD")
    until_true 10 eval '((EPOCHSECONDS > '"$made"' + 2))'
    counts 401 out_of_time cat "$OLD"
}

@test "with the key, but not a message" {
    counts 400 malformed eval 'echo garbage | seal key'
    counts 400 malformed eval 'seal key < /dev/null'
    counts 400 malformed eval 'head -c 100000 /dev/zero | seal key'
    counts 400 malformed eval 'head -c 500000 /dev/zero | tr "\0" "[" | seal key'
    counts 400 malformed eval 'message "[.]" | seal key'
    counts 400 malformed eval 'message "{version, cluster, from, to, id}" | seal key'
    counts 409 other_version eval 'message ".version = 2" | seal key'
    counts 421 malformed eval 'message ".cluster = \"c2\"" | seal key'
    counts 421 malformed eval 'message ".to = \"node3\"" | seal key'
    is_untouched
}

#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# jobio top and a real jobiod, on the machine that builds (make check-native): once, and with keys in a
# terminal (tmux). As root; $BUILD is the build directory.

bats_require_minimum_version 1.5.0
load ../deliver/native

setup_file() {
    export LC_ALL=C.UTF-8 TERM=xterm-256color
    unset NO_COLOR COLUMNS
    prepare top
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$T" "$T/run"
    printf 'cluster = c1\nnode = node1\ninterval = 1s\n' > "$T/jobio.conf"
    mkdir "$T/bin"
    cp "$BUILD/jobio" "$T/bin/"
    jobiod --config "$T/jobio.conf" --runtime "$T/run" --state "$T/state" > "$T/log" 2>&1 3>&- &
    echo $! > "$T/pid"
    until_true 60 eval 'jobio status --json > /dev/null 2>&1' || { cat "$T/log"; return 1; }
    user_tag 7 0
    user_tag 8 65534
    user_tag 9 2
}

teardown_file() {
    for pid in $(cat "$T/sleepers"); do kill "$pid" 2> /dev/null || true; done
    [ ! -e "$T/tmux" ] || TMUX= tmux -S "$T/tmux" kill-server || true
    tidy
}

# user_tag JOBID UID: tag a step of that user, with a process that sleeps
user_tag() {
    local group="$GROUP/$1.0"
    mkdir -p "$group"
    sleep 1000 > /dev/null 2>&1 3>&- &
    echo $! >> "$T/sleepers"
    echo $! > "$group/cgroup.procs"
    "$TELL" "$JOBIO_SOCKET" tag JOBID="$1" STEP=0 UID="$2" NAME=$'a\e[1mb' CGROUP="${group#"$CGROUPS"}" \
        CGROUP_ID="$(stat -c %i "$group")" CGROUP_LEVEL=2 CGROUP_VERSION=2 \
        TAGGED=now NODES=1
}

# writes JOBID N: N calls of 100 bytes
writes() {
    CGROUP=$GROUP/$1.0 "$BIN/step" join write "$T/tmpfs/file" "$2"
}

# asked: the number of queries that jobiod has received, this one included; counted in $asking
asked() {
    asking=$((asking + 1))
    requests=$(jobio status --json | jq .socket.requests)
}

# between COMMAND...: run `jobio top` with $TOP, in the background, and the command between its two
# readings; its output in $out. Repeated if the machine was too slow for that.
between() {
    local tries
    for tries in 1 2 3 4 5; do
        asking=0
        asked
        local before=$((requests - 1))
        $TOP > "$T/out" 2> "$T/err" 3>&- &
        local pid=$!
        # it has sent one query
        until asked; [ $requests = $((before + asking + 1)) ]; do
            [ $asking -lt 500 ]
        done
        "$@"
        # and not two
        asked
        wait $pid || { cat "$T/err"; return 1; }
        out=$(cat "$T/out")
        [ $requests != $((before + asking + 1)) ] || return 0
    done
    echo "too slow"
    return 1
}

follows_schema() {
    "$BATS_TEST_DIRNAME/schema.py" validate "$BATS_TEST_DIRNAME/../../doc/top.schema.json"
}

all_writes() {
    writes 7 1000
    writes 8 20
    writes 9 5
}

@test "the I/O between two readings is exact to the byte" {
    writes 7 50
    TOP="jobio top --once -i 2s --json" between all_writes
    jq -e --arg m "$T/tmpfs" '.complete and .node == "node1" and .hidden_jobs == 0 and
        ([.rows[] | select(.mount == $m) | [.jobid, .write_bytes, .write_requests, .median_request_bytes]] | sort)
            == [[7,100000,1000,128],[8,2000,20,128],[9,500,5,128]]' <<< "$out"
    follows_schema <<< "$out"
    # a rate is the sum over the time between the readings
    jq -e '.interval_ns as $ns | .rows[] | (.write_bytes_per_s - .write_bytes * 1e9 / $ns) | fabs < 0.001' <<< "$out"
    [ "$(jq '.total.write_bytes' <<< "$out")" = 102500 ]
    [ "$(jq -r '.rows[] | select(.jobid == 9 and .write_bytes > 0).name' <<< "$out")" = $'a\e[1mb' ]
}

@test "--json and --csv have the requested rows" {
    TOP="jobio top --once -i 2s --csv --sort write" between all_writes
    [ "$(wc -l <<< "$out")" -ge 4 ]
    [[ $(head -1 <<< "$out") == Time,*$'\r' ]]
    [ "$(cut -d, -f 4,11 <<< "$out" | sed -n 2p)" = "7,100000" ]
    TOP="jobio top --once -i 2s --json --by mount --sort write" between all_writes
    [ "$(jq -c '.rows[0] | [.jobs, .write_bytes]' <<< "$out")" = '[3,102500]' ]
    follows_schema <<< "$out"
    TOP="jobio top --once -i 2s --json -u bin -n 1" between all_writes
    [ "$(jq -c '[.rows[] | .jobid]' <<< "$out")" = '[9]' ]
}

@test "the table fits into 80 and 40 columns" {
    TOP="env COLUMNS=80 jobio top --once -i 2s --sort write" between all_writes
    echo "$out"
    [[ ${out%%$'\n'*} == "node1  "*"3 jobs, 3 with I/O, 3 steps" ]]
    [[ $out == *"complete: 0 events lost"* ]]
    grep -qE "^job +user +name +mount +read/s write/s +meta/s +~size +errs/s +wait" <<< "$out"
    [ "$(grep -cE '^(7|8|9) ' <<< "$out")" -ge 3 ]
    grep -qE '^7 +root .* 128B ' <<< "$out"
    [[ $out == *'a?[1mb'* ]]
    [ "$(wc -L < "$T/out")" -le 80 ]
    TOP="env COLUMNS=40 jobio top --once -i 2s --sort write" between all_writes
    [ "$(wc -L < "$T/out")" -le 40 ]
    grep -qE "^job +mount +read/s write/s" <<< "$out"
}

as_nobody() {
    setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

@test "users see their own jobs, and the sum of the others" {
    as_nobody "$T/bin/jobio" --version > /dev/null 2>&1 || skip "the build folder is not for everybody"
    TOP="as_nobody $T/bin/jobio top --once -i 2s --json" between all_writes
    jq -e --arg m "$T/tmpfs" '.hidden_jobs == 2 and
        ([.rows[] | select(.mount == $m) | [.kind, .jobid, .write_bytes]] | sort) ==
            [["job",8,2000],["others",null,100500]] and .total.write_bytes == 102500' <<< "$out"
    not grep -q '"jobid": *[79]' <<< "$out"
    follows_schema <<< "$out"
}

two_jobs() {
    asking=$((asking + 1))
    [ "$(jobio status --json | jq .jobs)" = 2 ]
}

@test "the I/O of a job that ended between the readings is shown" {
    end() {
        writes 9 30
        kill "$(tail -n 1 "$T/sleepers")"
        "$TELL" "$JOBIO_SOCKET" end JOBID=9 STEP=0
        "$TELL" "$JOBIO_SOCKET" job-end JOBID=9
        asking=$((asking + 2))
        until_true 30 two_jobs
    }
    TOP="jobio top --once -i 5s --json" between end
    [ "$(jq -c '[.rows[] | select(.write_bytes > 0) | [.kind, .write_bytes]]' <<< "$out")" = '[["ended",3000]]' ]
}

@test "frequent queries share a reading" {
    for ((i = 0; i < 20; i++)); do
        "$TELL" "$JOBIO_SOCKET" query-top
    done | jq -s '[.[].at_ns] | unique' > "$T/readings"
    # one per interval of 200 ms, and the first one
    jq -e 'length <= 3 + (.[-1] - .[0]) / 200e6 + (.[-1] - .[0]) / 1e9' "$T/readings"
}

@test "invalid arguments, a reader that exits, and a missing jobiod are reported" {
    run -2 --separate-stderr jobio top --by disk
    [[ $stderr == 'jobio: top: --by "disk" is not valid'* ]]
    run -2 --separate-stderr jobio --store /x top
    run -2 --separate-stderr jobio top --json --csv
    run -2 --separate-stderr jobio top now
    jobio top -i 250ms | head -n 1 | grep -q node1
    run -1 --separate-stderr jobio --socket "$T/none" top --once
    [[ $stderr == "jobio: top: jobiod is not running"* && $stderr != *$'\n'* ]]
}

# --- in a terminal -----------------------------------------------------------------------------

screen() {
    TMUX= tmux -S "$T/tmux" "$@"
}

keys() {
    screen send-keys -t 0 "$@"
}

# Wait until the screen has the line; it is in $T/screen.
shows() {
    screen capture-pane -t 0 -p > "$T/screen"
    grep -qE -- "$1" "$T/screen"
}

# shown PATTERN: wait up to half a minute for it
shown() {
    until_true 30 shows "$1" || { cat "$T/screen"; return 1; }
}

# Start a shell in the terminal that reports the end of a command and its status.
open_terminal() {
    ! [ -e "$T/tmux" ] || screen kill-server || true
    until_true 30 eval '! screen ls > /dev/null 2>&1' # it may still be on its way out
    screen -f /dev/null new-session -d -x 80 -y 24 \
        "env PATH=$PATH JOBIO_SOCKET=$JOBIO_SOCKET LC_ALL=C.UTF-8 PS1='ready> ' bash --norc --noprofile"
    shown "^ready>"
}

@test "on a terminal: keys and sizes work, and the terminal is restored" {
    writes 7 1 # an idle job is listed with the mounts that it has used
    open_terminal
    CGROUP=$GROUP/8.0 "$BIN/step" join loop "$T/tmpfs/loop" > /dev/null 2>&1 3>&- &
    echo $! | tee -a "$T/sleepers" > "$T/loop"
    keys 'jobio top -i 500ms --sort write' Enter
    shown "^8 +nobody .*KiB .*128B"
    [ "$(wc -l < "$T/screen")" = 24 ]
    [ "$(wc -L < "$T/screen")" -le 80 ]
    # no control sequence in the name of a job reaches the terminal
    [[ $(cat "$T/screen") == *'a?[1mb'* ]]
    shown "by job-mount, most write first.*q quit"
    keys r
    shown "most read first"
    keys b
    shown "by job, most read"
    keys b b
    shown "^user +mount +jobs"
    shown "^nobody "
    keys b i
    shown "^7 +root .* - "
    keys u
    shown "^user \(empty: all\):$"
    keys root Enter
    shown "user root"
    until_true 30 eval '! shows "^8 "'
    keys u Enter
    shown "^8 "
    keys Space
    shown "^PAUSED"
    first=$(head -n 1 "$T/screen")
    keys Space
    until_true 30 eval '! shows "^PAUSED"'
    until_true 30 eval 'shows "^node1" && [ "$(head -n 1 "$T/screen")" != "$first" ]'
    keys h
    shown "half, twice, another interval"
    keys x
    shown "^job "
    screen resize-window -t 0 -x 40 -y 12
    shown "^job +mount +read/s write/s"
    [ "$(wc -L < "$T/screen")" -le 40 ]
    keys d
    shown "^interval:"
    keys 1x Enter
    shown "1x"
    screen resize-window -t 0 -x 80 -y 24
    keys q
    shown "^ready>$"
    not grep -q "^job " "$T/screen"
    # SIGINT ends it like "q"
    keys 'clear; jobio top -i 500ms; stty -a | grep -c " echo "; echo $?.' Enter
    shown "^job +user"
    keys C-c
    shown "^1$"
    shown "^0\.$"
    # so does a signal of another process, once it runs
    keys "clear; sh -c 'echo \$\$ > $T/top.pid; exec jobio top -i 500ms'; echo ended \$?" Enter
    shown "^job +user"
    kill "$(cat "$T/top.pid")"
    shown "^ended 143"
    kill "$(cat "$T/loop")"
    wait "$(cat "$T/loop")" || true
}

@test "on a terminal: the end of jobiod is reported" {
    open_terminal
    keys 'clear; jobio top -i 500ms' Enter
    shown "^node1"
    kill -STOP "$(cat "$T/pid")"
    shown "in time"
    kill -CONT "$(cat "$T/pid")"
    until_true 30 eval '! shows "in time"'
    keys q
    shown "^ready>$"
}

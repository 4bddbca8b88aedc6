#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The command and a real jobiod, on a real kernel, in the guest. The store holds what make_store wrote
# before jobiod started.

load cli.bash
# As installed: a user may not be allowed to read the build directory.
PATH=${PATH#"$JOBIO_BUILD":}

jobiod_start() {
    jobiod --runtime /run/jobio --state "$STATE" > /run/jobiod.log 2>&1 3>&- &
    echo $! > /run/jobiod.pid
    until_true 120 jobio status --json > /dev/null 2>&1 || { cat /run/jobiod.log; return 1; }
}

jobiod_stop() {
    local pid
    pid=$(cat /run/jobiod.pid)
    kill -CONT "$pid"
    kill -TERM "$pid"
    until_true 60 eval "! kill -0 $pid 2> /dev/null"
}

setup_file() {
    [ -n "$JOBIO_GUEST" ] || { echo "makes users, and installs jobio: in a guest only" >&2; return 1; }
    unset JOBIO_SOCKET
    install "$JOBIO_BUILD"/{jobio,jobiod,tests/cluster/work} /usr/local/bin/
    groupadd -f jobio
    useradd -M -u 4101 alice
    useradd -M -u 4102 mallory
    useradd -M -u 4103 -G jobio watcher
    # the path that jobio uses by default
    STATE=$(dirname "$(jobio job 1 2>&1 | sed -n 's/.*reading the store \(.*\) directly$/\1/p')")
    [ -n "$STATE" ]
    export STATE
    mkdir -p "$STATE"
    make_store=$JOBIO_BUILD/tests/cli/make_store
    "$make_store" "$STATE/jobio.db"
    export WORK=/usr/local/bin/work
    jobiod_start
}

teardown_file() {
    ! kill -0 "$(cat /run/jobiod.pid)" 2> /dev/null || jobiod_stop
}

setup() {
    unset JOBIO_SOCKET
}

as() {
    setpriv --reuid "$1" --regid "$1" --init-groups -- "${@:2}"
}

@test "the answers of jobiod match the store" {
    for words in "job 123" "job 123 --all" "job 125 --steps"; do
        split jobio $words --json
        expect 0
        [ -z "$err" ]
        diff <(jq -S . <<< "$out") <(jobio --store "$STATE/jobio.db" $words --json | jq -S .)
        follows job <<< "$out"
    done
    split jobio job 123
    expect 0
    holds "$out" /scratch 1.0GiB "complete: 1/1 nodes"
    [ "$(jobio history -P -u alice)" = "$(jobio --store "$STATE/jobio.db" history -P -u alice)" ]
    [ "$(jobio history -P -S now-31days -E now-8days -o JobID | tail -n +2)" = 100 ]
    [ "$(jobio history -P --sort read -n 2 -o JobID | wc -l)" = 3 ]
}

@test "an answer lists the newest hundred runs of a number, and says that there are more" {
    split jobio job 126 --all --json
    expect 0
    one_line "the answer was too long"
    [ "$(jq length <<< "$out")" = 100 ]
    [ "$(jq -c '[.[0,99].job.restart]' <<< "$out")" = '[119,20]' ]
    split jobio job 126 --json
    expect 0
    [ -z "$err" ]
    [ "$(jq .job.restart <<< "$out")" = 119 ]
    [ "$(jobio --store "$STATE/jobio.db" job 126 --all --json | jq length)" = 120 ]
}

@test "a user sees their own jobs, and cannot distinguish those of others from missing ones" {
    split as alice jobio job 123
    expect 0
    split as alice jobio job 124
    expect 1
    one_line "no such job: 124"
    others=${err//124/N}
    split as alice jobio job 999
    expect 1
    [ "${err//999/N}" = "$others" ]
    split as alice jobio array 140
    expect 1
    one_line "no such array: 140"
    split as watcher jobio array 140
    expect 0
    split as alice jobio compare 123 124
    expect 1
    one_line "no such job: 124"
    [ "$(as alice jobio history -P -o JobID,User | tail -n +2 | sort -u | xargs)" = "123|alice" ]
    [ "$(as alice jobio history -P -u mallory | wc -l)" = 1 ]
    [ "$(as mallory jobio history -P -o JobID | tail -n +2)" = 124 ]
}

@test "the group jobio sees all" {
    split as watcher jobio job 123
    expect 0
    [ "$(as watcher jobio history -P -o User | tail -n +2 | sort -u | xargs)" = "alice mallory root" ]
}

@test "status" {
    split jobio status
    expect 0
    [[ $out == "OK: counting by fentry, 0 lost" ]]
    split jobio status --full
    expect 0
    holds "$out" "OK: counting" version: hooks: vfs_read store:
    printable "$BATS_TEST_TMPDIR/out"
    split as alice jobio status --json
    expect 0
    [ "$(jq -r '.hooks[] | select(.function == "vfs_write").backend' <<< "$out")" = fentry ]
}

@test "only root may retire" {
    split as alice jobio retire
    expect 1
    one_line retire "only root"
    # the test of the examples runs it as root
}

@test "jobio explain of a running job: its cgroup, and the permissions of /proc" {
    local job=/sys/fs/cgroup/job_124
    mkdir "$job"
    sh -c "echo \$\$ > $job/cgroup.procs; exec sleep 1000" 3>&- &
    until_true 20 grep -q . "$job/cgroup.procs"
    split as watcher jobio explain 124
    echo "$out$err"
    expect 0
    holds "$(tr -s ' \n' ' ' <<< "$out")" "only root and the job's user may read it (1 of 1 processes)"
    split jobio explain 124
    kill $!
    echo "$out"
    expect 0
    holds "$out" "/proc io, disk" "cgroup io.stat"
    # the user's own processes, also while one of them is a zombie, which /proc gives to root
    until_true 20 eval '[ ! -s "$job/cgroup.procs" ]'
    of_watcher() {
        sh -c "echo \$\$ > $job/cgroup.procs; exec setpriv --reuid watcher --regid watcher --init-groups sh -c '$1'" 3>&- &
    }
    of_watcher "exec sleep 1000"
    long=$!
    of_watcher "true & exec sleep 1000"
    parent=$!
    until_true 20 eval "grep -q '^State:.Z' /proc/\$(xargs < /proc/$parent/task/$parent/children)/status"
    # its parent may never wait for it
    split as watcher jobio explain 124
    echo "$out$err"
    expect 0
    holds "$(tr -s ' \n' ' ' <<< "$out")" \
        "only root may read it for processes whose parent has not waited for them yet (1 of 3 processes)"
    (sleep 0.5; kill $parent) 3>&- &
    split as watcher jobio explain 124
    kill $long
    echo "$out$err"
    until_true 20 rmdir "$job"
    expect 0
    holds "$out" "/proc io, disk"
    [[ $out != *"only root"* ]]
}

@test "jobio run for a user: the same account" {
    split as alice jobio run --json --timeline --output /tmp/alice.json -- sh -c \
        "$WORK write:/dev/shm/a:10:100 read:/dev/shm/a:10:100; $WORK write:/tmp/alice.data:20:30; exit 9"
    cat /tmp/alice.json
    expect 9
    [ -z "$err" ]
    follows job /tmp/alice.json
    json=$(cat /tmp/alice.json)
    [ "$(jq -c '[.complete, .job.exit_status, .job.command[0]]' <<< "$json")" = '[true,9,"sh"]' ]
    [ "$(jq -c '[.mounts[] | select(.mount == "/dev/shm").ops | .read.bytes, .read.requests, .write.bytes]' \
        <<< "$json")" = "[1000,10,1000]" ]
    [ "$(jq -c '[.mounts[] | select(.mount == "/").ops.write | .bytes, .requests]' <<< "$json")" = "[600,20]" ]
    [ "$(jq -c '[.mounts[] | select(.mount == "/").timeline.write_bytes | add]' <<< "$json")" = "[600]" ]
    # nothing of jobio itself: a static program is one open, and busybox looks for its settings when
    # it is not root's
    mkdir -p /run/static
    cp "$(command -v busybox)" /run/static/
    split as alice jobio run --json -- /run/static/busybox true
    expect 0
    echo "$err"
    [ "$(jq -c '[.mounts[] | [.mount, (.ops | map_values(.requests))]]' <<< "$err")" = \
        '[["/",{"stat":1}],["/run",{"open":1,"close":1}]]' ]
    until_true 60 eval '[ -z "$(find /sys/fs/cgroup -name "jobio-run-*")" ]'
}

@test "jobio run for a user: processes that outlive the command are reported" {
    as alice jobio run --json --output /tmp/alice-survivor.json -- \
        sh -c "sleep 1000 > /dev/null 2>&1 3>&- & echo \$!" > /run/survivor
    kill "$(cat /run/survivor)"
    follows job /tmp/alice-survivor.json
    jq -c '[.complete, .incomplete]' /tmp/alice-survivor.json
    [ "$(jq -c '[.complete, [.incomplete[] | [.cause, .count]]]' /tmp/alice-survivor.json)" = \
        '[false,[["still-running",1]]]' ]
}

jobiod_kill() {
    kill -KILL "$(cat /run/jobiod.pid)"
    until_true 60 eval "! kill -0 $(cat /run/jobiod.pid) 2> /dev/null"
}

# The cgroup of the only run, with a process in it, is in $left.
run_cgroup() {
    left=$(find /sys/fs/cgroup -name "jobio-run-*")
    [ "$(wc -w <<< "$left")" = 1 ] && grep -q . "$left/cgroup.procs"
}

# counted_by_next USER: a run whose jobiod is killed
counted_by_next() {
    # of the tests before
    until_true 60 eval '[ -z "$(find /sys/fs/cgroup -name "jobio-run-*")" ]'
    [ -p /run/go-on ] || mkfifo -m 666 /run/go-on
    as "$1" jobio run --json --output "/tmp/$1-killed.json" -- sh -c \
        "$WORK write:/dev/shm/$1-killed:5:4096; cat /run/go-on; $WORK write:/dev/shm/$1-killed:3:100; exit 7" \
        > /run/killed.out 2>&1 3>&- &
    run_pid=$!
    until_true 60 run_cgroup
    jobiod_kill
    jobiod_start
    # a process is still in it
    [ -d "$left" ]
    echo > /run/go-on
    code=0
    wait $run_pid || code=$?
    [ "$code" = 7 ]
    [ -z "$(< /run/killed.out)" ]
    follows job "/tmp/$1-killed.json"
    [ "$(jq -c '[.complete, (.mounts[] | select(.mount == "/dev/shm").ops.write | .bytes, .requests)]' \
        "/tmp/$1-killed.json")" = "[true,20780,8]" ]
    # an interval at most
    until_true 60 eval '[ ! -d "$left" ]'
    [ -z "$(ls /run/jobio/runs)" ]
}

@test "jobio run for a user: jobiod is killed meanwhile" {
    counted_by_next alice
}

@test "jobio run for root: jobiod is killed meanwhile" {
    counted_by_next root
}

uptime() {
    cut -d ' ' -f 1 /proc/uptime
}

# start_and_end_without_jobiod USER: jobiod is killed while a run in $run_pid has done a part of its I/O,
# and the command ends before there is another jobiod. In between are the uptimes $before and $after.
start_and_end_without_jobiod() {
    until_true 90 eval '[ -z "$(find /sys/fs/cgroup -name "jobio-run-*")" ]'
    [ -p /run/go-on ] || mkfifo -m 666 /run/go-on
    before=$(uptime)
    setpriv --reuid "$1" --regid "$1" --init-groups -- jobio run --json --output "/tmp/$1-absent.json" -- sh -c \
        "$WORK write:/dev/shm/$1-absent:5:4096; cat /run/go-on; $WORK write:/dev/shm/$1-absent:3:100; exit 7" \
        > /run/absent.out 2>&1 3>&- &
    run_pid=$!
    until_true 60 run_cgroup
    jobiod_kill
    echo > /run/go-on
    until_true 60 grep -q "waiting at most 30 seconds" /run/absent.out
    after=$(uptime)
    [ -d "$left" ]
    ! grep -q . "$left/cgroup.procs"
}

# ended_without_jobiod USER
ended_without_jobiod() {
    start_and_end_without_jobiod "$1"
    jobiod_start
    code=0
    wait $run_pid || code=$?
    cat /run/absent.out
    [ "$code" = 7 ]
    [ "$(grep -c . /run/absent.out)" = 1 ]
    follows job "/tmp/$1-absent.json"
    [ "$(jq -c '[.complete, .lost, .job.exit_status,
        (.mounts[] | select(.mount == "/dev/shm").ops.write | .bytes, .requests)]' "/tmp/$1-absent.json")" = \
        "[true,0,7,20780,8]" ]
    # without the time until jobiod answered; uptimes are cut off
    jq -e ".elapsed_s > 0 and .elapsed_s <= $after - $before + 0.01" "/tmp/$1-absent.json"
    until_true 60 eval '[ ! -d "$left" ]'
    [ -z "$(ls /run/jobio/runs)" ]
}

@test "jobio run for a user: the command ends while no jobiod runs" {
    ended_without_jobiod alice
}

@test "jobio run for root: the command ends while no jobiod runs" {
    ended_without_jobiod root
}

# bats test_tags=long
@test "jobio run: a signal ends the wait for jobiod" {
    start_and_end_without_jobiod alice
    kill -INT $run_pid
    code=0
    wait $run_pid || code=$?
    cat /run/absent.out
    [ "$code" = 7 ]
    [ "$(grep -c . /run/absent.out)" = 2 ]
    grep -q "no report" /run/absent.out
    [ ! -s /tmp/alice-absent.json ]
    jobiod_start
    # for the minute in which the account can be requested
    [ -d "$left" ]
    until_true 90 eval '[ ! -d "$left" ]'
    [ -z "$(ls /run/jobio/runs)" ]
}

# root_run NAME ARGUMENT...: the account of the same program is in $BATS_TEST_TMPDIR/NAME.json. It prints who
# counted it: jobiod numbers its runs, and jobio uses the number of its process.
root_run() {
    split jobio run "${@:2}" --json --output "$BATS_TEST_TMPDIR/$1.json" -- sh -c \
        "case \$(cat /proc/self/cgroup) in *jobio-run-????????????????*) echo jobiod ;; *) echo itself ;; esac
        $WORK write:/dev/shm/root-$1:10:100 read:/dev/shm/root-$1:7:50 missing:/dev/shm/none:3
        $WORK write:/tmp/root-$1:20:30; exit 9" 3>&-
    expect 9
    [ -z "$err" ]
    follows job "$BATS_TEST_TMPDIR/$1.json"
}

# exact NAME: what does not depend on time. "accounting" does: the self-test may take too long.
exact() {
    jq -S 'del(.accounting) | [.complete, .lost, .incomplete, .unsupported, .job.exit_status, (.job | keys), keys,
        (.mounts[] | [.mount, .fstype, .private, keys,
            (.ops | map_values([.requests, .bytes, .errors, .errno, .size_log2, .sequential, keys]))])]' \
        "$BATS_TEST_TMPDIR/$1.json"
}

@test "jobio run for root: through jobiod and without it, the same account" {
    root_run a
    [ "$out" = jobiod ]
    [ "$(jq -c '[.complete, (.mounts[] | select(.mount == "/dev/shm").ops
        | .write.bytes, .write.requests, .read.bytes, .read.requests, .open.errno)]' \
        "$BATS_TEST_TMPDIR/a.json")" = '[true,1000,10,350,7,{"ENOENT":3}]' ]
    root_run b --no-jobiod
    [ "$out" = itself ]
    diff <(exact a) <(exact b)
}

@test "jobio run for root: what jobiod does not count is counted without it" {
    local words
    # a run inside a run: each has its own account
    split jobio run --json --output "$BATS_TEST_TMPDIR/outer" -- sh -c \
        "$WORK write:/dev/shm/outer:2:10
            jobio run --json --output '$BATS_TEST_TMPDIR/inner' -- $WORK write:/dev/shm/inner:3:100"
    expect 0
    [ -z "$err" ]
    for words in "outer [true,320]" "inner [true,300]"; do
        [ "$(jq -c '[.complete, (.mounts[] | select(.mount == "/dev/shm").ops.write.bytes)]' \
            "$BATS_TEST_TMPDIR/${words% *}")" = "${words#* }" ]
    done
    root_run interval --interval 500ms
    [ "$out" = itself ]
    JOBIO_SOCKET=/nowhere/jobiod.sock root_run absent
    [ "$out" = itself ]
    split as alice jobio run --no-jobiod -- touch /tmp/was-run
    expect 125
    one_line "only root can count without jobiod"
    [ ! -e /tmp/was-run ]
}

@test "jobio run for root: a short command in a mount namespace of its own" {
    split unshare -m --propagation private sh -c "mount -t tmpfs own /mnt &&
        jobio run --json --output '$BATS_TEST_TMPDIR/json' -- '$WORK' write:/mnt/x:4:25"
    expect 0
    [ "$(jq -c '[.complete, (.mounts[] | select(.mount == "/mnt") | .source, .ops.write.bytes)]' \
        "$BATS_TEST_TMPDIR/json")" = '[true,"own",100]' ]
}

@test "jobio run for a user: text, signals, failures" {
    split as alice jobio run -- sh -c 'kill -TERM $$'
    expect 143
    holds "$err" "complete: 1/1 nodes"
    split as alice jobio run -- no-such-command
    expect 127
    one_line no-such-command
    printf '#!/no/interpreter\n' > /run/bad
    chmod +x /run/bad
    split as alice jobio run -- /run/bad
    expect 127
    one_line /run/bad
    # jobiod does not wait for a request for the accounts
    until_true 30 eval '[ -z "$(find /sys/fs/cgroup -name "jobio-run-*")" ]'
}

@test "jobio run for root: signals and failures, through jobiod" {
    split jobio run --json --output "$BATS_TEST_TMPDIR/json" -- sh -c \
        'cat /proc/self/cgroup; kill -TERM $$' 3>&-
    expect 143
    [[ $out == */jobio-run-???????????????* ]]
    [ -z "$err" ]
    [ "$(jq .job.exit_status "$BATS_TEST_TMPDIR/json")" = 143 ]
    # one that jobio run gets is for the command
    jobio run --json --output "$BATS_TEST_TMPDIR/json" -- sh -c \
        'trap "exit 5" USR1; echo > /run/trapped; while :; do sleep 0.1; done' 3>&- &
    until_true 60 test -e /run/trapped
    kill -USR1 $!
    code=0
    wait $! || code=$?
    [ "$code" = 5 ]
    printf '#!/no/interpreter\n' > /run/bad
    chmod +x /run/bad
    split jobio run -- /run/bad
    expect 127
    one_line /run/bad
    echo > /run/bad.text
    split jobio run -- /run/bad.text
    expect 126
    until_true 30 eval '[ -z "$(find /sys/fs/cgroup -name "jobio-run-*")" ]'
    split jobio run --output /nowhere/report -- touch /run/was-run
    expect 125
    one_line /nowhere/report
    [ ! -e /run/was-run ]
}

# The commands behind "Examples:" in a help, and in the manual.
examples_of_help() {
    sed -n '/^Examples:/,/^$/s/^  //p'
}

examples_of_manual() {
    sed -n 's/^\.Dl //p' "$1" | sed 's/\\-/-/g'
}

@test "every example of the help and of the manual runs" {
    {
        jobio --help | examples_of_help
        for sub in $(subcommands); do
            jobio help $sub | examples_of_help
        done
        examples_of_manual "$BATS_TEST_DIRNAME/../../doc/jobio.1"
    } | sort -u > /run/examples
    [ "$(wc -l < /run/examples)" -ge 20 ]
    for sub in $(subcommands) help; do
        grep -q "^jobio $sub" /run/examples
    done
    # the rules for the example of advise
    cd "$BATS_TEST_TMPDIR"
    cp "$BATS_TEST_DIRNAME/../../contrib/advice/10-jobio.conf" new.conf
    # one that ends what the others ask stands last
    # and the store has other jobs than the manual
    { grep -v retire /run/examples; grep retire /run/examples; } |
        sed 's/ 120_3 120_4/ 140_1 140_2/; s/ 123_4/ 140_1/; s/ 120\b/ 140/; s/ 130\b/ 123/; s/-n train/-n simulate/' \
            > /run/examples.sorted
    while read -r example; do
        split bash -o pipefail -c "$example" < /dev/null
        if [[ $example == *"status --all"* ]]; then # tests/cluster has nodes
            expect 3
            one_line "--all needs the URL of the nodes"
            continue
        fi
        if [[ $example == "jobio trace "* ]]; then # tests/bpf/trace.bats has traces
            expect 1
            one_line "does not trace jobs"
            continue
        fi
        if [[ $example == *"--from clickhouse"* ]]; then # tests/deliver has one
            expect 1
            one_line "no ClickHouse is configured"
            continue
        fi
        [ $status = 0 ] || { echo "$example"; expect 0; }
        [ -n "$out$err" ] || [[ $example == *">"* || $example == *--output* || $example == *--html* ]]
    done < /run/examples.sorted
    [ "$(jq .job.exit_status /tmp/io.json)" = 0 ]
    [ "$(wc -l < /tmp/writes.csv)" -ge 4 ]
}

@test "a jobiod that hangs is reported in one line, in time" {
    kill -STOP "$(cat /run/jobiod.pid)"
    SECONDS=0
    for words in "job 123" "status --json"; do
        split jobio $words
        expect 1
        one_line "in time"
    done
    split jobio status
    expect 3
    [[ $out == "UNKNOWN: "*"in time" ]]
    split as alice jobio run -- touch /tmp/was-run
    expect 125
    one_line "in time"
    [ ! -e /tmp/was-run ]
    [ $SECONDS -lt 60 ]
    # root counts without it
    split jobio run --json --output "$BATS_TEST_TMPDIR/json" -- "$WORK" write:/dev/shm/hung:5:20
    expect 0
    [ "$(jq -c '[.complete, (.mounts[] | select(.mount == "/dev/shm").ops.write.bytes)]' \
        "$BATS_TEST_TMPDIR/json")" = "[true,100]" ]
    kill -CONT "$(cat /run/jobiod.pid)"
}

@test "no jobiod: root reads the store itself" {
    jobiod_stop
    split jobio job 123
    expect 0
    one_line "jobiod is not running" "reading the store $STATE/jobio.db"
    holds "$out" /scratch 1.0GiB
    split jobio history -P -u alice -o JobID
    expect 0
    [ "$(tail -n +2 <<< "$out" | xargs)" = "123 123" ]
    split as alice jobio job 123
    expect 1
    one_line "jobiod is not running" "systemctl start jobiod"
}

#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# jobiod --check-config, and the exit status for what an admin must repair.

bats_require_minimum_version 1.5.0
load cli.bash

setup() {
    export SLURM_CONF=$BATS_TEST_TMPDIR/slurm.conf
    conf=$BATS_TEST_TMPDIR/jobio.conf state=$BATS_TEST_TMPDIR/state
    mkdir -p "$conf.d" "$state"
    echo "ClusterName=Alpha" > "$SLURM_CONF"
}

check_config() {
    jobiod --check-config --config "$conf" --state "$state"
}

@test "--check-config prints every error with file and line, and ends with 78" {
    printf '%s\n' 'bogus = 1' '[push]' 'interval = 3q' 'what is this' > "$conf"
    printf '%s\n' 'nodes = other' '[store]' 'keep = x' > "$conf.d/10.conf"
    run -78 --separate-stderr check_config
    [[ $stderr == "$conf:1: unknown key \"bogus\""$'\n'* ]]
    [[ $stderr == *$'\n'"$conf:3: interval: \"3q\" is not"* ]]
    [[ $stderr == *$'\n'"$conf:4: neither [section] nor KEY = VALUE"$'\n'* ]]
    [[ $stderr == *$'\n'"$conf.d/10.conf:3: keep: "* ]]
    [ "$(wc -l <<< "$stderr")" = 4 ]
    [[ $output != *ok* ]]
}

@test "--check-config prints once that a file cannot be read" {
    mkdir "$conf"
    run -78 --separate-stderr check_config
    [ "$stderr" = "cannot read $conf: Is a directory" ]
    rmdir "$conf"
    : > "$conf"
    mkdir "$conf.d/10.conf"
    run -78 --separate-stderr check_config
    [ "$stderr" = "cannot read $conf.d/10.conf: Is a directory" ]
}

@test "--check-config finds what only the parts of jobiod know, with its line" {
    printf '%s\n' '[push]' 'url = http://user:secret@gw:9091' '[peers]' 'readers = nosuchuser' \
        'url = http://x' '[history]' 'url = ftp://x' '[trace]' 'url = gopher://x' > "$conf"
    run -78 --separate-stderr check_config
    [[ $stderr == *"$conf:2: [push]: a URL contains a user or password"* ]]
    [[ $stderr == *"$conf:4: [peers] readers: there is no user \"nosuchuser\""* ]]
    [[ $stderr == *"$conf:7: [history]: \"ftp://x\" does not start with"* ]]
    [[ $stderr == *"$conf:9: [trace]: \"gopher://x\" does not start with"* ]]
    [ "$(wc -l <<< "$stderr")" = 4 ]
}

@test "--check-config prints what jobiod will do" {
    printf '%s\n' 'node = gpu1' 'interval = 10s' 'backend = kprobe' 'group = root' '[mpi]' 'count = yes' \
        '[report]' 'record = off' '[push]' 'url = http://gw:9091' > "$conf"
    printf '%s\n' 'nodes = cpu*' '[push]' 'url = http://cpu:9091' > "$conf.d/10-cpu.conf"
    printf '%s\n' 'nodes = gpu*' '[push]' 'url = http://gpu:9091' > "$conf.d/20-gpu.conf"
    run -0 --separate-stderr check_config
    [ -z "$stderr" ]
    [ "$output" = "file: $conf
file: $conf.d/10-cpu.conf (for other nodes)
file: $conf.d/20-gpu.conf
node: gpu1 of cluster alpha ($SLURM_CONF)
backend: kprobe
store: $state/jobio.db: does not exist, jobiod creates it
sinks: 1 push target; peers: none
settings that are not defaults:
    node = gpu1 ($conf:1)
    backend = kprobe ($conf:3)
    group = root ($conf:4)
    [mpi] count = yes ($conf:6)
    [report] record = off ($conf:8)
    [push] url = http://gpu:9091 ($conf.d/20-gpu.conf:3)
ok" ]
}

@test "--check-config accepts the settings in README.md" {
    tree=$(readlink -f "$BATS_TEST_DIRNAME/../..")
    . "$tree/tests/readme.bash"
    # There may be no user slurm here.
    (readme peers && readme push) | sed 's/^ *//; s/^readers = slurm$/readers = root/' > "$conf"
    run -0 --separate-stderr check_config
    [ -z "$stderr" ]
    [[ $output == *$'\n''sinks: 1 push target; peers: http://%n:9418'$'\n'* ]]
    [[ $output == *"    [peers] listen = 0.0.0.0:9418 ($conf:2)"* && $output == *"    [peers] readers = root ($conf:4)"* ]]
}

@test "--check-config says what a node lacks, which is not an error" {
    printf '%s\n' 'group = nosuchgroup' '[report]' 'record_program = /nonexistent/record' > "$conf"
    run -0 --separate-stderr check_config
    [[ $output == *$'\n''group: there is no group nosuchgroup: only root sees the jobs of others'$'\n'* ]]
    [[ $output == *$'\n''record: cannot run /nonexistent/record: No such file or directory: no job gets a record'$'\n'* ]]
    printf '%s\n' 'group = root' '[report]' 'record_program = /bin/true' > "$conf"
    run -0 --separate-stderr check_config
    [[ $output != *$'\n'group:* && $output != *$'\n'record:* ]]
}

@test "--check-config says that traces are not delivered without allow" {
    printf '%s\n' '[trace]' 'url = http://otel:4318' > "$conf"
    run -0 --separate-stderr check_config
    [[ $output == *$'\n''sinks: traces (otlp) at http://otel:4318 (not without "allow = yes" in [trace]); peers: none'$'\n'* ]]
    echo 'allow = yes' >> "$conf"
    run -0 --separate-stderr check_config
    [[ $output == *$'\n''sinks: traces (otlp) at http://otel:4318; peers: none'$'\n'* ]]
}

@test "--check-config finds an address that jobiod cannot listen at twice" {
    printf '%s\n' '[metrics]' 'listen = 127.0.0.1:9417 10.0.0.1:9418' 'listen = [::]:9418' '[peers]' \
        'url = http://%n:9418' 'listen = 0.0.0.0:9418' > "$conf"
    run -78 --separate-stderr check_config
    [ "$stderr" = "$conf:6: [peers] listen: 0.0.0.0:9418 is taken by 10.0.0.1:9418 of [metrics] listen ($conf:2)" ]
    printf '%s\n' '[metrics]' 'listen = [::1]:9417' 'listen = [::1]:9417' > "$conf"
    run -78 --separate-stderr check_config
    [ "$stderr" = "$conf:3: [metrics] listen: [::1]:9417 is taken by [::1]:9417 of [metrics] listen ($conf:2)" ]
    printf '%s\n' '[metrics]' 'listen = 127.0.0.1:9417 [::1]:9417 127.0.0.1:0' '[peers]' 'url = http://%n:9418' \
        'listen = 0.0.0.0:9418 127.0.0.1:0' > "$conf"
    run -0 --separate-stderr check_config
    [ -z "$stderr" ]
}

@test "--check-config finds a URL that the command cannot query" {
    for url in http:// head:9418 gopher://head:9418 http://head:x 'http://head:9418?a'; do
        printf '%s\n' '# one for all' '[ask]' "url = $url" > "$conf"
        run -78 --separate-stderr check_config
        [[ $stderr == "$conf:3: [ask]: \"$url\" "* ]]
        [ "$(wc -l <<< "$stderr")" = 1 ]
    done
    printf '%s\n' '[ask]' 'url = http://head:9418' > "$conf"
    run -0 --separate-stderr check_config
    [ -z "$stderr" ]
}

@test "--check-config names sections that do nothing, which is not an error" {
    printf '%s\n' '[peers]' 'munge_socket = /run/munge.socket' 'readers = root' '[push]' 'linger = 10m' \
        'metrics_user = no' 'proxy = http://proxy:3128' '[history]' 'table = jobio.io' 'delay = 5s' '[trace]' \
        'allow = yes' 'timeout = 5s' > "$conf"
    run -0 --separate-stderr check_config
    [ -z "$stderr" ]
    [ "$(grep 'has no url' <<< "$output")" = "$conf:3: [peers] has no url: each node reports only its own part
$conf:7: [push] has no url: nothing is pushed
$conf:9: [history] has no url: no step is sent to a database
$conf:13: [trace] has no url: no trace is delivered" ]
    printf '%s\n' '[peers]' 'munge_socket = /run/munge.socket' '[push]' 'linger = 10m' '[history]' 'format = bulk' \
        'read_url = http://db:8123' '[trace]' 'allow = yes' > "$conf"
    run -0 --separate-stderr check_config
    [[ $output != *"has no url"* ]]
}

@test "--check-config reports an unusable store, and does not touch it" {
    : > "$conf"
    echo "no database" > "$state/jobio.db"
    run -78 --separate-stderr check_config
    [[ $stderr == "store \"$state/jobio.db\": "*"file is not a database"* ]]
    rm "$state/jobio.db"
    "$JOBIO_BUILD/tests/cli/make_store" "$state/jobio.db"
    run -0 check_config
    [[ $output == *"store: $state/jobio.db: usable"* ]]
    sqlite3 "$state/jobio.db" "PRAGMA journal_mode = DELETE; PRAGMA user_version = 9999" > /dev/null
    before=$(ls "$state"; sha256sum "$state/jobio.db")
    run -78 --separate-stderr check_config
    [[ $stderr == *"made by a newer jobio (version 9999, this one knows "* ]]
    [ "$before" = "$(ls "$state"; sha256sum "$state/jobio.db")" ]
}

@test "a wrong setting ends jobiod with 78" {
    echo "bogus = 1" > "$conf"
    run -78 timeout 20 jobiod --config "$conf" --runtime "$BATS_TEST_TMPDIR/run" --state "$state"
    [[ $output == *"$conf:1: unknown key"* ]]
    run -78 timeout 20 jobiod --config /nonexistent/jobio.conf --runtime "$BATS_TEST_TMPDIR/run"
}

#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The metrics of a real jobiod on the build machine (make check-native): scraped over HTTP, and through
# a real node_exporter. As root; $BUILD is the build directory.

bats_require_minimum_version 1.5.0
load native

setup_file() {
    prepare metrics
    export PORT=$((20000 + $$ % 6000)) EXPORTER=$((26000 + $$ % 6000))
    mkdir -p "$T/text"
    cat > "$T/jobio.conf" << END
cluster = c1
node = node1
interval = 1s
[push]
linger = 15s
[metrics]
listen = 127.0.0.1:$PORT [::1]:$PORT
textfile = $T/text/jobio.prom
interval = 1s
END
    jobiod --config "$T/jobio.conf" --runtime "$T/run" --state "$T/state" > "$T/log" 2>&1 3>&- &
    echo $! > "$T/pid"
    prometheus-node-exporter --collector.disable-defaults --collector.textfile \
        --collector.textfile.directory="$T/text" --web.listen-address="127.0.0.1:$EXPORTER" \
        > /dev/null 2>&1 3>&- &
    echo $! > "$T/exporter"
    until_true 60 scrape || { cat "$T/log"; return 1; }
}

teardown_file() {
    end_it TERM exporter
    tidy
}

scrape() {
    curl -sSf "http://127.0.0.1:$PORT/metrics" > "$T/metrics" 2> "$T/curl"
}

# value FILE NAME [LABEL...]: the value of the only sample with this name and these labels
value() {
    local file=$1 name=$2 lines label
    shift 2
    lines=$(grep "^$name{" "$file") || { echo none; return; }
    for label; do
        lines=$(grep -F "$label" <<< "$lines") || { echo none; return; }
    done
    [ "$(wc -l <<< "$lines")" = 1 ] || { echo several; return; }
    echo "${lines##* }"
}

# shows VALUE NAME [LABEL...]: true if a new scrape has the sample with this value
shows() {
    local want=$1
    shift
    scrape
    [ "$(value "$T/metrics" "$@")" = "$want" ]
}

@test "a running job has exact metrics" {
    tag 7 0
    "$TELL" "$JOBIO_SOCKET" job JOBID=7 USER=alice ACCOUNT=physics PARTITION=batch
    CGROUP=$group "$BIN/step" join write "$T/tmpfs/file" 1234
    until_true 60 shows 123400 jobio_write_bytes_total 'jobid="7"' "mountpoint=\"$T/tmpfs\"" \
        'cluster="c1"' 'instance="node1"' 'fstype="tmpfs"'
    shows 1234 jobio_write_requests_total 'jobid="7"' "mountpoint=\"$T/tmpfs\""
    shows 123400 jobio_node_write_bytes_total "mountpoint=\"$T/tmpfs\""
    shows 1 jobio_job_info 'jobid="7"' 'user="alice"' 'account="physics"' 'state="running"'
    promtool check metrics < "$T/metrics"
}

@test "the page has the metrics of jobiod itself" {
    jobio status --json > "$T/status"
    shows 1 jobio_tracked_jobs
    shows 1 jobio_tracked_steps
    shows 0 jobio_events_lost_total
    shows "$(jq '[.hooks[] | select(.backend != "none")] | length' "$T/status")" \
        jobio_hooks 'state="attached"'
    [ "$(value "$T/metrics" jobio_hooks 'state="attached"')" -gt 0 ]
    shows "$(jq .store.bytes "$T/status")" jobio_store_size_bytes
    shows 1 jobio_build_info "version=\"$(jq -r .version "$T/status")\""
    shows 1 jobio_plugin_info 'version="0.1.0~test"'
    jq -e '.plugin == "0.1.0~test"' "$T/status"
    jq -e '.metrics.scrapes > 0 and .metrics.textfiles > 0' "$T/status"
}

@test "an ended job is kept for the linger time, the totals of the node forever" {
    "$TELL" "$JOBIO_SOCKET" end JOBID=7 STEP=0
    "$TELL" "$JOBIO_SOCKET" job-end JOBID=7
    until_true 12 shows 1 jobio_job_info 'jobid="7"' 'state="ended"'
    shows 123400 jobio_write_bytes_total 'jobid="7"' "mountpoint=\"$T/tmpfs\""
    jobio job 7 --json | jq -e --arg m "$T/tmpfs" \
        '.mounts[] | select(.mount == $m).ops.write | .bytes == 123400 and .requests == 1234'
    until_true 60 shows none jobio_job_info 'jobid="7"'
    shows none jobio_write_bytes_total 'jobid="7"'
    shows 123400 jobio_node_write_bytes_total "mountpoint=\"$T/tmpfs\""
}

@test "node_exporter accepts the text file" {
    [ "$(stat -c %a "$T/text/jobio.prom")" = 644 ]
    curl -sSf "http://127.0.0.1:$EXPORTER/metrics" > "$T/exported"
    [ "$(value "$T/exported" jobio_node_write_bytes_total "mountpoint=\"$T/tmpfs\"")" = 123400 ]
    grep -qx 'node_textfile_scrape_error 0' "$T/exported"
    grep -q "^node_textfile_mtime_seconds{file=\"$T/text/jobio.prom\"}" "$T/exported"
    [ -z "$(find "$T/text" -name '*.new')" ]
    promtool check metrics < "$T/text/jobio.prom"
}

@test "a text file that cannot be written is counted, and logged once" {
    mv "$T/text" "$T/elsewhere"
    failures() { jobio status --json | jq -e '.metrics.textfile_failures >= 3' > /dev/null; }
    until_true 60 failures
    jobio status --json | jq -e '.metrics.textfile_error | test("text/jobio.prom.new: No such file")'
    [ "$(grep -c 'metrics: cannot make' "$T/log")" = 1 ]
    mv "$T/elsewhere" "$T/text"
    touch -d @0 "$T/text/jobio.prom"
    until_true 60 eval '[ "$(stat -c %Y "$T/text/jobio.prom")" != 0 ]'
    jobio status --json | jq -e '.metrics | has("textfile_error") | not'
    scrape
    [ "$(value "$T/metrics" jobio_textfile_failures_total)" -ge 3 ]
}

@test "other HTTP requests are refused" {
    code() { curl -s -o /dev/null -w '%{http_code}' "$@"; }
    [ "$(code "http://[::1]:$PORT/metrics")" = 200 ]
    [ "$(code "http://127.0.0.1:$PORT/")" = 404 ]
    [ "$(code -X POST -d x "http://127.0.0.1:$PORT/metrics")" = 405 ]
    [ "$(code -X POST -d xx "http://127.0.0.1:$PORT/metrics")" = 413 ]
    [ "$(code -I "http://127.0.0.1:$PORT/metrics")" = 200 ]
    jobio status --json | jq -e '.metrics.refused == 3'
}

@test "a node that retires leaves no text file" {
    jobio retire
    until_true 30 eval '[ ! -e "$T/text/jobio.prom" ]'
    sleep 1.5 # an interval
    [ ! -e "$T/text/jobio.prom" ]
}

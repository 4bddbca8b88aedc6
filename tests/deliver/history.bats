#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# From a real step through a real jobiod into a real ClickHouse and back to the command, on the build
# machine (make check-native). As root; $BUILD is the build directory.

bats_require_minimum_version 1.5.0
load native

setup_file() {
    command -v clickhouse-server > /dev/null || skip "no clickhouse-server"
    prepare history
    export PORT=$((20000 + $$ % 10000))
    export SQL="$BATS_TEST_DIRNAME/../../sql/clickhouse" URL="http://127.0.0.1:$PORT"
    mkdir -p "$T/clickhouse"
    echo "feeder:in" > "$T/feeder"
    echo "reader:out" > "$T/reader"
    chmod 600 "$T"/{feeder,reader}
    cat > "$T/jobio.conf" << END
cluster = c1
node = node1
interval = 1s
[history]
url = $URL
credentials = $T/feeder
delay = 100ms
from = clickhouse
read_credentials = $T/reader
END
    configure_server
    start_server
    start_jobiod
}

# Old names of the sections, which newer releases accept, too.
configure_server() {
    cat > "$T/clickhouse/config.xml" << END
<yandex><logger><level>warning</level><console>1</console></logger><http_port>$PORT</http_port>
<tcp_port>$((PORT + 10000))</tcp_port><interserver_http_port>$((PORT + 20000))</interserver_http_port>
<listen_host>127.0.0.1</listen_host><path>$T/clickhouse/data/</path>
<tmp_path>$T/clickhouse/tmp/</tmp_path><user_files_path>$T/clickhouse/files/</user_files_path>
<format_schema_path>$T/clickhouse/formats/</format_schema_path><users_config>users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<timezone>UTC</timezone><mark_cache_size>5368709</mark_cache_size></yandex>
END
    cat > "$T/clickhouse/users.xml" << END
<yandex><profiles><default/><asker><readonly>2</readonly></asker></profiles><users>
<default><password></password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></default>
<feeder><password>in</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></feeder>
<reader><password>out</password><networks><ip>127.0.0.1</ip></networks>
<profile>asker</profile><quota>default</quota></reader>
</users><quotas><default/></quotas></yandex>
END
}

start_server() {
    (cd "$T/clickhouse" && exec clickhouse-server --config-file=config.xml) > "$T/server.log" 2>&1 3>&- &
    echo $! > "$T/server"
    until_true 60 ask "SELECT 1"
}

start_jobiod() {
    jobiod --config "$T/jobio.conf" --runtime "$T/run" --state "$T/state" >> "$T/log" 2>&1 3>&- &
    echo $! > "$T/pid"
    until_true 60 eval "jobio status --json > /dev/null 2>&1" || { cat "$T/log"; return 1; }
}

teardown_file() {
    tidy
    end_it KILL server
}

ask() {
    curl -sSf "$URL/" --data-binary "$1" 2> "$T/curl"
}

# Run the statements of a file one after the other.
ask_file() {
    local statement
    grep -v '^--' "$1" | while IFS= read -r -d ';' statement; do
        [ -z "${statement//[[:space:]]/}" ] || ask "$statement"
    done
}

# says WANT SQL: true if the query returns WANT
says() {
    [ "$(ask "$2")" = "$1" ]
}

# status JQ: true if the filter holds for the sink in the status
status() {
    jobio status --json | jq -e ".history | $1" > /dev/null
}

# step JOBID STEP REQUESTS: a step that makes this many writes of 100 bytes, and ends
step() {
    local group
    tag "$1" "$2"
    CGROUP=$group "$BIN/step" join write "$T/tmpfs/file" "$3"
    "$TELL" "$JOBIO_SOCKET" end JOBID="$1" STEP="$2"
}

@test "without the table nothing is lost, and jobiod reports what is missing" {
    step 7 0 1000
    until_true 60 status '.failures > 0'
    status '.state == "misconfigured" and .last_code == 404 and .waiting == 1 and .refused == 0'
    status '.last_error | contains("jobio")'
    jobio status --full | grep -A20 '^history' | grep -q 'waiting: 1'
}

@test "queued steps are delivered once the table exists, also by the next jobiod" {
    ask_file "$SQL/schema.sql"
    ask_file "$SQL/views.sql"
    end_it KILL pid
    start_jobiod
    until_true 60 status '.waiting == 0 and .state == "ok"'
    says "node1	100000	1000" \
        "SELECT node, write_bytes, write_requests FROM jobio.io FINAL WHERE mount = '$T/tmpfs'"
    says "running" "SELECT state FROM jobio.v_job"
}

@test "the end of the job and later steps are delivered, also after the server was killed" {
    end_it KILL server
    step 7 1 500
    "$TELL" "$JOBIO_SOCKET" job-end JOBID=7
    until_true 60 status '.waiting >= 1 and .failures > 0'
    start_server
    until_true 60 status '.waiting == 0'
    status '.refused == 0 and .given_up == 0'
    until_true 60 says "ended	2	150000" "SELECT state, steps, write_bytes FROM jobio.v_job"
}

@test "jobio prints the same from ClickHouse as from jobiod" {
    for words in "job 7 --json --steps" "job 7 --full" "job 7 --json --steps --timeline" "job 7 --timeline"; do
        jobio $words --config "$T/jobio.conf" > "$T/told"
        jobio $words --from store > "$T/stored"
        [ -s "$T/told" ]
        diff "$T/stored" "$T/told"
    done
    jobio history -P --config "$T/jobio.conf" > "$T/told"
    jobio history -P --from store > "$T/stored"
    grep -q '^7|' "$T/told"
    diff "$T/stored" "$T/told"
}

@test "a user who may not read the password is served by jobiod, and cannot force ClickHouse" {
    local copy
    copy=$(mktemp -d)
    cp "$BUILD/jobio" "$copy/" 2> /dev/null && "$copy/jobio" --version > /dev/null 2>&1 || skip "jobio is a script"
    chmod 755 "$copy" "$copy/jobio"
    cp "$T/jobio.conf" "$copy/conf"
    cp "$T/reader" "$copy/reader"
    sed -i "s|$T/reader|$copy/reader|" "$copy/conf"
    chmod 600 "$copy/reader"
    run -1 setpriv --reuid 65534 --regid 65534 --clear-groups -- "$copy/jobio" job 7 --config "$copy/conf" \
        --socket "$JOBIO_SOCKET"
    [[ $output == *"no such job"* || $output == *"no permission"* ]]
    run -1 setpriv --reuid 65534 --regid 65534 --clear-groups -- "$copy/jobio" job 7 --config "$copy/conf" \
        --from clickhouse
    [[ $output == *"reader"* ]]
    rm -r "$copy"
}

@test "without a password, users see their own jobs and root sees all" {
    local copy words
    copy=$(mktemp -d)
    cp "$BUILD/jobio" "$copy/" 2> /dev/null && "$copy/jobio" --version > /dev/null 2>&1 || skip "jobio is a script"
    chmod 755 "$copy" "$copy/jobio"
    sed '/credentials/d' "$T/jobio.conf" > "$copy/conf"
    echo "reader:out" > "$copy/reader"
    chmod 644 "$copy/conf"
    chgrp 65534 "$copy/reader"
    chmod 640 "$copy/reader"
    ask "INSERT INTO jobio.io (cluster, jobid, restart, het, step, step_name, node, tagged_at_ns, version, uid, user,
        state, job_ended, start_ns, end_ns, nodes_expected) SELECT 'c1', 70, restart, het, step, step_name, node,
        tagged_at_ns, version, 65534, 'nobody', state, 1, start_ns, end_ns, nodes_expected FROM jobio.io FINAL
        WHERE jobid = 7 AND mount = '$T/tmpfs' AND step = 0"
    for words in "job 7" "history -P -o JobID" "history -P -o JobID -u 0" "history -P -o JobID -u nobody"; do
        setpriv --reuid 65534 --regid 65534 --clear-groups -- "$copy/jobio" $words --config "$copy/conf" \
            --from clickhouse >> "$copy/told" 2>&1 || echo "failed: $words" >> "$copy/told"
    done
    printf '%s\n' "jobio: no such job: 7 ('jobio history -S now-30days' lists the jobs that you may see)" "failed: job 7" JobID 70 JobID JobID 70 | diff - "$copy/told"
    setpriv --reuid 65534 --regid 65534 --clear-groups -- "$copy/jobio" job 70 --config "$copy/conf" --from clickhouse
    jobio history -P -o JobID --config "$copy/conf" --from clickhouse | sort > "$copy/all"
    printf '%s\n' 7 70 JobID | diff - "$copy/all"
    # With a password, the database decides what they may see.
    setpriv --reuid 65534 --regid 65534 --clear-groups -- "$copy/jobio" job 7 --config "$copy/conf" \
        --credentials "$copy/reader" --from clickhouse
    rm -r "$copy"
}

@test "a step that the database refuses is set aside, and retried at the next start" {
    ask "ALTER TABLE jobio.io MODIFY COLUMN account FixedString(8)"
    step 8 0 10
    until_true 60 status '.waiting == 0'
    step 9 0 20
    "$TELL" "$JOBIO_SOCKET" job JOBID=9 USER=root ACCOUNT=much-too-long-for-that PARTITION=p
    step 9 1 30
    until_true 60 status '.refused >= 1 and .waiting == 0'
    grep -q 'put aside' "$T/log"
    ask "ALTER TABLE jobio.io MODIFY COLUMN account String"
    end_it TERM pid
    start_jobiod
    until_true 60 status '.refused == 0 and .waiting == 0'
    until_true 60 says "5000" "SELECT sum(write_bytes) FROM jobio.v_step WHERE jobid = 9"
}

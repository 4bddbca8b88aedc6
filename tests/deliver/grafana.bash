# SPDX-License-Identifier: GPL-2.0-or-later
# For grafana.bats: the servers, the jobs, and the queries of the dashboards.

ROOT=$BATS_TEST_DIRNAME/../..
GRAFANA=$BUILD/contrib/grafana # or those in an archive of `make dist`
[ -e "$GRAFANA/jobio-job.json" ] || GRAFANA=$ROOT/contrib/grafana

# --- servers --------------------------------------------------------------------------------------

start_gateway() {
    prometheus-pushgateway --web.listen-address="127.0.0.1:$1" --persistence.file= > "$T/$2.log" 2>&1 3>&- &
    echo $! > "$T/$2"
    until_true 60 curl -sf -o /dev/null "http://127.0.0.1:$1/-/ready"
}

# The shipped files, with seconds instead of minutes.
start_prometheus() {
    {
        printf 'global: {evaluation_interval: 1s}\nrule_files: [%s/rules.yml]\n' "$T"
        sed "s/pushgateway1:9091/127.0.0.1:$GATEWAY1/; s/pushgateway2:9091/127.0.0.1:$GATEWAY2/
             s/interval: 60s/interval: 1s/" "$ROOT/contrib/prometheus/scrape.yml"
        sed -n '/^    - job_name: jobio-nodes/,/^$/p' "$ROOT/contrib/prometheus/README.md" |
            sed "s/^  //; s/'node1:9417'.*'/'127.0.0.1:$PAGE'/; s/honor/scrape_interval: 1s\n    &/"
    } > "$T/prometheus.yml"
    sed 's/interval: 2m/interval: 1s/' "$ROOT/contrib/prometheus/rules.yml" > "$T/rules.yml"
    prometheus --web.listen-address="127.0.0.1:$PROMETHEUS" --config.file="$T/prometheus.yml" \
        --storage.tsdb.path="$T/tsdb" > "$T/prometheus.log" 2>&1 3>&- &
    echo $! > "$T/prometheus"
}

# Old names of the sections, which newer releases accept, too.
start_clickhouse() {
    mkdir -p "$T/clickhouse"
    cat > "$T/clickhouse/config.xml" << END
<yandex><logger><level>warning</level><console>1</console></logger><http_port>$PORT</http_port>
<tcp_port>$((BASE + 5))</tcp_port><interserver_http_port>$((BASE + 6))</interserver_http_port>
<listen_host>127.0.0.1</listen_host><path>$T/clickhouse/data/</path>
<tmp_path>$T/clickhouse/tmp/</tmp_path><user_files_path>$T/clickhouse/files/</user_files_path>
<format_schema_path>$T/clickhouse/formats/</format_schema_path><users_config>users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<timezone>UTC</timezone><mark_cache_size>5368709</mark_cache_size></yandex>
END
    cat > "$T/clickhouse/users.xml" << END
<yandex><profiles><default/></profiles><users>
<default><password></password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></default>
</users><quotas><default/></quotas></yandex>
END
    (cd "$T/clickhouse" && exec clickhouse-server --config-file=config.xml) > "$T/server.log" 2>&1 3>&- &
    echo $! > "$T/server"
}

start_jobiod() {
    cat > "$T/jobio.conf" << END
cluster = c1
node = node1
interval = 500ms
[push]
url = http://127.0.0.1:$GATEWAY1
url = http://127.0.0.1:$GATEWAY2
interval = 1s
linger = 1h
[metrics]
listen = 127.0.0.1:$PAGE
[history]
url = $URL
delay = 100ms
END
    jobiod --config "$T/jobio.conf" --runtime "$T/run" --state "$T/state" >> "$T/log" 2>&1 3>&- &
    echo $! > "$T/pid"
    until_true 60 eval "jobio status --json > /dev/null 2>&1" || { cat "$T/log"; return 1; }
}

ask() {
    curl -sSf "$URL/" --data-binary "$1" 2> "$T/curl"
}

ask_file() {
    local statement
    grep -v '^--' "$1" | while IFS= read -r -d ';' statement; do
        [ -z "${statement//[[:space:]]/}" ] || ask "$statement"
    done
}

# --- the jobs -----------------------------------------------------------------------------------

# work GROUP: some calls of each operation, in the step with that cgroup
work() {
    # shellcheck disable=SC2016
    bash -c '
        echo $$ > "$1/cgroup.procs"
        cd "$2" || exit
        for i in {1..20}; do
            printf %65536s > data
            read -r -N 60000 < data
            : > new
            [ -e missing ]
            rm new
        done
        printf %2097152s > full 2> /dev/null # no space
        rm full
    ' work "$1" "$T/tmpfs"
}

# hold GROUP NAME: keep a process in the step, so that it does not count as vanished
hold() {
    # shellcheck disable=SC2016
    bash -c 'echo $$ > "$1/cgroup.procs" && exec sleep 600' hold "$1" 3>&- &
    echo $! > "$T/$2"
}

# Job 7 of alice runs for a while and ends; job 8 of bob keeps running.
run_jobs() {
    local seven
    tag 7 0
    seven=$group
    hold "$seven" seven
    "$TELL" "$JOBIO_SOCKET" job JOBID=7 USER=alice ACCOUNT=physics PARTITION=batch
    tag 8 0
    hold "$group" eight
    "$TELL" "$JOBIO_SOCKET" job JOBID=8 USER=bob ACCOUNT=physics PARTITION=batch
    work "$group"
    for _ in {1..6}; do
        work "$seven"
        sleep 1 # so that there are samples between
    done
    end_it KILL seven
    "$TELL" "$JOBIO_SOCKET" end JOBID=7 STEP=0
    "$TELL" "$JOBIO_SOCKET" job-end JOBID=7
}

# Jobs that a short test does not have: one of more than a minute, and an incomplete one.
put_odd_rows() {
    until_true 60 eval '[ "$(ask "SELECT count() FROM jobio.io WHERE jobid = 7")" -gt 0 ]'
    ask "INSERT INTO jobio.io (cluster, jobid, step, node, tagged_at_ns, mount, fstype, version, uid, user, name,
        job_ended, start_ns, end_ns, job_elapsed_ns, job_longest_wait_ns, nodes_expected, lost, incomplete, wait_ns)
        SELECT cluster, 70, step, node, tagged_at_ns, mount, fstype, version, 1, 'carol', 'long', 1, start_ns,
        end_ns, 90000000000, 30000000000, 1, 3, '[]', 5000000000 FROM jobio.io FINAL
        WHERE jobid = 7 AND mount = '$T/tmpfs'"
}

# True if all data that the dashboards query has arrived.
all_arrived() {
    local query
    for query in 'count(jobio_job_end_timestamp_seconds{jobid="7",job="jobio"}) == 2' \
        'jobio_job_end_timestamp_seconds{jobid="7",job="jobio-nodes"}' \
        'sum(rate(jobio_read_bytes_total{jobid="7"}[10m])) > 0' \
        'sum(jobio_spool_rows) == 0' \
        'sum(jobio_failures_total{jobid="7",errno="ENOSPC"}) > 0' \
        'count(mountpoint:jobio_node_latency_seconds:median1w) >= 3' \
        "user_mountpoint:jobio_metadata_requests:rate5m{user=\"alice\",mountpoint=\"$T/tmpfs\"} > 0"; do
        promtool query instant "$SERVER" "$query" 2> /dev/null | grep -q '=>' || { echo "not there: $query" > "$T/missing"; return 1; }
    done
}

# --- the queries --------------------------------------------------------------------------------

value_of() {
    case $1 in
    cluster) echo c1 ;;
    jobid) echo 7 ;;
    user) echo alice ;;
    mountpoint) echo "$T/tmpfs" ;;
    esac
}

# Fill in the variables as Grafana does.
filled() {
    local name value now
    now=$(date +%s)
    local script="s|\\\$__rate_interval|10m|g; s|\\\$__range|1h|g"
    script+="; s|\\\${__from}|$((now - 3600))000|g; s|\\\${__to}|$((now + 3600))000|g"
    for name in cluster jobid user mountpoint; do
        value=$(value_of $name)
        script+="; s|\\\${$name:sqlstring}|'$value'|g; s|\\\$$name\\b|$value|g"
    done
    sed "$script"
}

# expressions: DASHBOARD/PANEL/REF <tab> PROMQL, one per line
expressions() {
    jq -r '.uid as $uid | .panels[] | .title as $title | .targets[]? | select(.expr)
        | "\($uid)/\($title)/\(.refId)\t\(.expr)"' "$GRAFANA"/*.json | filled
}

# statements: DASHBOARD/PANEL/REF <tab> COLUMNS WITH A UNIT OR LINK <tab> SQL, one per line
statements() {
    jq -r '.uid as $uid | .panels[] | .title as $title
        | ([.fieldConfig.overrides[]?.matcher.options] | join(" ")) as $columns | .targets[]? | select(.rawSql)
        | "\($uid)/\($title)/\(.refId)\t\($columns) \t\(.rawSql)"' "$GRAFANA"/*.json | filled
}

# variables TYPE: the queries for the values of variables, one per line
variables() {
    jq -r --arg type "$1" '.templating.list[] | select(.type == "query" and .datasource.type == $type).definition' \
        "$GRAFANA"/*.json | sort -u | filled
}

# data, zero (nothing else) or none
verdict_of_samples() {
    awk '/ => / { n++; sub(/.* => /, ""); if ($1 != 0 && $1 != "NaN") data = 1 }
        END { print data ? "data" : n ? "zero" : "none" }' "$1"
}

verdict_of_rows() {
    awk 'NR > 1 { n++; if ($0 !~ /^[0\t]*$/) data = 1 } END { print data ? "data" : n ? "zero" : "none" }' "$1"
}

# Queries without data, and the reason. any: depends on the kernel of this machine.
exceptions() {
    sed -E 's/^([^#]+[^ ]) +(zero|any) +#.*/\1\t\2/' << 'END'
jobio-fleet/Failed calls/A            zero # no read fails
jobio-job/Failed calls/B              zero #
jobio-fleet/Events lost/A             zero # all are accounted
jobio-fleet/Nodes/C                   zero #
jobio-fleet/Rows waiting/A            zero # all is taken
jobio-fleet/Refused or given up/A     zero #
jobio-fleet/Pushes that fail/A        any  # a busy machine may be late
jobio-user/Jobs that run/A            zero # alice's has ended
jobio-fleet/Jobs not complete/A       any  # what no hook can watch is missing in every job
jobio-fleet/Hooks missing/A           any  #
jobio-job/Complete/A                  any  #
jobio-job/Nodes/F                     any  #
jobio-user/Jobs/F                     any  #
END
}

# compare_verdicts FILE: all queries have data, except for the ones above
compare_verdicts() {
    awk -F '\t' '
        FILENAME != "-" { want[$1] = $2; next }
        { expected = $1 in want ? want[$1] : "data"; seen[$1] = 1
          if ($2 != expected && (expected != "any" || $2 == "none")) { print $1 ": " $2 ", not " expected; bad = 1 } }
        END {
            for (w in want) if (!(w in seen)) { print w ": not asked"; bad = 1 }
            exit bad
        }' <(exceptions | grep "^${2:-.}") - < "$1"
}

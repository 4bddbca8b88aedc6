#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-or-later
# The queries of contrib/grafana and contrib/prometheus: a job under a real jobiod is pushed to two real
# Pushgateways, scraped by a real Prometheus with the shipped scrape job and rules, and sent to a real
# ClickHouse with the shipped views. As root; $BUILD is the build directory.

bats_require_minimum_version 1.5.0
load native
load grafana

setup_file() {
    local program
    for program in prometheus promtool prometheus-pushgateway clickhouse-server jq; do
        command -v $program > /dev/null || skip "no $program"
    done
    prepare grafana
    export BASE=$((20000 + $$ % 900 * 10))
    export GATEWAY1=$BASE GATEWAY2=$((BASE + 1)) PROMETHEUS=$((BASE + 2)) PAGE=$((BASE + 3))
    export PORT=$((BASE + 4)) URL="http://127.0.0.1:$((BASE + 4))" SERVER="http://127.0.0.1:$PROMETHEUS"
    mount -o remount,size=1m "$T/tmpfs"
    start_clickhouse
    start_gateway "$GATEWAY1" gateway1
    start_gateway "$GATEWAY2" gateway2
    start_prometheus
    until_true 60 ask "SELECT 1"
    ask_file "$ROOT/sql/clickhouse/schema.sql"
    ask_file "$ROOT/sql/clickhouse/views.sql"
    start_jobiod
    run_jobs
    put_odd_rows
    until_true 60 all_arrived || { cat "$T/missing"; tail -n 20 "$T/log" "$T/prometheus.log"; return 1; }
}

teardown_file() {
    end_it KILL eight
    tidy
    end_it KILL server
    end_it KILL prometheus
    end_it KILL gateway1
    end_it KILL gateway2
    [ ! -e "$T/victoria.pid" ] || end_it KILL victoria.pid
}

@test "each data source has its dashboard" {
    local made source
    made=$(cd "$GRAFANA" && printf '%s\n' *.json)
    source=$(cd "$ROOT/contrib/grafana/src" && printf '%s\n' *.jq | sed '/^panels/d; s/^/jobio-/; s/jq$/json/')
    [ "$made" = "$source" ]
}

@test "the dashboards have the fields that Grafana needs" {
    local found
    found=$(jq -rn -f "$BATS_TEST_DIRNAME/grafana_check.jq" "$GRAFANA"/*.json)
    echo "$found"
    [ -z "$found" ]
    [ "$(jq -r .uid "$GRAFANA"/*.json | sort | uniq -d)" = "" ]
    # a link leads to an existing dashboard, with one of its variables
    local uid variable
    jq -r '.. | .url? // empty | select(startswith("/d/"))' "$GRAFANA"/*.json | sort -u |
        sed -E 's|^/d/([a-z-]+)\?\$\{([a-z]+):queryparam\}&\$\{cluster:queryparam\}&var-([a-z]+)=.*|\1 \2 \3|' > "$T/links"
    [ "$(wc -l < "$T/links")" = 6 ]
    while read -r uid source variable; do
        jq -es --arg uid "$uid" --arg v "$variable" --arg s "$source" \
            'map(select(.uid == $uid))[0].templating.list | map(.name) | index($v) and index($s)' \
            "$GRAFANA"/*.json
    done < "$T/links"
}

# clicks FROM TO: how many, along the links in cells, from one dashboard to the other; nothing: no way
clicks() {
    local known=$1 n
    for n in 1 2 3 4; do
        known+=" $(jq -r --arg known "$known" 'select(.uid | IN($known | split(" ")[])) | .. | .url? // empty |
            capture("^/d/(?<uid>[a-z-]+)").uid' "$GRAFANA"/*.json | sort -u | tr '\n' ' ')"
        [[ " $known" != *" $2 "* ]] || { echo $n; return; }
    done
}

@test "a job is two clicks from the fleet and from each list, in metrics and in the history" {
    [ "$(clicks jobio-fleet jobio-job)" = 1 ]
    [ "$(clicks jobio-user jobio-job)" = 1 ]
    [ "$(clicks jobio-mount jobio-job)" -le 2 ]
    [ "$(clicks jobio-history jobio-history-job)" = 1 ]
    [ "$(clicks jobio-history-user jobio-history-job)" = 1 ]
    [ "$(clicks jobio-history-mount jobio-history-job)" -le 2 ]
}

@test "Prometheus accepts the rules, and each recording rule has a result" {
    promtool check config "$T/prometheus.yml"
    curl -sSf "$SERVER/api/v1/rules" > "$T/rules.json"
    jq -e '[.data.groups[].rules[]] | length > 30 and all(.health == "ok")' "$T/rules.json" ||
        { jq '.data.groups[].rules[] | select(.health != "ok")' "$T/rules.json"; return 1; }
    local name
    for name in $(sed -n 's/.*- record: //p' "$ROOT/contrib/prometheus/rules.yml" | sort -u); do
        promtool query instant "$SERVER" "$name" | grep -q '=>' || { echo "nothing: $name"; return 1; }
    done
}

@test "each alert has a test that fires and one that does not" {
    awk '
        FNR == NR { if (/- alert: /) fires[$3] = silent[$3] = 0; next }
        /- eval_time: /  { if (name != "" && !expects) silent[name]++; name = ""; expects = 0 }
        /alertname: /    { name = $2 }
        /exp_alerts:/    { fires[name]++; expects = 1 }
        END {
            if (name != "" && !expects) silent[name]++
            for (a in fires) if (!fires[a] || !silent[a]) { print a, fires[a], silent[a]; bad = 1 }
            exit bad
        }' "$ROOT"/contrib/prometheus/{rules,rules_test}.yml
}

@test "every PromQL expression of the dashboards has a result" {
    expressions > "$T/expressions"
    [ "$(wc -l < "$T/expressions")" -gt 100 ]
    local where text
    while IFS=$'\t' read -r where text; do
        promtool query instant "$SERVER" "$text" > "$T/answer" 2>&1 ||
            { echo "$where: $(cat "$T/answer"): $text" >> "$T/wrong"; continue; }
        printf '%s\t%s\n' "$where" "$(verdict_of_samples "$T/answer")" >> "$T/verdicts"
    done < "$T/expressions"
    [ ! -e "$T/wrong" ] || { cat "$T/wrong"; return 1; }
    compare_verdicts "$T/verdicts"
}

@test "VictoriaMetrics accepts every expression" {
    command -v victoria-metrics > /dev/null || skip "no victoria-metrics"
    local where text victoria="http://127.0.0.1:$((BASE + 7))"
    victoria-metrics -httpListenAddr="${victoria#http://}" -storageDataPath="$T/victoria" \
        -memory.allowedBytes=64MB > "$T/victoria.log" 2>&1 3>&- &
    echo $! > "$T/victoria.pid"
    until_true 60 curl -sf -o /dev/null "$victoria/health"
    while IFS=$'\t' read -r where text; do
        curl -sG "$victoria/api/v1/query" --data-urlencode "query=$text" > "$T/answer"
        grep -q '^{"status":"success"' "$T/answer" || echo "$where: $(cat "$T/answer")" >> "$T/wrong_victoria"
    done < <(expressions)
    end_it KILL victoria.pid
    [ ! -e "$T/wrong_victoria" ] || { cat "$T/wrong_victoria"; return 1; }
}

@test "every SQL statement of the dashboards has a result, with the columns that have a unit" {
    statements > "$T/statements"
    [ "$(wc -l < "$T/statements")" -gt 40 ]
    local where columns text column
    while IFS=$'\t' read -r where columns text; do
        ask "$text FORMAT TabSeparatedWithNames" > "$T/answer" ||
            { echo "$where: $(curl -s "$URL/" --data-binary "$text"): $text" >> "$T/wrong_sql"; continue; }
        printf '%s\t%s\n' "$where" "$(verdict_of_rows "$T/answer")" >> "$T/verdicts_sql"
        for column in $columns; do
            head -n 1 "$T/answer" | tr '\t' '\n' | grep -qx -- "$column" ||
                echo "$where: no column $column: $(head -n 1 "$T/answer")" >> "$T/wrong_sql"
        done
    done < "$T/statements"
    [ ! -e "$T/wrong_sql" ] || { cat "$T/wrong_sql"; return 1; }
    compare_verdicts "$T/verdicts_sql" jobio-history
}

@test "every variable of the dashboards has values" {
    local text metric label
    while IFS=$'\t' read -r text; do
        metric=${text#label_values(} metric=${metric%, *} label=${text##*, } label=${label%)}
        curl -sSfG "$SERVER/api/v1/label/$label/values" --data-urlencode "match[]=$metric" |
            jq -e --arg wanted "$(value_of "$label")" '.data | index($wanted) != null'
    done < <(variables prometheus)
    while IFS=$'\t' read -r text; do
        ask "$text" > "$T/answer"
        [ -s "$T/answer" ]
    done < <(variables grafana-clickhouse-datasource)
    [ "$(variables prometheus | wc -l)" -ge 3 ]
    [ "$(variables grafana-clickhouse-datasource | wc -l)" -ge 3 ]
}

@test "doc/metrics.md lists every metric and no other" {
    local name
    { curl -sSf "http://127.0.0.1:$PAGE/metrics"; curl -sSf "http://127.0.0.1:$GATEWAY1/metrics"; } |
        sed -n 's/^# TYPE \(jobio_[a-z_]*\) .*/\1/p' | sort -u > "$T/shown"
    grep -o '\bjobio_[a-z_]*[a-z]\b' "$ROOT/doc/metrics.md" | sort -u > "$T/told"
    [ "$(wc -l < "$T/shown")" -gt 50 ]
    while read -r name; do
        grep -qx "${name/jobio_node_/jobio_}" "$T/told" || { echo "not described: $name"; return 1; }
    done < "$T/shown"
    # Only while something waits; only if traces are delivered.
    printf '%s\n' jobio_spool_oldest_timestamp_seconds jobio_trace_spans_total >> "$T/shown"
    while read -r name; do
        grep -qx "$name" "$T/shown" || { echo "not there: $name"; return 1; }
    done < "$T/told"
}

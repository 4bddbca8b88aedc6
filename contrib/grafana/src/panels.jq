# SPDX-License-Identifier: GPL-2.0-or-later
# What the dashboards are made of. A dashboard is a list of panels, each of which is made by one of
# the functions below and knows its width and height; they are set in lines of 24 columns.

# --- data sources ---------------------------------------------------------------------------------
# The site chooses them in the dashboard: no uid is written down.

def prometheus: {type: "prometheus", uid: "${prometheus}"};
def clickhouse: {type: "grafana-clickhouse-datasource", uid: "${clickhouse}"};

# --- PromQL ---------------------------------------------------------------------------------------
# Several gateways have the same series, and a node may be scraped as well: fold them first.

def fold: "max without (pushgateway, job) (\(.))";
def series($name; $select): "\($name){cluster=\"$cluster\"\($select)}";
def rate($name; $select): "rate(\(series($name; $select))[$__rate_interval])" | fold;
# The last value in the time shown: of an ended job, too.
def last($name; $select): "last_over_time(\(series($name; $select))[$__range])" | fold;

# Joins: a job's series get its user, or are kept if the job is this user's.
def with_user: "\(.) * on (cluster, instance, jobid) group_left (user) max by (cluster, instance, jobid, user) (\(series("jobio_job_info"; "")))";
def of_user: "\(.) * on (cluster, instance, jobid) group_left () max by (cluster, instance, jobid) (\(series("jobio_job_info"; ",user=\"$user\"")))";
# The same for jobs that may have ended.
def of_user_last: "\(.) * on (cluster, instance, jobid) group_left () max by (cluster, instance, jobid) (\("last_over_time(\(series("jobio_job_info"; ",user=\"$user\""))[$__range])"))";

# The sum of f over the kinds of calls. Where nothing made a metadata call there are no such series.
def all_calls(f):
  "(\("read" | f)) + (\("write" | f)) + ((\("metadata" | f)) or (\("read" | f)) * 0)";

# --- queries --------------------------------------------------------------------------------------

# Over time. 1m: what jobiod pushes and Prometheus scrapes; $__rate_interval is four times that.
def line($expr; $legend):
  {datasource: prometheus, expr: $expr, legendFormat: $legend, interval: "1m", range: true, instant: false};
# Now.
def now($expr):
  {datasource: prometheus, expr: $expr, legendFormat: "", interval: "1m", range: false, instant: true, format: "table"};

def sql($text):
  {datasource: clickhouse, rawSql: $text, editorType: "sql", queryType: "table", format: 1};
def sql_over_time($text):
  {datasource: clickhouse, rawSql: $text, editorType: "sql", queryType: "timeseries", format: 0};

# --- SQL ------------------------------------------------------------------------------------------
# Of the steps that began in the time shown. FINAL: one version of each row. The table, not a view,
# because it is partitioned by this time. ${...:sqlstring} comes in quotes.

def during: "cluster = ${cluster:sqlstring} AND tagged_at_ns >= ${__from}000000 AND tagged_at_ns < ${__to}000000";
def this_job: "cluster = ${cluster:sqlstring} AND jobid = toUInt32OrZero(${jobid:sqlstring})";
def sums: "sum(read_bytes) AS read, sum(write_bytes) AS written, sum(meta_requests) AS metadata_calls, sum(errors) AS failed_calls, sum(wait_ns) / 1e9 AS waited";
# The failures that tell of the file system, and the one that programs ask for, from op_errno.
def failures: ["ENOSPC", "EDQUOT", "EIO", "ESTALE", "EROFS", "ETIMEDOUT", "ENOENT"];
def failures_by($columns; $where):
  "SELECT \($columns), " + ([failures[] | "sum(visitParamExtractUInt(errno_, '\(.)')) AS \(.)"] | join(", "))
  + " FROM (SELECT \($columns), errno_ FROM jobio.io FINAL ARRAY JOIN op_errno AS errno_ WHERE \($where) AND errno_ != '') GROUP BY \($columns) ORDER BY "
  + ([failures[:-1][]] | join(" + ")) + " DESC LIMIT 50";
def step_hour: "toStartOfHour(toDateTime(intDiv(tagged_at_ns, 1000000000)))";

# --- panels ---------------------------------------------------------------------------------------

def letters: [range(0; length) as $i | .[$i] + {refId: ("ABCDEFGHIJ" | .[$i:$i + 1])}];
def size($w; $h): . + {gridPos: {w: $w, h: $h}};

def panel($type; $title; $text; $targets):
  {type: $type, title: $title, description: $text, datasource: $targets[0].datasource,
   targets: ($targets | letters), fieldConfig: {defaults: {}, overrides: []}, options: {}};

def unit($unit): .fieldConfig.defaults.unit = $unit;

# A number: its last value, or that of one query.
def number($title; $unit; $text; $target):
  panel("stat"; $title; $text; [$target])
  | unit($unit)
  | .options = {colorMode: "none", graphMode: "none", textMode: "value",
                reduceOptions: {calcs: ["lastNotNull"], fields: "", values: false}}
  | size(4; 4);

# 1 and 0 in words; 0 is red.
def yes_or_no:
  .fieldConfig.defaults.mappings = [{type: "value", options: {
      "1": {text: "yes", color: "green", index: 0}, "0": {text: "no", color: "red", index: 1}}}]
  | .options.colorMode = "value";

# Red from `$limit` on.
def red_from($limit):
  .fieldConfig.defaults.color = {mode: "thresholds"}
  | .fieldConfig.defaults.thresholds = {mode: "absolute", steps: [
      {color: "green", value: null}, {color: "red", value: $limit}]}
  | .options.colorMode = "value";

def lines($title; $unit; $text; $targets):
  panel("timeseries"; $title; $text; $targets)
  | unit($unit)
  | .fieldConfig.defaults += {min: 0, custom: {drawStyle: "line", lineWidth: 1, fillOpacity: 0,
                              showPoints: "auto", spanNulls: false, stacking: {group: "A", mode: "none"}}}
  | .options = {legend: {showLegend: true, displayMode: "table", placement: "bottom", calcs: ["mean", "max"]},
                tooltip: {mode: "multi", sort: "desc"}}
  | size(12; 8);
def stacked:
  .fieldConfig.defaults.custom += {fillOpacity: 30, stacking: {group: "A", mode: "normal"}};

def override($column; $properties):
  {matcher: {id: "byName", options: $column},
   properties: ($properties | to_entries | map({id: .key, value: .value}))};

# columns: [[name, unit, expression]...], of instant queries that have the same labels; labels: what
# they are called; links: {column: url}. Sorted by the first column.
def table($title; $text; $labels; $columns; $links):
  panel("table"; $title; $text; [$columns[] | now(.[2])])
  | .transformations = [
      {id: "merge", options: {}},
      {id: "organize", options: {
        excludeByName: {Time: true},
        indexByName: {},
        renameByName: ($labels
          + ([range(0; $columns | length) as $i
              | {((if ($columns | length) == 1 then "Value" else "Value #" + ("ABCDEFGHIJ" | .[$i:$i + 1]) end)):
                 $columns[$i][0]}] | add))}}]
  | .fieldConfig.overrides = ([$columns[] | override(.[0]; {unit: .[1]})]
      + [$links | to_entries[] | override(.key; {links: [{title: "open", url: .value}]})])
  | .options = {showHeader: true, sortBy: [{displayName: $columns[0][0], desc: true}]}
  | size(12; 9);

# units: {column: unit}, those that the statement has. Sorted by the statement.
def sql_table($title; $text; $units; $links; $statement):
  panel("table"; $title; $text; [sql($statement)])
  | .fieldConfig.overrides = ([$units | to_entries[] | .key as $column
          | select($statement | test("\\b\($column)\\b")) | override($column; {unit: .value})]
      + [$links | to_entries[] | override(.key; {links: [{title: "open", url: .value}]})])
  | .options = {showHeader: true}
  | size(12; 9);

def bars($title; $text; $statement):
  panel("barchart"; $title; $text; [sql($statement)])
  | unit("short")
  | .options = {orientation: "auto", xTickLabelRotation: -45, showValue: "never", stacking: "none",
                legend: {showLegend: true, displayMode: "list", placement: "bottom", calcs: []},
                tooltip: {mode: "multi", sort: "none"}}
  | size(12; 8);

def words($text):
  {type: "text", title: "", options: {mode: "markdown", content: $text}} | size(24; 4);
def heading($title):
  {type: "row", title: $title, collapsed: false, panels: []} | size(24; 1);

# Left to right, then down.
def placed:
  reduce .[] as $p ({x: 0, y: 0, high: 0, done: []};
    (if .x + $p.gridPos.w > 24 then {x: 0, y: (.y + .high), high: 0, done} else . end)
    | .done += [$p + {id: (.done | length + 1), gridPos: ($p.gridPos + {x, y})}]
    | .x += $p.gridPos.w
    | .high = ([.high, $p.gridPos.h] | max))
  | .done;

# --- links ----------------------------------------------------------------------------------------

def to($uid; $source; $variable):
  "/d/\($uid)?${\($source):queryparam}&${cluster:queryparam}&\($variable)&${__url_time_range}";
def cell($variable): "var-\($variable)=${__value.raw:percentencode}";
def to_job: to("jobio-job"; "prometheus"; cell("jobid"));
def to_user: to("jobio-user"; "prometheus"; cell("user"));
def to_mount: to("jobio-mount"; "prometheus"; cell("mountpoint"));
def to_past_job: to("jobio-history-job"; "clickhouse"; cell("jobid"));
def to_past_user: to("jobio-history-user"; "clickhouse"; cell("user"));
def to_past_mount: to("jobio-history-mount"; "clickhouse"; cell("mountpoint"));

# --- variables ------------------------------------------------------------------------------------

def choose_source($name; $type; $shown):
  {type: "datasource", name: $name, label: $shown, query: $type, refresh: 1, regex: "",
   multi: false, includeAll: false, hide: 0};
def query_variable($name; $source; $query):
  {type: "query", name: $name, label: $name, datasource: $source, query: $query, refresh: 2,
   sort: 1, regex: "", multi: false, includeAll: false, hide: 0};
def label_variable($name; $query):
  query_variable($name; prometheus; {query: $query, refId: "V"}) + {definition: $query};
def sql_variable($name; $query):
  query_variable($name; clickhouse; $query) + {definition: $query};
# Typed in, or from a link: a list of all jobs would be long, and lack those of another time.
def typed($name):
  {type: "textbox", name: $name, label: $name, query: "", current: {text: "", value: ""},
   options: [{selected: true, text: "", value: ""}], hide: 0};

def cluster_of_metrics: label_variable("cluster"; "label_values(jobio_build_info, cluster)");
def cluster_of_history: sql_variable("cluster"; "SELECT DISTINCT cluster FROM jobio.io ORDER BY cluster");

# --- dashboards -----------------------------------------------------------------------------------

# refresh: how often the browser asks again: samples come each minute, steps of the history when they end.
def dashboard($uid; $title; $text; $from; $refresh; $variables; $panels):
  {uid: $uid, title: $title, description: $text, id: null, schemaVersion: 37, version: 1,
   tags: ["jobio"], editable: true, graphTooltip: 1, timezone: "browser", refresh: $refresh,
   time: {from: $from, to: "now"}, annotations: {list: []},
   links: [{type: "dashboards", title: "jobio", tags: ["jobio"], asDropdown: true, icon: "external link",
            includeVars: true, keepTime: true, targetBlank: false, tooltip: "", url: ""}],
   templating: {list: $variables}, panels: ($panels | placed)};

def metrics_dashboard($name; $title; $text; $from; $variables; $panels):
  dashboard("jobio-\($name)"; "jobio: \($title)"; $text; $from; "1m";
    [choose_source("prometheus"; "prometheus"; "Prometheus"), cluster_of_metrics] + $variables;
    [words($text)] + $panels);
def history_dashboard($name; $title; $text; $from; $variables; $panels):
  dashboard("jobio-\($name)"; "jobio history: \($title)"; $text; $from; "5m";
    [choose_source("clickhouse"; "grafana-clickhouse-datasource"; "ClickHouse"), cluster_of_history]
    + $variables;
    [words($text)] + $panels);

# SPDX-License-Identifier: GPL-2.0-or-later
# The truth (what a workload says) against the report of `jobio run --json`, given with --slurpfile as
# $report. Prints the verdict on the first line, then every field that differs:
#   exact        all that the truth states is so, and nothing else was counted
#   approximate  the same, but the truth could only state a range, or the report says by itself that
#                it is incomplete
#   unsupported  what differs are operations of which the report says that they are not counted
#   WRONG        anything else

def key: "\(.mount) (\(.fstype)\(if .private then ", private" else "" end))";
def by_mount: map({key: key, value: .}) | from_entries;

# "field: WANTED, not GOT" where they differ; a pair is a range
def differs($got):
    to_entries[] | .key as $field | .value as $want
    | if $want | type == "array" and $field == "bytes"
      then select($got[$field] < $want[0] or $got[$field] > $want[1])
      else select($got[$field] != $want) end
    | "\($field) \($want | tojson), not \($got[$field] | tojson)";

def differing_ops($want; $got):
    ($want + $got | keys[]) as $op
    | ($want[$op] // {requests: 0}) as $w | ($got[$op] // {requests: 0, bytes: 0, errors: 0,
        async_requests: 0, errno: {}, size_log2: []}) as $g
    | [$w | differs($g)] | select(length > 0) | {op: $op, text: join("; ")};

def differing_cache($want; $got):
    select($want) | [$want | del(.fill_bytes) | differs($got // {})]
        + [$want.fill_bytes | differs($got.fill_bytes // {}) | "fill " + .]
    | select(length > 0) | {op: "cache", text: join("; ")};

(.mounts | by_mount) as $truth
| $report[0] as $report
| ($report.mounts | by_mount) as $counted
| [$report.unsupported[], ($report.mounts[] | .unsupported // [] | .[]),
    ($report.incomplete[] | .ops // [] | .[])] as $unsupported
| [($truth + $counted | keys[]) as $m
    | ($truth[$m] // {ops: {}}) as $want | ($counted[$m] // {ops: {}}) as $got
    | (differing_ops($want.ops; $got.ops), differing_cache($want.cache; $got.cache))
    | .text = "\($m) \(.op): \(.text)"] as $differing
| ($differing | map(select(.op as $op | $unsupported | index($op) == null))) as $wrong
| ([$truth[].ops[].bytes? | type == "array"] | any) as $ranged
| ([$report.incomplete[].cause] - ["hook-not-attached"]) as $causes
| (if $wrong != [] then "WRONG"
   elif $differing != [] then "unsupported"
   elif $ranged or $causes != [] then "approximate"
   else "exact" end),
  $differing[].text,
  (if $causes != [] then "incomplete: \($causes | join(", "))" else empty end)

# SPDX-License-Identifier: GPL-2.0-or-later
# Compares the truth (the output of workloads) with the reports of `jobio run --json`. Input: an array of
# {row, truth, report} or {row, error}; $rows: the lines "ROW EXPECTED"; $complete: whether the kernel
# has all hooks, so that a report that lacks one is "unsupported" whatever the workload did. Output: TAP, and
# a line "= ROW VERDICT" for each. If a truth has "only", only these operations on its own mounts are compared.
# The verdicts:
#   exact        the report matches the truth, and nothing else was counted
#   approximate  the same, but the truth is a range, or the report does not know the name of a mount,
#                or it reports all missing requests as lost, or missed programs (entry or return of a
#                call: twice, if both)
#   unsupported  only operations differ that the report marks as not counted, on this mount or at all
#   WRONG        anything else

def key: "\(.mount) (\(.fstype)\(if .private then ", private" else "" end))";
def by_mount: map({key: key, value: .}) | from_entries;

def ranged: IN("bytes", "write", "sequential_requests", "random_requests");

# "field WANTED, not GOT" for each difference; a pair is a range
def differs($got):
    to_entries[] | .key as $field | .value as $want
    | if ($want | type) == "array" and ($field | ranged)
      then select($got[$field] < $want[0] or $got[$field] > $want[1])
      else select($got[$field] != $want) end
    | "\($field) \($want | tojson), not \($got[$field] | tojson)";

def nothing: {requests: 0, bytes: 0, errors: 0, async_requests: 0, errno: {}, size_log2: []};

# The order of all requests is unknown: the backend does not see it, and the numbers show that.
def is_orderless($got): $got | has("random_requests") and .sequential_requests + .random_requests == 0;
def order_is_unseen($want; $got): is_orderless($got) and ([$want | del(.sequential_requests,
    .random_requests) | differs($got)] == []);

# Misses make a number too small, never too large. Input: a number, or the numbers of a list or an object.
def numbers: if type == "object" then . elif type == "array" then . else [.] end;
def above($want): numbers as $got | ($want | numbers) as $most
    | any($got | keys[]; $got[.] > ($most[.] // 0));
def excess($want):
    . as $got | any("requests", "async_requests", "bytes", "errors", "errno", "size_log2";
        . as $field | select($want | has($field))
        | if ($want[$field] | type) == "array" and $field == "bytes" then $got.bytes > $want.bytes[1]
          else $got[$field] | above($want[$field]) end);

def differing_ops($want; $got):
    ($want + $got | keys[]) as $op
    | ($want[$op] // {requests: 0}) as $w | ($got[$op] // nothing) as $g
    | [$w | differs($g)] | select(length > 0)
    | {op: $op, unseen: order_is_unseen($w; $g), missing: (if $g | excess($w) then 0 else ($w.requests // 0) - $g.requests end), text: join("; ")};

def differing_cache($want; $got):
    select($want) | [$want | del(.fill_bytes) | differs($got // {})]
        + [$want.fill_bytes | differs($got.fill_bytes // {}) | "fill " + .]
    | select(length > 0) | {op: "cache", text: join("; ")};

# Readers and writers; the truth may have none of a kind.
def differing_users($want; $got):
    select($want.has_users) | ("readers", "writers") as $kind
    | ($want[$kind] // {}) as $w | ($got[$kind] // {}) as $g
    | [if $w == {} then select($g != {}) | "unexpected \($g | tojson)" else $w | differs($g) end]
    | select(length > 0) | {op: $kind, text: join("; ")};

# An unknown mount in the report stands for a missing mount of the same type.
def named($truth):
    . as $counted
    | reduce (($truth | keys[]) | select($counted[.] | not)) as $m ($counted;
        "(unknown) (\($truth[$m].fstype), private)" as $unknown
        | if .[$unknown] then .[$m] = .[$unknown] | del(.[$unknown]) else . end);

# If the report has the open of an exec as unseen, the workload's own open is not expected.
def without_exec($report):
    if any($report.incomplete[]; .cause == "unseen: exec")
    then (.exec) as $exec | .mounts |= map(if .mount == $exec then .ops.open.requests -= 1 else . end
        | if .ops.open.requests == 0 then del(.ops.open) else . end | select(.ops != {}))
    else . end;

# True for a cause that names operations that are not counted, false for a loss.
def uncounted: .cause | test("^(hook-not-attached$|self-test-failed$|unseen: )");

def judge:
    (if .truth.closes == false then .report.mounts |= map(del(.ops.close)) else . end)
    | .report as $report
    | (.truth | without_exec($report) | .mounts | by_mount) as $truth
    | (.truth.only) as $only
    | ($report.mounts | by_mount
        | if $only then with_entries(select($truth[.key])
            | .value.ops |= with_entries(select(.key as $op | $only | index($op)))) else . end) as $seen
    | ($seen | named($truth)) as $counted
    | ($seen | keys - ($counted | keys)) as $unknown
    | [$report.unsupported[], ($report.incomplete[] | select(uncounted) | .ops[])] as $everywhere
    | [($truth + $counted | keys[]) as $m
        | ($truth[$m] // {ops: {}}) as $want | ($counted[$m] // {ops: {}}) as $got
        | ($everywhere + ($got.unsupported // [])) as $unsupported
        | (differing_ops($want.ops; $got.ops), differing_cache($want.cache; $got.cache),
            differing_users($want; $got))
        | .said = (.unseen or (.op | IN($unsupported[])) or (.op as $kind | {readers: ["mmap_read"],
            writers: ["mmap_write"]}[$kind] // [] | any(IN($unsupported[])))) | .text = "\($m) \(.op): \(.text)"] as $differing
    | ($differing | map(select(.said | not))) as $unsaid
    | ([$unsaid[].missing] | add) as $missing
    | ([$report.incomplete[] | select(.cause == "recursion-missed").count] | add // 0) as $missed
    | (if all($unsaid[]; .missing > 0) and $missing >= $report.lost
            and $missing <= $report.lost + $missed then []
       else $unsaid end) as $wrong
    | ([$truth[] | .ops[].bytes?, .ops[].random_requests?, .cache.fill_bytes.write? | type == "array"] | any) as $ranged
    | [$report.incomplete[] | select(uncounted | not).cause] as $causes
    | [$report.incomplete[] | select($complete and (.cause | startswith("unseen: ") | not) and uncounted)
        | "incomplete: \(.cause) (\(.ops | join(", ")))"] as $lacks
    | {
        verdict: (if $wrong != [] then "WRONG"
            elif any($differing[]; .said) or $lacks != [] then "unsupported"
            elif $ranged or $unsaid != [] or $causes != [] or $unknown != [] then "approximate"
            else "exact" end),
        why: (($differing | map(.text)) + $lacks + ($causes | map("incomplete: \(.)"))
            + ($unknown | map("a mount is called \(.)")))
    };

def rank($verdict): ["exact", "approximate", "unsupported", "WRONG", "-"] | index([$verdict]);

([$rows | split("\n")[] | select(. != "") | split(" ")]) as $expected
| (map({key: .row, value: .}) | from_entries) as $results
| "1..\($expected | length)",
  ($expected | to_entries[] | .key as $i | .value[0] as $row | .value[1] as $listed
    | ($results[$row] // {error: "did not run"}) as $result
    | ($result | if .error then {verdict: "WRONG", why: [.error]} else judge end)
    | ((if rank(.verdict) <= rank($listed) then "ok" else "not ok" end)
        + " \($i + 1) - \($row): \(.verdict)"
        + (if .verdict == $listed then "" else " (listed as \($listed))" end)),
      (.why[] | "#   " + .),
      (if $verbose then "#   " + ($result | tojson) else empty end),
      "= \($row) \(.verdict)")

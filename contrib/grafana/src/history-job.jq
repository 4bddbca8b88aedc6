# SPDX-License-Identifier: GPL-2.0-or-later
include "panels";

def histogram($column; $bound; $unit):
  "SELECT \($bound) AS up_to, sumIf(n_, op_ = 'read') AS reads, sumIf(n_, op_ = 'write') AS writes"
  + (if $column == "op_latency_log2" then ", sumIf(n_, op_ NOT IN ('read', 'write')) AS others" else "" end)
  + " FROM (SELECT op_, n_, bucket_ FROM (SELECT op_, buckets_ FROM jobio.io FINAL ARRAY JOIN op AS op_, \($column) AS buckets_ WHERE \(this_job)) ARRAY JOIN buckets_ AS n_, arrayEnumerate(buckets_) AS bucket_) GROUP BY bucket_ ORDER BY bucket_";

history_dashboard("history-job"; "job";
  "What one job did, of any age and length, from the central history in ClickHouse. Give its number; a number that was given out twice, or a job that was requeued, has several lines. Steps come when they have ended. `jobio job ID --from clickhouse` shows the same as text.";
  "now-30d"; [typed("jobid")];
  [
    (sql_table("The job"; "waiting: of the run time, by the thread that waited longest, on the worst node. complete: nothing was missed, on no node.";
      {elapsed_s: "s", read_bytes: "bytes", write_bytes: "bytes", meta_requests: "short", wait_s: "s", waiting_percent: "percent"}; {user: to_past_user};
      "SELECT jobid, restart, user, account, `partition`, name, state, start, `end`, elapsed_s, waiting_percent, steps, complete, read_bytes, write_bytes, meta_requests, errors, wait_s FROM jobio.v_job WHERE \(this_job) ORDER BY start") | size(24; 6)),
    sql_table("File systems"; "wait_s: the time that threads were inside calls, added up.";
      {read_bytes: "bytes", write_bytes: "bytes", requests: "short", errors: "short", wait_s: "s"}; {mount: to_past_mount};
      "SELECT mount, fstype, source, read_bytes, write_bytes, requests, errors, wait_s FROM jobio.v_job_mount WHERE \(this_job) ORDER BY wait_s DESC"),
    sql_table("Calls"; "By file system and kind; create is a part of open.";
      {requests: "short", bytes: "bytes", errors: "short", wait_s: "s", longest_s: "s"}; {};
      "SELECT op, mount, requests, bytes, errors, wait_s, longest_s FROM jobio.v_job_io WHERE \(this_job) ORDER BY wait_s DESC LIMIT 100"),
    bars("Sizes of requests"; "How many reads and writes were up to this size."; histogram("op_size_log2"; "formatReadableSize(exp2(bucket_ - 1))"; "bytes")),
    bars("Times of calls"; "How many calls took up to so many seconds.";
      histogram("op_latency_log2"; "concat(toString(round(exp2(bucket_ + 6) / 1e9, 9)), ' s')"; "s")),
    sql_table("Nodes"; "A straggler waits longer than the others for the same work.";
      {read: "bytes", written: "bytes", metadata_calls: "short", failed_calls: "short", waited: "s", longest_wait: "s"}; {};
      "SELECT node, max(job_longest_wait_ns) / 1e9 AS longest_wait, \(sums) FROM jobio.io FINAL WHERE \(this_job) GROUP BY restart, node ORDER BY waited DESC LIMIT 500"),
    sql_table("Steps"; "By node.";
      {elapsed_s: "s", read_bytes: "bytes", write_bytes: "bytes", wait_s: "s", meta_requests: "short", errors: "short"}; {};
      "SELECT step, node, state, start, elapsed_s, wait_s, read_bytes, write_bytes, meta_requests, errors, lost, incomplete FROM jobio.v_step WHERE \(this_job) ORDER BY start LIMIT 500"),
    sql_table("Why calls failed"; "ENOSPC: no space, EDQUOT: quota, EIO and ESTALE: trouble of the file system. ENOENT: the program looked for files that are not there, often on purpose.";
      ([failures[] | {(.): "short"}] | add); {mount: to_past_mount}; failures_by("mount"; this_job)),
    (sql_table("Busiest interval"; "Of each kind of call on each file system, on one node.";
      {bytes_per_s: "binBps", requests_per_s: "ops"}; {};
      "SELECT op, mount, max(peak_bytes_per_s) AS bytes_per_s, max(peak_requests_per_s) AS requests_per_s FROM jobio.v_step_io WHERE \(this_job) GROUP BY op, mount ORDER BY bytes_per_s DESC, requests_per_s DESC LIMIT 100") | size(12; 9))
  ])

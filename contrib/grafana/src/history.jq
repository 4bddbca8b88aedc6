# SPDX-License-Identifier: GPL-2.0-or-later
include "panels";

def from_io: "FROM jobio.io FINAL WHERE \(during)";
def units: {read: "bytes", written: "bytes", metadata_calls: "short", failed_calls: "short", waited: "s", jobs: "short"};

history_dashboard("history"; "fleet";
  "What the jobs of all nodes did in a time, from the central history in ClickHouse (doc/history.md): every job, however short, as soon as each of its steps has ended. A step counts to the time in which it **began**; one that still runs is not here. *waited* is the time that threads were inside calls, added up.";
  "now-7d"; [];
  [
    number("Jobs"; "short"; "With a step that began in the time shown and has ended.";
      sql("SELECT uniqExact(jobid, restart) AS jobs \(from_io)")),
    number("Read"; "bytes"; "By all jobs."; sql("SELECT sum(read_bytes) AS read \(from_io)")),
    number("Written"; "bytes"; "By all jobs."; sql("SELECT sum(write_bytes) AS written \(from_io)")),
    number("Metadata calls"; "short"; "By all jobs."; sql("SELECT sum(meta_requests) AS metadata_calls \(from_io)")),
    number("Nodes"; "short"; "That fed the history."; sql("SELECT uniqExact(node) AS nodes \(from_io)")),
    (number("Steps not complete"; "short"; "Something of them was missed; `jobio job ID` says what.";
      sql("SELECT uniqExactIf((jobid, restart, step, node), lost > 0 OR incomplete != '') AS steps \(from_io)")) | red_from(1)),

    (lines("Written, by file system"; "bytes"; "In each hour, by the steps that began in it."; [
      sql_over_time("SELECT \(step_hour) AS time, mount, sum(write_bytes) AS written \(from_io) AND mount != '' GROUP BY time, mount ORDER BY time")]) | stacked),
    (lines("Read, by file system"; "bytes"; "In each hour, by the steps that began in it."; [
      sql_over_time("SELECT \(step_hour) AS time, mount, sum(read_bytes) AS read \(from_io) AND mount != '' GROUP BY time, mount ORDER BY time")]) | stacked),
    sql_table("Users"; "The 50 that waited most."; units; {user: to_past_user};
      "SELECT user, uniqExact(jobid, restart) AS jobs, \(sums) \(from_io) GROUP BY user ORDER BY waited DESC LIMIT 50"),
    sql_table("File systems"; "The 50 that were waited for most."; units; {mount: to_past_mount};
      "SELECT mount, fstype, uniqExact(jobid, restart) AS jobs, \(sums) \(from_io) AND mount != '' GROUP BY mount, fstype ORDER BY waited DESC LIMIT 50"),
    sql_table("Accounts"; "The 50 that waited most."; units; {};
      "SELECT account, uniqExact(user) AS users, uniqExact(jobid, restart) AS jobs, \(sums) \(from_io) GROUP BY account ORDER BY waited DESC LIMIT 50"),
    sql_table("Jobs that I/O made slow"; "The 50 that waited for the largest part of their run time, of those that took a minute or more. Waiting: by the thread that waited longest, on the worst node."; (units + {waiting: "percentunit", elapsed: "s"}); {jobid: to_past_job, owner: to_past_user};
      "SELECT jobid, max(user) AS owner, max(name) AS job_name, max(job_elapsed_ns) / 1e9 AS elapsed, least(1, max(job_longest_wait_ns) / max(job_elapsed_ns)) AS waiting, \(sums) \(from_io) GROUP BY cluster, jobid, restart HAVING elapsed >= 60 ORDER BY waiting DESC LIMIT 50"),
    sql_table("Names of jobs"; "What runs again and again: the 50 that waited most."; (units + {waiting: "percentunit"}); {user: to_past_user};
      "SELECT name, user, uniqExact(jobid, restart) AS jobs, \(sums) \(from_io) GROUP BY name, user ORDER BY waited DESC LIMIT 50"),
    sql_table("Why calls failed"; "ENOSPC: no space, EDQUOT: quota, EIO and ESTALE: trouble of the file system. ENOENT: programs looked for files that are not there, often on purpose.";
      ([failures[] | {(.): "short"}] | add); {mount: to_past_mount, user: to_past_user}; failures_by("mount, user"; during)),
    sql_table("Nodes where something was missed"; "Empty is good."; {lost: "short"}; {};
      "SELECT node, uniqExact(jobid, restart) AS jobs, sum(lost_) AS lost, any(causes) AS first_cause FROM (SELECT node, jobid, restart, max(lost) AS lost_, max(incomplete) AS causes \(from_io) AND (lost > 0 OR incomplete != '') GROUP BY node, jobid, restart, step, tagged_at_ns) GROUP BY node ORDER BY jobs DESC LIMIT 50")
  ])

# SPDX-License-Identifier: GPL-2.0-or-later
include "panels";

def from_io: "FROM jobio.io FINAL WHERE \(during) AND user = ${user:sqlstring}";
def units: {read: "bytes", written: "bytes", metadata_calls: "short", failed_calls: "short", waited: "s", jobs: "short",
            elapsed: "s", waiting: "percentunit"};

history_dashboard("history-user"; "user";
  "The jobs of one user in a time, from the central history in ClickHouse: every job, however short. A step counts to the time in which it **began**; one that still runs is not here.";
  "now-30d"; [sql_variable("user"; "SELECT DISTINCT user FROM jobio.io WHERE cluster = ${cluster:sqlstring} ORDER BY user")];
  [
    number("Jobs"; "short"; "With a step that has ended."; sql("SELECT uniqExact(jobid, restart) AS jobs \(from_io)")),
    number("Read"; "bytes"; "By all of them."; sql("SELECT sum(read_bytes) AS read \(from_io)")),
    number("Written"; "bytes"; "By all of them."; sql("SELECT sum(write_bytes) AS written \(from_io)")),
    number("Metadata calls"; "short"; "By all of them."; sql("SELECT sum(meta_requests) AS metadata_calls \(from_io)")),
    number("Failed calls"; "short"; "Many are on purpose: programs look for files that are not there."; sql("SELECT sum(errors) AS failed_calls \(from_io)")),
    number("Waited"; "s"; "Time of threads inside calls, added up."; sql("SELECT sum(wait_ns) / 1e9 AS waited \(from_io)")),
    (lines("Waited, by file system"; "s"; "In each hour, by the steps that began in it."; [
      sql_over_time("SELECT \(step_hour) AS time, mount, sum(wait_ns) / 1e9 AS waited \(from_io) AND mount != '' GROUP BY time, mount ORDER BY time")]) | stacked),
    sql_table("File systems"; "By time waited."; units; {mount: to_past_mount};
      "SELECT mount, fstype, uniqExact(jobid, restart) AS jobs, \(sums) \(from_io) AND mount != '' GROUP BY mount, fstype ORDER BY waited DESC LIMIT 50"),
    (sql_table("Jobs"; "The newest 200. waiting: of the run time, by the thread that waited longest, on the worst node."; units; {jobid: to_past_job};
      "SELECT jobid, max(name) AS job_name, toDateTime(intDiv(min(start_ns), 1000000000)) AS began, max(job_elapsed_ns) / 1e9 AS elapsed, if(elapsed > 0, least(1, max(job_longest_wait_ns) / 1e9 / elapsed), 0) AS waiting, uniqExact(node) AS nodes, \(sums) \(from_io) GROUP BY cluster, jobid, restart ORDER BY began DESC LIMIT 200") | size(24; 10)),
    (sql_table("Names of jobs"; "What runs again and again, by time waited."; units; {};
      "SELECT name, uniqExact(jobid, restart) AS jobs, \(sums) \(from_io) GROUP BY name ORDER BY waited DESC LIMIT 50") | size(24; 8))
  ])

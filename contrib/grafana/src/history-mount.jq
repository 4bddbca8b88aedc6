# SPDX-License-Identifier: GPL-2.0-or-later
include "panels";

def from_io: "FROM jobio.io FINAL WHERE \(during) AND mount = ${mountpoint:sqlstring}";
def units: {read: "bytes", written: "bytes", metadata_calls: "short", failed_calls: "short", waited: "s", jobs: "short",
            requests: "short", bytes: "bytes", failed: "short", longest: "s", mean: "s"};

history_dashboard("history-mount"; "file system";
  "One file system in a time, from the central history in ClickHouse: who used it, by which calls, and how long a call took. A step counts to the hour in which it **began**, so a long step blurs the lines: for what is slow now, see *jobio: file system*.";
  "now-7d"; [sql_variable("mountpoint"; "SELECT DISTINCT mount FROM jobio.io WHERE cluster = ${cluster:sqlstring} AND mount != '' ORDER BY mount")];
  [
    number("Jobs"; "short"; "That made a call on it."; sql("SELECT uniqExact(jobid, restart) AS jobs \(from_io)")),
    number("Read"; "bytes"; "By all jobs."; sql("SELECT sum(read_bytes) AS read \(from_io)")),
    number("Written"; "bytes"; "By all jobs."; sql("SELECT sum(write_bytes) AS written \(from_io)")),
    number("Metadata calls"; "short"; "By all jobs."; sql("SELECT sum(meta_requests) AS metadata_calls \(from_io)")),
    number("Per read"; "s"; "The mean time of a read call."; sql("SELECT if(sum(read_requests) > 0, sum(read_time_ns) / 1e9 / sum(read_requests), 0) AS mean \(from_io)")),
    number("Per write"; "s"; "The mean time of a write call."; sql("SELECT if(sum(write_requests) > 0, sum(write_time_ns) / 1e9 / sum(write_requests), 0) AS mean \(from_io)")),
    lines("Time of a call"; "s"; "The mean of the steps that began in each hour."; [
      sql_over_time("SELECT \(step_hour) AS time, if(sum(read_requests) > 0, sum(read_time_ns) / 1e9 / sum(read_requests), 0) AS read, if(sum(write_requests) > 0, sum(write_time_ns) / 1e9 / sum(write_requests), 0) AS write, if(sum(meta_requests) > 0, sum(meta_time_ns) / 1e9 / sum(meta_requests), 0) AS metadata \(from_io) GROUP BY time ORDER BY time")]),
    lines("Moved"; "bytes"; "By the steps that began in each hour."; [
      sql_over_time("SELECT \(step_hour) AS time, sum(read_bytes) AS read, sum(write_bytes) AS written \(from_io) GROUP BY time ORDER BY time")]),
    sql_table("Users"; "The 50 that waited most."; units; {user: to_past_user};
      "SELECT user, uniqExact(jobid, restart) AS jobs, \(sums) \(from_io) GROUP BY user ORDER BY waited DESC LIMIT 50"),
    sql_table("Jobs"; "The 50 that waited most."; units; {jobid: to_past_job, owner: to_past_user};
      "SELECT jobid, max(user) AS owner, max(name) AS job_name, \(sums) \(from_io) GROUP BY cluster, jobid, restart ORDER BY waited DESC LIMIT 50"),
    sql_table("Calls"; "By kind; create is a part of open."; units; {};
      "SELECT op_ AS op, sum(requests_) AS requests, sum(bytes_) AS bytes, sum(errors_) AS failed, sum(time_) / 1e9 AS waited, if(requests > 0, waited / requests, 0) AS mean, max(max_) / 1e9 AS longest FROM (SELECT op_, requests_, bytes_, errors_, time_, max_ FROM jobio.io FINAL ARRAY JOIN op AS op_, op_requests AS requests_, op_bytes AS bytes_, op_errors AS errors_, op_time_ns AS time_, op_max_ns AS max_ WHERE \(during) AND mount = ${mountpoint:sqlstring}) GROUP BY op_ ORDER BY waited DESC"),
    sql_table("Nodes"; "The 50 that waited most."; units; {};
      "SELECT node, uniqExact(jobid, restart) AS jobs, \(sums) \(from_io) GROUP BY node ORDER BY waited DESC LIMIT 50")
  ])

# SPDX-License-Identifier: GPL-2.0-or-later
include "panels";

def metadata: ",op!=\"create\"";
def here: ",mountpoint=\"$mountpoint\"";
def by($labels): "sum by (\($labels)) (\(.))";
def node($metric; $select): rate($metric; here + $select);
def job($metric; $select): rate($metric; here + $select) | with_user;
def latency($kind; $select): "\(node("jobio_node_\($kind)_seconds_total"; "") | by("")) / (\(node("jobio_node_\($kind)_requests_total"; $select) | by("")) > 0)";
def usual($what; $kind): "mountpoint:jobio_node_latency_seconds:\($what){cluster=\"$cluster\",mountpoint=\"$mountpoint\",kind=\"\($kind)\"}";

metrics_dashboard("mount"; "file system";
  "One file system, as the jobs of all nodes see it: who uses it, and is it slower than usual? What is counted are calls of jobs at this mount point on each node, whatever the server is; `(private)` is what only jobs themselves had mounted, `(other)` what is beyond 32 names on a node. The mean time of a call is long for two reasons: a busy file system, or large pieces. What is usual comes from the recording rules of contrib/prometheus/rules.yml.";
  "now-6h"; [label_variable("mountpoint"; "label_values(jobio_node_read_bytes_total{cluster=\"$cluster\"}, mountpoint)")];
  [
    number("Read"; "binBps"; "All jobs."; now(node("jobio_node_read_bytes_total"; "") | by(""))),
    number("Written"; "binBps"; "All jobs."; now(node("jobio_node_write_bytes_total"; "") | by(""))),
    number("Metadata calls"; "ops"; "All jobs."; now(node("jobio_node_metadata_requests_total"; metadata) | by(""))),
    number("Threads that wait"; "short"; "How many threads of jobs are inside calls on it at a time, in the mean.";
      now(all_calls(node("jobio_node_\(.)_seconds_total"; "") | by("")))),
    number("Jobs on it"; "short"; "Jobs shown now that have read or written here.";
      now("count(count by (jobid) (\(series("jobio_read_requests_total"; here)) > 0 or \(series("jobio_write_requests_total"; here)) > 0)) or vector(0)")),
    number("Nodes on it"; "short"; "Whose jobs have read or written here in the time shown.";
      now("count(count by (instance) (\("increase(\(series("jobio_node_read_requests_total"; here))[$__range])" | fold) > 0 or \("increase(\(series("jobio_node_write_requests_total"; here))[$__range])" | fold) > 0)) or vector(0)")),

    heading("Is it slower than usual?"),
    lines("Time of a call"; "s"; "The mean over all jobs and nodes.";
      [line(latency("read"; ""); "read"), line(latency("write"; ""); "write"), line(latency("metadata"; metadata); "metadata")]),
    lines("In times the usual"; "short"; "The mean time of a call, divided by the median of this file system's own last week: 1 is usual, above 3 for 15 minutes is the alert JobioMountSlow. Needs the recording rules, and a day of samples to mean anything.";
      [line("\(usual("mean5m"; "read")) / \(usual("median1w"; "read"))"; "read"),
       line("\(usual("mean5m"; "write")) / \(usual("median1w"; "write"))"; "write"),
       line("\(usual("mean5m"; "metadata")) / \(usual("median1w"; "metadata"))"; "metadata")]),
    lines("Slowest nodes, write"; "s"; "The mean time of a write call; the first ten at each time. One node far above the others: its network, its memory or its cache.";
      [line("topk(10, \(node("jobio_node_write_seconds_total"; "") | by("instance")) / (\(node("jobio_node_write_requests_total"; "") | by("instance")) > 0))"; "{{instance}}")]),
    lines("Slowest nodes, read"; "s"; "The same of read calls.";
      [line("topk(10, \(node("jobio_node_read_seconds_total"; "") | by("instance")) / (\(node("jobio_node_read_requests_total"; "") | by("instance")) > 0))"; "{{instance}}")]),

    heading("Who"),
    table("Users"; "Of jobs with two samples.";
      {user: "User"};
      [["Metadata calls", "ops", (job("jobio_metadata_requests_total"; metadata) | by("user"))],
       ["Read", "binBps", (job("jobio_read_bytes_total"; "") | by("user"))],
       ["Written", "binBps", (job("jobio_write_bytes_total"; "") | by("user"))]];
      {User: to_user}),
    table("Jobs"; "The first 30 by each column; an empty cell is not among them.";
      {jobid: "Job", user: "User"};
      [["Metadata calls", "ops", "topk(30, \(job("jobio_metadata_requests_total"; metadata) | by("jobid, user")))"],
       ["Read", "binBps", "topk(30, \(job("jobio_read_bytes_total"; "") | by("jobid, user")))"],
       ["Written", "binBps", "topk(30, \(job("jobio_write_bytes_total"; "") | by("jobid, user")))"]];
      {Job: to_job, User: to_user}),
    (lines("Read, by user"; "binBps"; "The first ten at each time."; [line("topk(10, \(job("jobio_read_bytes_total"; "") | by("user")))"; "{{user}}")]) | stacked),
    (lines("Written, by user"; "binBps"; "The first ten at each time."; [line("topk(10, \(job("jobio_write_bytes_total"; "") | by("user")))"; "{{user}}")]) | stacked),
    (lines("Metadata calls, by user"; "ops"; "The first ten at each time."; [line("topk(10, \(job("jobio_metadata_requests_total"; metadata) | by("user")))"; "{{user}}")]) | stacked),
    (lines("Metadata calls, by kind"; "ops"; "Of all jobs."; [line(node("jobio_node_metadata_requests_total"; metadata) | by("op"); "{{op}}")]) | stacked),
    table("Calls that it failed"; "Of the jobs that are shown now: ENOSPC no space, EDQUOT quota, EIO and ESTALE trouble. Empty is good.";
      {errno: "Error", jobid: "Job"};
      [["Calls", "short", (series("jobio_failures_total"; here) | fold | by("errno, jobid"))]];
      {Job: to_job})
  ])

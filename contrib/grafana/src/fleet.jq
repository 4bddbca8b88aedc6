# SPDX-License-Identifier: GPL-2.0-or-later
include "panels";

def metadata: ",op!=\"create\"";
def by($labels): "sum by (\($labels)) (\(.))";
def who($metric; $select): rate($metric; $select) | with_user;

metrics_dashboard("fleet"; "fleet";
  "Who reads, writes and hammers metadata on which file system **now**, and whether jobio itself is well. What is counted are the calls of **jobs**: other services of the nodes are not in it, nor is what the servers do. Node totals are exact over any time. Lists of users and jobs need two samples of a job, so they lack jobs that are shorter than two minutes; and a Pushgateway shows ended jobs for a few minutes only (`linger`). Click on a name to go on.";
  "now-3h"; [];
  [
    number("Nodes that report"; "short"; "Nodes whose numbers are here now.";
      now("count(count by (instance) (\(series("jobio_build_info"; ""))))")),
    number("Jobs that run"; "short"; "As the nodes say; a job on several nodes is one.";
      now("count(count by (jobid) (\(series("jobio_job_info"; ",state=\"running\"")))) or vector(0)")),
    number("Read"; "binBps"; "By all jobs on all file systems; page cache included.";
      now(rate("jobio_node_read_bytes_total"; "") | by(""))),
    number("Written"; "binBps"; "By all jobs on all file systems.";
      now(rate("jobio_node_write_bytes_total"; "") | by(""))),
    number("Metadata calls"; "ops"; "open, stat, unlink and so on, of all jobs.";
      now(rate("jobio_node_metadata_requests_total"; metadata) | by(""))),
    number("Threads that wait"; "short"; "How many threads of jobs are inside calls at a time, in the mean: 100 threads that always wait are 100.";
      now(all_calls(rate("jobio_node_\(.)_seconds_total"; "") | by("")))),

    heading("Who hammers now"),
    table("Users"; "Sums over their running jobs. Sort by a column with a click on it.";
      {user: "User"};
      [["Read", "binBps", (who("jobio_read_bytes_total"; "") | by("user"))],
       ["Written", "binBps", (who("jobio_write_bytes_total"; "") | by("user"))],
       ["Metadata calls", "ops", (who("jobio_metadata_requests_total"; metadata) | by("user"))],
       ["Threads waiting", "short", all_calls(who("jobio_\(.)_seconds_total"; "") | by("user"))]];
      {User: to_user}),
    table("Jobs"; "The first 30 by each column; an empty cell is not among them. Sums over the job's nodes.";
      {jobid: "Job", user: "User"};
      [["Read", "binBps", "topk(30, \(who("jobio_read_bytes_total"; "") | by("jobid, user")))"],
       ["Written", "binBps", "topk(30, \(who("jobio_write_bytes_total"; "") | by("jobid, user")))"],
       ["Metadata calls", "ops", "topk(30, \(who("jobio_metadata_requests_total"; metadata) | by("jobid, user")))"]];
      {Job: to_job, User: to_user}),

    heading("File systems"),
    (table("File systems"; "All nodes together. The mean time of a call says how busy a file system is only as long as calls are alike: larger pieces take longer.";
      {mountpoint: "Mount", fstype: "Type"};
      [["Read", "binBps", (rate("jobio_node_read_bytes_total"; "") | by("mountpoint, fstype"))],
       ["Written", "binBps", (rate("jobio_node_write_bytes_total"; "") | by("mountpoint, fstype"))],
       ["Metadata calls", "ops", (rate("jobio_node_metadata_requests_total"; metadata) | by("mountpoint, fstype"))],
       ["Per read", "s", "\(rate("jobio_node_read_seconds_total"; "") | by("mountpoint, fstype")) / (\(rate("jobio_node_read_requests_total"; "") | by("mountpoint, fstype")) > 0)"],
       ["Per write", "s", "\(rate("jobio_node_write_seconds_total"; "") | by("mountpoint, fstype")) / (\(rate("jobio_node_write_requests_total"; "") | by("mountpoint, fstype")) > 0)"],
       ["Per metadata call", "s", "\(rate("jobio_node_metadata_seconds_total"; "") | by("mountpoint, fstype")) / (\(rate("jobio_node_metadata_requests_total"; metadata) | by("mountpoint, fstype")) > 0)"]];
      {Mount: to_mount}) | size(24; 8)),
    (lines("Read"; "binBps"; "By file system, all nodes."; [line(rate("jobio_node_read_bytes_total"; "") | by("mountpoint"); "{{mountpoint}}")]) | stacked),
    (lines("Written"; "binBps"; "By file system, all nodes."; [line(rate("jobio_node_write_bytes_total"; "") | by("mountpoint"); "{{mountpoint}}")]) | stacked),
    (lines("Metadata calls"; "ops"; "By file system, all nodes."; [line(rate("jobio_node_metadata_requests_total"; metadata) | by("mountpoint"); "{{mountpoint}}")]) | stacked),
    (lines("Nodes that write most"; "binBps"; "The first ten at each time."; [line("topk(10, \(rate("jobio_node_write_bytes_total"; "") | by("instance")))"; "{{instance}}")])),
    table("File systems that fail"; "Calls that failed for a reason of the file system, of the jobs that are shown now: ENOSPC no space, EDQUOT quota, EIO and ESTALE trouble. Empty is good.";
      {mountpoint: "Mount", errno: "Error"};
      [["Calls", "short", (series("jobio_failures_total"; "") | fold | by("mountpoint, errno"))],
       ["Jobs", "short", "count by (mountpoint, errno) (\(series("jobio_failures_total"; "") | fold | by("mountpoint, errno, jobid")))"]];
      {Mount: to_mount}),
    table("Failed calls"; "In the time shown, on all nodes. Programs that look for files which are not there fail on purpose: a high number beside metadata calls is common.";
      {mountpoint: "Mount"};
      [["Reads", "short", ("increase(\(series("jobio_node_read_errors_total"; ""))[$__range])" | fold | by("mountpoint"))],
       ["Writes", "short", ("increase(\(series("jobio_node_write_errors_total"; ""))[$__range])" | fold | by("mountpoint"))],
       ["Metadata", "short", ("increase(\(series("jobio_node_metadata_errors_total"; ""))[$__range])" | fold | by("mountpoint"))]];
      {Mount: to_mount}),

    heading("Is jobio well?"),
    (number("Events lost"; "short"; "Calls of jobs that were seen and not accounted, in the time shown. The reports of these jobs say so.";
      now("sum(\("increase(\(series("jobio_events_lost_total"; ""))[$__range])" | fold))")) | red_from(1)),
    (number("Jobs not complete"; "short"; "Of the jobs that are shown now: something was missed on a node of theirs.";
      now("count((min by (jobid) (\(series("jobio_job_complete"; ""))) == 0)) or vector(0)")) | red_from(1)),
    (number("Hooks missing"; "short"; "Functions of the kernel that jobiod should watch and cannot, over all nodes. Only of nodes that are scraped, not of those that push.";
      now("sum(\(series("jobio_hooks"; ",state=\"missing\"") | fold))")) | red_from(1)),
    (number("Rows waiting"; "short"; "What gateways, the history and other nodes have not taken yet, over all nodes. Only of nodes that are scraped.";
      now("sum(\(series("jobio_spool_rows"; "") | fold))"))),
    (number("Refused or given up"; "short"; "Rows that a target does not take, or that left a node's store before it did. Only of nodes that are scraped.";
      now("sum(\(series("jobio_spool_refused_rows"; "") | fold)) + sum(\(series("jobio_spool_given_up_total"; "") | fold))")) | red_from(1)),
    (number("Versions"; "short"; "Of jobiod, on all nodes.";
      now("count(count by (version) (\(series("jobio_build_info"; ""))))"))),
    table("Nodes"; "Push age: since when the node has not pushed (60 s is usual); empty where nodes are scraped.";
      {instance: "Node"};
      [["Push age", "s", "time() - max by (instance) (push_time_seconds{job=\"jobio\",cluster=\"$cluster\"})"],
       ["Jobs", "short", "max by (instance) (\(series("jobio_tracked_jobs"; "")))"],
       ["Lost since the start", "short", "max by (instance) (\(series("jobio_events_lost_total"; "")))"]];
      {}),
    lines("Pushes that fail"; "short"; "Per second, by target. Only of nodes that are scraped.";
      [line("sum by (target) (\(rate("jobio_push_failures_total"; "")))"; "{{target}}")])
  ])

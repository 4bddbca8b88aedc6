# SPDX-License-Identifier: GPL-2.0-or-later
include "panels";

def metadata: ",op!=\"create\"";
def by($labels): "sum by (\($labels)) (\(.))";
def flow($metric; $select): rate($metric; $select) | of_user;
def total($metric; $select): last($metric; $select) | of_user_last;

metrics_dashboard("user"; "user";
  "The jobs of one user: what they do now, and what those did that ended in the time shown. Lines need two samples of a job: those shorter than two minutes are in the table and in no line. Nothing is here where `metrics_user = no`: then ask by job. Jobs of long ago: *jobio history: user*.";
  "now-6h"; [label_variable("user"; "label_values(jobio_job_info{cluster=\"$cluster\"}, user)")];
  [
    number("Jobs that run"; "short"; "A job on several nodes is one.";
      now("count(count by (jobid) (\(series("jobio_job_info"; ",user=\"$user\",state=\"running\"")))) or vector(0)")),
    number("Jobs in the time shown"; "short"; "Those that were scraped at least once.";
      now("count(count by (jobid) (last_over_time(\(series("jobio_job_info"; ",user=\"$user\""))[$__range])))")),
    number("Read now"; "binBps"; "All jobs of the user."; now(flow("jobio_read_bytes_total"; "") | by(""))),
    number("Written now"; "binBps"; "All jobs of the user."; now(flow("jobio_write_bytes_total"; "") | by(""))),
    number("Metadata calls now"; "ops"; "All jobs of the user."; now(flow("jobio_metadata_requests_total"; metadata) | by(""))),
    number("Threads that wait"; "short"; "How many threads are inside calls at a time, in the mean.";
      now(all_calls(flow("jobio_\(.)_seconds_total"; "") | by("")))),

    (table("Jobs"; "In the time shown. Waiting: of the run time, by the thread that waited longest, on the worst node.";
      {jobid: "Job"};
      [["Waiting", "percentunit", "max by (jobid) (\(last("jobio_job_longest_wait_seconds"; "") | of_user_last) / \(last("jobio_job_elapsed_seconds"; "")))"],
       ["Elapsed", "s", "max by (jobid) (\(total("jobio_job_elapsed_seconds"; "")))"],
       ["Read", "bytes", (total("jobio_read_bytes_total"; "") | by("jobid"))],
       ["Written", "bytes", (total("jobio_write_bytes_total"; "") | by("jobid"))],
       ["Metadata calls", "short", (total("jobio_metadata_requests_total"; metadata) | by("jobid"))],
       ["Complete", "short", "min by (jobid) (\(total("jobio_job_complete"; "")))"]];
      {Job: to_job}) | size(24; 10)),
    table("File systems"; "Sums over these jobs.";
      {mountpoint: "Mount"};
      [["Read", "bytes", (total("jobio_read_bytes_total"; "") | by("mountpoint"))],
       ["Written", "bytes", (total("jobio_write_bytes_total"; "") | by("mountpoint"))],
       ["Metadata calls", "short", (total("jobio_metadata_requests_total"; metadata) | by("mountpoint"))]];
      {Mount: to_mount}),
    table("Calls that the file system failed"; "ENOSPC no space, EDQUOT quota, EIO and ESTALE trouble. Empty is good.";
      {jobid: "Job", mountpoint: "Mount", errno: "Error"};
      [["Calls", "short", (total("jobio_failures_total"; "") | by("jobid, mountpoint, errno"))]];
      {Job: to_job, Mount: to_mount}),
    (lines("Read"; "binBps"; "By file system."; [line(flow("jobio_read_bytes_total"; "") | by("mountpoint"); "{{mountpoint}}")]) | stacked),
    (lines("Written"; "binBps"; "By file system."; [line(flow("jobio_write_bytes_total"; "") | by("mountpoint"); "{{mountpoint}}")]) | stacked),
    (lines("Metadata calls"; "ops"; "By job; the first ten at each time."; [line("topk(10, \(flow("jobio_metadata_requests_total"; metadata) | by("jobid")))"; "{{jobid}}")])),
    lines("Part of all metadata calls"; "percentunit"; "Of all jobs of the cluster on a file system, this user's part. What jobs shorter than two samples do is in the whole only.";
      [line("\(flow("jobio_metadata_requests_total"; metadata) | by("mountpoint")) / (\(rate("jobio_node_metadata_requests_total"; metadata) | by("mountpoint")) > 0)"; "{{mountpoint}}")])
  ])

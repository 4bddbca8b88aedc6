# SPDX-License-Identifier: GPL-2.0-or-later
include "panels";

def metadata: ",op!=\"create\"";
def job: ",jobid=\"$jobid\"";
def total($metric; $select): last($metric; job + $select);
def flow($metric; $select): rate($metric; job + $select);
def by($labels): "sum by (\($labels)) (\(.))";
# A mount without a metadata call has no such series: it has waited 0 there.
def waited($labels): all_calls(total("jobio_\(.)_seconds_total"; "") | by($labels));
def share: "max by (instance) (\(total("jobio_job_longest_wait_seconds"; ""))) / max by (instance) (\(total("jobio_job_elapsed_seconds"; "")) > 0)";
def latency($kind): "sum by (mountpoint) (\(flow("jobio_\($kind)_seconds_total"; ""))) / (sum by (mountpoint) (\(flow("jobio_\($kind)_requests_total"; ""))) > 0)";
def latency_of_all($kind): "sum by (mountpoint) (\(rate("jobio_node_\($kind)_seconds_total"; ""))) / (sum by (mountpoint) (\(rate("jobio_node_\($kind)_requests_total"; ""))) > 0) and on (mountpoint) sum by (mountpoint) (\(flow("jobio_\($kind)_requests_total"; "")))";

metrics_dashboard("job"; "job";
  "What one job did: was it slow because of I/O, where, on which node? Give its number. Totals are the last values in the time shown, so the time must hold the job's end, or now; a Pushgateway shows an ended job for a few minutes only, Prometheus keeps what it scraped meanwhile. Rates need two samples: a job shorter than two minutes has totals and no lines. For old and short jobs use *jobio history: job*, or `jobio job ID`.";
  "now-6h"; [typed("jobid")];
  [
    number("Waiting for I/O"; "percentunit"; "Of the run time, the thread that waited longest was inside read, write or metadata calls so long; on the worst node. Below 5 % I/O is not what makes the job slow. I/O that is asynchronous or mapped into memory is no waiting.";
      now("max(\(share))")),
    number("Elapsed"; "s"; "Of the job's newest run.";
      now("max(\(total("jobio_job_elapsed_seconds"; "")))")),
    number("Read"; "bytes"; "On all nodes.";
      now("sum(\(total("jobio_read_bytes_total"; "")))")),
    number("Written"; "bytes"; "On all nodes.";
      now("sum(\(total("jobio_write_bytes_total"; "")))")),
    number("Metadata calls"; "short"; "open, stat, unlink and so on, on all nodes.";
      now("sum(\(total("jobio_metadata_requests_total"; metadata)))")),
    (number("Complete"; "short"; "Whether nothing was missed on any node that is heard. If not, `jobio job ID` says what is missing.";
      now("min(\(total("jobio_job_complete"; "")))")) | yes_or_no),
    (table("The job"; "Empty: no such job in the time shown. Without users where `metrics_user = no`.";
      {user: "User", account: "Account", partition: "Partition"};
      [["Nodes heard", "short", "count by (user, account, partition) (max by (user, account, partition, instance) (last_over_time(\(series("jobio_job_info"; job))[$__range])))"]];
      {User: to_user}) | size(12; 5)),
    number("Nodes of the job"; "short"; "As Slurm gave them to it. More than are heard: the others do not push, or have not yet.";
      now("max(\(total("jobio_job_expected_nodes"; "")))")),
    number("Began"; "dateTimeAsIso"; "On the first node.";
      now("min(\(total("jobio_job_start_timestamp_seconds"; ""))) * 1000")),
    number("Ended"; "dateTimeAsIso"; "On the last node. Empty: it runs.";
      now("max(\(total("jobio_job_end_timestamp_seconds"; ""))) * 1000")),

    heading("Where"),
    (table("File systems"; "Thread time: the time that threads were inside calls, added up; with many threads more than the run time. Peak: in the busiest interval of a node.";
      {mountpoint: "Mount", fstype: "Type"};
      [["Thread time", "s", waited("mountpoint, fstype")],
       ["Read", "bytes", (total("jobio_read_bytes_total"; "") | by("mountpoint, fstype"))],
       ["Written", "bytes", (total("jobio_write_bytes_total"; "") | by("mountpoint, fstype"))],
       ["Reads", "short", (total("jobio_read_requests_total"; "") | by("mountpoint, fstype"))],
       ["Writes", "short", (total("jobio_write_requests_total"; "") | by("mountpoint, fstype"))],
       ["Metadata calls", "short", (total("jobio_metadata_requests_total"; metadata) | by("mountpoint, fstype"))],
       ["Read peak", "binBps", "max by (mountpoint, fstype) (\(total("jobio_read_peak_bytes_per_second"; "")))"],
       ["Write peak", "binBps", "max by (mountpoint, fstype) (\(total("jobio_write_peak_bytes_per_second"; "")))"]];
      {Mount: to_mount}) | size(24; 8)),
    (table("Size of a request"; "The mean. Below 64 KiB on a parallel file system the calls cost more than the data.";
      {mountpoint: "Mount"};
      [["Per read", "bytes", "\(total("jobio_read_bytes_total"; "") | by("mountpoint")) / (\(total("jobio_read_requests_total"; "") | by("mountpoint")) > 0)"],
       ["Per write", "bytes", "\(total("jobio_write_bytes_total"; "") | by("mountpoint")) / (\(total("jobio_write_requests_total"; "") | by("mountpoint")) > 0)"]];
      {}) | size(8; 8)),
    (table("Metadata calls"; "create is a part of open.";
      {mountpoint: "Mount", op: "Call"};
      [["Calls", "short", (total("jobio_metadata_requests_total"; "") | by("mountpoint, op"))]];
      {}) | size(8; 8)),
    (table("Failed calls"; "Metadata calls fail often where programs look for files that are not there. File system: ENOSPC, EDQUOT, EIO, ESTALE and the like; empty is good.";
      {mountpoint: "Mount"};
      [["File system", "short", (total("jobio_failures_total"; "") | by("mountpoint"))],
       ["Reads", "short", (total("jobio_read_errors_total"; "") | by("mountpoint"))],
       ["Writes", "short", (total("jobio_write_errors_total"; "") | by("mountpoint"))],
       ["Metadata", "short", (total("jobio_metadata_errors_total"; "") | by("mountpoint"))]];
      {}) | size(8; 8)),

    heading("When"),
    (lines("Read"; "binBps"; "By file system, all nodes of the job."; [line(flow("jobio_read_bytes_total"; "") | by("mountpoint"); "{{mountpoint}}")]) | stacked),
    (lines("Written"; "binBps"; "By file system, all nodes of the job."; [line(flow("jobio_write_bytes_total"; "") | by("mountpoint"); "{{mountpoint}}")]) | stacked),
    (lines("Metadata calls"; "ops"; "By call and file system, all nodes of the job."; [line(flow("jobio_metadata_requests_total"; metadata) | by("mountpoint, op"); "{{op}} {{mountpoint}}")]) | stacked),
    lines("Threads that wait"; "short"; "How many threads are inside calls at a time, by kind.";
      [line(flow("jobio_read_seconds_total"; "") | by(""); "read"),
       line(flow("jobio_write_seconds_total"; "") | by(""); "write"),
       line(flow("jobio_metadata_seconds_total"; "") | by(""); "metadata")]),
    lines("A write of mine, and of all jobs"; "s"; "The mean time of a write call, of this job and of all jobs of the cluster on the same file systems. Both high: the file system is busy. Only mine: look at my sizes and my pattern.";
      [line(latency("write"); "mine {{mountpoint}}"), line(latency_of_all("write"); "all {{mountpoint}}")]),
    lines("A read of mine, and of all jobs"; "s"; "The same of read calls.";
      [line(latency("read"); "mine {{mountpoint}}"), line(latency_of_all("read"); "all {{mountpoint}}")]),

    heading("On which node"),
    (table("Nodes"; "A straggler waits longer than the others for the same work; one that does more is another matter: compare the columns.";
      {instance: "Node"};
      [["Waiting", "percentunit", share],
       ["Thread time", "s", waited("instance")],
       ["Read", "bytes", (total("jobio_read_bytes_total"; "") | by("instance"))],
       ["Written", "bytes", (total("jobio_write_bytes_total"; "") | by("instance"))],
       ["Metadata calls", "short", (total("jobio_metadata_requests_total"; metadata) | by("instance"))],
       ["Complete", "short", "min by (instance) (\(total("jobio_job_complete"; "")))"]];
      {}) | size(16; 8)),
    (number("Straggler"; "short"; "Thread time of the worst node, in times the median of the nodes. Above 2: look at that node. 1 for a job on one node.";
      now("max(\(waited("instance"))) / quantile(0.5, \(waited("instance")))")) | size(8; 8)),
    lines("Threads that wait, by node"; "short"; "The first ten at each time.";
      [line("topk(10, \(all_calls(flow("jobio_\(.)_seconds_total"; "") | by("instance"))))"; "{{instance}}")]),
    lines("Written, by node"; "binBps"; "The first ten at each time.";
      [line("topk(10, \(flow("jobio_write_bytes_total"; "") | by("instance")))"; "{{instance}}")])
  ])

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The summary of a job as a model that text, page and record share: the mounts in their order and
 * their sums, the shares of the waiting, the sentences about them. Pure functions that print
 * nothing; sentences are malloc'd, in lower case and without a full stop.
 */
#ifndef JOBIO_REPORT_SUMMARY_SUMMARY_H
#define JOBIO_REPORT_SUMMARY_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job.h"
#include "common/units.h"

struct advice_notes;

/* A mount, or several together. */
struct summary_row {
    const struct io_mount *mount; /* NULL: several */
    struct io_sums sums;
    struct io_sums shown;           /* to people: io_account_shown() */
    uint64_t not_found;             /* look-ups that found nothing */
    uint64_t read_peak, write_peak; /* bytes/s; 0: unknown */
    uint64_t sizes[IO_BUCKETS];     /* of reads and writes; see io_account_sizes() */
};

struct io_summary {
    const struct job_account *job;
    const struct advice_notes *notes; /* NULL: none; errors come first */
    struct summary_row *rows;         /* owned; the mounts with requests, longest waiting first */
    size_t n;
    struct summary_row total;
    uint64_t wait_ns; /* of the thread that waited longest, at most the elapsed time */
};

/* `job` and `notes` (may be NULL) must outlive the summary. 0 or -ENOMEM. */
int summary_make(const struct job_account *job, const struct advice_notes *notes,
                 struct io_summary *ret);
void summary_clear(struct io_summary *s);

/* to += from; a peak is the larger of both. */
void summary_row_add(struct summary_row *to, const struct summary_row *from);

/* Whether the peaks of the job are lower bounds: its nodes need not be busiest at the same time. */
bool summary_has_peak_bounds(const struct job_account *job);

/* The part of the run time, from 0 to 100 %, that was spent waiting for calls of `time_ns` in all
 * threads. */
double summary_waiting(const struct io_summary *s, uint64_t time_ns);
/* Neither one thread nor all of them together waited for 5 % of the run time. */
bool summary_is_harmless(const struct io_summary *s);

/* What I/O cost the job; NULL: nothing is known, or out of memory. */
char *summary_verdict(const struct io_summary *s);
/* What mapped files read and wrote, which the columns of a table do not include. NULL: it is
 * little, or out of memory. */
char *summary_mapped(const struct io_summary *s);

/* Of a job for which job_not_counted() has a reason. */
#define SUMMARY_NOT_COUNTED "not counted on this node (ask the administrators)"

/* "complete: 1/1 nodes, 0 events lost". NULL: out of memory. */
char *summary_completeness(const struct job_account *job);
/* What is missing for one cause: "3 calls without their duration (read)". NULL: out of memory. */
char *summary_cause(const struct incomplete *item);
/* The names of a set of operations: "read, write". NULL: out of memory. */
char *summary_ops(uint64_t ops);

/* Sentences about the failed calls on a mount (writes first), errors that are ordinary answers,
 * asynchronous calls, sequential calls, throttled writes, processes, and the page cache. NULL:
 * there is nothing to report, or out of memory. */
char *summary_errors(const struct io_account *io);
char *summary_answers(const struct io_account *io);
char *summary_async(const struct io_account *io);
char *summary_order(const struct io_account *io);
char *summary_throttled(const struct io_account *io);
char *summary_users(const struct io_mount *mount);
char *summary_cache(const struct io_mount *mount);
/* The same about the requests of the NFS client. */
char *summary_rpc(const struct io_mount *mount);
/* The waiting on a mount of NFS, in percent of the run time, and its parts. The rest of it passed
 * between them, on this node. */
struct summary_rpc_wait {
    const struct io_mount *mount;
    double percent;
    double server; /* until the server replied */
    double queued; /* before the requests were sent */
};
/* Find the mount of NFS with the most waiting. Returns false if it is too little, or if the
 * requests do not explain it. */
bool summary_find_rpc_wait(const struct io_summary *s, struct summary_rpc_wait *ret);

/* Bursts of writes that recur on a mount, such as checkpoints, and how long the job waited in them.
 * NULL: its time line has none, or out of memory. */
char *summary_bursts(const struct io_summary *s, const struct io_mount *mount);

/* "4711", for a task of an array "4700_3 (4711)". Returns buf. */
#define SUMMARY_NUMBER 40
char *summary_job_number(const struct job_account *job, char buf[SUMMARY_NUMBER]);
/* "running", "ended", or how Slurm ended it: "COMPLETED", "FAILED (exit code 3:0)". Returns buf. */
#define SUMMARY_STATE 56
char *summary_state(const struct job_account *job, char buf[SUMMARY_STATE]);
/* The command line of `jobio run`, untrusted. NULL: out of memory. */
char *summary_command(char *const *command);
/* "batch", "17", for a component of a heterogeneous job "+1.batch". Returns buf. */
#define SUMMARY_STEP 32
char *summary_step_name(const struct step_account *step, char buf[SUMMARY_STEP]);
/* "3 steps" of an aggregate, "incomplete", or the state of a step that has not ended; else "".
 * Returns buf. */
char *summary_step_remark(const struct step_account *step, char buf[SUMMARY_STEP]);
/* A time that may be long, as of many threads: "-", "3.4 ms", "17 min", "27.8 h", "5.1M h". Returns
 * a text or buf. */
const char *summary_time(uint64_t ns, char buf[UNITS_SIZE]);

#endif

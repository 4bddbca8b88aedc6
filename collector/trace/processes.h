/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes of a trace: their names, and their ranks, which launchers of MPI and Slurm put into
 * the environment. */
#ifndef JOBIO_COLLECTOR_TRACE_PROCESSES_H
#define JOBIO_COLLECTOR_TRACE_PROCESSES_H

#include "collector/trace/rank_reader.h"
#include "common/trace.h"

struct trace_processes;

/* Where to read the ranks: in proc ("/proc", or a test's directory), which waits for faults of the
 * processes, or by a reader; both must stay, one must be NULL. Both NULL: the ranks are unknown.
 * Returns NULL on out-of-memory. */
struct trace_processes *trace_processes_create(const char *proc, struct rank_reader *reader);
void trace_processes_destroy(struct trace_processes *processes); /* NULL is fine */

/* A thread with this name (TRACE_COMM bytes) has made a request. Reads the environment of a process
 * that is new, or that has executed another program, which the name shows. */
void trace_processes_see(struct trace_processes *processes, const struct span *span,
                         const char *comm);
/* Take what the reader has read. Call it often: until then a process is not read again. */
void trace_processes_update(struct trace_processes *processes);
/* Fill in the processes of the spans of `trace`. 0 or -ENOMEM. */
int trace_processes_finish(struct trace_processes *processes, struct trace *trace);

#endif

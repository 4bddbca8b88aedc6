/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes of a trace: their names, and their ranks, which launchers of MPI and Slurm put into
 * the environment. */
#ifndef JOBIO_COLLECTOR_TRACE_PROCESSES_H
#define JOBIO_COLLECTOR_TRACE_PROCESSES_H

#include "common/trace.h"

struct trace_processes;

/* proc: "/proc", or a test's directory; must stay. Returns NULL on out-of-memory. */
struct trace_processes *trace_processes_create(const char *proc);
void trace_processes_destroy(struct trace_processes *processes); /* NULL is fine */

/* A thread of this process, with this name (TRACE_COMM bytes), has made a request. Reads the
 * environment of a process that is new, or that has executed another program, which the name shows.
 */
void trace_processes_see(struct trace_processes *processes, uint32_t pid, uint32_t tid,
                         const char *comm);
/* Fill in the processes of the spans of `trace`. 0 or -ENOMEM. */
int trace_processes_finish(const struct trace_processes *processes, struct trace *trace);

#endif

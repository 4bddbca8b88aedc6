/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Empty programs on all functions that jobio hooks. */
#ifndef JOBIO_BENCH_EMPTY_H
#define JOBIO_BENCH_EMPTY_H

struct empty_programs;

/* Load and attach those whose function or tracepoint the kernel has. Exits on failure. */
struct empty_programs *empty_attach(void);

void empty_detach(struct empty_programs *programs);

#endif

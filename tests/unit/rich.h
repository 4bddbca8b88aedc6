/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An account as a real job has it, for what people look at: the same at each call. */
#ifndef JOBIO_TESTS_RICH_H
#define JOBIO_TESTS_RICH_H

#include "common/job.h"
#include "report/advice/advice.h"

/* Job 4711 on four nodes, 72 minutes: it imports from /home, reads /scratch in three epochs with a
 * checkpoint behind each, and keeps temporary files; the last node is slow. Five mounts, errors,
 * time lines by node. NULL: no memory. */
struct job_account *rich_job(void);
/* The same as from a store without time lines. */
struct job_account *rich_old(void);
/* Notes for it. */
extern const struct advice_notes rich_notes;

/* As many as the limits of the collector allow: every step with every mount, a time line each. */
struct job_account *rich_large(unsigned nodes, unsigned steps, unsigned mounts);
/* A small job whose texts are made to hurt pages and terminals. */
struct job_account *rich_evil(void);

#endif

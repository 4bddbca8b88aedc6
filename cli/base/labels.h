/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exports that can be shared. Names become numbered labels, the same name the same label within
 * one export: user1, account1, partition1, name1, cluster1, node1, mount1, source1. Numbers of jobs
 * and users are counted from 1, times are kept from a common start, and what is not known to be
 * harmless is left out. Figures, types of file systems, operations and errors stay.
 */
#ifndef JOBIO_CLI_BASE_LABELS_H
#define JOBIO_CLI_BASE_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "collector/store/store.h"
#include "common/job.h"
#include "report/advice/advice.h"

struct labels;

/* `from_ns` becomes 1980-01-01; 0: the first time that is seen does. With time lines it is later by
 * less than the width of a bin. NULL: no memory. */
struct labels *labels_create(uint64_t from_ns);
void labels_destroy(struct labels *labels); /* NULL is fine */

/* The row in other words, which belong to `labels`. -ENOMEM. */
int labels_row(struct labels *labels, struct history_row *row);
/* An account, in place. -ENOMEM: it must not be shown, for some names may be left. A member that is
 * added to struct job_account and names somebody must be replaced here, too. */
int labels_job(struct labels *labels, struct job_account *job);
/* The runs of a job, newest first. */
int labels_jobs(struct labels *labels, struct job_account *const *jobs, size_t n);

/* The label of a mount; NULL: no memory. */
const char *labels_mount(struct labels *labels, const char *mount);
/* The notes about jobs whose documents are in other words already: the names that were in them, and
 * all other paths, become labels in the texts, too; links are left out. -ENOMEM. */
int labels_notes(struct labels *labels, struct advice_notes *notes);

#endif

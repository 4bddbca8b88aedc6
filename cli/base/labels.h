/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes exports anonymous, so that they can be shared. Names become numbered labels, the same name
 * the same label within one export: user1, account1, partition1, name1, cluster1, node1, mount1,
 * source1. Job numbers and UIDs are counted from 1, and times are relative to a common start.
 * Values, types of file systems, operations and errors are unchanged.
 */
#ifndef JOBIO_CLI_BASE_LABELS_H
#define JOBIO_CLI_BASE_LABELS_H

#include <stddef.h>
#include <stdint.h>

#include "collector/store/store.h"
#include "common/job.h"
#include "report/advice/advice.h"

struct labels;

/* Times are moved so that `from_ns` becomes 1980-01-01; 0: the first time that is seen. With time
 * lines it becomes later by less than the width of a bin. NULL: out of memory. */
struct labels *labels_create(uint64_t from_ns);
void labels_destroy(struct labels *labels); /* NULL is fine */

/* Replace the names in a row; the new texts belong to `labels`. -ENOMEM. */
int labels_row(struct labels *labels, struct history_row *row);
/* Replace the names in an account. -ENOMEM: do not show it, some names may be left. A member that
 * is added to struct job_account and names somebody must be replaced here, too. */
int labels_job(struct labels *labels, struct job_account *job);
/* Replace the names in the runs of a job, newest first. -ENOMEM. */
int labels_jobs(struct labels *labels, struct job_account *const *jobs, size_t n);

/* The label of a mount; NULL: out of memory. */
const char *labels_mount(struct labels *labels, const char *mount);
/* Replace the names in notes about jobs whose accounts have their labels already, and all other
 * paths; links are dropped. -ENOMEM. */
int labels_notes(struct labels *labels, struct advice_notes *notes);

#endif

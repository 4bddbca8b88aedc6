/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of jobs and of nodes in Slurm's notation, as lists of a filter of the history (struct
 * history_filter). */
#ifndef JOBIO_CLI_BASE_LISTS_H
#define JOBIO_CLI_BASE_LISTS_H

#include "common/error.h"

/* "12,13_4,15_[1-3,7].batch" becomes "12,13_4,15_1-3,15_7": a step selects its job. *ret is
 * malloc'd. -EINVAL with text that quotes the word. */
int list_of_jobs(const char *text, char **ret, struct error *error);

/* "n1,n[08-10]" becomes "n1,n08,n09,n10". *ret is malloc'd. -EINVAL with text; -E2BIG: more names
 * than a filter can have. */
int list_of_nodes(const char *text, char **ret, struct error *error);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Advice by the rules of this machine. */
#ifndef JOBIO_CLI_BASE_NOTES_H
#define JOBIO_CLI_BASE_NOTES_H

#include "report/advice/advice.h"

#define NOTES_MAX 3 /* in a summary */

/* Read the rules of advice_directory(), or of `path`, a file or a directory. Invalid rules are
 * reported on stderr and skipped; *mistakes is their number. */
int notes_rules(struct advice **ret, const char *path, int *mistakes, struct error *error);

/* At most `max` notes about a job, by the rules of this machine, which are read once. On failure
 * there are no notes, and a line on stderr. Clear with advice_notes_clear(). */
void notes_for_job(const struct job_account *job, size_t max, struct advice_notes *ret);

#endif

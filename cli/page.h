/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --html: the account as a page in a file. */
#ifndef JOBIO_CLI_PAGE_H
#define JOBIO_CLI_PAGE_H

#include "common/error.h"
#include "common/job.h"
#include "report/advice.h"

#define PAGE_NOTES 8 /* fit on a page */

/* Write the page of the job, with its steps and the notes about it, to a file (output_file()).
 * step: as in struct html_options. A negative errno with text. */
int page_write(const struct job_account *job, const struct advice_notes *notes, const char *step,
               const char *path, struct error *error);

#endif

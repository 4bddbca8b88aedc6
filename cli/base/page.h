/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --html: the account as a page in a file. */
#ifndef JOBIO_CLI_BASE_PAGE_H
#define JOBIO_CLI_BASE_PAGE_H

#include <stdbool.h>

#include "common/error.h"
#include "common/job.h"
#include "report/advice/advice.h"

#define PAGE_NOTES 8 /* notes on a page */

/* Write the page of a job, with its steps, to a file (output_file()). A negative errno with text.
 */
struct page {
    const struct job_account *job;
    const struct advice_notes *notes;
    const char *step; /* as in struct html_options */
    bool undated;     /* without the time when it was made */
};
int page_write(const struct page *page, const char *path, struct error *error);

#endif

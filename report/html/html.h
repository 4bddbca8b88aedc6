/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The account of a job as a self-contained HTML page that loads nothing from a network. */
#ifndef JOBIO_REPORT_HTML_HTML_H
#define JOBIO_REPORT_HTML_HTML_H

#include "common/job.h"
#include "report/advice/advice.h"

struct html_options {
    const struct advice_notes *notes; /* NULL: none */
    const char *version;              /* of jobio */
    const char *step;                 /* NULL: the whole job; else the account is that step's */
    uint64_t made_ns;                 /* real time when the page is made; 0: not shown */
};

/* The page, malloc'd; NULL: out of memory. The HTML is also well-formed XML and has no script.
 * Sections on nodes and steps need the steps of the job. All texts are sanitized and escaped. For
 * very large jobs some rows are aggregated; the page says where. Times are local. */
char *report_html(const struct job_account *job, const struct html_options *options);

#endif

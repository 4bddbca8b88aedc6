/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The account of a job as one page for a browser: a file of its own, nothing from any network. */
#ifndef JOBIO_REPORT_HTML_HTML_H
#define JOBIO_REPORT_HTML_HTML_H

#include "common/job.h"
#include "report/advice/advice.h"

struct html_options {
    const struct advice_notes *notes; /* NULL: nobody asked for advice */
    const char *version;              /* of jobio */
    const char *step;                 /* NULL: the whole job; else the account is that step's */
    uint64_t made_ns;                 /* real time: when the page is made; 0: not told */
};

/* The page, malloc'd; NULL: no memory. HTML that is well-formed XML, too, without any script. The
 * steps of the job must be there if the page is to have nodes and steps. All texts are sanitized
 * and escaped. Of very large jobs some parts are sums; the page says where. Times are local ones.
 */
char *report_html(const struct job_account *job, const struct html_options *options);

#endif

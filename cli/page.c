/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "cli/page.h"

#include <time.h>

#include "cli/output.h"
#include "common/cleanup.h"
#include "report/html.h"

#define NS_PER_S UINT64_C(1000000000)

int page_write(const struct job_account *job, const struct advice_notes *notes, const char *step,
               const char *path, struct error *error)
{
    const struct html_options options = {
        .notes = notes,
        .version = PACKAGE_VERSION,
        .step = step,
        .made_ns = (uint64_t)time(NULL) * NS_PER_S,
    };
    _free_ char *page = report_html(job, &options);

    if (!page)
        return error_errno(error, -ENOMEM, "write the page");
    return output_file(path, page, error);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "cli/base/page.h"

#include <time.h>

#include "cli/base/output.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "report/html/html.h"

int page_write(const struct page *page, const char *path, struct error *error)
{
    const struct html_options options = {
        .notes = page->notes,
        .version = PACKAGE_VERSION,
        .step = page->step,
        .made_ns = page->undated ? 0 : (uint64_t)time(NULL) * NS_PER_S,
    };
    _free_ char *text = NULL;

    output_is_document(true);
    text = report_html(page->job, &options);
    if (!text)
        return error_errno(error, -ENOMEM, "write the page");
    return output_file(path, text, error);
}

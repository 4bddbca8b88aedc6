/* SPDX-License-Identifier: GPL-2.0-or-later */
/* make_page KIND: a page on stdout, of an account as tests/unit/rich.h has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/html/html.h"
#include "tests/unit/rich.h"

static struct job_account *large(void)
{
    return rich_large(64, 640, 12);
}

static const struct {
    const char *kind;
    struct job_account *(*make)(void);
} kinds[] = {{"rich", rich_job}, {"large", large}, {"evil", rich_evil}, {"old", rich_old}};

int main(int argc, char **argv)
{
    const struct html_options options = {
        .notes = &rich_notes, .version = "0.1.0", .made_ns = UINT64_C(1795173200000000000)};

    for (size_t i = 0; argc == 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct job_account *job;
        char *page;

        if (strcmp(kinds[i].kind, argv[1]) != 0)
            continue;
        job = kinds[i].make();
        page = job ? report_html(job, &options) : NULL;
        job_account_destroy(job);
        if (!page || fputs(page, stdout) < 0)
            return 1;
        free(page);
        return 0;
    }
    (void)fputs("usage: make_page rich|large|evil|old\n", stderr);
    return 2;
}

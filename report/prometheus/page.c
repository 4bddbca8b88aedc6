/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The syntax of the page: comments, labels, numbers. */
#include "config.h"

#include "report/prometheus/prometheus_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/units.h"
#include "common/utf8.h"

char *page_escape(const char *value)
{
    _free_ char *clean = utf8_sanitize(value ? value : "");
    char *escaped = clean ? malloc(2 * strlen(clean) + 1) : NULL, *to = escaped;

    if (!escaped)
        return NULL;
    for (const char *p = clean; *p; p++) {
        if (*p == '"' || *p == '\\')
            *to++ = '\\';
        *to++ = *p;
    }
    *to = '\0';
    return escaped;
}

int page_label(FILE *out, const char *name, const char *value)
{
    _free_ char *escaped = page_escape(value);

    if (!escaped)
        return -ENOMEM;
    fprintf(out, ",%s=\"%s\"", name, escaped);
    return 0;
}

void page_family(struct page *page, const char *name, const char *type, const char *help)
{
    fprintf(page->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void page_u64(FILE *out, uint64_t value)
{
    fprintf(out, "%llu\n", (unsigned long long)value);
}

void page_seconds(FILE *out, uint64_t ns)
{
    char buf[UNITS_SIZE];

    fprintf(out, "%s\n", units_seconds(ns, buf));
}

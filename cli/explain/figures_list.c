/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/explain/figures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void figures_clear(struct figures *figures)
{
    for (size_t i = 0; i < figures->n; i++)
        free(figures->missing[i]);
    figures->n = 0;
}

int figures_add(struct figures *figures, enum explain_kind kind, const char *mount, uint64_t read,
                uint64_t written)
{
    if (figures->n < FIGURES_MAX)
        figures->items[figures->n++] =
            (struct explain_figure){.kind = kind, .mount = mount, .read = read, .written = written};
    return 0;
}

int figures_miss(struct figures *figures, enum explain_kind kind, const char *mount,
                 const char *missing)
{
    char *text;

    if (figures->n == FIGURES_MAX)
        return 0;
    text = strdup(missing);
    if (!text)
        return -ENOMEM;
    figures->missing[figures->n] = text;
    figures->items[figures->n++] =
        (struct explain_figure){.kind = kind, .mount = mount, .missing = text};
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Strings that a structure owns. */
#ifndef JOBIO_COMMON_TEXT_H
#define JOBIO_COMMON_TEXT_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Returns the formatted text, malloc'd; NULL on out-of-memory, unlike asprintf(), which leaves its
 * pointer undefined. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The comma-separated list has this name. */
bool text_list_has(const char *list, const char *name);

/* Sets *to, whatever it was, to a copy of `from`; NULL stays NULL. Returns 0 or -ENOMEM. */
static inline int text_copy(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return from && !*to ? -ENOMEM : 0;
}

/* Frees *to and sets it to a copy of `from`; NULL stays NULL. On -ENOMEM *to is unchanged. */
static inline int text_replace(char **to, const char *from)
{
    char *copy;

    if (text_copy(&copy, from) < 0)
        return -ENOMEM;
    free(*to);
    *to = copy;
    return 0;
}

#endif

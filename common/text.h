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

/* The URL of a path on a node: `pattern` with the node's name for its first "%n", if it has one,
 * and the path behind it, without the slashes at the end of `pattern`. malloc'd; NULL on
 * out-of-memory. */
char *text_node_url(const char *pattern, const char *node, const char *path);

/* The comma-separated list has this name. */
bool text_list_has(const char *list, const char *name);

/* The search for the name that a mistyped word meant: call text_nearest_try() for each known name,
 * in any order. `name` is then the one with the fewest letters inserted, left out, replaced or
 * swapped with their neighbour, in any case; NULL: none is near (at most a third of its letters
 * differ). Set `word` and `n` (bytes of it) first, and the rest to 0. */
struct text_nearest {
    const char *word;
    size_t n;
    const char *name;
    size_t distance;
};
void text_nearest_try(struct text_nearest *nearest, const char *name);

#define TEXT_HINT_SIZE 64
/* "; did you mean \"history\"?", or "" if none is near. Returns buf. */
const char *text_nearest_hint(const struct text_nearest *nearest, char buf[TEXT_HINT_SIZE]);

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

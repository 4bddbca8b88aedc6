/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stdio stream that collects text in memory. */
#ifndef JOBIO_COMMON_TEXT_BUFFER_H
#define JOBIO_COMMON_TEXT_BUFFER_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* Must stay where it is between text_buffer_open() and text_buffer_take(). */
struct text_buffer {
    FILE *out; /* where to write */
    char *text;
    size_t size;
};

/* Returns the stream; NULL if out of memory. */
static inline FILE *text_buffer_open(struct text_buffer *b)
{
    *b = (struct text_buffer){NULL, NULL, 0};
    b->out = open_memstream(&b->text, &b->size);
    return b->out;
}

/* Closes the stream. Returns the text, malloc'd; NULL if it was not opened or memory ran out. */
static inline char *text_buffer_take(struct text_buffer *b)
{
    bool failed = !b->out || ferror(b->out);

    if (b->out && fclose(b->out) != 0)
        failed = true;
    if (!failed)
        return b->text;
    free(b->text);
    return NULL;
}

#endif

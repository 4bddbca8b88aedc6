/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A document as a text of limited size. */
#define _GNU_SOURCE /* fopencookie */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "common/cleanup.h"
#include "report/trace/trace.h"

struct text {
    char *bytes; /* owned */
    size_t n, room, max;
};

/* Never more than the limit and a NUL. */
static int grow(struct text *text, size_t wanted)
{
    size_t room = wanted > text->max / 2 ? text->max : wanted * 2;
    char *grown;

    if (wanted <= text->room)
        return 0;
    grown = realloc(text->bytes, room + 1);
    if (!grown)
        return -ENOMEM;
    text->bytes = grown;
    text->room = room;
    return 0;
}

/* stdio takes 0 as a failure, and passes errno on. */
static ssize_t write_text(void *cookie, const char *from, size_t n)
{
    struct text *text = cookie;
    int r = n > text->max - text->n ? -EFBIG : grow(text, text->n + n);

    if (r < 0) {
        errno = -r;
        return 0;
    }
    memcpy(text->bytes + text->n, from, n);
    text->n += n;
    return (ssize_t)n;
}

/* Without a buffer, so that a part that was written is in the text. */
static int print(struct trace_document *document, bool chrome, struct text *text)
{
    FILE *out = fopencookie(text, "w", (cookie_io_functions_t){.write = write_text});
    int r;

    if (!out)
        return -ENOMEM;
    (void)setvbuf(out, NULL, _IONBF, 0);
    text->n = 0;
    r = chrome ? report_trace_chrome(document, out) : report_trace_otlp(document, out);
    (void)fclose(out);
    return r;
}

/* The end of a document, and the number of steps that are left out, also take room. */
static void leave_out(struct trace_document *document)
{
    size_t n = document->written < document->n ? document->written : document->n - 1;

    document->left_out += document->n - n;
    document->n = n;
}

int report_trace_text(struct trace_document *document, bool chrome, size_t max_bytes, char **ret)
{
    struct text text = {.max = max_bytes};
    int r = print(document, chrome, &text);

    while (r == -EFBIG && document->n > 1 && document->written) {
        leave_out(document);
        r = print(document, chrome, &text);
    }
    if (r < 0) {
        free(text.bytes);
        return r;
    }
    text.bytes[text.n] = '\0';
    *ret = text.bytes;
    return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "cli/output.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "common/cleanup.h"
#include "common/units.h"

static int output_errno; /* the first failure on stdout */

static void output_note_failure(void)
{
    if (!output_errno)
        output_errno = errno ? errno : EIO;
}

void output_error(const char *format, ...)
{
    _free_ char *raw = NULL, *safe = NULL;
    va_list ap;
    int n;

    va_start(ap, format);
    n = vasprintf(&raw, format, ap);
    va_end(ap);
    if (n < 0) {
        raw = NULL;
        return;
    }
    safe = units_sanitize(raw);
    if (safe)
        (void)fprintf(stderr, "jobio: %s\n", safe);
}

void output_text(const char *text)
{
    if (fputs(text, stdout) < 0)
        output_note_failure();
}

/* The length of the valid UTF-8 sequence at p, 0 if there is none. *code is the code point. */
static size_t utf8_length(const unsigned char *p, unsigned *code)
{
    size_t n = p[0] < 0x80                   ? 1
               : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
               : (p[0] & 0xf0) == 0xe0       ? 3
               : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
                                             : 0;
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    static const unsigned lowest[] = {0, 0, 0x80, 0x800, 0x10000};

    *code = p[0] & first_bits[n];
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (p[i] & 0x3f);
    }
    if (n && (*code < lowest[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000)))
        return 0;
    return n;
}

/* json-c escapes C0 itself, and such bytes only stand inside strings, where an escape means the
 * same. */
static void json_write_safe(FILE *out, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    while (*p) {
        unsigned code;
        size_t n = utf8_length(p, &code);

        if (n == 0)
            (void)fprintf(out, "\\ufffd");
        else if (code >= 0x7f && code < 0xa0)
            (void)fprintf(out, "\\u%04x", code);
        else
            (void)fwrite(p, 1, n, out);
        p += n ? n : 1;
    }
    (void)fputc('\n', out);
}

char *output_json_text(struct json_object *document)
{
    const char *text = json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN |
                                                                    JSON_C_TO_STRING_NOSLASHESCAPE);
    char *ret = NULL;
    size_t size;
    FILE *out = text ? open_memstream(&ret, &size) : NULL;

    if (!out)
        return NULL;
    json_write_safe(out, text);
    if (fclose(out) != 0) {
        free(ret);
        return NULL;
    }
    return ret;
}

void output_json(struct json_object *document)
{
    _free_ char *text = output_json_text(document);

    if (text) {
        output_text(text);
        return;
    }
    errno = ENOMEM;
    output_note_failure();
}

int output_finish(int status)
{
    if (fflush(stdout) != 0)
        output_note_failure();
    if (output_errno == 0 || output_errno == EPIPE)
        return status;
    output_error("cannot write the answer: %s", strerror(output_errno));
    return CLI_FAILED;
}

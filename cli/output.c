/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/pager.h"
#include "common/cleanup.h"
#include "common/tree.h"
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

/* How much of it is plain, which most of it is. */
static size_t ascii_length(const unsigned char *p)
{
    size_t n = 0;

    while (p[n] && p[n] < 0x7f)
        n++;
    return n;
}

/* json-c escapes C0 itself, and such bytes only stand inside strings, where an escape means the
 * same. */
static void json_write_safe(FILE *out, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;

    while (*p) {
        unsigned code;
        size_t n = ascii_length(p);

        if (n) {
            (void)fwrite(p, 1, n, out);
            p += n;
            continue;
        }
        n = utf8_length(p, &code);

        if (n == 0)
            (void)fprintf(out, "\\ufffd");
        else if (code >= 0x7f && code < 0xa0)
            (void)fprintf(out, "\\u%04x", code);
        else
            (void)fwrite(p, 1, n, out);
        p += n ? n : 1;
    }
}

void output_json_raw(const char *text)
{
    json_write_safe(stdout, text);
    if (ferror(stdout))
        output_note_failure();
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
    (void)fputc('\n', out);
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

int output_made(struct json_object *document)
{
    if (!document)
        return -ENOMEM;
    output_json(document);
    json_object_put(document);
    return 0;
}

int output_tree(const struct tree *tree, struct json_object *document)
{
    return output_made(tree_end(tree, document));
}

/* --- a file -------------------------------------------------------------------------------------
 */

/* What a new file gets that nobody said anything else about. */
static mode_t mode_by_umask(void)
{
    mode_t mask = umask(0);

    (void)umask(mask);
    return 0666 & ~mask;
}

static int write_all(int fd, const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        ssize_t n = write(fd, text, left);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        text += n;
        left -= (size_t)n;
    }
    return 0;
}

/* Nothing is there, or a file that another may take the place of. */
static bool may_be_replaced(const char *path, mode_t *mode)
{
    struct stat st;

    if (lstat(path, &st) < 0) {
        *mode = mode_by_umask();
        return true;
    }
    *mode = st.st_mode & 0777;
    return S_ISREG(st.st_mode);
}

static int write_in_place(const char *path, const char *text)
{
    _close_ int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

    return fd < 0 ? -errno : write_all(fd, text);
}

/* A new file beside it. Its name is *ret, owned. */
static int open_beside(const char *path, char **ret)
{
    int fd;

    if (asprintf(ret, "%s.XXXXXX", path) < 0) {
        *ret = NULL;
        return -ENOMEM;
    }
    fd = mkostemp(*ret, O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int replace(const char *path, const char *text, mode_t mode)
{
    _free_ char *beside = NULL;
    _close_ int fd = open_beside(path, &beside);
    int rc;

    if (fd < 0)
        return fd;
    rc = write_all(fd, text);
    if (rc == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0 || rename(beside, path) < 0))
        rc = -errno;
    if (rc < 0)
        (void)unlink(beside);
    return rc;
}

int output_file(const char *path, const char *text, struct error *error)
{
    mode_t mode;
    int rc;

    if (strcmp(path, "-") == 0) {
        output_text(text);
        return 0;
    }
    rc = may_be_replaced(path, &mode) ? replace(path, text, mode) : write_in_place(path, text);
    return rc < 0 ? error_errno(error, rc, "cannot write \"%s\"", path) : 0;
}

int output_file_check(const char *path, struct error *error)
{
    _free_ char *beside = NULL;
    _close_ int fd = -1;
    mode_t mode;

    if (strcmp(path, "-") == 0 || !may_be_replaced(path, &mode))
        return 0;
    fd = open_beside(path, &beside);
    if (fd < 0)
        return error_errno(error, fd, "cannot write \"%s\"", path);
    (void)unlink(beside);
    return 0;
}

int output_finish(int status)
{
    if (fflush(stdout) != 0)
        output_note_failure();
    if (!pager_finish()) {
        output_error("the pager cannot be run: see JOBIO_PAGER and PAGER, or use --no-pager");
        return CLI_FAILED;
    }
    if (output_errno == 0 || output_errno == EPIPE)
        return status;
    output_error("cannot write the answer: %s", strerror(output_errno));
    return CLI_FAILED;
}

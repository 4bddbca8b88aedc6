/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "cli/base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/base/cli.h"
#include "cli/base/pager.h"
#include "cli/base/terminal.h"
#include "common/cleanup.h"
#include "common/tree.h"
#include "common/utf8.h"

static int output_errno; /* the first failure on stdout */

static void output_note_failure(void)
{
    if (!output_errno)
        output_errno = errno ? errno : EIO;
}

static bool ascii;

void output_set_stream(FILE *out)
{
    ascii = isatty(fileno(out)) && !terminal_utf8();
    utf8_sanitize_to_ascii(ascii);
}

void output_is_document(bool yes)
{
    utf8_sanitize_to_ascii(ascii && !yes);
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
    safe = utf8_sanitize(raw);
    for (char *p = safe; p && *p && !terminal_utf8(); p++) {
        if (*p & 0x80)
            *p = '?';
    }
    if (safe)
        (void)fprintf(stderr, "jobio: %s\n", safe);
}

void output_text(const char *text)
{
    if (fputs(text, stdout) < 0)
        output_note_failure();
}

/* Length of the leading run of ASCII. */
static size_t ascii_length(const char *p)
{
    size_t n = 0;

    while (p[n] > 0 && p[n] < 0x7f)
        n++;
    return n;
}

static void json_escape(FILE *out, uint32_t code)
{
    if (code > 0xffff) {
        (void)fprintf(out, "\\u%04x", 0xd7c0 + (code >> 10));
        code = 0xdc00 + (code & 0x3ff);
    }
    (void)fprintf(out, "\\u%04x", code);
}

/* json-c itself escapes C0; such bytes only occur inside strings, where an escape means the
 * same. */
static void json_write_safe(FILE *out, const char *text)
{
    const char *p = text;

    while (*p) {
        uint32_t code;
        size_t n = ascii_length(p);

        if (n) {
            (void)fwrite(p, 1, n, out);
            p += n;
            continue;
        }
        n = utf8_decode(p, &code);

        if (n == 0)
            json_escape(out, 0xfffd);
        else if (ascii || utf8_is_control(code))
            json_escape(out, code);
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
    const char *text = tree_print(document);
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

int output_json_and_release(struct json_object *document)
{
    if (!document)
        return -ENOMEM;
    output_json(document);
    json_object_put(document);
    return 0;
}

int output_tree(const struct tree *tree, struct json_object *document)
{
    return output_json_and_release(tree_end(tree, document));
}

/* --- a file ----------------------------------------------------------------------------------- */

/* The default mode of a new file. */
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

/* The path does not exist, or is a regular file that may be replaced. */
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

/* Create a file in the same directory. *ret is its name, owned by the caller. */
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
        output_error("cannot run the pager: check JOBIO_PAGER and PAGER, or use --no-pager");
        return CLI_FAILED;
    }
    if (output_errno == 0 || output_errno == EPIPE)
        return status;
    output_error("cannot write the answer: %s", strerror(output_errno));
    return CLI_FAILED;
}

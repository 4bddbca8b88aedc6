/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A negative errno is the kind of a failure, struct error describes it. */
#ifndef JOBIO_COMMON_ERROR_H
#define JOBIO_COMMON_ERROR_H

#include <errno.h>
#include <stdbool.h>

struct error {
    char text[256];
};

/* Format the text (cut at 255 bytes) and return `code`, a negative errno, so that a failing
 * function ends with `return error_set(error, -EINVAL, "...")`. `error` may be NULL. errno is
 * unchanged. */
int error_set(struct error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* As error_set, and append ": strerror(-code)". */
int error_errno(struct error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prepend "text: " to the text of the error and return `code`. */
int error_prefix(struct error *error, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns whether a later attempt may succeed: there was no memory, no descriptor, or a signal. */
bool error_is_temporary(int code);

#endif

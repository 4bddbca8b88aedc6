/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the fuzz targets: the function that libFuzzer calls, a check that is never compiled
 * out, and the input as a string or a file. */
#ifndef JOBIO_TESTS_FUZZ_H
#define JOBIO_TESTS_FUZZ_H

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

/* The input as a string: up to its first NUL. */
static inline char *fuzz_string(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    CHECK(text);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* A directory of this process in $TMPDIR. Whoever set TMPDIR removes it (tests/fuzz/run). */
static inline const char *fuzz_directory(void)
{
    static char directory[PATH_MAX];
    const char *parent = getenv("TMPDIR");

    if (!*directory) {
        (void)snprintf(directory, sizeof(directory), "%s/fuzz-XXXXXX", parent ? parent : "/tmp");
        CHECK(mkdtemp(directory));
    }
    return directory;
}

/* Overwrite a file of that directory with the input; returns its path. */
static inline const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    static char path[PATH_MAX + 64];
    int fd;

    (void)snprintf(path, sizeof(path), "%s/%s", fuzz_directory(), name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    CHECK(close(fd) == 0);
    return path;
}

/* Without control characters, except those in `allowed`. */
static inline bool fuzz_is_clean(const char *text, const char *allowed)
{
    for (const char *p = text; *p; p++)
        if (((unsigned char)*p < 0x20 || *p == 0x7f) && !strchr(allowed, *p))
            return false;
    return true;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The statistics of a Lustre client. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cli/explain/figures.h"
#include "common/cleanup.h"

/* "10.0.0.1@tcp:10.0.0.2@tcp:/work" is the file system "work", and its clients are called
 * "work-ffff8f1c". */
static bool is_client(const char *name, const char *source)
{
    const char *at = strstr(source, ":/");
    size_t n;

    if (!at)
        return false;
    at += 2;
    n = strcspn(at, "/");
    return n && strncmp(name, at, n) == 0 && name[n] == '-';
}

static int read_client(int directory, const char *name, uint64_t *read, uint64_t *written)
{
    _free_ char *path = NULL, *text = NULL;
    int rc;

    if (asprintf(&path, "%s/stats", name) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    rc = figures_slurp(directory, path, &text, NULL);
    if (rc == 0)
        explain_parse_llite(text, read, written);
    return rc;
}

static int read_directory(const char *path, const char *source, uint64_t *read, uint64_t *written)
{
    _closedir_ DIR *directory = opendir(path);
    const struct dirent *entry;
    int rc = -ENOENT;

    if (!directory)
        return -errno;
    while (rc == -ENOENT && (entry = readdir(directory)))
        if (is_client(entry->d_name, source))
            rc = read_client(dirfd(directory), entry->d_name, read, written);
    return rc;
}

int figures_read_llite(const char *const *directories, const char *source, uint64_t *read,
                       uint64_t *written)
{
    int rc = -ENOENT;

    for (; *directories && rc == -ENOENT; directories++)
        rc = read_directory(*directories, source, read, written);
    return rc;
}

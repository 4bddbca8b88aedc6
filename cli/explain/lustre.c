/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The statistics of a Lustre client: llite/FS-CLIENT/stats, and osc/FS-OST0000-osc-CLIENT/{stats,
 * rpc_stats} for each object storage target. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/explain/figures.h"
#include "common/cleanup.h"
#include "common/numbers.h"

/* "10.0.0.1@tcp:10.0.0.2@tcp:/work" is the file system "work"; it may have a directory behind it.
 */
static bool find_name(const char *source, const char **ret, size_t *size)
{
    const char *at = strstr(source, ":/");

    if (!at)
        return false;
    *ret = at + 2;
    *size = strcspn(at + 2, "/");
    return *size > 0;
}

/* "work-ffff8f1c": the client of "work" with that id. NULL: it is another one's. */
static const char *client_id(const char *entry, const char *source)
{
    const char *name;
    size_t n;

    if (!find_name(source, &name, &n) || strncmp(entry, name, n) != 0 || entry[n] != '-')
        return NULL;
    return entry + n + 1;
}

/* "work-OST0003-osc-ffff8f1c" */
static bool is_target(const char *entry, const char *source, const char *id)
{
    const char *target = client_id(entry, source);
    const char *mark = target ? strstr(target, "-osc-") : NULL;

    return mark && strcmp(mark + strlen("-osc-"), id) == 0;
}

static int slurp(int directory, const char *entry, const char *file, char **ret)
{
    _free_ char *path = NULL;

    if (asprintf(&path, "%s/%s", entry, file) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    return figures_slurp(directory, path, ret, NULL);
}

static DIR *open_below(const char *root, const char *name)
{
    _free_ char *path = NULL;

    if (asprintf(&path, "%s/%s", root, name) < 0) {
        path = NULL;
        errno = ENOMEM;
        return NULL;
    }
    return opendir(path);
}

/* --- what programs read and wrote ------------------------------------------------------------- */

/* *id: of the client, malloc'd. */
static int read_client(const char *root, const char *source, struct figures_lustre *ret, char **id)
{
    _closedir_ DIR *directory = open_below(root, "llite");
    const struct dirent *entry;
    const char *found = NULL;
    _free_ char *text = NULL;
    int rc;

    if (!directory)
        return -errno;
    while (!found && (entry = readdir(directory)))
        found = client_id(entry->d_name, source);
    if (!found)
        return -ENOENT;
    rc = slurp(dirfd(directory), entry->d_name, "stats", &text);
    if (rc < 0)
        return rc;
    explain_parse_lustre(text, &ret->read, &ret->written);
    *id = strdup(found);
    return *id ? 0 : -ENOMEM;
}

/* --- what was transferred --------------------------------------------------------------------- */

static int add_target(int directory, const char *entry, struct figures_lustre *to)
{
    _free_ char *stats = NULL, *rpcs = NULL;
    uint64_t read, written;
    int rc = slurp(directory, entry, "stats", &stats);

    if (rc == 0)
        rc = slurp(directory, entry, "rpc_stats", &rpcs);
    if (rc == 0)
        rc = explain_parse_rpc_stats(rpcs, &to->rpcs);
    if (rc < 0)
        return rc;
    explain_parse_lustre(stats, &read, &written);
    add_saturating(&to->from_servers, read);
    add_saturating(&to->to_servers, written);
    return 0;
}

/* A sum without one of the targets would be too low, so it is all or nothing. */
static int read_targets(const char *root, const char *source, const char *id,
                        struct figures_lustre *to)
{
    _closedir_ DIR *directory = open_below(root, "osc");
    const struct dirent *entry;
    struct figures_lustre sum = *to;
    int rc = -ENOENT;

    if (!directory)
        return -errno;
    while ((entry = readdir(directory))) {
        if (!is_target(entry->d_name, source, id))
            continue;
        rc = add_target(dirfd(directory), entry->d_name, &sum);
        if (rc < 0)
            return rc;
    }
    if (rc == 0)
        *to = sum;
    return rc;
}

int figures_read_lustre(const char *const *roots, const char *source, struct figures_lustre *ret)
{
    struct figures_lustre lustre = {.wire = -ENOENT};
    _free_ char *id = NULL;
    int rc = -ENOENT;

    lustre.rpcs.page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; roots[i] && rc == -ENOENT; i++)
        rc = read_client(roots[i], source, &lustre, &id);
    if (rc < 0)
        return rc;
    for (size_t i = 0; roots[i] && lustre.wire == -ENOENT; i++)
        lustre.wire = read_targets(roots[i], source, id, &lustre);
    *ret = lustre;
    return 0;
}

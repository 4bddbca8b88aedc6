/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mounts of a step that get rows of their own. */
#include "collector/store/store_impl.h"

#include <stdlib.h>
#include <string.h>

/* A mount and what it did. */
struct ranked {
    size_t index;
    const struct io_mount *mount;
    struct io_sum all;
};

static size_t name_bytes(const struct io_mount *m)
{
    return strlen(m->mount) + strlen(m->fstype) + strlen(m->source);
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Labelled mounts first: users cannot make them, and the node's totals list them by name. Then by
 * wait and by requests. The names make the order the same in every row of a step. */
static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    int r = (int)y->mount->labelled - (int)x->mount->labelled;

    if (!r)
        r = compare(y->all.time_ns, x->all.time_ns);
    if (!r)
        r = compare(y->all.requests, x->all.requests);
    if (!r)
        r = strcmp(x->mount->mount, y->mount->mount);
    return r ? r : compare(x->index, y->index);
}

struct io_mount *store_other_mount(const struct io_mounts *mounts)
{
    for (size_t i = 0; i < mounts->n; i++)
        if (!strcmp(mounts->items[i].mount, IO_OTHER_MOUNTS))
            return &mounts->items[i];
    return NULL;
}

/* Choose the mounts to keep. 1: these are not all; 0: all of them. */
static int choose(const struct io_mounts *mounts, const struct mount_limit *limit, bool *keep)
{
    _free_ struct ranked *ranked = calloc(mounts->n + 1, sizeof(*ranked));
    size_t kept = 0, bytes = 0;

    if (!ranked)
        return -ENOMEM;
    for (size_t i = 0; i < mounts->n; i++)
        ranked[i] = (struct ranked){i, &mounts->items[i], io_account_all(&mounts->items[i].io)};
    qsort(ranked, mounts->n, sizeof(*ranked), by_rank);
    for (size_t i = 0; i < mounts->n && kept < limit->mounts; i++) {
        size_t names = name_bytes(ranked[i].mount);

        if (bytes + names > limit->name_bytes)
            continue;
        bytes += names;
        keep[ranked[i].index] = true;
        kept++;
    }
    return kept < mounts->n;
}

/* The type of all mounts that are not kept. The node's totals are by type, so it is not dropped. */
static char *other_fstype(const struct io_mounts *mounts, const bool *keep)
{
    char *fstype = NULL;

    for (size_t i = 0; i < mounts->n; i++) {
        if (keep[i])
            continue;
        if (fstype && strcmp(fstype, mounts->items[i].fstype) != 0)
            return "unknown";
        fstype = mounts->items[i].fstype;
    }
    return fstype;
}

int store_limit_mounts(const struct io_mounts *mounts, const struct mount_limit *limit,
                       struct io_mounts *ret)
{
    _free_ bool *keep = calloc(mounts->n + 1, sizeof(*keep));
    _free_ struct io_mount *items = calloc(mounts->n + 1, sizeof(*items));
    char *fstype;
    int r = keep && items ? choose(mounts, limit, keep) : -ENOMEM;

    if (r <= 0)
        return r;
    fstype = other_fstype(mounts, keep);
    for (size_t i = 0; i < mounts->n; i++) {
        struct io_mount *m = &items[i];

        *m = mounts->items[i]; /* borrowed */
        if (!limit->timelines)
            m->timeline = (struct timeline){0};
        if (keep[i])
            continue;
        m->mount = IO_OTHER_MOUNTS;
        m->fstype = fstype;
        m->source = "none";
        m->private = true;
        m->labelled = false;
        m->dev = 0;
        m->baseline = (struct mount_baseline){0};
        memset(m->users, 0, sizeof(m->users));
        m->rpc = NULL;
    }
    r = io_mounts_copy(&(struct io_mounts){.items = items, .n = mounts->n}, ret);
    return r < 0 ? r : 1;
}

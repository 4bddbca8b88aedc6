/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probe/probe_impl.h"

#include <string.h>

/* The fraction of a pool that a single step may take. */
#define POOL_PART 4

/* Divide `room` elements: `first` for each step (less if there are not as many), the rest is the
 * pool. */
static struct share_limit divide(uint32_t room, uint32_t steps, uint32_t first)
{
    struct share_limit limit = {.first = first * steps < room ? first : room / steps};

    limit.beyond = room - limit.first * steps;
    limit.most = limit.first + limit.beyond / POOL_PART;
    return limit;
}

void shares_set(struct jobio_bpf *skel)
{
    uint32_t mounts = bpf_map__max_entries(skel->maps.mounts), steps = mounts / JOBIO_MOUNT_RECORDS;
    uint32_t keys = bpf_map__max_entries(skel->maps.places);
    uint32_t caches = bpf_map__max_entries(skel->maps.caches);
    uint32_t errnos = bpf_map__max_entries(skel->maps.errnos);
    struct share_limit limits[SHARE_KINDS];

    /* Less the keys of no mount and of the other mounts, which have no limit. */
    keys -= steps * 2 * IO_OP_COUNT;
    caches -= steps;
    limits[SHARE_MOUNTS] = divide(mounts, steps, JOBIO_FIRST_MOUNTS);
    limits[SHARE_KEYS] = divide(keys, steps, keys / steps / 2);
    limits[SHARE_CACHES] = divide(caches, steps, JOBIO_FIRST_MOUNTS);
    limits[SHARE_ERRNOS] = divide(errnos / 4 * 3, steps, errnos * 3 / 8 / steps);
    limits[SHARE_OTHER_ERRNOS] = divide(errnos / 4, steps, errnos / 8 / steps);
    memcpy((void *)skel->rodata->share_limits, limits, sizeof(limits));
}

struct beyond {
    const volatile struct share_limit *limits;
    uint32_t n[SHARE_KINDS];
};

static int sum_beyond(const void *key, const void *value, void *arg)
{
    const struct share_record *record = value;
    struct beyond *beyond = arg;

    (void)key;
    for (int i = 0; i < SHARE_KINDS; i++)
        if (record->used[i] > beyond->limits[i].first)
            beyond->n[i] += record->used[i] - beyond->limits[i].first;
    return 0;
}

int shares_recount(struct probe *probe, struct error *error)
{
    struct beyond beyond = {.limits = probe->skel->rodata->share_limits};
    int r = map_each(probe, probe->skel->maps.shares, sum_beyond, &beyond, error);

    /* This loses what programs add meanwhile, until the next recount. */
    for (int i = 0; i < SHARE_KINDS && r == 0; i++)
        __atomic_store_n(&probe->levels->beyond[i], beyond.n[i], __ATOMIC_SEQ_CST);
    return r;
}

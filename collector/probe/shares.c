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

/* --- the sums over all steps ------------------------------------------------------------------ */

/* A sum that is too small would wrap. */
static void subtract(uint32_t *sum, uint32_t n)
{
    uint32_t old = __atomic_load_n(sum, __ATOMIC_SEQ_CST);

    while (!__atomic_compare_exchange_n(sum, &old, old > n ? old - n : 0, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST))
        ;
}

void shares_drop(struct probe *probe, const uint32_t *steps, size_t n)
{
    const struct bpf_map *shares = probe->skel->maps.shares;
    struct share_record record;

    for (size_t i = 0; i < n; i++) {
        if (map_get(probe, shares, &steps[i], &record) < 0)
            continue;
        for (int kind = 0; kind < SHARE_KINDS; kind++)
            subtract(&probe->levels->beyond[kind], record.beyond[kind]);
        (void)map_drop(probe, shares, &steps[i]);
    }
}

static int sum_beyond(const void *key, const void *value, void *arg)
{
    const struct share_record *record = value;
    uint32_t *beyond = arg;

    (void)key;
    for (int kind = 0; kind < SHARE_KINDS; kind++)
        beyond[kind] += record->beyond[kind];
    return 0;
}

/* Attempts to count while no program takes from a pool. */
#define RECOUNTS 4

int shares_recount(struct probe *probe, struct error *error)
{
    struct levels_record *levels = probe->levels;
    uint32_t before[SHARE_KINDS], beyond[SHARE_KINDS];
    int r = 0;

    for (int i = 0; i < RECOUNTS; i++) {
        memcpy(before, levels->beyond, sizeof(before));
        memset(beyond, 0, sizeof(beyond));
        r = map_each(probe, probe->skel->maps.shares, sum_beyond, beyond, error);
        if (r < 0 || memcmp(before, levels->beyond, sizeof(before)) == 0)
            break;
    }
    /* Add the difference, because programs may add, too. */
    for (int kind = 0; kind < SHARE_KINDS && r == 0; kind++)
        (void)__atomic_fetch_add(&levels->beyond[kind], beyond[kind] - before[kind],
                                 __ATOMIC_SEQ_CST);
    return r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probe/probe_impl.h"

/* Divide `room` elements: `first` for each step (less if there are not as many), the rest is the
 * pool. */
static struct share_limit divide(uint32_t room, uint32_t steps, uint32_t first)
{
    struct share_limit limit = {.first = first * steps < room ? first : room / steps, .part = 4};

    limit.pool = room - limit.first * steps;
    return limit;
}

void shares_set(struct probe *probe)
{
    const struct data_bpf *skel = probe->skel;
    struct share_limit *limits = probe->share_limits;
    uint32_t mounts = bpf_map__max_entries(skel->maps.mounts), steps = mounts / JOBIO_MOUNT_RECORDS;
    uint32_t keys = bpf_map__max_entries(skel->maps.places);
    uint32_t caches = bpf_map__max_entries(skel->maps.caches);
    uint32_t errnos = bpf_map__max_entries(skel->maps.errnos);

    /* Less the keys of no mount and of the other mounts, which have no limit. */
    keys -= steps * 2 * IO_OP_COUNT;
    caches -= steps;
    limits[SHARE_MOUNTS] = divide(mounts, steps, JOBIO_FIRST_MOUNTS);
    limits[SHARE_KEYS] = divide(keys, steps, keys / steps / 2);
    limits[SHARE_CACHES] = divide(caches, steps, JOBIO_FIRST_MOUNTS);
    limits[SHARE_ERRNOS] = divide(errnos / 4 * 3, steps, errnos * 3 / 8 / steps);
    limits[SHARE_OTHER_ERRNOS] = divide(errnos / 4, steps, errnos / 8 / steps);
    limits[SHARE_USERS] = divide(JOBIO_MAX_USERS, steps, JOBIO_MAX_USERS / 2 / steps);
    limits[SHARE_USERS].part = 1; /* a single step may use many processes */
    /* A single step may have many calls in flight, and they end soon. */
    limits[SHARE_AIO] = (struct share_limit){.pool = JOBIO_MAX_AIO, .part = 1};
}

/* --- the sums over all steps ------------------------------------------------------------------ */

void shares_drop(struct probe *probe, const uint32_t *steps, size_t n)
{
    const struct bpf_map *shares = probe->skel->maps.shares;
    struct levels_record *levels = probe->levels;
    struct share_record record;

    for (size_t i = 0; i < n; i++) {
        if (map_get(probe, shares, &steps[i], &record) < 0)
            continue;
        for (int kind = 0; kind < SHARE_KINDS; kind++)
            (void)__atomic_fetch_sub(&levels->beyond[kind], (int32_t)record.beyond[kind],
                                     __ATOMIC_SEQ_CST);
        (void)__atomic_fetch_sub(&levels->aggregated[steps[i] % JOBIO_AGGREGATED],
                                 record.aggregated, __ATOMIC_SEQ_CST);
        (void)map_drop(probe, shares, &steps[i]);
    }
}

/* What the records of all steps add up to. */
struct sums {
    uint32_t beyond[SHARE_KINDS], aggregated[JOBIO_AGGREGATED];
};

static struct sums sums_of(const struct levels_record *levels)
{
    struct sums sums;

    memcpy(sums.beyond, levels->beyond, sizeof(sums.beyond));
    memcpy(sums.aggregated, levels->aggregated, sizeof(sums.aggregated));
    return sums;
}

static int add_record(const void *key, const void *value, void *arg)
{
    const struct share_record *record = value;
    struct sums *sums = arg;
    uint32_t step;

    memcpy(&step, key, sizeof(step));
    for (int kind = 0; kind < SHARE_KINDS; kind++)
        sums->beyond[kind] += record->beyond[kind];
    sums->aggregated[step % JOBIO_AGGREGATED] += record->aggregated;
    return 0;
}

/* Add the difference, because programs may add, too. */
static void correct(void *array, const uint32_t *before, const uint32_t *counted, size_t n)
{
    uint32_t *sums = array;

    for (size_t i = 0; i < n; i++)
        (void)__atomic_fetch_add(&sums[i], counted[i] - before[i], __ATOMIC_SEQ_CST);
}

/* Attempts to count while no program adds. */
#define RECOUNTS 4

int shares_recount(struct probe *probe, struct error *error)
{
    struct levels_record *levels = probe->levels;
    struct sums before, after = sums_of(levels), counted;
    int r = 0;

    for (int i = 0; i < RECOUNTS; i++) {
        before = after;
        counted = (struct sums){0};
        r = map_each(probe, probe->skel->maps.shares, add_record, &counted, error);
        after = sums_of(levels);
        if (r < 0 || memcmp(&before, &after, sizeof(before)) == 0)
            break;
    }
    if (r < 0)
        return r;
    correct(levels->beyond, before.beyond, counted.beyond, SHARE_KINDS);
    correct(levels->aggregated, before.aggregated, counted.aggregated, JOBIO_AGGREGATED);
    return 0;
}

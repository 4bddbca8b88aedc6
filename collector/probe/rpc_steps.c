/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The steps whose NFS requests are counted, and the counters of kernel threads when they started.
 * If the programs are pinned, two maps have them for a later process. */
#include "config.h"

#include "collector/probe/rpc_impl.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "common/numbers.h"

/* --- elements --------------------------------------------------------------------------------- */

int rpc_grow(void **items, size_t n, size_t *room, size_t size)
{
    void *grown;

    if (n < *room)
        return 0;
    grown = reallocarray(*items, n + 64, size);
    if (!grown)
        return -ENOMEM;
    *items = grown;
    *room = n + 64;
    return 0;
}

static int add_element(const void *key, const void *value, void *arg)
{
    struct rpc_elements *to = arg;
    int r = rpc_grow((void **)&to->items, to->n, &to->room, sizeof(*to->items));

    if (r < 0)
        return r;
    memcpy(&to->items[to->n].key, key, sizeof(to->items->key));
    memcpy(&to->items[to->n++].value, value, sizeof(to->items->value));
    return 0;
}

const struct rpc_element *rpc_find_element(const struct rpc_elements *in,
                                           const struct rpc_counter_key *key)
{
    for (size_t i = 0; i < in->n; i++)
        if (!memcmp(&in->items[i].key, key, sizeof(*key)))
            return &in->items[i];
    return NULL;
}

int rpc_read_shared(const struct probe *probe, struct rpc_elements *ret, struct error *error)
{
    ret->n = 0;
    return map_each(probe, probe->rpc->skel->maps.rpc_shared, add_element, ret, error);
}

/* --- steps ------------------------------------------------------------------------------------ */

static int step_compare(const void *a, const void *b)
{
    return number_compare(&((const struct rpc_step *)a)->step, &((const struct rpc_step *)b)->step);
}

static void step_destroy(void *arg)
{
    struct rpc_step *step = arg;

    free(step->before.items);
    free(step);
}

struct rpc_step *rpc_steps_find(const struct rpc_probe *rpc, uint32_t step)
{
    const struct rpc_step wanted = {.step = step};
    struct rpc_step **found = tfind(&wanted, &rpc->steps, step_compare);

    return found ? *found : NULL;
}

static struct rpc_step *insert(struct rpc_probe *rpc, uint32_t number)
{
    struct rpc_step *step = calloc(1, sizeof(*step));

    if (!step)
        return NULL;
    step->step = number;
    if (tsearch(step, &rpc->steps, step_compare))
        return step;
    step_destroy(step);
    return NULL;
}

/* The record last: a step that has one is complete. If there is no room, a later process finds a
 * step that is late. */
static void save(const struct probe *probe, const struct rpc_step *step)
{
    const struct rpc_step_record record = {.lost = step->lost, .late = step->late};
    const struct rpc_bpf *skel = probe->rpc->skel;
    int r = 0;

    for (size_t i = 0; i < step->before.n && r == 0; i++) {
        struct rpc_counter_key key = step->before.items[i].key;

        key.step = step->step;
        r = map_put(probe, skel->maps.rpc_before, &key, &step->before.items[i].value, BPF_ANY);
    }
    if (r == 0)
        (void)map_put(probe, skel->maps.rpc_steps, &step->step, &record, BPF_ANY);
    else /* of no use, and others need the room */
        (void)map_drop_steps(probe, skel->maps.rpc_before, &step->step, 1, NULL);
}

/* The programs may be older than a step that is late: what kernel threads did before now is not the
 * step's. */
struct rpc_step *rpc_steps_add(const struct probe *probe, uint32_t number, bool late)
{
    struct rpc_probe *rpc = probe->rpc;
    struct rpc_step *step = insert(rpc, number);

    if (!step)
        return NULL;
    step->lost = rpc_lost(probe);
    step->late = late;
    if (rpc_read_shared(probe, &step->before, NULL) < 0)
        step->late = true;
    if (rpc->pinned)
        save(probe, step);
    return step;
}

void rpc_steps_forget(struct rpc_probe *rpc, uint32_t number)
{
    struct rpc_step *step = rpc_steps_find(rpc, number);

    if (!step)
        return;
    (void)tdelete(step, &rpc->steps, step_compare);
    step_destroy(step);
}

void rpc_steps_clear(struct rpc_probe *rpc)
{
    tdestroy(rpc->steps, step_destroy);
    rpc->steps = NULL;
}

void rpc_start(struct probe *probe, uint32_t step)
{
    if (!probe->rpc)
        return;
    rpc_steps_forget(probe->rpc, step);
    (void)rpc_steps_add(probe, step, false); /* without memory, it is found to be late */
}

void rpc_began_late(struct probe *probe, uint32_t number)
{
    struct rpc_step *step = probe->rpc ? rpc_steps_find(probe->rpc, number) : NULL;

    if (!step)
        return;
    step->late = true;
    if (probe->rpc->pinned)
        save(probe, step);
}

void rpc_forget(struct probe *probe, const uint32_t *steps, size_t n)
{
    for (size_t i = 0; i < n && probe->rpc; i++)
        rpc_steps_forget(probe->rpc, steps[i]);
}

/* --- those of an earlier process -------------------------------------------------------------- */

static int load_step(const void *key, const void *value, void *arg)
{
    struct rpc_step_record record;
    struct rpc_step *step;
    uint32_t number;

    memcpy(&number, key, sizeof(number));
    memcpy(&record, value, sizeof(record));
    step = insert(arg, number);
    if (!step)
        return -ENOMEM;
    step->lost = record.lost;
    step->late = record.late;
    return 0;
}

static int load_before(const void *key, const void *value, void *arg)
{
    struct rpc_counter_key shared;
    struct rpc_step *step;

    memcpy(&shared, key, sizeof(shared));
    step = rpc_steps_find(arg, shared.step);
    shared.step = RPC_BY_KERNEL;
    return step ? add_element(&shared, value, &step->before) : 0;
}

int rpc_steps_load(struct rpc_probe *rpc, const struct probe *probe, struct error *error)
{
    int r = map_each(probe, rpc->skel->maps.rpc_steps, load_step, rpc, error);

    return r < 0 ? r : map_each(probe, rpc->skel->maps.rpc_before, load_before, rpc, error);
}

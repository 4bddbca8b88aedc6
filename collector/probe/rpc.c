/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of the requests of the NFS client. Those of kernel threads belong to no step: a step
 * gets what the kernel threads did on its mounts while it was running. */
#include "config.h"

#include "collector/probe/rpc_impl.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"

/* Until a load that failed is tried again; it takes a part of a second. */
#define RPC_PAUSE_NS (60 * NS_PER_S)

/* The client's module. It is also there if the client is built into the kernel. */
#define NFS_MODULE "/sys/module/nfs"

static void rpc_probe_destroy(struct rpc_probe *rpc)
{
    if (!rpc)
        return;
    rpc_hooks_close(rpc);
    rpc_steps_clear(rpc);
    free(rpc->shared.items);
    free(rpc->clients);
    free(rpc);
}

DEFINE_CLEANUP(struct rpc_probe, rpc_probe_destroy)

/* Take over what an earlier process has pinned. Returns 1, or 0 if there is nothing. */
static int adopt(struct rpc_probe *rpc, const struct probe *probe, struct error *error)
{
    int r = rpc_hooks_adopt(rpc, probe, error);

    if (r <= 0)
        return r;
    r = rpc_steps_load(rpc, probe, error);
    return r < 0 ? r : 1;
}

int rpc_adopt(struct probe *probe, struct error *error)
{
    CLEANUP(rpc_probe_destroyp) struct rpc_probe *rpc = calloc(1, sizeof(*rpc));
    int r = rpc ? adopt(rpc, probe, error) : error_errno(error, -ENOMEM, "NFS");

    if (r > 0)
        probe->rpc = TAKE_PTR(rpc);
    return r < 0 ? r : 0;
}

void rpc_unpin(const struct probe *probe)
{
    if (probe->directory)
        (void)pins_remove(probe->directory, RPC_PINS, NULL);
}

static int open_or_adopt(struct rpc_probe *rpc, const struct probe *probe, struct error *error)
{
    int r = adopt(rpc, probe, error);

    return r == 0 ? rpc_hooks_open(rpc, probe, error) : r;
}

void rpc_poll(struct probe *probe)
{
    CLEANUP(rpc_probe_destroyp) struct rpc_probe *rpc = NULL;
    int r;

    if (probe->blind || probe->rpc || !probe->skel || access(NFS_MODULE, F_OK) < 0 ||
        clock_ns(CLOCK_MONOTONIC) < probe->rpc_due_ns)
        return;
    rpc = calloc(1, sizeof(*rpc));
    r = rpc ? open_or_adopt(rpc, probe, &probe->rpc_why)
            : error_errno(&probe->rpc_why, -ENOMEM, "cannot count the requests of NFS");
    if (r < 0) {
        probe->rpc_due_ns =
            error_is_temporary(r) ? clock_ns(CLOCK_MONOTONIC) + RPC_PAUSE_NS : UINT64_MAX;
        return;
    }
    probe->rpc = TAKE_PTR(rpc);
    probe->rpc_why = (struct error){0};
}

void rpc_close(struct probe *probe)
{
    rpc_probe_destroy(probe->rpc);
    probe->rpc = NULL;
}

const struct bpf_map *rpc_counters(const struct probe *probe)
{
    return probe->rpc ? probe->rpc->skel->maps.rpc_counters : NULL;
}

size_t rpc_step_maps(const struct probe *probe, const struct bpf_map *ret[RPC_STEP_MAPS])
{
    if (!probe->rpc)
        return 0;
    ret[0] = probe->rpc->skel->maps.rpc_steps;
    ret[1] = probe->rpc->skel->maps.rpc_before;
    ret[2] = probe->rpc->skel->maps.rpc_counters;
    return RPC_STEP_MAPS;
}

/* --- a reading -------------------------------------------------------------------------------- */

static int add_client(const void *key, const void *value, void *arg)
{
    struct rpc_probe *rpc = arg;
    int r =
        rpc_grow((void **)&rpc->clients, rpc->n_clients, &rpc->clients_room, sizeof(*rpc->clients));

    if (r < 0)
        return r;
    memcpy(&rpc->clients[rpc->n_clients].address, key, sizeof(rpc->clients->address));
    memcpy(&rpc->clients[rpc->n_clients++].record, value, sizeof(rpc->clients->record));
    return 0;
}

static void reset_step(const void *node, VISIT visit, void *arg)
{
    (void)arg;
    if (visit == preorder || visit == leaf)
        (*(struct rpc_step *const *)node)->unresolved = false;
}

static bool has_client(const struct rpc_probe *rpc, const struct rpc_counter_key *key)
{
    for (size_t i = 0; i < rpc->n_clients; i++)
        if (rpc->clients[i].address == key->client && rpc->clients[i].record.born == key->born)
            return true;
    return false;
}

struct need {
    const struct rpc_element *element;
    bool any;
};

/* A step that started before the last request of the element has a part of it. */
static void step_needs(const void *node, VISIT visit, void *arg)
{
    const struct rpc_step *step = *(struct rpc_step *const *)node;
    const struct rpc_element *before;
    struct need *need = arg;

    if (visit != preorder && visit != leaf)
        return;
    before = rpc_find_element(&step->before, &need->element->key);
    need->any |= !before || before->value.calls != need->element->value.calls;
}

/* Drop the shared counters of clients that are gone, if no step has a part of them. */
static void drop_unused(const struct probe *probe)
{
    const struct rpc_probe *rpc = probe->rpc;

    for (size_t i = 0; i < rpc->shared.n; i++) {
        struct need need = {.element = &rpc->shared.items[i]};

        if (has_client(rpc, &need.element->key))
            continue;
        twalk_r(rpc->steps, step_needs, &need);
        if (!need.any)
            (void)map_drop(probe, rpc->skel->maps.rpc_shared, &need.element->key);
    }
}

/* The shared counters first: their clients are there, or gone. */
int rpc_read(struct probe *probe, struct error *error)
{
    struct rpc_probe *rpc = probe->rpc;
    int r;

    if (!rpc)
        return 0;
    twalk_r(rpc->steps, reset_step, NULL);
    r = rpc_read_shared(probe, &rpc->shared, error);
    rpc->n_clients = 0;
    if (r == 0)
        r = map_each(probe, rpc->skel->maps.rpc_clients, add_client, rpc, error);
    if (r == 0)
        drop_unused(probe);
    return r;
}

/* Find the file system of a counter that did not know it when its last request ended. */
static void find_mount(const struct rpc_probe *rpc, const struct rpc_counter_key *key,
                       struct rpc_counter_value *value)
{
    for (size_t i = 0; i < rpc->n_clients && !value->dev; i++) {
        const struct rpc_client *client = &rpc->clients[i];

        if (client->address == key->client && client->record.born == key->born) {
            value->dev = client->record.dev;
            value->ended = client->record.ended;
        }
    }
}

/* Get what the step's keys hold for the s_dev: the generation is relative to its first one. */
static int find_generation(const struct probe *probe, uint32_t step, uint32_t dev, uint32_t ended,
                           uint64_t *ret)
{
    const struct mount_key key = {.step = step, .dev = dev};
    struct mount_record first;
    uint32_t since;

    if (!dev || map_get(probe, probe->skel->maps.mounts, &key, &first) < 0)
        return -ENOENT;
    /* Before the first one, if another file system has the same generation record. */
    since = (int32_t)(ended - first.ended) < 0 ? 0 : ended - first.ended;
    *ret = (uint64_t)(since < GENERATION_LATER ? since : GENERATION_LATER) << 32 | dev;
    return 0;
}

static void account_add(struct rpc_counter *classes, const struct rpc_counter_value *value)
{
    char name[sizeof(value->name) + 1] = "";
    struct rpc_counter sums;

#define COPY_SUM(member) sums.member = value->member;
    RPC_SUMS(COPY_SUM)
#undef COPY_SUM
    memcpy(name, value->name, sizeof(value->name));
    rpc_counter_add(&classes[rpc_class_of(name)], &sums);
}

int rpc_find(const struct probe *probe, const void *key, const void *value,
             struct rpc_counter_value *counters, uint64_t *dev)
{
    const struct rpc_counter_key *at = key;
    struct rpc_step *step = rpc_steps_find(probe->rpc, at->step);

    memcpy(counters, value, sizeof(*counters));
    find_mount(probe->rpc, at, counters);
    if (find_generation(probe, at->step, counters->dev, counters->ended, dev) == 0)
        return 0;
    if (step)
        step->unresolved = true;
    return -ENOENT;
}

int rpc_add(struct rpc_account **to, const struct rpc_counter_value *counters)
{
    static const struct rpc_account empty;
    int r = rpc_account_reserve(to, &empty);

    if (r == 0)
        account_add((*to)->own, counters);
    return r;
}

/* now - before. */
static struct rpc_counter_value diff(const struct rpc_element *now,
                                     const struct rpc_element *before)
{
    struct rpc_counter_value value = now->value;

#define SUBTRACT(member) value.member -= before->value.member;
    if (before) {
        RPC_SUMS(SUBTRACT)
    }
#undef SUBTRACT
    return value;
}

static bool is_nfs(const struct probe *probe, uint32_t step, uint64_t dev)
{
    const struct rpc_probe *rpc = probe->rpc;
    uint64_t found;

    for (size_t i = 0; i < rpc->n_clients; i++) {
        const struct rpc_client_record *record = &rpc->clients[i].record;

        if (record->dev == (uint32_t)dev &&
            find_generation(probe, step, record->dev, record->ended, &found) == 0 && found == dev)
            return true;
    }
    return false;
}

static void add_shared(const struct probe *probe, const struct rpc_step *step, uint64_t dev,
                       struct rpc_account *to)
{
    for (size_t i = 0; i < probe->rpc->shared.n; i++) {
        const struct rpc_element *now = &probe->rpc->shared.items[i];
        struct rpc_counter_value value = now->value;
        uint64_t found;

        find_mount(probe->rpc, &now->key, &value);
        if (value.dev != (uint32_t)dev ||
            find_generation(probe, step->step, value.dev, value.ended, &found) < 0 || found != dev)
            continue;
        value = diff(now, rpc_find_element(&step->before, &now->key));
        if (value.calls)
            account_add(to->shared, &value);
    }
}

int rpc_finish(struct probe *probe, uint32_t number, uint64_t dev, struct rpc_account **account)
{
    static const struct rpc_account empty;
    struct rpc_step *step;

    if (!probe->rpc || !(uint32_t)dev || (!*account && !is_nfs(probe, number, dev)))
        return 0;
    step = rpc_steps_find(probe->rpc, number);
    if (!step)
        step = rpc_steps_add(probe, number, true);
    if (!step || rpc_account_reserve(account, &empty) < 0)
        return -ENOMEM;
    (*account)->known = true;
    (*account)->incomplete = step->late || step->unresolved || step->lost != rpc_lost(probe);
    add_shared(probe, step, dev, *account);
    return 0;
}

const char *probe_rpc_missing(const struct probe *probe)
{
    return *probe->rpc_why.text ? probe->rpc_why.text : NULL;
}

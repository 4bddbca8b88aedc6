/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removal of steps and their counters from the maps. */
#include "config.h"

#include "collector/probe/probe_impl.h"

#include <string.h>

#include "common/cleanup.h"

int probe_drop(struct probe *probe, uint64_t cgroup_id, int cgroup_version, struct error *error)
{
    return probe_drop_many(probe, &(struct probe_cgroup){cgroup_id, cgroup_version}, 1, error);
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Remove the steps from `steps`. Programs that start later create no keys for them. */
static int drop_tags(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                     struct error *error)
{
    int result = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t key = step_key(cgroups[i].id, cgroups[i].version);
        uint32_t number = step_number(cgroups[i].id, cgroups[i].version);
        int r = map_drop(probe, probe->skel->maps.steps, &key);

        if (r < 0 && r != -ENOENT && !result)
            result = error_errno(error, r, "cannot drop the step");
        (void)map_drop(probe, probe->skel->maps.lost, &number);
    }
    return result;
}

struct drop_list {
    struct probe *probe;
    const uint32_t *steps; /* ascending */
    size_t n_steps;
    struct place {
        struct account_key key;
        uint32_t slot;
    } * places;
    size_t n, room;
};

static int clear_slot(const void *key, const void *value, void *arg)
{
    struct drop_list *list = arg;
    struct account_value *at;
    struct place *places;
    uint32_t slot;

    if (!bsearch(key, list->steps, list->n_steps, sizeof(*list->steps), compare_numbers))
        return 0;
    if (list->n == list->room) {
        size_t room = list->room ? list->room * 2 : 256;

        places = reallocarray(list->places, room, sizeof(*places));
        if (!places)
            return -ENOMEM;
        list->places = places;
        list->room = room;
    }
    memcpy(&slot, value, sizeof(slot));
    if (slots_have(list->probe, slot)) {
        at = slots_value(list->probe, slot);
        if (!at)
            return -ENOMEM;
        memset(at, 0, sizeof(*at));
    }
    list->places[list->n].slot = slot;
    memcpy(&list->places[list->n++].key, key, sizeof(places->key));
    return 0;
}

/* Make sure that no program adds to the slots of these steps any more. Wait for programs that saw a
 * step: they may still take a slot and keep a hint of the old generation. Then end that generation,
 * and wait for programs that have compared it already: they may still add. */
static int stop_adding(const struct probe *probe, struct error *error)
{
    int r = maps_wait(probe, error);

    if (r < 0)
        return r;
    (void)__atomic_fetch_add(&probe->levels->generation, 1, __ATOMIC_SEQ_CST);
    return maps_wait(probe, error);
}

static int drop_accounts(struct probe *probe, const uint32_t *steps, size_t n_steps,
                         struct error *error)
{
    struct drop_list list = {.probe = probe, .steps = steps, .n_steps = n_steps};
    int r = map_each(probe, probe->skel->maps.places, clear_slot, &list, error);

    if (r == -ENOMEM)
        (void)error_errno(error, r, "cannot drop steps");
    /* A slot is free when no key leads to it, and its counters are empty. */
    for (size_t i = 0; i < list.n; i++)
        if (map_drop(probe, probe->skel->maps.places, &list.places[i].key) == 0)
            slots_give(probe, list.places[i].slot);
    free(list.places);
    return r;
}

static int drop_requests(struct probe *probe, const uint32_t *steps, size_t n, struct error *error)
{
    const struct bpf_map *maps[RPC_STEP_MAPS];
    size_t n_maps = rpc_step_maps(probe, maps);
    int r = 0;

    rpc_forget(probe, steps, n);
    for (size_t i = 0; i < n_maps && r == 0; i++)
        r = map_drop_steps(probe, maps[i], steps, n, error);
    return r;
}

static int drop_steps(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                      struct error *error)
{
    const struct bpf_map *maps[] = {probe->skel->maps.caches, probe->skel->maps.errnos,
                                    probe->skel->maps.users, probe->skel->maps.mounts,
                                    probe->skel->maps.chains};
    _free_ uint32_t *numbers = malloc(n * sizeof(*numbers));
    int result, r;

    if (!numbers)
        return error_errno(error, -ENOMEM, "cannot drop steps");
    for (size_t i = 0; i < n; i++)
        numbers[i] = step_number(cgroups[i].id, cgroups[i].version);
    qsort(numbers, n, sizeof(*numbers), compare_numbers);
    result = drop_accounts(probe, numbers, n, error);
    for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
        r = map_drop_steps(probe, maps[i], numbers, n, error);
        result = result < 0 ? result : r;
    }
    r = drop_requests(probe, numbers, n, error);
    result = result < 0 ? result : r;
    shares_drop(probe, numbers, n);
    accounts_forget(probe, numbers, n);
    return result;
}

int probe_drop_start(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                     struct error *error)
{
    int result = 0, r;

    for (struct probe *p = probe->blind ? NULL : probe; p; p = p->others) {
        r = drop_tags(p, cgroups, n, error);
        result = result < 0 ? result : r;
    }
    return result;
}

int probe_drop_wait(const struct probe *probe, struct error *error)
{
    int r = 0;

    layouts_hold();
    for (const struct probe *p = probe->blind ? NULL : probe; p && r == 0; p = p->others)
        r = stop_adding(p, error);
    layouts_release();
    return r;
}

int probe_drop_finish(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                      struct error *error)
{
    int result = 0, r;

    for (struct probe *p = !n || probe->blind ? NULL : probe; p; p = p->others) {
        r = drop_steps(p, cgroups, n, error);
        result = result < 0 ? result : r;
    }
    return result;
}

int probe_drop_many(struct probe *probe, const struct probe_cgroup *cgroups, size_t n,
                    struct error *error)
{
    int result = probe_drop_start(probe, cgroups, n, error);
    int r = n ? probe_drop_wait(probe, error) : 0;

    if (r == 0)
        r = probe_drop_finish(probe, cgroups, n, error);
    return result < 0 ? result : r;
}

/* --- leftovers -------------------------------------------------------------------------------- */

struct numbers {
    uint32_t *items;
    size_t n, room;
};

static int add_number(const void *key, const void *value, void *arg)
{
    struct numbers *numbers = arg;
    uint32_t number, *grown;

    (void)value;
    memcpy(&number, key, sizeof(number));
    if (numbers->n && numbers->items[numbers->n - 1] == number)
        return 0;
    if (numbers->n == numbers->room) {
        size_t room = numbers->room ? numbers->room * 2 : 256;

        grown = reallocarray(numbers->items, room, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        numbers->items = grown;
        numbers->room = room;
    }
    numbers->items[numbers->n++] = number;
    return 0;
}

/* Keep the numbers without a step, each once. */
static void keep_leftovers(struct numbers *numbers, const struct probe_step *steps, size_t n_steps)
{
    size_t kept = 0;

    if (numbers->n)
        qsort(numbers->items, numbers->n, sizeof(*numbers->items), compare_numbers);
    for (size_t i = 0, at = 0; i < numbers->n; i++) {
        uint32_t number = numbers->items[i];

        while (at < n_steps && steps[at].step < number)
            at++;
        if ((at == n_steps || steps[at].step != number) &&
            (!kept || numbers->items[kept - 1] != number))
            numbers->items[kept++] = number;
    }
    numbers->n = kept;
}

static int add_requests(struct probe *probe, struct numbers *numbers, struct error *error)
{
    const struct bpf_map *maps[RPC_STEP_MAPS];
    size_t n_maps = rpc_step_maps(probe, maps);
    int r = 0;

    for (size_t i = 0; i < n_maps && r == 0; i++)
        r = map_each(probe, maps[i], add_number, numbers, error);
    return r;
}

static int drop_leftovers(struct probe *probe, struct error *error)
{
    const struct bpf_map *maps[] = {probe->skel->maps.caches, probe->skel->maps.errnos,
                                    probe->skel->maps.users,  probe->skel->maps.mounts,
                                    probe->skel->maps.chains, probe->skel->maps.lost};
    _free_ struct probe_step *steps = NULL;
    struct numbers numbers = {0};
    size_t n_steps = 0;
    int r = map_each(probe, probe->skel->maps.places, add_number, &numbers, error);

    for (size_t i = 0; i < ARRAY_SIZE(maps) && !r; i++)
        r = map_each(probe, maps[i], add_number, &numbers, error);
    if (!r)
        r = map_each(probe, probe->skel->maps.shares, add_number, &numbers, error);
    if (!r)
        r = add_requests(probe, &numbers, error);
    /* List the steps after the keys, so that a step that was tagged meanwhile is included. */
    if (!r)
        r = probe_steps(probe, &steps, &n_steps, error);
    if (!r)
        keep_leftovers(&numbers, steps, n_steps);
    if (!r && numbers.n)
        r = stop_adding(probe, error);
    if (!r && numbers.n)
        r = drop_accounts(probe, numbers.items, numbers.n, error);
    for (size_t i = 0; i < ARRAY_SIZE(maps) && !r && numbers.n; i++)
        r = map_drop_steps(probe, maps[i], numbers.items, numbers.n, error);
    if (!r)
        r = drop_requests(probe, numbers.items, numbers.n, error);
    if (!r) {
        shares_drop(probe, numbers.items, numbers.n);
        accounts_forget(probe, numbers.items, numbers.n);
    }
    free(numbers.items);
    return r < 0 ? r : (int)numbers.n;
}

int probe_sweep(struct probe *probe, struct error *error)
{
    int n = 0, r = 0;

    for (struct probe *p = probe->blind ? NULL : probe; p && r >= 0; p = p->others) {
        r = drop_leftovers(p, error);
        n += r > 0 ? r : 0;
    }
    if (!probe->blind && r >= 0)
        r = layouts_retire(probe, error);
    return r < 0 ? r : n;
}

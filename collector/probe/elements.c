/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Access to the elements of the hashes: by bpf(2), or by bpf/maps.bpf.c if bpf(2) would prevent
 * programs from counting.
 */
#include "collector/probe/probe_impl.h"

#include <string.h>
#include <sys/mman.h>

#include "bpf/maps.h"
#include "bpf/maps.skel.h"
#include "common/cleanup.h"

/* Elements per system call; a bucket that holds more needs a larger buffer. */
#define BATCH 1024

struct batch {
    uint32_t size;
    char *keys, *values;
};

static void batch_clear(struct batch *batch)
{
    free(batch->keys);
    free(batch->values);
    *batch = (struct batch){0};
}

#define _batch_ CLEANUP(batch_clear)

static int batch_grow(struct batch *batch, uint32_t size, size_t key, size_t value)
{
    batch_clear(batch);
    batch->keys = malloc(size * key);
    batch->values = malloc(size * value);
    if (!batch->keys || !batch->values)
        return -ENOMEM;
    batch->size = size;
    return 0;
}

/* For kernels before 5.6, and where bpf(2) prevents programs from counting: it does so only while
 * it copies an element. If the kernel deletes the element that the walk is at, the walk starts
 * again, which is harmless for the only map of which it does that, `rpc_clients`. */
static int map_each_single(const struct bpf_map *map, map_each_f each, void *arg)
{
    int fd = bpf_map__fd(map), r;
    char key[bpf_map__key_size(map)], value[bpf_map__value_size(map)];
    bool first = true;

    while (bpf_map_get_next_key(fd, first ? NULL : key, key) == 0) {
        first = false;
        if (bpf_map_lookup_elem(fd, key, value) < 0)
            continue;
        r = each(key, value, arg);
        if (r)
            return r;
    }
    return 0;
}

static int map_each_batch(const struct bpf_map *map, map_each_f each, void *arg,
                          struct error *error)
{
    size_t key = bpf_map__key_size(map), value = bpf_map__value_size(map);
    _batch_ struct batch batch = {0};
    int fd = bpf_map__fd(map), r;
    uint64_t position = 0, next = 0;
    bool first = true, last = false;

    if (batch_grow(&batch, BATCH, key, value) < 0)
        return error_errno(error, -ENOMEM, "cannot read the map %s", bpf_map__name(map));
    while (!last) {
        uint32_t n = batch.size;

        r = bpf_map_lookup_batch(fd, first ? NULL : &position, &next, batch.keys, batch.values, &n,
                                 NULL);
        if (r == -ENOSPC) {
            if (batch_grow(&batch, batch.size * 2, key, value) < 0)
                return error_errno(error, -ENOMEM, "cannot read the map %s", bpf_map__name(map));
            continue;
        }
        if (first && r == -EINVAL)
            return map_each_single(map, each, arg);
        if (r < 0 && r != -ENOENT)
            return error_errno(error, r, "cannot read the map %s", bpf_map__name(map));
        last = r == -ENOENT;
        for (uint32_t i = 0; i < n; i++) {
            r = each(batch.keys + i * key, batch.values + i * value, arg);
            if (r == -ENOMEM)
                return error_errno(error, r, "cannot read the map %s", bpf_map__name(map));
            if (r)
                return r;
        }
        position = next;
        first = false;
    }
    return 0;
}

/* --- by a program of our own ------------------------------------------------------------------ */

DEFINE_CLEANUP(struct maps_bpf, maps_bpf__destroy)

#define MAP_NAME(name, key, value) #name,

static const char *const names[MAPS_COUNT] = {MAPS(MAP_NAME)};

static uint32_t number_of(const struct bpf_map *map)
{
    uint32_t n = 0;

    while (n < MAPS_COUNT && strcmp(names[n], bpf_map__name(map)) != 0)
        n++;
    return n;
}

/* Returns whether the program accesses the map. */
static bool is_by_program(const struct probe *probe, const struct bpf_map *map)
{
    return probe->elements && number_of(map) < MAPS_COUNT;
}

/* Pages of `rows` for all elements of the largest map; call after maps_share(), which sets the
 * sizes. */
static uint32_t count_pages(const struct maps_bpf *skel)
{
    uint32_t most = 1;

    for (uint32_t i = 0; i < MAPS_COUNT; i++) {
        const struct bpf_map *map = bpf_object__find_map_by_name(skel->obj, names[i]);
        uint32_t a_page = MAPS_PAGE / (bpf_map__key_size(map) + bpf_map__value_size(map));
        uint32_t pages = (bpf_map__max_entries(map) + a_page - 1) / a_page;

        if (pages > most)
            most = pages;
    }
    return most;
}

static size_t rows_size(const struct maps_bpf *skel)
{
    return (size_t)bpf_map__max_entries(skel->maps.rows) * MAPS_PAGE;
}

void elements_open(struct probe *probe)
{
    CLEANUP(maps_bpf__destroyp) struct maps_bpf *skel = maps_bpf__open_opts(features_types());
    void *rows;

    if (!skel || maps_share(probe, skel->obj) < 0 ||
        bpf_map__set_max_entries(skel->maps.rows, count_pages(skel)) < 0 ||
        maps_bpf__load(skel) < 0)
        return;
    rows = mmap(NULL, rows_size(skel), PROT_READ, MAP_SHARED, bpf_map__fd(skel->maps.rows), 0);
    if (rows == MAP_FAILED)
        return;
    probe->rows = rows;
    probe->elements = TAKE_PTR(skel);
}

void elements_close(struct probe *probe)
{
    if (probe->rows)
        (void)munmap(probe->rows, rows_size(probe->elements));
    maps_bpf__destroy(probe->elements);
}

static int run_action(const struct probe *probe, const struct bpf_map *map, enum maps_action action)
{
    LIBBPF_OPTS(bpf_test_run_opts, options);
    int r;

    probe->elements->data_call->call.map = number_of(map);
    probe->elements->data_call->call.action = action;
    r = bpf_prog_test_run_opts(bpf_program__fd(probe->elements->progs.maps_do), &options);
    return r < 0 ? r : (int)options.retval;
}

static int run_with_key(const struct probe *probe, const struct bpf_map *map,
                        enum maps_action action, const void *key)
{
    memcpy(probe->elements->data_call->call.key, key, bpf_map__key_size(map));
    return run_action(probe, map, action);
}

/* Returns a copy of the rows, because `each` may access a map, too. NULL on out-of-memory. */
static char *copy_rows(const struct probe *probe, size_t n, size_t row)
{
    size_t a_page = MAPS_PAGE / row;
    char *copy = malloc(n * row + 1);

    for (size_t i = 0; copy && i < n; i += a_page)
        memcpy(copy + i * row, probe->rows[i / a_page].bytes,
               (n - i < a_page ? n - i : a_page) * row);
    return copy;
}

/* The elements of the map, malloc'd. Returns -ENOSPC if they do not fit into `rows`. */
static int read_rows(const struct probe *probe, const struct bpf_map *map, char **ret, size_t *n)
{
    int r = run_action(probe, map, MAPS_WALK);

    if (r < 0)
        return r;
    *n = probe->elements->data_call->call.n;
    *ret = copy_rows(probe, *n, bpf_map__key_size(map) + bpf_map__value_size(map));
    return *ret ? 0 : -ENOMEM;
}

static int map_each_row(const struct bpf_map *map, const char *rows, size_t n, map_each_f each,
                        void *arg)
{
    size_t key = bpf_map__key_size(map), row = key + bpf_map__value_size(map);
    int r = 0;

    for (size_t i = 0; i < n && !r; i++)
        r = each(rows + i * row, rows + i * row + key, arg);
    return r;
}

/* --- both ------------------------------------------------------------------------------------- */

int map_get(const struct probe *probe, const struct bpf_map *map, const void *key, void *value)
{
    int r;

    if (!is_by_program(probe, map))
        return bpf_map_lookup_elem(bpf_map__fd(map), key, value);
    r = run_with_key(probe, map, MAPS_GET, key);
    if (r == 0)
        memcpy(value, probe->elements->data_call->call.value, bpf_map__value_size(map));
    return r;
}

int map_put(const struct probe *probe, const struct bpf_map *map, const void *key,
            const void *value, uint64_t flags)
{
    if (!is_by_program(probe, map))
        return bpf_map_update_elem(bpf_map__fd(map), key, value, flags);
    memcpy(probe->elements->data_call->call.value, value, bpf_map__value_size(map));
    probe->elements->data_call->call.flags = flags;
    return run_with_key(probe, map, MAPS_PUT, key);
}

int map_drop(const struct probe *probe, const struct bpf_map *map, const void *key)
{
    return is_by_program(probe, map) ? run_with_key(probe, map, MAPS_DROP, key)
                                     : bpf_map_delete_elem(bpf_map__fd(map), key);
}

int map_push(const struct probe *probe, const struct bpf_map *map, const void *value)
{
    if (!probe->elements)
        return bpf_map_update_elem(bpf_map__fd(map), NULL, value, BPF_ANY);
    memcpy(probe->elements->data_call->call.value, value, bpf_map__value_size(map));
    return run_action(probe, map, MAPS_PUSH);
}

void map_drop_all(const struct probe *probe, const struct bpf_map *map, const void *keys, size_t n)
{
    size_t size = bpf_map__key_size(map);
    uint32_t count = (uint32_t)n;

    if (!n || (!is_by_program(probe, map) &&
               bpf_map_delete_batch(bpf_map__fd(map), keys, &count, NULL) == 0))
        return;
    for (size_t i = 0; i < n; i++)
        (void)map_drop(probe, map, (const char *)keys + i * size);
}

int map_each(const struct probe *probe, const struct bpf_map *map, map_each_f each, void *arg,
             struct error *error)
{
    _free_ char *rows = NULL;
    size_t n = 0;
    bool by_program = is_by_program(probe, map);
    int r = by_program ? read_rows(probe, map, &rows, &n) : 0;

    if (r == -ENOSPC || !probe->elements)
        return map_each_batch(map, each, arg, error);
    if (!by_program)
        r = map_each_single(map, each, arg);
    else if (r == 0)
        r = map_each_row(map, rows, n, each, arg);
    return r == -ENOMEM ? error_errno(error, r, "cannot read the map %s", bpf_map__name(map)) : r;
}

struct drop_list {
    const uint32_t *steps; /* ascending */
    size_t n_steps;
    size_t key_size;
    char *keys;
    size_t n, room;
};

static int compare_steps(const void *a, const void *b)
{
    uint32_t x, y;

    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return (x > y) - (x < y);
}

static int collect_steps(const void *key, const void *value, void *arg)
{
    struct drop_list *list = arg;
    char *keys;

    (void)value;
    if (!bsearch(key, list->steps, list->n_steps, sizeof(*list->steps), compare_steps))
        return 0;
    if (list->n == list->room) {
        size_t room = list->room ? list->room * 2 : 256;

        keys = realloc(list->keys, room * list->key_size);
        if (!keys)
            return -ENOMEM;
        list->keys = keys;
        list->room = room;
    }
    memcpy(list->keys + list->n++ * list->key_size, key, list->key_size);
    return 0;
}

int map_drop_steps(const struct probe *probe, const struct bpf_map *map, const uint32_t *steps,
                   size_t n_steps, struct error *error)
{
    struct drop_list list = {
        .steps = steps, .n_steps = n_steps, .key_size = bpf_map__key_size(map)};
    int r = map_each(probe, map, collect_steps, &list, error);

    if (!r)
        map_drop_all(probe, map, list.keys, list.n);
    free(list.keys);
    return r;
}

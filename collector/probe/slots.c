/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters of the steps: chunks of slots (bpf/records.h), which are made before the programs
 * need them and stay until the layout is removed. A chunk is pinned before a program can use it. A
 * slot that is taken while this process is killed may never be free again, but it is never free
 * twice.
 */
#include "collector/probe/probe_impl.h"

#include <string.h>
#include <sys/mman.h>

#include "common/cleanup.h"

#define WINDOWS (ACCOUNT_CHUNK / ACCOUNT_WINDOW)
#define WINDOW_BYTES (ACCOUNT_WINDOW * sizeof(struct account_value))

static uint32_t max_chunks(const struct probe *probe)
{
    return bpf_map__max_entries(probe->skel->maps.account);
}

static uint32_t next_slot(const struct probe *probe)
{
    uint32_t next = __atomic_load_n(&probe->levels->slots, __ATOMIC_RELAXED);

    return next ? next : 1; /* slot 0 is never used */
}

static uint32_t count_free(const struct probe *probe)
{
    uint32_t given = next_slot(probe) - 1;
    uint32_t taken = __atomic_load_n(&probe->levels->slots_taken, __ATOMIC_RELAXED);

    return given > taken ? given - taken : 0;
}

/* Make another chunk if fewer slots are free. No step can take a ninth of all keys: it can have its
 * first ones and a fifth of the pool (shares.c), which is half of all. */
static uint32_t least_free(const struct probe *probe)
{
    return bpf_map__max_entries(probe->skel->maps.places) / 9;
}

/* Let the programs use the chunk. */
static int give_chunk(const struct probe *probe, uint32_t chunk)
{
    int r = bpf_map_update_elem(bpf_map__fd(probe->skel->maps.account), &chunk,
                                &probe->chunks[chunk], BPF_ANY);

    for (uint32_t slot = next_slot(probe); r == 0 && slot < (chunk + 1) * ACCOUNT_CHUNK; slot++) {
        __atomic_store_n(&probe->levels->slots, slot + 1, __ATOMIC_RELAXED);
        r = map_push(probe, probe->skel->maps.slots, &slot);
    }
    return r;
}

static int chunk_path(const struct probe *probe, uint32_t chunk, char path[PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/account_%u", probe->directory, chunk);

    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int add_chunk(struct probe *probe)
{
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    char path[PATH_MAX];
    _close_ int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "account_chunk", sizeof(__u32),
                                    sizeof(struct account_value), ACCOUNT_CHUNK, &options);
    int r = fd < 0 ? fd : 0;

    if (r == 0 && probe->directory)
        r = chunk_path(probe, probe->n_chunks, path);
    if (r == 0 && probe->directory)
        r = bpf_obj_pin(fd, path);
    if (r < 0)
        return r;
    probe->chunks[probe->n_chunks++] = TAKE_FD(fd);
    return give_chunk(probe, probe->n_chunks - 1);
}

/* Open the chunks of an earlier process, which may have been killed before the last one was given
 * completely. -ENOENT: somebody has removed one that the programs use. */
static int adopt_chunks(struct probe *probe)
{
    char path[PATH_MAX];
    uint32_t given = next_slot(probe);
    int r = 0;

    while (probe->n_chunks < max_chunks(probe)) {
        r = chunk_path(probe, probe->n_chunks, path);
        if (r == 0)
            r = bpf_obj_get(path);
        if (r < 0)
            break;
        probe->chunks[probe->n_chunks++] = r;
    }
    r = r == -ENOENT || r >= 0 ? 0 : r;
    if (r == 0 && given > 1 && probe->n_chunks * ACCOUNT_CHUNK < given)
        r = -ENOENT;
    for (uint32_t i = given / ACCOUNT_CHUNK; i < probe->n_chunks && r == 0; i++)
        r = give_chunk(probe, i);
    return r;
}

int slots_grow(struct probe *probe)
{
    int r = 0;

    while (r == 0 && probe->n_chunks < max_chunks(probe) && count_free(probe) < least_free(probe))
        r = add_chunk(probe);
    probe->growth = r;
    return r;
}

int probe_growth(const struct probe *probe)
{
    int r = 0;

    for (const struct probe *p = probe->blind ? NULL : probe; p && r == 0; p = p->others)
        r = p->growth;
    return r;
}

int slots_open(struct probe *probe, bool adopt, struct error *error)
{
    int r = 0;

    probe->chunks = calloc(max_chunks(probe), sizeof(*probe->chunks));
    probe->windows = calloc((size_t)max_chunks(probe) * WINDOWS, sizeof(struct account_value *));
    if (!probe->chunks || !probe->windows)
        r = -ENOMEM;
    if (r == 0 && adopt)
        r = adopt_chunks(probe);
    if (r == 0)
        r = slots_grow(probe);
    return r < 0 ? error_errno(error, r, "cannot make the counters") : 0;
}

void slots_give(const struct probe *probe, uint32_t slot)
{
    if (map_push(probe, probe->skel->maps.slots, &slot) == 0)
        (void)__atomic_fetch_sub(&probe->levels->slots_taken, 1, __ATOMIC_SEQ_CST);
}

bool slots_have(const struct probe *probe, uint32_t slot)
{
    return slot && slot / ACCOUNT_CHUNK < probe->n_chunks;
}

/* Do not map all of a chunk at once, because the kernel counts all pages of a mapping as resident.
 */
static struct account_value *open_window(const struct probe *probe, size_t window)
{
    void *at = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                    probe->chunks[window / WINDOWS], (off_t)(window % WINDOWS * WINDOW_BYTES));

    return at == MAP_FAILED ? NULL : at;
}

struct account_value *slots_value(const struct probe *probe, uint32_t slot)
{
    size_t window = slot / ACCOUNT_WINDOW;

    if (!probe->windows[window])
        probe->windows[window] = open_window(probe, window);
    return probe->windows[window] ? &probe->windows[window][slot % ACCOUNT_WINDOW] : NULL;
}

void slots_close(struct probe *probe)
{
    for (size_t i = 0; probe->windows && i < (size_t)probe->n_chunks * WINDOWS; i++)
        if (probe->windows[i])
            (void)munmap(probe->windows[i], WINDOW_BYTES);
    for (uint32_t i = 0; i < probe->n_chunks; i++)
        (void)close(probe->chunks[i]);
    free(probe->windows);
    free(probe->chunks);
}

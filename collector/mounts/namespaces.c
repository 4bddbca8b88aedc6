/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/mounts/namespaces.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/proc_stat.h"

/* Tables at a time; each one that is being read is an open file. */
#define SPACES 32
#define KEEP_NS NS_PER_S

/* A task. Its start time is needed because numbers are reused. */
struct task {
    uint32_t pid;
    uint64_t born; /* ticks since the boot; 0: it is gone */
};

struct want {
    uint32_t step;
    uint64_t dev;
};

/* An open mountinfo keeps the namespace, and so its number, as it is. */
struct space {
    uint64_t ino; /* 0: this slot is free */
    struct task reader;
    struct mountinfo *info;
    bool done;
    uint64_t started_ns;
    struct want *wants;
    size_t n_wants;
};

struct namespaces {
    const char *proc;
    uint64_t host_ino;
    uint64_t turn_ns;
    size_t lines;
    struct space spaces[SPACES];
};

/* --- tasks ------------------------------------------------------------------------------------ */

/* The number of the process's namespace; 0: not readable. */
static uint64_t space_of(const struct namespaces *namespaces, const char *who)
{
    char path[PATH_MAX];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s/%s/ns/mnt", namespaces->proc, who);
    return stat(path, &st) < 0 ? 0 : st.st_ino;
}

/* The table may be readable if the number of the namespace is not: then it is not shared. */
static uint64_t space_of_pid(const struct namespaces *namespaces, uint32_t pid)
{
    char who[16];
    uint64_t ino;

    (void)snprintf(who, sizeof(who), "%u", pid);
    ino = space_of(namespaces, who);
    return ino ? ino : 1ull << 63 | pid;
}

static struct task task_of(const struct namespaces *namespaces, uint32_t pid)
{
    struct task task = {.pid = pid};
    char path[PATH_MAX], text[1024] = "";
    _fclose_ FILE *file = NULL;

    (void)snprintf(path, sizeof(path), "%s/%u/stat", namespaces->proc, pid);
    file = fopen(path, "re");
    if (!file || !fread(text, 1, sizeof(text) - 1, file))
        return task;
    (void)proc_stat_number(text, PROC_STAT_START, &task.born);
    return task;
}

/* The task that it was read for still holds the namespace; else another may have its number. */
static bool is_held(const struct namespaces *namespaces, const struct space *space)
{
    struct task now = task_of(namespaces, space->reader.pid);

    return now.born && now.born == space->reader.born &&
           space_of_pid(namespaces, now.pid) == space->ino;
}

/* --- spaces ----------------------------------------------------------------------------------- */

static void space_clear(struct space *space)
{
    mountinfo_close(space->info);
    free(space->wants);
    *space = (struct space){0};
}

struct namespaces *namespaces_create(const char *proc)
{
    struct namespaces *namespaces = calloc(1, sizeof(*namespaces));

    if (!namespaces)
        return NULL;
    namespaces->proc = proc;
    namespaces->host_ino = space_of(namespaces, "1");
    namespaces_turn(namespaces, SIZE_MAX);
    return namespaces;
}

void namespaces_destroy(struct namespaces *namespaces)
{
    if (!namespaces)
        return;
    for (size_t i = 0; i < SPACES; i++)
        space_clear(&namespaces->spaces[i]);
    free(namespaces);
}

void namespaces_turn(struct namespaces *namespaces, size_t lines)
{
    namespaces->turn_ns = clock_ns(CLOCK_MONOTONIC);
    namespaces->lines = lines;
    for (size_t i = 0; i < SPACES; i++) {
        struct space *space = &namespaces->spaces[i];

        if (space->done && namespaces->turn_ns - space->started_ns > KEEP_NS)
            space_clear(space);
    }
}

static struct space *space_find(struct namespaces *namespaces, uint64_t ino)
{
    for (size_t i = 0; i < SPACES; i++)
        if (namespaces->spaces[i].ino == ino)
            return &namespaces->spaces[i];
    return NULL;
}

/* A free slot, or that of the oldest table that has been read. */
static struct space *space_slot(struct namespaces *namespaces)
{
    struct space *oldest = space_find(namespaces, 0);

    for (size_t i = 0; i < SPACES && (!oldest || oldest->ino); i++) {
        struct space *space = &namespaces->spaces[i];

        if (space->done && (!oldest || space->started_ns < oldest->started_ns))
            oldest = space;
    }
    return oldest;
}

/* The table can be used: one of this turn is up to date; an older one can be used for what it has.
 */
static bool is_fresh(const struct namespaces *namespaces, const struct space *space, uint64_t dev,
                     uint64_t since_ns)
{
    if (!space->done)
        return true;
    if (space->started_ns < since_ns)
        return false;
    if (!is_held(namespaces, space))
        return false;
    return space->started_ns >= namespaces->turn_ns ||
           (mountinfo_find(space->info, (uint32_t)dev) &&
            clock_ns(CLOCK_MONOTONIC) - space->started_ns < KEEP_NS);
}

static int space_open(struct namespaces *namespaces, struct space *space, uint64_t ino,
                      uint32_t pid)
{
    char who[16];
    int r;

    space_clear(space);
    space->reader = task_of(namespaces, pid);
    space->started_ns = clock_ns(CLOCK_MONOTONIC);
    (void)snprintf(who, sizeof(who), "%u", pid);
    r = mountinfo_open(&space->info, namespaces->proc, who, NULL);
    if (r < 0)
        return r == -ENOMEM ? r : -ENOENT;
    space->ino = ino;
    return 0;
}

static int space_get(struct namespaces *namespaces, uint32_t pid, uint64_t dev, uint64_t since_ns,
                     struct space **ret)
{
    uint64_t ino = space_of_pid(namespaces, pid);
    struct space *space = space_find(namespaces, ino);

    if (ino == namespaces->host_ino)
        return -ENOENT;
    if (space && is_fresh(namespaces, space, dev, since_ns)) {
        *ret = space;
        return 0;
    }
    *ret = space ? space : space_slot(namespaces);
    return *ret ? space_open(namespaces, *ret, ino, pid) : -EBUSY;
}

static int want_add(struct space *space, uint32_t step, uint64_t dev)
{
    struct want *grown;

    for (size_t i = 0; i < space->n_wants; i++)
        if (space->wants[i].step == step && space->wants[i].dev == dev)
            return 0;
    grown = reallocarray(space->wants, space->n_wants + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    space->wants = grown;
    grown[space->n_wants++] = (struct want){step, dev};
    return 0;
}

/* 0: read to its end. */
static int space_read(struct namespaces *namespaces, const struct mountinfo *host,
                      struct space *space)
{
    int r = space->done ? 0 : mountinfo_read(space->info, host, &namespaces->lines);

    space->done |= r == 0;
    if (r < 0)
        space_clear(space);
    return r;
}

int namespaces_find(struct namespaces *namespaces, const struct mountinfo *host, uint32_t pid,
                    uint32_t step, uint64_t dev, uint64_t since_ns,
                    const struct mountinfo_entry **ret)
{
    struct space *space;
    int r = space_get(namespaces, pid, dev, since_ns, &space);

    if (!r)
        r = space_read(namespaces, host, space);
    if (r < 0)
        return r == -ENOMEM || r == -EBUSY ? r : -ENOENT;
    if (r > 0)
        return want_add(space, step, dev) < 0 ? -ENOMEM : 1;
    *ret = space->started_ns < since_ns ? NULL : mountinfo_find(space->info, (uint32_t)dev);
    return *ret ? 0 : -ENOENT;
}

static bool is_wanted(const struct space *space, uint32_t step)
{
    for (size_t i = 0; i < space->n_wants; i++)
        if (!step || space->wants[i].step == step)
            return true;
    return false;
}

static int report_found(struct space *space, namespaces_found_f found, void *arg)
{
    int r = 0;

    for (size_t i = 0; i < space->n_wants && r >= 0; i++)
        r = found(space->wants[i].step, space->wants[i].dev, space->started_ns,
                  mountinfo_find(space->info, (uint32_t)space->wants[i].dev), arg);
    space->n_wants = 0;
    return r;
}

int namespaces_work(struct namespaces *namespaces, const struct mountinfo *host, uint32_t step,
                    namespaces_found_f found, void *arg)
{
    int result = 0;

    for (size_t i = 0; i < SPACES && namespaces->lines; i++) {
        struct space *space = &namespaces->spaces[i];
        int r;

        if (!space->ino || !is_wanted(space, step))
            continue;
        r = space_read(namespaces, host, space);
        if (r == 0)
            r = report_found(space, found, arg);
        result = r < 0 && !result ? r : result;
    }
    return result;
}

bool namespaces_busy(const struct namespaces *namespaces)
{
    for (size_t i = 0; i < SPACES; i++)
        if (namespaces->spaces[i].ino && is_wanted(&namespaces->spaces[i], 0))
            return true;
    return false;
}

bool namespaces_is_host(const struct namespaces *namespaces, uint64_t ino)
{
    return ino && ino == namespaces->host_ino;
}

void namespaces_forget(struct namespaces *namespaces, uint32_t step)
{
    for (size_t i = 0; i < SPACES; i++) {
        struct space *space = &namespaces->spaces[i];
        size_t kept = 0;

        for (size_t j = 0; j < space->n_wants; j++)
            if (space->wants[j].step != step)
                space->wants[kept++] = space->wants[j];
        space->n_wants = kept;
        if (space->ino && !space->done && !kept)
            space_clear(space);
    }
}

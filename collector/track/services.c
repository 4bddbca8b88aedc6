/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/services.h"

#include <stdlib.h>
#include <string.h>

#include "collector/cgroup/hierarchy.h"
#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "report/top/top.h"

/* Minimum time between two drops of counters, each of which takes two passes over the maps. */
#define DROP_NS 60000000000ull

struct service {
    struct hierarchy_leaf leaf;
    uint32_t step;
    uint64_t since_ns; /* 0: it existed before jobiod started */
    bool exists;       /* as of the last scan */
};

struct services {
    struct probe *probe;
    struct sampler *sampler;
    struct hierarchy *hierarchy;
    struct service list[SERVICES_MAX];
    size_t n;
    size_t left_out, logged; /* as of the last scan; as of the last warning */
    bool scanned;
    uint64_t dropped_ns;
};

/* --- scan ------------------------------------------------------------------------------------ */

static bool has_end(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n > m && !strcmp(name + n - m, end);
}

/* A cgroup of systemd: no step's cgroup has such a name. */
static bool is_wanted(const char *path)
{
    static const char *const ends[] = {".slice", ".scope", ".service"};

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
        if (has_end(path, ends[i]))
            return true;
    return false;
}

static struct service *find(struct services *services, uint64_t id)
{
    for (size_t i = 0; i < services->n; i++)
        if (services->list[i].leaf.id == id)
            return &services->list[i];
    return NULL;
}

/* False: there is no room left. */
static bool start(struct services *services, const struct hierarchy_leaf *leaf)
{
    struct service *s = &services->list[services->n];
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    if (services->n == SERVICES_MAX)
        return false;
    *s = (struct service){.leaf = *leaf, .since_ns = services->scanned ? now : 0, .exists = true};
    if (probe_add(services->probe, leaf->id, leaf->level, 2, &s->step, NULL) < 0)
        return false;
    if (sampler_add(services->sampler, s->step, now, clock_ns(CLOCK_REALTIME), NULL, NULL) < 0) {
        (void)probe_drop(services->probe, leaf->id, 2, NULL);
        return false;
    }
    services->n++;
    return true;
}

static void add_or_keep(const struct hierarchy_leaf *leaf, void *arg)
{
    struct services *services = arg;
    struct service *known;

    if (!is_wanted(leaf->path))
        return;
    known = find(services, leaf->id);
    if (known)
        known->exists = true;
    else if (!start(services, leaf))
        services->left_out++;
    if (leaf->level == 1 && has_end(leaf->path, ".slice"))
        (void)hierarchy_children(services->hierarchy, leaf->path, add_or_keep, services);
}

static void scan(struct services *services)
{
    for (size_t i = 0; i < services->n; i++)
        services->list[i].exists = false;
    services->left_out = 0;
    (void)hierarchy_children(services->hierarchy, "", add_or_keep, services);
    services->scanned = true;
    if (services->left_out > services->logged)
        log_warning("%zu services are not counted on their own, but as parts of their slices",
                    services->left_out);
    services->logged = services->left_out;
}

/* --- start and stop --------------------------------------------------------------------------- */

static void drop(struct services *services, bool all)
{
    struct probe_cgroup cgroups[SERVICES_MAX];
    size_t n = 0, kept = 0;

    for (size_t i = 0; i < services->n; i++) {
        struct service *s = &services->list[i];

        if (s->exists && !all) {
            services->list[kept++] = *s;
            continue;
        }
        sampler_forget(services->sampler, s->step);
        cgroups[n++] = (struct probe_cgroup){s->leaf.id, 2};
    }
    services->n = kept;
    if (n)
        (void)probe_drop_many(services->probe, cgroups, n, NULL);
}

int services_create(struct services **ret, struct probe *probe, struct sampler *sampler,
                    struct hierarchy *hierarchy, struct error *error)
{
    struct services *services;

    if (hierarchy_is_mounted(hierarchy, 1))
        return error_set(error, -ENOTSUP,
                         "cgroup v1's freezer is mounted, and jobs may be tracked there");
    services = calloc(1, sizeof(*services));
    if (!services)
        return error_set(error, -ENOMEM, "no memory for services");
    services->probe = probe;
    services->sampler = sampler;
    services->hierarchy = hierarchy;
    scan(services);
    *ret = services;
    return 0;
}

void services_destroy(struct services *services)
{
    if (!services)
        return;
    drop(services, true);
    free(services);
}

void services_tick(struct services *services)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    scan(services);
    if (now - services->dropped_ns < DROP_NS)
        return;
    services->dropped_ns = now;
    drop(services, false);
}

void services_stats(const struct services *services, struct services_stats *ret)
{
    *ret = (struct services_stats){services->n, services->left_out};
}

/* --- readings -------------------------------------------------------------------------------- */

size_t services_tasks(const struct services *services, uint32_t number, uint32_t *pids, size_t max)
{
    for (size_t i = 0; i < services->n; i++)
        if (services->list[i].step == number)
            return hierarchy_tasks(services->hierarchy, 2, services->list[i].leaf.path, pids, max);
    return 0;
}

int services_top(const struct services *services, struct top_reading *reading)
{
    for (size_t i = 0; i < services->n; i++) {
        const struct service *s = &services->list[i];
        const struct io_mounts *mounts = sampler_mounts(services->sampler, s->step);
        struct top_who *who =
            top_add(reading, TOP_SERVICE, s->leaf.id, NULL, strrchr(s->leaf.path, '/') + 1);

        if (!who || (mounts && top_add_mounts(who, mounts) < 0))
            return -ENOMEM;
        who->since_ns = s->since_ns;
    }
    return 0;
}

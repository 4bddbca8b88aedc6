/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is normal on the mounts of this node, as its store knows it: kept in memory, because a
 * report has no time to ask.
 */
#include <stdlib.h>

#include "collector/daemon/daemon_impl.h"
#include "collector/store/query.h"
#include "collector/store/store.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* Days are what the store knows. */
#define REFRESH_US (600 * US_PER_S)

struct refresh {
    struct daemon *daemon;
    struct io_mounts mounts;
};

static int run_refresh(struct store *reader, void *arg, struct error *error)
{
    struct refresh *refresh = arg;

    return store_normals(reader, clock_ns(CLOCK_REALTIME), &refresh->mounts, error);
}

static void on_refreshed(int result, const struct error *error, void *arg)
{
    struct refresh *refresh = arg;
    struct daemon *daemon = refresh->daemon;

    if (result < 0 && result != -ECANCELED)
        daemon_log_limited("normals", 3600, "what is normal on mounts: %s", error->text);
    if (result >= 0) {
        io_mounts_clear(&daemon->normals);
        daemon->normals = refresh->mounts;
    }
    free(refresh);
}

static int on_refresh(sd_event_source *source, uint64_t usec, void *arg)
{
    struct daemon *daemon = arg;
    struct refresh *refresh = calloc(1, sizeof(*refresh));

    if (refresh) {
        refresh->daemon = daemon;
        if (query_submit(daemon->query, run_refresh, on_refreshed, refresh) < 0)
            free(refresh); /* busy: the next time */
    }
    (void)sd_event_source_set_time(source, usec + REFRESH_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int normals_create(struct daemon *daemon, struct error *error)
{
    int r = sd_event_add_time_relative(daemon->loop, NULL, CLOCK_MONOTONIC, 0, US_PER_S, on_refresh,
                                       daemon);

    return r < 0 ? error_errno(error, r, "cannot set up the event loop") : 0;
}

void normals_fill(const struct daemon *daemon, struct io_mounts *mounts)
{
    for (size_t i = 0; i < daemon->normals.n; i++) {
        const struct io_mount *m = &daemon->normals.items[i];
        struct io_mount *own = io_mounts_find(mounts, m->mount, m->fstype, m->source, false);

        if (own)
            own->normal = m->normal;
    }
}

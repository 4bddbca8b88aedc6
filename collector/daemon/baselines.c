/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/baselines.h"

#include <stdlib.h>

#include "collector/daemon/limited_log.h"
#include "collector/store/query.h"
#include "collector/store/store.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* The store has one baseline a day. */
#define REFRESH_US (600 * US_PER_S)

struct baselines {
    struct query *query;
    struct io_mounts mounts;
    sd_event_source *timer;
};

struct refresh {
    struct baselines *baselines;
    struct io_mounts mounts;
};

static int run_refresh(struct store *reader, void *arg, struct error *error)
{
    struct refresh *refresh = arg;

    return store_baselines(reader, clock_ns(CLOCK_REALTIME), &refresh->mounts, error);
}

static void on_refreshed(int result, const struct error *error, void *arg)
{
    struct refresh *refresh = arg;
    struct baselines *baselines = refresh->baselines;

    if (result < 0 && result != -ECANCELED)
        log_limited("baselines", 3600, "cannot read the baselines of mounts: %s", error->text);
    if (result >= 0) {
        io_mounts_clear(&baselines->mounts);
        baselines->mounts = refresh->mounts;
    }
    free(refresh);
}

static int on_refresh(sd_event_source *source, uint64_t usec, void *arg)
{
    struct baselines *baselines = arg;
    struct refresh *refresh = calloc(1, sizeof(*refresh));

    if (refresh) {
        refresh->baselines = baselines;
        if (query_submit(baselines->query, run_refresh, on_refreshed, refresh) < 0)
            free(refresh); /* busy: try at the next interval */
    }
    (void)sd_event_source_set_time(source, usec + REFRESH_US);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int baselines_create(struct baselines **ret, sd_event *loop, struct query *query,
                     struct error *error)
{
    struct baselines *baselines = calloc(1, sizeof(*baselines));
    int r;

    if (!baselines)
        return error_set(error, -ENOMEM, "no memory");
    baselines->query = query;
    r = sd_event_add_time_relative(loop, &baselines->timer, CLOCK_MONOTONIC, 0, US_PER_S,
                                   on_refresh, baselines);
    if (r < 0) {
        baselines_destroy(baselines);
        return error_errno(error, r, "cannot set up the event loop");
    }
    *ret = baselines;
    return 0;
}

void baselines_destroy(struct baselines *baselines)
{
    if (!baselines)
        return;
    sd_event_source_disable_unref(baselines->timer);
    io_mounts_clear(&baselines->mounts);
    free(baselines);
}

void baselines_fill(const struct baselines *baselines, struct io_mounts *mounts)
{
    for (size_t i = 0; i < baselines->mounts.n; i++) {
        const struct io_mount *m = &baselines->mounts.items[i];
        struct io_mount *own = io_mounts_find(mounts, m->mount, m->fstype, m->source, false);

        if (own)
            own->baseline = m->baseline;
    }
}

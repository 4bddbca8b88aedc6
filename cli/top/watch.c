/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/top/watch.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "cli/source/jobiod.h"
#include "common/cleanup.h"

DEFINE_CLEANUP(struct top_reading, top_reading_destroy)

/* jobiod does not query the name service while it answers; look up the names that it lacks. */
static void name_users(struct top_reading *reading)
{
    for (size_t i = 0; i < reading->n; i++) {
        struct top_who *who = &reading->all[i];
        const struct passwd *user =
            who->user || who->kind == TOP_SERVICE ? NULL : getpwuid(who->uid);
        char number[16];

        if (who->user || who->kind == TOP_SERVICE)
            continue;
        (void)snprintf(number, sizeof(number), "%u", who->uid);
        who->user = strdup(user ? user->pw_name : number);
    }
}

static int ask(const struct top_watch *watch, unsigned timeout_ms, struct top_reading **ret,
               struct error *error)
{
    int r = jobiod_top(watch->cli, watch->services, timeout_ms, ret, error);

    if (r < 0)
        return r;
    name_users(*ret);
    return 0;
}

int top_watch_read(struct top_watch *watch, unsigned timeout_ms, struct error *error)
{
    CLEANUP(top_reading_destroyp) struct top_reading *next = NULL;
    struct top_frame frame = {0};
    int r = ask(watch, timeout_ms, &next, error);

    if (r < 0)
        return r;
    if (watch->services && next->no_services)
        return error_set(error, -ENOTSUP, "services are not counted: %s", next->no_services);
    if (!watch->now) {
        watch->now = TAKE_PTR(next);
        return 0;
    }
    if (next->at_ns == watch->now->at_ns)
        return 0;
    if (top_rows(watch->now, next, &frame.rows) < 0)
        return error_set(error, -ENOMEM, "out of memory for the rows");
    frame.now = next;
    frame.lost = next->lost > watch->now->lost ? next->lost - watch->now->lost : 0;
    top_rows_clear(&watch->frame.rows);
    watch->frame = frame;
    top_reading_destroy(watch->before);
    watch->before = watch->now;
    watch->now = TAKE_PTR(next);
    return 1;
}

void top_watch_clear(struct top_watch *watch)
{
    top_rows_clear(&watch->frame.rows);
    top_reading_destroy(watch->before);
    top_reading_destroy(watch->now);
    *watch = (struct top_watch){0};
}

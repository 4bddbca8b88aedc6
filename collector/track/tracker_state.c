/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/tracker_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/sample/sampler.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"

/* A reading that may delay a request. */
#define LONG_READING (5 * NS_PER_MS)

void tracker_log(struct tracker *tracker, enum log_level level, const char *format, ...)
{
    char text[512];
    va_list ap;

    if (!tracker->hooks.log)
        return;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    tracker->hooks.log(level, text, tracker->hooks.arg);
}

int tracker_read(struct tracker *tracker, bool tick, struct error *error)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    int r = tick ? sampler_read(tracker->sampler, now, error)
                 : sampler_peek(tracker->sampler, NULL, 0, now, error);

    if (!r) {
        tracker->read_at_ns = now;
        tracker->read_cost_ns = clock_ns(CLOCK_BOOTTIME) - now;
    }
    return r;
}

/* The numbers of the steps, sorted, to be freed by the caller. 0 or -ENOMEM. */
static int list_steps(const struct tracker *tracker, tracker_wanted_f is_wanted, const void *arg,
                      uint32_t **ret, size_t *n)
{
    size_t room = 1;

    for (size_t i = 0; i < tracker->jobs.n; i++)
        room += tracker->jobs.items[i]->n_steps;
    *ret = calloc(room, sizeof(**ret));
    *n = 0;
    if (!*ret)
        return -ENOMEM;
    for (size_t i = 0; i < tracker->jobs.n; i++)
        for (size_t j = 0; j < tracker->jobs.items[i]->n_steps; j++)
            if (is_wanted(tracker->jobs.items[i]->steps[j], arg))
                (*ret)[(*n)++] = tracker->jobs.items[i]->steps[j]->number;
    qsort(*ret, *n, sizeof(**ret), number_compare);
    return 0;
}

static bool must_read_all(struct tracker *tracker, uint64_t now)
{
    if (now - tracker->partial_since_ns >= tracker->read_cost_ns * TRACKER_READ_SHARE) {
        tracker->partial_since_ns = now;
        tracker->partial_cost_ns = 0;
    }
    return tracker->read_cost_ns < LONG_READING || tracker->partial_cost_ns > tracker->read_cost_ns;
}

int tracker_read_steps(struct tracker *tracker, tracker_wanted_f is_wanted, const void *arg,
                       struct error *error)
{
    _free_ uint32_t *steps = NULL;
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    size_t n;
    int r;

    if (list_steps(tracker, is_wanted, arg, &steps, &n) < 0)
        return error_set(error, -ENOMEM, "no memory for a reading");
    if (!n)
        return 0;
    if (must_read_all(tracker, now))
        return tracker_read(tracker, false, error);
    r = sampler_peek(tracker->sampler, steps, n, now, error);
    tracker->partial_cost_ns += clock_ns(CLOCK_BOOTTIME) - now;
    return r;
}

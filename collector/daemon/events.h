/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of the loop: ticks, the writer's results, new mounts, step files, signals. */
#ifndef JOBIO_COLLECTOR_DAEMON_EVENTS_H
#define JOBIO_COLLECTOR_DAEMON_EVENTS_H

#include <stdint.h>
#include <systemd/sd-event.h>

#include "common/error.h"

struct events;
struct mounts;
struct probe;
struct runs;
struct sampler;
struct services;
struct tracker;
struct writer;

/* All must outlive it. */
struct events_options {
    sd_event *loop;
    const char *runtime_dir;
    uint64_t interval_ns; /* of the ticks */
    struct writer *writer;
    struct probe *probe;
    struct mounts *mounts;
    struct sampler *sampler;
    struct tracker *tracker;
    struct runs *runs;
    struct services *services; /* NULL: not counted */
};

int events_create(struct events **ret, const struct events_options *options, struct error *error);
void events_destroy(struct events *events); /* accepts NULL */

#endif

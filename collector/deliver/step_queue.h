/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history sink: a database outside that gets every finished step of this node, over HTTP. What
 * waits is in the store's outbox; here is when to send it, what the sink has said, and how long to
 * stay away from one that fails. One request is under way at a time, in the order of the outbox, so
 * that memory is bounded by one batch. At least once, with keys that make it once in effect.
 * Everything runs on the caller's sd-event loop and never blocks.
 */
#ifndef JOBIO_COLLECTOR_DELIVER_STEP_QUEUE_H
#define JOBIO_COLLECTOR_DELIVER_STEP_QUEUE_H

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "collector/deliver/step_batch.h"
#include "collector/http/access.h"
#include "common/error.h"
#include "common/log.h"

struct json_object;
struct sink;

/* What the sink needs from the daemon. All are called on the loop's thread. */
struct sink_hooks {
    /* sink_batch_read() behind `after`, on another thread; the two others are good until the sink
     * is destroyed. Answer once with sink_provide(), inside the call or later. */
    void (*read)(int64_t after, const struct sink_limits *limits,
                 const struct sink_row_options *options, void *arg);
    /* store_outbox_drop(), store_outbox_refuse(); should that fail, sink_rewind(). */
    void (*delivered)(const int64_t *ids, size_t n, void *arg);
    void (*refused)(int64_t id, const char *why, void *arg);
    void (*say)(enum log_level level, const char *text, void *arg); /* for the operator */
    void *arg;
};

/* Strings are copied by sink_create(). Times in ns. */
struct sink_options {
    const char *url; /* "http://host:8123", with a path prefix if there is one */
    enum sink_format format;
    const char *table;      /* ClickHouse: [database.]table; bulk: the index, or
                             * NULL */
    const char *action;     /* bulk: "index" or "create" */
    const char *parameters; /* more of the URL: "a=1&b=2"; NULL: none */
    struct http_access access;
    uint64_t delay_ns;            /* what is queued is gathered for about this long */
    uint64_t poll_ns;             /* look into the outbox at least this often */
    uint64_t backoff_ns, slow_ns; /* as in deliver.h */
    uint64_t connect_timeout_ns, timeout_ns;
    struct sink_limits limits; /* of one request */
    size_t answer_max;         /* bytes of the answer to one, of a _bulk */
};

/* ClickHouse, table jobio.io; 5 s, 5 min, backoff 5 s to 15 min, 3 s and 30 s, 1,000 rows or 1 MiB;
 * 4 MiB of answer. */
void sink_defaults(struct sink_options *options);

/* Check the options; nothing is sent before sink_start(). Errors as deliver_create(). */
int sink_create(struct sink **ret, sd_event *loop, const struct sink_options *options,
                const struct sink_hooks *hooks, struct error *error);
void sink_destroy(struct sink *sink); /* NULL is fine */
void sink_start(struct sink *sink);

/* Something was queued. */
void sink_notify(struct sink *sink);
/* The answer to `read`: 0 and what was read (taken over), or a negative errno and why. With
 * -ETIMEDOUT less is asked for. */
void sink_provide(struct sink *sink, int result, struct sink_batch *batch, const struct error *why);
/* What was delivered could not be taken out of the outbox: look at all of it again. */
void sink_rewind(struct sink *sink);

/* For metrics. */
struct sink_counts {
    uint64_t requests, failures;
    uint64_t last_success_s; /* real time; 0: never */
};
void sink_counts(const struct sink *sink, struct sink_counts *ret);

/* For `jobio status`:
 * {"url","format","state":"new|ok|backoff|misconfigured","sending":b,"last_code",
 * "last_error","last_attempt","last_success" (seconds; 0: never),"requests","failures",
 * "failures_in_a_row","steps","rows","refusals" (since the start of the process),"held" (steps that
 * it fails for again and again, not put aside yet),"next_s"}. The caller puts it; NULL: no memory.
 */
struct json_object *sink_status(const struct sink *sink);

#endif

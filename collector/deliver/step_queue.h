/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Delivery of every finished step of this node to one target: a history database, or the first node
 * of a job. What is queued is in the outbox of the store. One request is under way at a time, in
 * the order of the outbox, so that memory is bounded by one batch. Steps are delivered at least
 * once, with keys that make a repetition harmless.
 */
#ifndef JOBIO_COLLECTOR_DELIVER_STEP_QUEUE_H
#define JOBIO_COLLECTOR_DELIVER_STEP_QUEUE_H

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "collector/deliver/step_batch.h"
#include "collector/deliver/target.h"
#include "collector/http/access.h"
#include "common/error.h"
#include "common/log.h"

struct json_object;
struct step_queue;

/* What the queue needs from its owner. All are called on the loop's thread. */
struct step_queue_hooks {
    /* step_batch_read() behind `after`, on another thread; limits and format are good until the
     * queue is destroyed. Answer once with step_queue_provide(), inside the call or later. */
    void (*read)(int64_t after, const struct step_limits *limits, const struct step_format *format,
                 void *arg);
    /* store_outbox_drop(), store_outbox_refuse(); if that fails, step_queue_rewind(). */
    void (*delivered)(const int64_t *ids, size_t n, void *arg);
    void (*refused)(int64_t id, const char *why, void *arg);
    void (*say)(enum log_level level, const char *text, void *arg); /* for the operator */
    void *arg;
};

/* Strings are copied by step_queue_create(). Times in ns. */
struct step_queue_options {
    const struct target_kind *kind;
    void *kind_arg; /* the `arg` of the target */
    struct target_options to;
    const char *what;           /* of log lines, a literal: "history to" */
    const char *name;           /* of the target in log lines; NULL: its URL */
    struct http_client *client; /* borrowed; NULL: one is made of the next three */
    struct http_access access;
    uint64_t connect_timeout_ns, timeout_ns;
    uint64_t delay_ns; /* new steps are gathered for about this long */
    uint64_t poll_ns;  /* look into the outbox at least this often; UINT64_MAX: when notified */
    uint64_t backoff_ns, slow_ns; /* as in struct target_pace */
    struct step_limits limits;    /* of one request */
    /* How long the target may say ANSWER_LATER: a step that ended `late_ns` ago is refused then,
     * but only by a target that has answered for `answers_ns`. 0: for ever. */
    uint64_t late_ns, answers_ns;
};

/* ClickHouse, table jobio.io; 5 s, 5 min, backoff 5 s to 15 min, 3 s and 30 s, 1,000 rows or 1 MiB;
 * 4 MiB of answer. */
void step_queue_defaults(struct step_queue_options *options);

/* Check the options; nothing is sent before step_queue_start(). Errors as node_queue_create(). */
int step_queue_create(struct step_queue **ret, sd_event *loop,
                      const struct step_queue_options *options,
                      const struct step_queue_hooks *hooks, struct error *error);
void step_queue_destroy(struct step_queue *queue); /* NULL is fine */
void step_queue_start(struct step_queue *queue);
/* Nothing more is read, sent or settled. */
void step_queue_stop(struct step_queue *queue);

/* Nothing is being read or sent, so that it can be destroyed. */
bool step_queue_is_idle(const struct step_queue *queue);

/* A step was queued. */
void step_queue_notify(struct step_queue *queue);
/* The answer to `read`: 0 and what was read (taken over), or a negative errno and why. After
 * -ETIMEDOUT fewer rows are asked for. */
void step_queue_provide(struct step_queue *queue, int result, struct step_batch *batch,
                        const struct error *why);
/* What was delivered could not be removed from the outbox: read all of it again. */
void step_queue_rewind(struct step_queue *queue);

/* For metrics. */
struct step_queue_counts {
    uint64_t requests, failures;
    uint64_t last_success_s; /* real time; 0: never */
};
void step_queue_counts(const struct step_queue *queue, struct step_queue_counts *ret);

/* For `jobio status`:
 * {"url","format","state":"new|ok|backoff|misconfigured","sending":b,"last_code",
 * "last_error","last_attempt","last_success" (seconds; 0: never),"requests","failures",
 * "failures_in_a_row","steps","rows","refusals" (since the start of the process),"held" (steps for
 * which it fails again and again, not yet put aside),"next_s"}. The caller puts it; NULL on
 * out-of-memory. */
struct json_object *step_queue_status(const struct step_queue *queue);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the sink share. */
#ifndef JOBIO_COLLECTOR_DELIVER_STEP_QUEUE_IMPL_H
#define JOBIO_COLLECTOR_DELIVER_STEP_QUEUE_IMPL_H

#include "collector/http/client.h"
#include "collector/deliver/step_queue.h"
#include "collector/deliver/answer.h"
#include "collector/deliver/poison.h"

enum sink_state { SINK_NEW, SINK_WORKS, SINK_BACKOFF, SINK_STUCK };

/* Steps that the sink refused before it has taken any: the fault may be its own. */
#define SINK_SUSPECTS 32
/* So many refusals without anything taken between are believed. */
#define SINK_REFUSALS 10

struct sink_suspect {
    int64_t id;
    char why[SINK_WHY_MAX];
};

struct sink_range {
    size_t first, last; /* [first, last) of the batch */
};
/* A batch of 2^16 steps, halved to the end, leaves a range at each level. */
#define SINK_RANGES 40

struct sink {
    struct sink_hooks hooks;
    struct sink_options options; /* its strings are owned below, or gone */
    struct sink_row_options row_options;
    char *url; /* as it was given */
    char *post_url;
    char *table, *action;
    struct http_client *client;
    sd_event_source *timer;
    enum sink_state state;
    bool started, reading, sending;
    bool dirty;      /* something was queued since the last look */
    bool rewind;     /* the next look begins at the first */
    uint64_t due_ns; /* CLOCK_BOOTTIME */
    int64_t after;   /* all up to this one are settled, or held back */
    struct sink_batch *batch;
    struct sink_range ranges[SINK_RANGES]; /* still to be sent, the next one last */
    size_t n_ranges;
    struct sink_range range; /* under way */
    bool taken;              /* the sink has taken something of this batch */
    struct sink_suspect suspects[SINK_SUSPECTS];
    size_t n_suspects;
    size_t refusals_in_a_row;
    struct sink_search search;
    struct sink_limits limits; /* what the store reads in time */
    struct sink_limits look;   /* of the look under way */
    uint64_t quiet_ns[2]; /* no line about a failure, about its end, before this; CLOCK_BOOTTIME */
    long last_code;
    char last_error[SINK_WHY_MAX];
    uint64_t last_attempt_s, last_success_s; /* real time */
    uint64_t requests, failures, failures_in_a_row, steps, rows, refusals;
};

/* How a request, or a look, failed. */
struct sink_failure {
    enum sink_state state; /* SINK_BACKOFF or SINK_STUCK */
    uint64_t retry_after_s;
    bool smaller; /* the next try is another one: it need not wait as long as the same one */
    const char *why;
};
/* Count it, say it, and look again after a while. */
void sink_failed(struct sink *sink, const struct sink_failure *failure);
/* Something was taken; all that was asked for was taken. */
void sink_took(struct sink *sink);
void sink_worked(struct sink *sink);
void sink_wake_in(struct sink *sink, uint64_t ns);
void sink_say(struct sink *sink, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Where rows are posted, malloc'd; NULL: no memory. */
char *sink_post_url(const struct sink_options *options);
int sink_check_options(const struct sink_options *options, struct error *error);
const char *const *sink_headers(enum sink_format format);

#endif

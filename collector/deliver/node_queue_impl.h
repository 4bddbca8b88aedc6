/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What deliver.c (the node: what is to be shown) and deliver_target.c (one gateway: when, and what
 * it answered) share. Nobody else includes it. */
#ifndef JOBIO_COLLECTOR_DELIVER_NODE_QUEUE_IMPL_H
#define JOBIO_COLLECTOR_DELIVER_NODE_QUEUE_IMPL_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/deliver/node_queue.h"
#include "collector/http/client.h"
#include "collector/deliver/outbox.h"
#include "common/numbers.h"

enum target_state { TARGET_NEW, TARGET_OK, TARGET_BACKOFF, TARGET_REJECTED, TARGET_MISCONFIGURED };

struct target {
    struct deliver *deliver;
    size_t index; /* of its slot in the jobs of the outbox */
    char *url, *group_url;
    enum target_state state;
    sd_event_source *timer;
    uint64_t started_ns, due_ns; /* CLOCK_BOOTTIME */
    bool queued;                 /* due; takes part in the next gathering */
    bool asked;                  /* takes part in the one under way */
    bool busy;                   /* a request is under way */
    bool dirty;                  /* a job ended since the last gathering */
    bool import;                 /* it knows no groups: post, and there is nothing to delete */
    bool said, unsaid;           /* its failure was told; is yet to be */
    uint64_t said_ns;            /* CLOCK_BOOTTIME */
    bool retiring;               /* to be deleted as soon as the push under way is over */
    long last_code;
    char last_error[HTTP_TEXT_MAX + 56];
    uint64_t last_attempt_s, last_success_s; /* real time */
    uint64_t pushes, failures, failures_in_a_row;
};

struct deliver {
    struct deliver_hooks hooks;
    struct deliver_options options; /* without its strings */
    struct http_client *client;
    struct outbox *outbox;
    bool started, gathering, retired;
    uint64_t given_up;
    struct {
        deliver_retired_f done;
        void *arg;
        FILE *text;
        char *buffer;
        size_t size, left, failed;
    } retire;
    size_t n_targets;
    struct target targets[];
};

uint64_t deliver_real_ns(const struct deliver *deliver);
void deliver_say(struct deliver *deliver, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Have the job kept as it is now, or forgotten. */
void deliver_keep(struct deliver *deliver, const struct outbox_job *job, bool forget);

/* `options` still with its strings. The target is zeroed; target_clear() takes a half-made one. */
int target_init(struct target *target, struct deliver *deliver, sd_event *loop, const char *url,
                const struct deliver_options *options);
void target_clear(struct target *target);
/* Begin to push: the first time at random within first_ns. */
void target_start(struct target *target);
/* Nothing is under way and nothing waits. */
bool target_is_idle(const struct target *target);
/* It became due while a gathering was under way that it had no part in. */
void target_requeue(struct target *target);
/* A job has ended: push soon, unless the gateway is to be left alone. */
void target_hurry(struct target *target);
/* Put the state of the node. */
void target_push(struct target *target, const struct prometheus_node *node);
/* What would have been put could not be made. */
void target_unable(struct target *target, const char *why);
/* Delete the group, after the push that is under way. Ends in deliver_retired(). */
void target_retire(struct target *target);
struct json_object *target_status(const struct target *target);

/* A target is due: gather what is to be shown, as soon as no gathering is under way. */
void deliver_gather(struct deliver *deliver);
/* The gateway of `target` has answered to DELETE. */
void deliver_retired(struct target *target, bool failed, const char *text);

#endif

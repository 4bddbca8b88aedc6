/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by node_queue.c (what is to be shown, for all gateways) and node_target.c (when to push to
 * one of them, and what it has acknowledged). */
#ifndef JOBIO_COLLECTOR_DELIVER_NODE_QUEUE_IMPL_H
#define JOBIO_COLLECTOR_DELIVER_NODE_QUEUE_IMPL_H

#include "collector/deliver/node_queue.h"
#include "collector/deliver/outbox.h"
#include "collector/deliver/target.h"

/* A target that gets the state of the node. */
struct node_target {
    struct target target;
    struct node_queue *queue;
    size_t index;  /* of its slot in the jobs of the outbox */
    bool queued;   /* due; takes part in the next collection */
    bool asked;    /* takes part in the one under way */
    bool dirty;    /* a job ended since the last collection */
    bool retiring; /* to be deleted as soon as the push under way is over */
};

/* What a gateway needs from its queue. */
struct node_target_hooks {
    /* It is due: collect what is to be shown, as soon as no collection is under way. */
    void (*gather)(struct node_queue *queue);
    /* It has answered to the deletion; text: what became of it. */
    void (*retired)(struct node_target *gateway, bool failed, const char *text);
};

struct node_queue {
    struct node_queue_hooks hooks;
    struct node_target_hooks target_hooks;
    struct node_queue_options options; /* without its strings */
    struct http_client *client;
    struct outbox *outbox;
    const struct prometheus_node *node; /* what is being pushed, during node_queue_provide() */
    bool started, gathering, retired;
    uint64_t given_up;
    struct {
        node_queue_retired_f done;
        void *arg;
        FILE *text;
        char *buffer;
        size_t size, left, failed;
    } retire;
    size_t n_gateways;
    struct node_target gateways[];
};

/* Have the job kept as it is now, or forgotten. */
void node_target_keep(struct node_queue *queue, const struct outbox_job *job, bool forget);
/* `options` still with its strings. The gateway is zeroed except for its queue and index;
 * node_target_clear() is due also after a failure. */
int node_target_init(struct node_target *gateway, sd_event *loop, const char *url,
                     const struct node_queue_options *options, struct error *error);
void node_target_clear(struct node_target *gateway);
/* Start to push: the first time at random within first_ns. */
void node_target_start(struct node_target *gateway);
/* A job has ended: push soon, unless the gateway has failed. */
void node_target_job_ended(struct node_target *gateway);
/* Push queue->node, or report why there is none. */
void node_target_push(struct node_target *gateway);
void node_target_fail(struct node_target *gateway, const char *why);
/* Delete the group, after the push that is under way. Ends in retired() of the hooks. */
void node_target_retire(struct node_target *gateway);
struct json_object *node_target_status(struct tree *tree, const struct node_target *gateway);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The gather's insides, shared by the files that it is made of. */
#ifndef JOBIO_COLLECTOR_PEERS_GATHER_IMPL_H
#define JOBIO_COLLECTOR_PEERS_GATHER_IMPL_H

#include <sys/queue.h>

#include "collector/peers/gather.h"
#include "collector/http/client.h"
#include "collector/http/server.h"
#include "collector/peers/sealer.h"
#include "collector/peers/wire.h"

#define GATHER_TYPE "text/plain"

/* Another node that has something to get (first_node.c); a question to one (gather_ask.c); a
 * question from one (gather_serve.c). */
struct gather_peer;
struct ask;
struct gathering;
struct served;

/* What jobio status shows; the names are those of the fields there. */
struct gather_counts {
    uint64_t sent, send_failures, refused_by_peer;
    uint64_t asked, answered, unanswered;
    uint64_t served, taken, unknown_jobs, backwards;
    uint64_t forged, replayed, out_of_time, not_root, malformed, other_version;
};

struct gather {
    sd_event *loop;
    char *cluster, *node, *url, *munge_socket;
    uid_t *readers;
    size_t n_readers;
    struct query *query;
    struct writer *writer;
    uint64_t timeout_ns, backoff_ns, slow_ns, spread_ns;
    struct gather_hooks hooks;
    struct sealer *sealer; /* for what we ask and send */
    struct sealer *opener; /* for what others do: nobody can make ours wait */
    struct http_client *client;
    struct http_server *server;
    sd_event_source *timer; /* for the next look into the outbox */
    bool ending;            /* gather_destroy() runs: callbacks only free */
    bool looking;           /* the outbox is being looked at */
    bool again;             /* and must be once more */
    LIST_HEAD(, gather_peer) peers;
    LIST_HEAD(, gathering) gatherings;
    LIST_HEAD(, ask) asks; /* all of them, also those whose time is up */
    LIST_HEAD(, served) served;
    struct gather_counts counts;
};

void gather_say(struct gather *gather, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
uint64_t gather_now_ns(void); /* CLOCK_MONOTONIC */
/* The address of a path at a node, malloc'd. NULL: no memory. */
char *gather_url(const struct gather *gather, const char *node, const char *path);
/* A head of ours for that node. */
struct wire_head gather_head(const struct gather *gather, const char *to, const char *id);

/* The document for another node (REPORT_WIRE and `flags`), with time lines where they leave enough
 * room in a message for the rest, and of fewer bins the more nodes the job has. NULL: no memory. */
struct json_object *gather_document(const struct job_account *job, unsigned flags);

/* Each: `stop` begins nothing new; `free` comes when no transfer and no task of another thread is
 * left that could answer. */

/* first_node.c */
int first_node_start(struct gather *gather, struct error *error);
void first_node_stop(struct gather *gather);
void first_node_free(struct gather *gather);
uint64_t first_node_failures(const struct gather *gather); /* since the start of the process */
/* gather_ask.c */
void gather_ask_stop(struct gather *gather);
void gather_ask_free(struct gather *gather);
/* gather_serve.c */
int gather_serve_start(struct gather *gather, const struct gather_options *options,
                       struct error *error);
void gather_serve_free(struct gather *gather);

#endif

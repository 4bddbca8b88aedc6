/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the files of the gather. */
#ifndef JOBIO_COLLECTOR_PEERS_GATHER_IMPL_H
#define JOBIO_COLLECTOR_PEERS_GATHER_IMPL_H

#include <sys/queue.h>

#include "collector/peers/peers.h"
#include "collector/http/client.h"
#include "collector/http/server.h"
#include "collector/peers/sealer.h"
#include "collector/peers/wire.h"

#define GATHER_TYPE "text/plain"

/* gather_peer: a node that the outbox has rows for (first_node.c); ask, gathering: queries to other
 * nodes (gather_ask.c); served: a query from another node (gather_serve.c). */
struct gather_peer;
struct ask;
struct gathering;
struct served;

/* Shown by `jobio status` under the same field names. */
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
    struct sealer *sealer; /* for queries and messages of this node */
    struct sealer *opener; /* for those of other nodes, which therefore cannot delay ours */
    struct http_client *client;
    struct http_server *server;
    sd_event_source *timer; /* for the next read of the outbox */
    bool ending;            /* since gather_stop(): callbacks only free */
    bool looking;           /* the outbox is being read */
    bool again;             /* the outbox must be read once more */
    LIST_HEAD(, gather_peer) peers;
    LIST_HEAD(, gathering) gatherings;
    LIST_HEAD(, ask) asks; /* all, including those past their deadline */
    LIST_HEAD(, served) served;
    struct gather_counts counts;
};

void gather_say(struct gather *gather, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
uint64_t gather_now_ns(void); /* CLOCK_MONOTONIC */
/* The URL of a path on a node, malloc'd. NULL on out-of-memory. */
char *gather_url(const struct gather *gather, const char *node, const char *path);
/* The head of a message from this node to node `to`. */
struct wire_head gather_head(const struct gather *gather, const char *to, const char *id);

/* The document for another node (REPORT_WIRE and `flags`). It has time lines if they leave enough
 * room in a message for the rest; the more nodes the job has, the fewer bins they have. NULL on
 * out-of-memory. */
struct json_object *gather_document(const struct job_account *job, unsigned flags);

/* For each file: `stop` prevents new work; `free` is called when no transfer and no task of another
 * thread can call back any more. */

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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the files of struct peers. */
#ifndef JOBIO_COLLECTOR_PEERS_PEERS_IMPL_H
#define JOBIO_COLLECTOR_PEERS_PEERS_IMPL_H

#include <sys/queue.h>

#include "collector/peers/peers.h"
#include "collector/http/client.h"
#include "collector/http/server.h"
#include "collector/peers/origins.h"
#include "collector/peers/sealer.h"
#include "collector/peers/wire.h"

#define PEERS_CONTENT_TYPE "text/plain"
/* The user of jobiod on all nodes. */
#define PEERS_UID 0

/* first_node: a node that the outbox has rows for (first_node.c); job_query: a query to several
 * nodes, peer_query: one to one of them (job_query.c); peer_request: a request of another node
 * (responder.c); user_query: a
 * request of a user on another host (user_query.c). */
struct first_node;
struct job_query;
struct peer_query;
struct peer_request;
struct user_query;
struct store;

/* Shown by `jobio status` under the same field names. */
struct peers_counts {
    uint64_t sent, send_failures, refused_by_peer;
    uint64_t asked, answered, unanswered;
    uint64_t served, taken, unknown_jobs, backwards, put_off;
    uint64_t forged, replayed, out_of_time, not_root, malformed, other_version, wrong_node,
        wrong_origin, unconfirmed_origin;
};

struct peers {
    sd_event *loop;
    char *cluster, *node, *url, *munge_socket;
    uid_t *readers;
    size_t n_readers;
    struct query *query;
    struct writer *writer;
    uint64_t timeout_ns, backoff_ns, slow_ns, spread_ns, late_ns, answers_ns;
    struct peers_hooks hooks;
    struct sealer *sealer; /* for queries and messages of this node */
    struct sealer *opener; /* for requests of other nodes, which cannot delay our own */
    struct origins *origins;
    struct http_client *client;
    struct http_server *server;
    sd_event_source *timer; /* for the next read of the outbox */
    bool ending;            /* set by peers_stop(): callbacks only free */
    bool looking;           /* the outbox is being read */
    bool again;             /* the outbox must be read once more */
    LIST_HEAD(, first_node) first_nodes;
    LIST_HEAD(, job_query) job_queries;
    LIST_HEAD(, peer_query) peer_queries; /* all, including those past their deadline */
    LIST_HEAD(, peer_request) requests;
    LIST_HEAD(, user_query) user_queries;
    struct peers_counts counts;
};

/* message.c */
/* Log a warning, at most one a minute for each key. */
void peers_warn(struct peers *peers, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Count and log a message from this address that is refused for the error `result`. Returns the
 * HTTP status. */
unsigned peers_refuse(struct peers *peers, const char *from, int result, const struct error *error);
/* The URL of a path on a node, malloc'd. NULL on out-of-memory. */
char *peers_url(const struct peers *peers, const char *node, const char *path);
/* The head of a message from this node to node `to`. */
struct wire_head peers_head(const struct peers *peers, const char *to, const char *id);
/* The document for another node (REPORT_WIRE and `flags`). It has time lines if they leave enough
 * room in a message for the rest; the more nodes the job has, the fewer bins they have. NULL on
 * out-of-memory. */
struct json_object *peers_document(const struct job_account *job, unsigned flags);

/* put_account.c */
/* Store the account that `from` sent; on the writer's thread. elsewhere: make a row for the job if
 * there is none; else -ENOENT. *backwards is set if a stored step has more requests: it is kept. */
int peers_put_account(struct store *store, const struct job_account *account, const char *from,
                      bool elsewhere, bool *backwards, struct error *error);

/* For each file: `stop` prevents new work; `free` is called when no transfer and no task of another
 * thread can call back any more. */

/* first_node.c */
int first_node_start(struct peers *peers, struct error *error);
void first_node_stop(struct peers *peers);
void first_node_free(struct peers *peers);
uint64_t first_node_failures(const struct peers *peers); /* since the start of the process */
/* job_query.c */
void job_queries_stop(struct peers *peers);
void job_queries_free(struct peers *peers);
/* responder.c */
int responder_start(struct peers *peers, const struct peers_options *options, struct error *error);
void responder_free(struct peers *peers);
/* user_query.c */
void user_query_serve(struct http_exchange *exchange, const void *body, size_t size, void *arg);
void user_queries_free(struct peers *peers);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The local socket (doc/protocol.md): reads one request per connection and sends its answer. A
 * slow, silent or malicious peer harms only itself: every phase has a time limit, the connections
 * of each user are limited, and root always gets one.
 */
#ifndef JOBIO_COLLECTOR_DAEMON_SOCKET_H
#define JOBIO_COLLECTOR_DAEMON_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "common/error.h"
#include "common/log.h"
#include "common/message.h"

struct request;
struct server;

struct server_options {
    const char *path;        /* replaced if it is there */
    gid_t admin_gid;         /* its members are admins; (gid_t)-1: only root is one */
    unsigned question_ms;    /* time limit for the request after the connect; 0: 2000 */
    unsigned answer_ms;      /* time limit for the peer to read each part of the answer; 0: 10000 */
    unsigned clients_a_user; /* limit per user other than root; 0: 16 */
    unsigned clients_users;  /* the same for all of them; 0: 128. Beyond it, one that has not sent
                              * a request is closed: the oldest of the uid that has the most. */
    size_t answers_a_user;   /* bytes of text that a user has not read yet; 0: 64 MiB */
    size_t answers_users;    /* the same for all users other than root; 0: 256 MiB */
};

struct server_hooks {
    /* A well-formed message. The request must be answered once, now or later, with one of the
     * request_ functions below, which also free it. `m` is valid until the call returns. */
    void (*handle)(struct request *request, const struct message *m, void *arg);
    /* A line for the log, already rate-limited. */
    void (*say)(enum log_level level, const char *text, void *arg);
    void *arg;
};

/* Returns 0 or -errno; -EADDRINUSE, -EACCES...: from bind(). */
int server_create(struct server **ret, sd_event *loop, const struct server_options *options,
                  const struct server_hooks *hooks, struct error *error);
/* Closes all connections. Pending requests stay valid and must still be answered. Accepts NULL. */
void server_destroy(struct server *server);

/* Create a request of a user on another host. It has no connection here: one of the request_
 * functions below calls `done` once, and frees it. Only root is an admin. NULL on out-of-memory. */
struct request_answer {
    const char *text, *error; /* one of them, or none: ok */
    const char *applied;      /* keys, each followed by a blank; NULL: none */
    bool cut;
};
typedef void (*request_done_f)(const struct request_answer *answer, void *arg);
struct request *request_create(uid_t uid, request_done_f done, void *arg);

/* The peer, as reported by the kernel, or by munge on another host (then its pid is 0). */
uid_t request_uid(const struct request *request);
pid_t request_pid(const struct request *request);
bool request_is_admin(const struct request *request);         /* root or the group */
uint64_t request_monotonic_ns(const struct request *request); /* when the request arrived */

void request_ok(struct request *request);
/* Answer with an error and log it, at most once in 10 s per user. */
void request_refuse(struct request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Answer with an error without logging it. */
void request_error(struct request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Answer with one message that the caller has built (with STATUS). */
void request_message(struct request *request, const struct message *m);
/* STATUS=ok and TEXT, in as many messages as necessary, the last with CUT=1 if `cut`. Takes
 * ownership of the malloc'd text. If the unread answers of the user would exceed a limit, an
 * error is sent instead; short texts (up to 100,000 bytes) are always sent. */
void request_text(struct request *request, char *text, bool cut);
/* List this key of the request in APPLIED, in the last message of a text: the answer takes the key
 * into account. */
void request_applied(struct request *request, const char *key);

struct server_stats {
    size_t clients;
    uint64_t requests, refused, bad, timeouts;
};
void server_stats(const struct server *server, struct server_stats *ret);

#endif

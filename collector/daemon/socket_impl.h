/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to socket.c, which has the connections, and socket_answer.c, which has their answers. */
#ifndef JOBIO_COLLECTOR_DAEMON_SOCKET_IMPL_H
#define JOBIO_COLLECTOR_DAEMON_SOCKET_IMPL_H

#include <sys/socket.h>

#include "collector/daemon/socket.h"

enum phase { READING, HANDLING, ANSWERING };

struct request {
    struct server *server; /* NULL: destroyed */
    struct request *next, *previous;
    int fd; /* -1: the peer is gone */
    enum phase phase;
    struct ucred peer;
    bool admin;
    uint64_t monotonic_ns;
    sd_event_source *io, *timer;
    char *answer; /* a message, or a text */
    size_t size, sent;
    bool is_text, cut;
    char applied[160];   /* keys, each followed by a blank */
    request_done_f done; /* of request_create(); NULL: answered, or there is a connection */
    void *arg;
};

struct server {
    sd_event *loop;
    sd_event_source *io;
    int fd, spare_fd;
    char *path;
    struct server_options options;
    struct server_hooks hooks;
    struct request *clients;
    struct server_stats stats;
    struct message in, out; /* of the request that is being read or answered */
};

/* Close the connection, but keep the memory until the request is answered. */
void socket_close_connection(struct request *request);
/* Take it from the list of its server. */
void socket_remove(struct request *request);
void socket_free(struct request *request);
/* The time limit of the next phase; 0: none. Returns 0 or -errno. */
int socket_set_timer(struct request *request, unsigned ms);
/* 1: everything is sent; 0: continue later; negative: the peer is gone. */
int socket_send_parts(struct request *request);
void socket_log_peer(struct server *server, const struct ucred *peer, const char *text);

#endif

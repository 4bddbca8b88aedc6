/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/daemon/socket_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"

#define BACKLOG 512
#define CLIENTS_ROOT 1024
/* Requests of root come before all other events of the loop. */
#define PRIORITY_ROOT (SD_EVENT_PRIORITY_NORMAL - 10)

static void accept_all(struct server *server);

/* --- reading a request ------------------------------------------------------------------------ */

static void read_request(struct request *request)
{
    struct server *server = request->server;
    struct message *m = &server->in;
    struct error error;
    ssize_t n = recv(request->fd, m->data, MESSAGE_MAX, MSG_DONTWAIT | MSG_TRUNC);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        socket_free(request);
        return;
    }
    m->size = (size_t)n;
    request->monotonic_ns = clock_ns(CLOCK_MONOTONIC);
    request->phase = HANDLING;
    (void)socket_set_timer(request, 0);
    /* Until there is an answer, wait only for the peer to hang up. */
    (void)sd_event_source_set_io_events(request->io, 0);
    if (message_check(m, &error) < 0) {
        server->stats.bad++;
        request_refuse(request, "bad message: %s", error.text);
        return;
    }
    server->stats.requests++;
    server->hooks.handle(request, m, server->hooks.arg);
}

static int on_client(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct request *request = arg;
    struct server *server = request->server;
    bool is_user = request->peer.uid != 0;

    (void)source, (void)fd;
    if (request->phase == READING && events & EPOLLIN) {
        read_request(request);
        /* Root may have connected meanwhile: its request comes before the next one of a user. */
        if (is_user)
            accept_all(server);
    } else if (request->phase == ANSWERING && events & EPOLLOUT && socket_send_parts(request) == 0)
        return 0;
    else if (request->phase == HANDLING)
        socket_close_connection(request);
    else
        socket_free(request);
    return 0;
}

/* --- peers ------------------------------------------------------------------------------------ */

static bool is_member(int fd, gid_t gid)
{
    gid_t groups[256];
    socklen_t size = sizeof(groups);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
        return false;
    for (size_t i = 0; i < size / sizeof(groups[0]); i++)
        if (groups[i] == gid)
            return true;
    return false;
}

static bool is_admin(const struct server *server, int fd, const struct ucred *peer)
{
    gid_t gid = server->options.admin_gid;

    if (peer->uid == 0)
        return true;
    return gid != (gid_t)-1 && (peer->gid == gid || is_member(fd, gid));
}

static void refuse_client(struct server *server, int fd, const struct ucred *peer)
{
    struct message *m = &server->out;

    server->stats.refused++;
    message_init(m, "answer");
    (void)message_put(m, "STATUS", "error");
    (void)message_put(m, "ERROR", "too many connections at once");
    (void)send(fd, m->data, m->size, MSG_DONTWAIT | MSG_NOSIGNAL);
    socket_log_peer(server, peer, "too many connections at once");
}

/* 0: the peer has hung up, which the loop has not seen yet. */
static bool has_sent(int fd)
{
    char byte;

    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

static unsigned count_of(const struct server *server, uid_t uid)
{
    unsigned n = 0;

    for (const struct request *r = server->clients; r; r = r->next)
        n += r->peer.uid == uid;
    return n;
}

/* A user with many uids can take all connections of users. Then one without a request ends, because
 * clients of jobio send theirs at once: the oldest of the uid that has the most. */
static bool make_room(struct server *server)
{
    struct request *last = NULL;
    unsigned most = 0;

    for (struct request *r = server->clients; r; r = r->next) {
        unsigned n = r->peer.uid != 0 && r->phase == READING ? count_of(server, r->peer.uid) : 0;

        if (n && n >= most && !has_sent(r->fd)) {
            most = n;
            last = r;
        }
    }
    if (!last)
        return false;
    refuse_client(server, last->fd, &last->peer);
    socket_free(last);
    return true;
}

/* Some connections are reserved for root. */
static bool has_room(struct server *server, uid_t uid)
{
    unsigned same = 0, users = 0, roots = 0;

    for (const struct request *r = server->clients; r; r = r->next) {
        same += r->peer.uid == uid;
        users += r->peer.uid != 0;
        roots += r->peer.uid == 0;
    }
    if (uid == 0)
        return roots < CLIENTS_ROOT;
    return same < server->options.clients_a_user &&
           (users < server->options.clients_users || make_room(server));
}

static int add_client(struct server *server, int *fd, const struct ucred *peer)
{
    struct request *request = calloc(1, sizeof(*request));

    if (!request)
        return -ENOMEM;
    request->server = server;
    request->peer = *peer;
    request->admin = is_admin(server, *fd, peer);
    request->fd = TAKE_FD(*fd);
    request->next = server->clients;
    if (request->next)
        request->next->previous = request;
    server->clients = request;
    server->stats.clients++;
    if (sd_event_add_io(server->loop, &request->io, request->fd, EPOLLIN, on_client, request) < 0 ||
        (peer->uid == 0 && sd_event_source_set_priority(request->io, PRIORITY_ROOT) < 0) ||
        socket_set_timer(request, server->options.question_ms) < 0) {
        socket_free(request);
        return -ENOMEM;
    }
    return 0;
}

/* Called when no descriptor is left: the loop would retry the failing accept() for ever. Close the
 * spare descriptor, accept the connection, and close it. */
static void drop_connection(struct server *server)
{
    struct ucred nobody = {.uid = (uid_t)-1};
    int fd;

    cleanup_close(&server->spare_fd);
    fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC);
    cleanup_close(&fd);
    server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    socket_log_peer(server, &nobody, "cannot accept a connection: too many open files");
}

/* Returns false if no connection is pending. */
static bool accept_one(struct server *server)
{
    _close_ int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct ucred peer;
    socklen_t size = sizeof(peer);

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE)
            drop_connection(server);
        return errno == EINTR || errno == ECONNABORTED;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return true;
    if (!has_room(server, peer.uid))
        refuse_client(server, fd, &peer);
    else
        (void)add_client(server, &fd, &peer);
    return true;
}

/* All that wait now, because root may be behind many users. */
static void accept_all(struct server *server)
{
    for (int i = 0; i <= BACKLOG && accept_one(server); i++)
        ;
}

static int on_connect(sd_event_source *source, int listen_fd, uint32_t events, void *arg)
{
    (void)source, (void)listen_fd, (void)events;
    accept_all(arg);
    return 0;
}

/* --- start and stop --------------------------------------------------------------------------- */

static int listen_on(const char *path, struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    _close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return error_errno(error, -errno, "cannot make a socket");
    if (strlen(path) >= sizeof(address.sun_path))
        return error_set(error, -ENAMETOOLONG, "\"%s\" is too long for a socket", path);
    strcpy(address.sun_path, path);
    (void)unlink(path);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        return error_errno(error, -errno, "cannot bind %s", path);
    /* All users may connect; SO_PEERCRED decides what they may see. */
    if (chmod(path, 0666) < 0 || listen(fd, BACKLOG) < 0)
        return error_errno(error, -errno, "cannot listen on %s", path);
    return TAKE_FD(fd);
}

void server_destroy(struct server *server)
{
    if (!server)
        return;
    while (server->clients) {
        struct request *request = server->clients;

        if (request->phase != HANDLING) {
            socket_free(request);
            continue;
        }
        socket_close_connection(request);
        socket_remove(request);
    }
    server->io = sd_event_source_disable_unref(server->io);
    cleanup_close(&server->fd);
    cleanup_close(&server->spare_fd);
    if (server->path)
        (void)unlink(server->path);
    free(server->path);
    sd_event_unref(server->loop);
    free(server);
}
DEFINE_CLEANUP(struct server, server_destroy)

static unsigned or_default(unsigned value, unsigned fallback)
{
    return value ? value : fallback;
}

int server_create(struct server **ret, sd_event *loop, const struct server_options *options,
                  const struct server_hooks *hooks, struct error *error)
{
    CLEANUP(server_destroyp) struct server *server = calloc(1, sizeof(*server));
    int r;

    if (!server)
        return error_set(error, -ENOMEM, "no memory for the socket");
    server->fd = server->spare_fd = -1;
    server->loop = sd_event_ref(loop);
    server->hooks = *hooks;
    server->options = (struct server_options){
        .admin_gid = options->admin_gid,
        .question_ms = or_default(options->question_ms, 2000),
        .answer_ms = or_default(options->answer_ms, 10000),
        .clients_a_user = or_default(options->clients_a_user, 16),
        .clients_users = or_default(options->clients_users, 128),
        .answers_a_user = options->answers_a_user ? options->answers_a_user : 64 << 20,
        .answers_users = options->answers_users ? options->answers_users : 256 << 20,
    };
    server->fd = listen_on(options->path, error);
    if (server->fd < 0)
        return server->fd;
    server->path = strdup(options->path);
    server->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    r = server->path ? sd_event_add_io(loop, &server->io, server->fd, EPOLLIN, on_connect, server)
                     : -ENOMEM;
    if (r < 0)
        return error_errno(error, r, "cannot watch %s", options->path);
    *ret = TAKE_PTR(server);
    return 0;
}

void server_stats(const struct server *server, struct server_stats *ret)
{
    *ret = server->stats;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answers to requests, on their connections or, for a user on another host, to a function. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/daemon/socket_impl.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* Size of a part of a long text: with its keys it fits into a message, and three messages fit into
 * the default buffer of a socket. */
#define PART 60000
#define SHORT_TEXT 100000

/* --- requests --------------------------------------------------------------------------------- */

uid_t request_uid(const struct request *request)
{
    return request->peer.uid;
}

pid_t request_pid(const struct request *request)
{
    return request->peer.pid;
}

bool request_is_admin(const struct request *request)
{
    return request->admin;
}

uint64_t request_monotonic_ns(const struct request *request)
{
    return request->monotonic_ns;
}

void socket_close_connection(struct request *request)
{
    request->io = sd_event_source_disable_unref(request->io);
    request->timer = sd_event_source_disable_unref(request->timer);
    cleanup_close(&request->fd);
    request->fd = -1;
}

void socket_remove(struct request *request)
{
    if (request->previous)
        request->previous->next = request->next;
    else
        request->server->clients = request->next;
    if (request->next)
        request->next->previous = request->previous;
    request->server->stats.clients--;
    request->server = NULL;
}

/* The answer to a request without a connection. */
static void provide(struct request *request, const char *text, const char *error)
{
    const struct request_answer answer = {
        .text = text,
        .error = error,
        .applied = text && *request->applied ? request->applied : NULL,
        .cut = text && request->cut,
    };
    request_done_f done = TAKE_PTR(request->done);

    done(&answer, request->arg);
}

void socket_free(struct request *request)
{
    if (request->done)
        provide(request, NULL, "no memory");
    socket_close_connection(request);
    if (request->server)
        socket_remove(request);
    free(request->answer);
    free(request);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
    struct request *request = arg;

    (void)source, (void)usec;
    request->server->stats.timeouts++;
    socket_free(request);
    return 0;
}

int socket_set_timer(struct request *request, unsigned ms)
{
    request->timer = sd_event_source_disable_unref(request->timer);
    return ms ? sd_event_add_time_relative(request->server->loop, &request->timer, CLOCK_MONOTONIC,
                                           (uint64_t)ms * 1000, 0, on_timer, request)
              : 0;
}

struct request *request_create(uid_t uid, request_done_f done, void *arg)
{
    struct request *request = calloc(1, sizeof(*request));

    if (!request)
        return NULL;
    *request = (struct request){
        .fd = -1,
        .phase = HANDLING,
        .peer = {.uid = uid, .gid = (gid_t)-1},
        .admin = uid == 0,
        .monotonic_ns = clock_ns(CLOCK_MONOTONIC),
        .done = done,
        .arg = arg,
    };
    return request;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Make the next message of the answer in the server's buffer. *taken: bytes of the answer in it. */
static void next_part(struct request *request, size_t *taken)
{
    struct message *m = &request->server->out;
    size_t left = request->size - request->sent;
    size_t part = left < PART ? left : PART;
    char saved;

    *taken = request->is_text ? part : left;
    if (!request->is_text) {
        memcpy(m->data, request->answer, request->size);
        m->size = request->size;
        return;
    }
    message_init(m, "answer");
    (void)message_put(m, "STATUS", "ok");
    if (part < left)
        (void)message_put(m, "MORE", "1");
    else if (request->cut)
        (void)message_put(m, "CUT", "1");
    if (part == left && *request->applied)
        (void)message_put(m, "APPLIED", request->applied);
    saved = request->answer[request->sent + part];
    request->answer[request->sent + part] = '\0';
    (void)message_put(m, "TEXT", request->answer + request->sent);
    request->answer[request->sent + part] = saved;
}

int socket_send_parts(struct request *request)
{
    struct message *m = &request->server->out;
    size_t taken;

    do {
        next_part(request, &taken);
        if (send(request->fd, m->data, m->size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        request->sent += taken;
        if (request->sent < request->size)
            (void)socket_set_timer(request, request->server->options.answer_ms);
    } while (request->sent < request->size);
    return 1;
}

/* Send as much as possible now, and the rest when the socket is writable. */
static void answer(struct request *request, char *text, size_t size, bool is_text)
{
    request->answer = text;
    request->size = size;
    request->is_text = is_text;
    request->phase = ANSWERING;
    if (request->done && text && is_text)
        provide(request, text, NULL);
    if (!text || request->fd < 0 || !request->server || socket_send_parts(request) != 0 ||
        socket_set_timer(request, request->server->options.answer_ms) < 0 ||
        sd_event_source_set_io_events(request->io, EPOLLOUT) < 0)
        socket_free(request);
}

void request_message(struct request *request, const struct message *m)
{
    char *copy = malloc(m->size);

    if (request->done)
        provide(request, NULL, message_get(m, "ERROR"));
    if (copy)
        memcpy(copy, m->data, m->size);
    answer(request, copy, m->size, false);
}

void request_ok(struct request *request)
{
    struct message *m = malloc(sizeof(*m));

    if (!m) {
        socket_free(request);
        return;
    }
    message_init(m, "answer");
    (void)message_put(m, "STATUS", "ok");
    request_message(request, m);
    free(m);
}

static void send_error(struct request *request, const char *text)
{
    struct message *m = malloc(sizeof(*m));

    if (!m) {
        socket_free(request);
        return;
    }
    message_init(m, "answer");
    (void)message_put(m, "STATUS", "error");
    (void)message_put(m, "ERROR", text);
    request_message(request, m);
    free(m);
}

void request_error(struct request *request, const char *format, ...)
{
    struct error error;
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(error.text, sizeof(error.text), format, ap);
    va_end(ap);
    send_error(request, error.text);
}

void socket_log_peer(struct server *server, const struct ucred *peer, const char *text)
{
    char key[48], line[512], more[64] = "";
    unsigned held = 0;

    (void)snprintf(key, sizeof(key), "peer %u", (unsigned)peer->uid);
    if (!server->hooks.say || !log_allowed(key, 10, &held))
        return;
    if (held)
        (void)snprintf(more, sizeof(more), " (%u more like this)", held);
    (void)snprintf(line, sizeof(line), "process %d of uid %u: %s%s", (int)peer->pid,
                   (unsigned)peer->uid, text, more);
    server->hooks.say(LOG_LEVEL_WARNING, line, server->hooks.arg);
}

/* Short texts are always accepted, because the limit of connections bounds their number. The first
 * long text of a user is accepted if the limit of all users permits it. */
static bool has_memory(const struct request *request, size_t size)
{
    const struct server *server = request->server;
    size_t same = 0, users = 0;

    if (!server || request->peer.uid == 0 || size <= SHORT_TEXT)
        return true;
    for (const struct request *r = server->clients; r; r = r->next) {
        size_t held = r->is_text && r->peer.uid != 0 ? r->size : 0;

        users += held;
        same += r->peer.uid == request->peer.uid ? held : 0;
    }
    return (same < SHORT_TEXT || same + size <= server->options.answers_a_user) &&
           (users < SHORT_TEXT || users + size <= server->options.answers_users);
}

void request_text(struct request *request, char *text, bool cut)
{
    size_t size = text ? strlen(text) : 0;

    if (!has_memory(request, size)) {
        free(text);
        request_error(request, "too many long answers are not read yet: try again");
        return;
    }
    request->cut = cut;
    answer(request, text, size, true);
}

void request_applied(struct request *request, const char *key)
{
    size_t used = strlen(request->applied);

    (void)snprintf(request->applied + used, sizeof(request->applied) - used, "%s ", key);
}

void request_refuse(struct request *request, const char *format, ...)
{
    struct error error;
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(error.text, sizeof(error.text), format, ap);
    va_end(ap);
    if (request->server) {
        request->server->stats.refused++;
        socket_log_peer(request->server, &request->peer, error.text);
    }
    send_error(request, error.text);
}

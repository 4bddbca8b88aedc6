/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/call.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "common/cleanup.h"
#include "common/clock.h"

/* Rounded up, so that a wait never ends just before the deadline; 0 if it has passed. */
static unsigned compute_left_ms(uint64_t deadline_ns)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    return now >= deadline_ns ? 0 : (unsigned)((deadline_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

static int report_timeout(struct error *error, const char *doing)
{
    return error_set(error, -ETIMEDOUT, "jobiod did not %s in time", doing);
}

/* SO_SNDTIMEO also limits a connect() to a full backlog, for which poll() cannot wait. A value of 0
 * would mean no limit. */
static int limit_send(int fd, uint64_t deadline_ns)
{
    unsigned left = compute_left_ms(deadline_ns);
    struct timeval tv = {.tv_sec = left / 1000, .tv_usec = (left % 1000) * 1000};

    if (left == 0)
        return -ETIMEDOUT;
    return setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) < 0 ? -errno : 0;
}

static int connect_until(int fd, const struct sockaddr_un *address, uint64_t deadline_ns,
                         struct error *error)
{
    int r;

    do {
        r = limit_send(fd, deadline_ns);
        if (r == 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
            r = -errno;
    } while (r == -EINTR);
    if (r == -EAGAIN || r == -ETIMEDOUT)
        return report_timeout(error, "accept a connection");
    if (r < 0)
        return error_errno(error, r, "connect to \"%s\"", address->sun_path);
    return 0;
}

static int send_until(int fd, const struct message *m, uint64_t deadline_ns, struct error *error)
{
    int r;

    do {
        r = limit_send(fd, deadline_ns);
        if (r == 0 && send(fd, m->data, m->size, MSG_NOSIGNAL) < 0)
            r = -errno;
    } while (r == -EINTR);
    if (r == -EAGAIN || r == -ETIMEDOUT)
        return report_timeout(error, "take the message");
    if (r < 0)
        return error_errno(error, r, "send to jobiod");
    return 0;
}

static int open_until(const char *socket_path, const struct message *m, uint64_t deadline_ns,
                      struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    _close_ int fd = -1;
    int n, r;

    n = snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
    if (n < 0 || (size_t)n >= sizeof(address.sun_path))
        return error_set(error, -ENAMETOOLONG, "the socket path \"%.40s...\" is too long",
                         socket_path);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_errno(error, -errno, "make a socket");
    r = connect_until(fd, &address, deadline_ns, error);
    if (r < 0)
        return r;
    r = send_until(fd, m, deadline_ns, error);
    if (r < 0)
        return r;
    return TAKE_FD(fd);
}

/* m->size is the size of the datagram, also if it was truncated, so that message_check sees it. */
static int receive_message_until(int fd, struct message *m, uint64_t deadline_ns,
                                 struct error *error)
{
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        unsigned left = compute_left_ms(deadline_ns);
        ssize_t n;

        if (left == 0)
            return report_timeout(error, "answer");
        if (poll(&p, 1, (int)left) <= 0)
            continue;
        n = recv(fd, m->data, sizeof(m->data), MSG_DONTWAIT | MSG_TRUNC);
        if (n > 0) {
            m->size = (size_t)n;
            return 0;
        }
        if (n == 0)
            return error_set(error, -ECONNRESET, "jobiod closed the connection without an answer");
        if (errno != EINTR && errno != EAGAIN)
            return error_errno(error, -errno, "receive from jobiod");
    }
}

static int check_answer(const struct message *m, struct error *error)
{
    const char *status, *text;
    int r = message_check(m, error);

    if (r < 0)
        return r;
    status = message_get(m, "STATUS");
    if (!status)
        return error_set(error, -EBADMSG, "the answer has no STATUS");
    if (strcmp(status, "ok") == 0)
        return 0;
    text = message_get(m, "ERROR");
    return error_set(error, -EREMOTEIO, "%s",
                     text ? text : "jobiod refused the request without a reason");
}

static int receive_answer_until(int fd, struct message *m, uint64_t deadline_ns,
                                struct error *error)
{
    int r = receive_message_until(fd, m, deadline_ns, error);

    return r < 0 ? r : check_answer(m, error);
}

int call_open(const char *socket_path, const struct message *m, unsigned timeout_ms,
              struct error *error)
{
    return open_until(socket_path, m, clock_ns(CLOCK_MONOTONIC) + timeout_ms * NS_PER_MS, error);
}

int call_receive(int fd, struct message *m, unsigned timeout_ms, struct error *error)
{
    return receive_answer_until(fd, m, clock_ns(CLOCK_MONOTONIC) + timeout_ms * NS_PER_MS, error);
}

int call(const char *socket_path, struct message *m, unsigned timeout_ms, struct error *error)
{
    uint64_t deadline_ns = clock_ns(CLOCK_MONOTONIC) + timeout_ms * NS_PER_MS;
    _close_ int fd = open_until(socket_path, m, deadline_ns, error);

    return fd < 0 ? fd : receive_answer_until(fd, m, deadline_ns, error);
}

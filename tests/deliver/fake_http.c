/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/deliver/fake_http.h"

struct fake_connection {
    struct fake_connection *next;
    struct fake_http *fake;
    sd_event_source *source;
    sd_event_source *timer;
    const char *rest; /* of an answer that is sent byte by byte */
    int fd;
    size_t length;
    int waits; /* a request without an answer */
    char data[262144];
};

static void connection_close(struct fake_connection *c)
{
    struct fake_connection **at = &c->fake->connections;

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    sd_event_source_disable_unref(c->source);
    sd_event_source_disable_unref(c->timer);
    close(c->fd);
    free(c);
}

static int on_byte(sd_event_source *source, uint64_t usec, void *arg)
{
    struct fake_connection *c = arg;

    (void)usec;
    if (*c->rest)
        (void)send(c->fd, c->rest++, 1, MSG_NOSIGNAL);
    assert_true(sd_event_source_set_time_relative(source, c->fake->byte_ms * 1000) >= 0);
    return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static void connection_dribble(struct fake_connection *c, const char *answer)
{
    c->rest = answer;
    if (!c->timer)
        assert_true(sd_event_add_time_relative(sd_event_source_get_event(c->source), &c->timer,
                                               CLOCK_MONOTONIC, 0, 0, on_byte, c) >= 0);
}

static void connection_answer(struct fake_connection *c)
{
    const char *answer = c->fake->answer;
    size_t length;

    c->waits = 1;
    if (!answer)
        return;
    c->waits = 0;
    if (!*answer)
        return;
    if (c->fake->byte_ms) {
        connection_dribble(c, answer);
        return;
    }
    if (c->fake->endless) {
        assert_true(sd_event_source_set_io_events(c->source, EPOLLIN | EPOLLOUT) >= 0);
        return;
    }
    length = c->fake->size ? c->fake->size : strlen(answer);
    assert_int_equal(send(c->fd, answer, length, MSG_NOSIGNAL), length);
}

/* True if the request is complete: headers, and the body of their length. */
static int is_whole(const struct fake_connection *c)
{
    const char *body = memmem(c->data, c->length, "\r\n\r\n", 4);
    const char *length = strcasestr(c->data, "\r\nContent-Length:");

    if (!body)
        return 0;
    return c->length - (size_t)(body + 4 - c->data) >=
           (length ? strtoul(length + 17, NULL, 10) : 0);
}

static void connection_repeat(struct fake_connection *c)
{
    ssize_t n = send(c->fd, c->fake->answer, strlen(c->fake->answer), MSG_NOSIGNAL | MSG_DONTWAIT);

    c->fake->sent += n > 0 ? (size_t)n : 0;
}

static int on_ready(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
    struct fake_connection *c = arg;
    ssize_t n;

    (void)source;
    if (!(revents & ~(uint32_t)EPOLLOUT)) {
        connection_repeat(c);
        return 0;
    }
    n = recv(fd, c->data + c->length, sizeof(c->data) - 1 - c->length, 0);
    if (n <= 0) {
        connection_close(c);
        return 0;
    }
    c->length += (size_t)n;
    c->data[c->length] = '\0';
    if (!c->fake->respond && c->fake->answer && !*c->fake->answer) {
        c->fake->requests++;
        connection_close(c);
        return 0;
    }
    if (!is_whole(c))
        return 0;
    c->fake->requests++;
    snprintf(c->fake->first_line, sizeof(c->fake->first_line), "%.*s", (int)strcspn(c->data, "\r"),
             c->data);
    if (c->fake->respond) {
        const char *body = (const char *)memmem(c->data, c->length, "\r\n\r\n", 4) + 4;

        c->fake->answer = c->fake->respond(c->fake, body, c->length - (size_t)(body - c->data));
        if (!*c->fake->answer) {
            connection_close(c);
            return 0;
        }
    }
    c->length = 0;
    connection_answer(c);
    return 0;
}

static int on_connect(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
    struct fake_connection *c = calloc(1, sizeof(*c));
    struct fake_http *fake = arg;

    (void)revents;
    assert_non_null(c);
    c->fake = fake;
    c->fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(c->fd >= 0);
    assert_true(sd_event_add_io(sd_event_source_get_event(source), &c->source, c->fd, EPOLLIN,
                                on_ready, c) >= 0);
    c->next = fake->connections;
    fake->connections = c;
    return 0;
}

void fake_http_start(struct fake_http *fake, sd_event *loop, const char *answer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *fake = (struct fake_http){.answer = answer};
    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(listen(fd, 16), 0);
    snprintf(fake->url, sizeof(fake->url), "http://127.0.0.1:%d", ntohs(address.sin_port));
    assert_true(sd_event_add_io(loop, &fake->source, fd, EPOLLIN, on_connect, fake) >= 0);
    assert_true(sd_event_source_set_io_fd_own(fake->source, 1) >= 0);
}

void fake_http_release(struct fake_http *fake, const char *answer)
{
    fake->answer = answer;
    for (struct fake_connection *c = fake->connections; c; c = c->next)
        if (c->waits)
            connection_answer(c);
}

void fake_http_stop(struct fake_http *fake)
{
    while (fake->connections)
        connection_close(fake->connections);
    sd_event_source_disable_unref(fake->source);
    fake->source = NULL;
}

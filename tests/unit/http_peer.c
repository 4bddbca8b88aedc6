/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "tests/unit/http_peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

sd_event *loop;
struct http_server *server;
struct error error;
struct http_exchange *parked, *parked_before;
unsigned n_parked;
char answer[1 << 16];

static void hello(struct http_exchange *exchange, const void *body, size_t size, void *arg)
{
    (void)body, (void)size;
    http_exchange_text(exchange, 200, "%s %s", (const char *)arg, http_exchange_peer(exchange));
}

static void echo(struct http_exchange *exchange, const void *body, size_t size, void *arg)
{
    void *copy = malloc(size + 1);

    (void)arg;
    memcpy(copy, body, size);
    http_exchange_answer(exchange, 202, "application/octet-stream", copy, size);
}

static void park(struct http_exchange *exchange, const void *body, size_t size, void *arg)
{
    (void)body, (void)size, (void)arg;
    parked_before = parked;
    parked = exchange;
    n_parked++;
}

void setup_with(const struct http_server_options *given)
{
    const char *const listen[] = {"127.0.0.1:0", "[::1]:0", "[::]:0"};
    struct http_server_options options = *given;

    options.listen = listen;
    options.n_listen = 3;
    parked = NULL;
    n_parked = 0;
    assert_true(sd_event_new(&loop) >= 0);
    if (http_server_create(&server, loop, &options, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(http_server_route(server, "GET", "/hello", hello, "hello"), 0);
    assert_int_equal(http_server_route(server, "POST", "/echo", echo, NULL), 0);
    assert_int_equal(http_server_route(server, "GET", "/park", park, NULL), 0);
    assert_int_equal(http_server_route(server, "POST", "/park", park, NULL), 0);
}

int setup(void **state)
{
    const struct http_server_options options = {.limit_ns = 3600000000000,
                                                .body_max = 100000,
                                                .bodies_max = 300000,
                                                .connections = PEERS,
                                                .connections_an_address = 100000};
    (void)state;
    setup_with(&options);
    return 0;
}

int teardown(void **state)
{
    (void)state;
    http_server_destroy(server);
    server = NULL;
    sd_event_unref(loop);
    return 0;
}

double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void spin(unsigned ms)
{
    double end = seconds() + ms / 1e3;

    do
        assert_true(sd_event_run(loop, 1000) >= 0);
    while (seconds() < end);
}

int peer(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)http_server_port(server, 0)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

bool say(int fd, const char *data, size_t size)
{
    double end = seconds() + SECONDS;

    while (size > 0) {
        ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN)
            return false;
        data += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
        spin(0);
        assert_true(seconds() < end);
    }
    return true;
}

bool say_text(int fd, const char *text)
{
    return say(fd, text, strlen(text));
}

const char *hear(int fd)
{
    double end = seconds() + SECONDS;
    size_t size = 0;
    ssize_t n;

    while ((n = recv(fd, answer + size, sizeof(answer) - 1 - size, 0)) != 0) {
        if (n < 0 && errno != EAGAIN)
            break;
        size += n > 0 ? (size_t)n : 0;
        spin(1);
        if (seconds() > end)
            fail_msg("the server does not hang up");
    }
    answer[size] = '\0';
    close(fd);
    return answer;
}

int code_of(const char *text)
{
    int code = 0;

    return sscanf(text, "HTTP/1.1 %d", &code) == 1 ? code : 0;
}

const char *ask(const char *request)
{
    int fd = peer();

    assert_true(say_text(fd, request));
    return hear(fd);
}

void assert_ends(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    if (n < m || strcmp(text + n - m, end) != 0)
        fail_msg("\"%s\" does not end with \"%s\"", text, end);
}

int post(size_t announced)
{
    char head[128];
    int fd = peer();

    snprintf(head, sizeof(head), "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
             announced);
    assert_true(say_text(fd, head));
    return fd;
}

struct http_server_stats stats(void)
{
    struct http_server_stats ret;

    http_server_stats(server, &ret);
    return ret;
}

void wait_for_quiet(void)
{
    double end = seconds() + SECONDS;

    while (stats().connections > 0) {
        spin(1);
        assert_true(seconds() < end);
    }
    assert_int_equal(stats().bodies, 0);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HTTP server, with real peers: well-behaved ones, slow ones, hostile ones. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "collector/http_server.h"

#define PEERS 300
#define SECONDS 20 /* what never takes that long, unless it is broken */

static sd_event *loop;
static struct http_server *server;
static struct error error;
static struct http_exchange *parked, *parked_before;
static unsigned n_parked;
static char answer[1 << 16];

/* --- the handlers ------------------------------------------------------------------------------
 */

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

static void setup_with(const struct http_server_options *given)
{
    const char *const listen[] = {"127.0.0.1:0", "[::1]:0"};
    struct http_server_options options = *given;

    options.listen = listen;
    options.n_listen = 2;
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

static int setup(void **state)
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

static int setup_impatient(void **state)
{
    const struct http_server_options options = {.limit_ns = 300000000};

    (void)state;
    setup_with(&options);
    return 0;
}

static int setup_crowd(void **state)
{
    const struct http_server_options options = {.connections = 8, .connections_an_address = 5};

    (void)state;
    setup_with(&options);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    http_server_destroy(server);
    server = NULL;
    sd_event_unref(loop);
    return 0;
}

/* --- a peer ------------------------------------------------------------------------------------
 */

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void spin(unsigned ms)
{
    double end = seconds() + ms / 1e3;

    do
        assert_true(sd_event_run(loop, 1000) >= 0);
    while (seconds() < end);
}

static int peer(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)http_server_port(server, 0)),
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    return fd;
}

/* All of it, while the server reads; false: it has hung up. */
static bool say(int fd, const char *data, size_t size)
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

static bool say_text(int fd, const char *text)
{
    return say(fd, text, strlen(text));
}

/* Everything until the server hangs up: at `answer`. */
static const char *hear(int fd)
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

static int code_of(const char *text)
{
    int code = 0;

    return sscanf(text, "HTTP/1.1 %d", &code) == 1 ? code : 0;
}

static const char *ask(const char *request)
{
    int fd = peer();

    assert_true(say_text(fd, request));
    return hear(fd);
}

static void assert_ends(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    if (n < m || strcmp(text + n - m, end) != 0)
        fail_msg("\"%s\" does not end with \"%s\"", text, end);
}

static int post(size_t announced)
{
    char head[128];
    int fd = peer();

    snprintf(head, sizeof(head), "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
             announced);
    assert_true(say_text(fd, head));
    return fd;
}

static struct http_server_stats stats(void)
{
    struct http_server_stats ret;

    http_server_stats(server, &ret);
    return ret;
}

/* Until the server has seen that its peers have gone. */
static void wait_for_quiet(void)
{
    double end = seconds() + SECONDS;

    while (stats().connections > 0) {
        spin(1);
        assert_true(seconds() < end);
    }
    assert_int_equal(stats().bodies, 0);
}

/* --- tests -------------------------------------------------------------------------------------
 */

static void test_routes(void **state)
{
    (void)state;
    assert_int_equal(code_of(ask("GET /hello?x=1 HTTP/1.1\r\nHost: x\r\n\r\n")), 200);
    assert_non_null(strstr(answer, "Content-Type: text/plain"));
    assert_ends(answer, "\r\n\r\nhello 127.0.0.1\n");
    assert_int_equal(code_of(ask("HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n")), 200);
    assert_ends(answer, "\r\n\r\n");
    assert_int_equal(code_of(ask("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")),
                     202);
    assert_ends(answer, "\r\n\r\nabc");
    assert_int_equal(stats().requests, 3);
    assert_int_equal(stats().refused, 0);
}

static void test_refusals(void **state)
{
    (void)state;
    assert_int_equal(code_of(ask("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")), 404);
    assert_int_equal(code_of(ask("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n")), 405);
    assert_int_equal(code_of(ask("DELETE /hello HTTP/1.1\r\nHost: x\r\n\r\n")), 405);
    assert_int_equal(stats().refused, 3);
    assert_int_equal(stats().requests, 0);
    /* What is no HTTP gets 400 or nothing at all. */
    ask("\x16\x03\x01\x02\r\n\r\n");
    assert_true(code_of(answer) == 400 || !*answer);
    wait_for_quiet();
}

static void test_long_header_is_refused(void **state)
{
    char *request = malloc(100001);

    (void)state;
    memset(request, 'a', 100000);
    request[100000] = '\0';
    memcpy(request, "GET /hello HTTP/1.1\r\nHost: ", 27);
    {
        int fd = peer();

        (void)say(fd, request, 100000); /* it may hang up in between */
        hear(fd);
        assert_true(code_of(answer) >= 400 || !*answer);
    }
    free(request);
    wait_for_quiet();
}

static void test_body_of_every_size(void **state)
{
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 16384, 65000};
    char *body = malloc(65000);

    (void)state;
    for (size_t i = 0; i < 65000; i++)
        body[i] = (char)('a' + i % 23);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        int fd = post(sizes[i]);
        const char *end;

        assert_true(say(fd, body, sizes[i]));
        assert_int_equal(code_of(hear(fd)), 202);
        end = strstr(answer, "\r\n\r\n");
        assert_int_equal(strlen(end + 4), sizes[i]);
        assert_memory_equal(end + 4, body, sizes[i]);
    }
    free(body);
}

static void test_chunked_body(void **state)
{
    (void)state;
    assert_int_equal(code_of(ask("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                                 "\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")),
                     202);
    assert_ends(answer, "abcde");
}

static void test_body_too_long(void **state)
{
    char *body = calloc(1, 200000);
    int fd;

    (void)state;
    fd = post(100000);
    assert_true(say(fd, body, 100000));
    assert_int_equal(code_of(hear(fd)), 202);
    fd = post(100001);
    assert_true(say(fd, body, 100001));
    assert_int_equal(code_of(hear(fd)), 413);
    fd = post(200000);
    assert_true(say(fd, body, 200000));
    assert_int_equal(code_of(hear(fd)), 413);
    assert_int_equal(stats().refused, 2);
    wait_for_quiet();
    free(body);
}

/* One that announces little memory's worth of nothing, and sends on and on. */
static void test_endless_body_is_cut(void **state)
{
    static char body[65536];
    int fd = post((size_t)1 << 40);
    size_t sent = 0;

    (void)state;
    while (sent < (size_t)64 << 20 && say(fd, body, sizeof(body)))
        sent += sizeof(body);
    assert_true(sent < (size_t)64 << 20);
    close(fd);
    wait_for_quiet();
}

/* Each is allowed, together they are too much: one is told to come again. */
static void test_bodies_share_a_limit(void **state)
{
    char *body = calloc(1, 100000);
    int fds[3], refused = 0;

    (void)state;
    for (int i = 0; i < 3; i++) {
        fds[i] = post(100000);
        assert_true(say(fds[i], body, 99999));
    }
    for (int i = 0; i < 3; i++) {
        assert_true(say(fds[i], body, 1));
        refused += code_of(hear(fds[i])) == 503;
    }
    assert_int_equal(refused, 1);
    assert_int_equal(stats().refused, 1);
    wait_for_quiet();
    free(body);
}

static void test_late_answer(void **state)
{
    int fd = peer();

    (void)state;
    assert_true(say_text(fd, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n"));
    while (!parked)
        spin(1);
    /* Others are served in the meantime. */
    assert_int_equal(code_of(ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")), 200);
    http_exchange_answer(parked, 200, "text/plain", strdup("late"), 4);
    assert_int_equal(code_of(hear(fd)), 200);
    assert_ends(answer, "\r\n\r\nlate");
}

static void test_answer_without_a_peer(void **state)
{
    int fd = peer();

    (void)state;
    assert_true(say_text(fd, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n"));
    while (!parked)
        spin(1);
    close(fd);
    spin(5);
    http_exchange_text(parked, 200, "into the void");
    wait_for_quiet();
}

/* It has said all, closes its side, and waits. */
static void test_half_closed_peer(void **state)
{
    int fd = peer();

    (void)state;
    assert_int_equal(send(fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 32, 0), 32);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    assert_int_equal(code_of(hear(fd)), 200);
    fd = peer();
    assert_int_equal(send(fd, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n", 31, 0), 31);
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    while (!parked)
        spin(1);
    http_exchange_text(parked, 200, "late");
    assert_int_equal(code_of(hear(fd)), 200);
    /* One that closes in the middle is no request. */
    fd = post(100);
    assert_true(say_text(fd, "half"));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    hear(fd);
    assert_int_equal(stats().requests, 2);
    wait_for_quiet();
}

/* A byte now and then, for ever: the limit is one for all of them. */
static void dribble(const char *request, size_t at_once)
{
    double start = seconds();
    int fd = peer();

    assert_true(say(fd, request, at_once));
    for (const char *c = request + at_once;; c += *c != '\0') {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        if (poll(&p, 1, 0) == 1 || (*c && send(fd, c, 1, MSG_NOSIGNAL) < 0))
            break;
        spin(20);
        assert_true(seconds() < start + SECONDS);
    }
    assert_true(seconds() - start >= 0.29);
    assert_int_equal(code_of(hear(fd)), 408);
}

static void test_one_byte_at_a_time(void **state)
{
    static const char head[] = "GET /hello HTTP/1.1\r\nHost: x\r\nX: "
                               "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    static const char body[] = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
                               "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

    (void)state;
    dribble(head, 0);
    dribble(body, strlen(body) - 64);
    dribble("", 0); /* silent */
    wait_for_quiet();
    assert_int_equal(stats().timeouts, 3);
    assert_int_equal(stats().requests, 0);
}

/* It asks for much, and does not read. */
static void test_peer_that_does_not_read(void **state)
{
    const int small = 4096;
    int fd = peer();
    size_t size = 32u << 20;

    (void)state;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
    assert_true(say_text(fd, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n"));
    while (!parked)
        spin(1);
    http_exchange_answer(parked, 200, "text/plain", calloc(1, size), size);
    wait_for_quiet();
    assert_int_equal(stats().timeouts, 1);
    close(fd);
}

/* Its peer is told; what the handler says afterwards goes nowhere. */
static void test_handler_that_is_too_slow(void **state)
{
    int fd = peer();

    (void)state;
    assert_true(say_text(fd, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_int_equal(code_of(hear(fd)), 503);
    assert_int_equal(stats().timeouts, 0);
    assert_int_equal(stats().refused, 1);
    wait_for_quiet();
    http_exchange_text(parked, 200, "too late");
    spin(5);
}

/* Twice as many as are served at once: the rest waits for its turn. */
static void test_many_connections(void **state)
{
    static int fds[2 * PEERS];

    (void)state;
    for (int i = 0; i < 2 * PEERS; i++) {
        fds[i] = peer();
        assert_int_equal(send(fds[i], "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 32, 0), 32);
        if (i % 64 == 0)
            spin(0);
        assert_true(stats().connections <= PEERS);
    }
    for (int i = 2 * PEERS; i-- > 0;)
        assert_int_equal(code_of(hear(fds[i])), 200);
    assert_int_equal(stats().requests, 2 * PEERS);
    wait_for_quiet();
}

/* All places are taken by silent ones. When they go, those who waited are served. */
static void test_places_become_free(void **state)
{
    static int fds[PEERS];
    int fd;

    (void)state;
    for (int i = 0; i < PEERS; i++) {
        fds[i] = peer();
        spin(0);
    }
    while (stats().connections < PEERS)
        spin(1);
    fd = peer();
    assert_int_equal(send(fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 32, 0), 32);
    spin(20);
    assert_int_equal(stats().connections, PEERS);
    assert_int_equal(stats().requests, 0);
    for (int i = 0; i < PEERS; i++)
        close(fds[i]);
    assert_int_equal(code_of(hear(fd)), 200);
    wait_for_quiet();
}

static void test_crowd_of_one_address(void **state)
{
    int fds[5], fd;

    (void)state;
    for (int i = 0; i < 5; i++)
        fds[i] = peer();
    while (stats().connections < 5)
        spin(1);
    fd = peer();
    assert_string_equal(hear(fd), "");
    assert_int_equal(stats().crowded, 1);
    for (int i = 0; i < 5; i++)
        close(fds[i]);
    wait_for_quiet();
    assert_int_equal(code_of(ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")), 200);
}

static void test_ipv6(void **state)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                   .sin6_port = htons((uint16_t)http_server_port(server, 1)),
                                   .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    assert_true(say_text(fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_int_equal(code_of(hear(fd)), 200);
    assert_ends(answer, "hello ::1\n");
}

static void test_destroy_with_requests_under_way(void **state)
{
    int fds[4];

    (void)state;
    fds[0] = peer();
    fds[1] = post(100);
    assert_true(say_text(fds[1], "half"));
    fds[2] = peer();
    assert_true(say_text(fds[2], "GET /park HTTP/1.1\r\nHost: x\r\n\r\n"));
    fds[3] = peer();
    assert_true(say_text(fds[3], "POST /park HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"));
    while (n_parked < 2)
        spin(1);
    http_server_destroy(server);
    server = NULL;
    http_exchange_text(parked, 200, "to nobody");
    http_exchange_answer(parked_before, 200, "text/plain", strdup("neither"), 7);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
}

static void test_addresses(void **state)
{
    static const char *const bad[] = {
        "",          "9417",           ":9417", "localhost:9417",   "127.0.0.1",
        "1.2.3:1",   "127.0.0.1:",     "[::1]", "127.0.0.1:65536",  "::1:9417",
        "[::1:9417", "127.0.0.1:94x7", "[]:1",  "127.0.0.1:123456", "127.0.0.1:-1",
        "[x]:1",     "127.0.0.1: 1"};
    struct http_server *other = NULL;
    struct http_server_options options = {.n_listen = 1};
    char taken[32];
    const char *text = taken;

    (void)state;
    options.listen = &text;
    snprintf(taken, sizeof(taken), "127.0.0.1:%u", http_server_port(server, 0));
    assert_int_equal(http_server_create(&other, loop, &options, &error), -EADDRINUSE);
    assert_non_null(strstr(error.text, taken));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        text = bad[i];
        if (http_server_create(&other, loop, &options, &error) != -EINVAL)
            fail_msg("\"%s\" is taken", text);
    }
    assert_null(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_routes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_header_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_body_of_every_size, setup, teardown),
        cmocka_unit_test_setup_teardown(test_chunked_body, setup, teardown),
        cmocka_unit_test_setup_teardown(test_body_too_long, setup, teardown),
        cmocka_unit_test_setup_teardown(test_endless_body_is_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bodies_share_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_answer_without_a_peer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_half_closed_peer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_byte_at_a_time, setup_impatient, teardown),
        cmocka_unit_test_setup_teardown(test_peer_that_does_not_read, setup_impatient, teardown),
        cmocka_unit_test_setup_teardown(test_handler_that_is_too_slow, setup_impatient, teardown),
        cmocka_unit_test_setup_teardown(test_many_connections, setup, teardown),
        cmocka_unit_test_setup_teardown(test_places_become_free, setup, teardown),
        cmocka_unit_test_setup_teardown(test_crowd_of_one_address, setup_crowd, teardown),
        cmocka_unit_test_setup_teardown(test_ipv6, setup, teardown),
        cmocka_unit_test_setup_teardown(test_destroy_with_requests_under_way, setup, teardown),
        cmocka_unit_test_setup_teardown(test_addresses, setup, teardown),
    };

    return cmocka_run_group_tests_name("http_server", tests, NULL, NULL);
}

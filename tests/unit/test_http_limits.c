/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The limits of the HTTP server, with real peers: sizes, times and numbers. */
#define _GNU_SOURCE
#include "tests/unit/http_peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* A peer announces a body of 1 TiB and sends it. */
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

/* Each body is within its limit, but all together are not: one gets 503. */
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

/* A byte now and then, for ever: the time limit is for the whole connection. */
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

/* The peer requests a long answer and does not read it. */
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

/* The peer gets 503; the later answer of the handler is dropped. */
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

/* Twice as many connections as the limit: the rest waits. */
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

/* Silent peers use all connections. When they are cut off, the waiting peers are served. */
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

/* Those that hold connections do not prevent others on their host from being served. */
static void test_crowd_of_one_address(void **state)
{
    int fds[5];

    (void)state;
    for (int i = 0; i < 5; i++) {
        fds[i] = peer();
        assert_true(say(fds[i], "GET /hel", 8));
    }
    while (stats().connections < 5)
        spin(1);
    assert_int_equal(code_of(ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")), 200);
    assert_int_equal(stats().crowded, 1);
    assert_string_equal(hear(fds[0]), "");
    for (int i = 1; i < 5; i++) {
        assert_true(say_text(fds[i], "lo HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert_int_equal(code_of(hear(fds[i])), 200);
    }
    wait_for_quiet();
}

/* If all requests of a host are being handled, the new one is refused. */
static void test_crowd_of_handled_requests(void **state)
{
    struct http_exchange *exchanges[5];
    int fds[5];

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        fds[i] = peer();
        assert_true(say_text(fds[i], "GET /park HTTP/1.1\r\nHost: x\r\n\r\n"));
        while (n_parked <= i)
            spin(1);
        exchanges[i] = parked;
    }
    assert_string_equal(ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"), "");
    assert_int_equal(stats().crowded, 1);
    for (int i = 0; i < 5; i++) {
        http_exchange_text(exchanges[i], 200, "done");
        assert_int_equal(code_of(hear(fds[i])), 200);
    }
    wait_for_quiet();
}

/* --- many addresses of one host --------------------------------------------------------------- */

/* In a network where all addresses of fd00::/48 are local. */
static int setup_subnets(void **state)
{
    const struct http_server_options options = {
        .connections = 64, .connections_an_address = 2, .connections_a_subnet = 8};

    (void)state;
    server = NULL;
    loop = NULL;
    if (unshare(CLONE_NEWNET) < 0 ||
        system("ip link set lo up && ip -6 route add local fd00::/48 dev lo") != 0)
        return 0;
    setup_with(&options);
    return 0;
}

/* A connection from one address of the network to another. */
static int connect_from(const char *from, const char *to)
{
    struct sockaddr_in6 source = {.sin6_family = AF_INET6}, address = {.sin6_family = AF_INET6};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    address.sin6_port = htons((uint16_t)http_server_port(server, 2));
    assert_int_equal(inet_pton(AF_INET6, from, &source.sin6_addr), 1);
    assert_int_equal(inet_pton(AF_INET6, to, &address.sin6_addr), 1);
    assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on)), 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&source, sizeof(source)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    spin(20);
    return fd;
}

static int code_from(const char *from, const char *to)
{
    int fd = connect_from(from, to);

    (void)say_text(fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    return code_of(hear(fd));
}

static void test_crowd_of_one_subnet(void **state)
{
    char from[32];
    int fds[8], more[12];

    (void)state;
    if (!server) {
        print_message("no network namespace here\n");
        skip();
    }
    for (int i = 0; i < 8; i++) {
        snprintf(from, sizeof(from), "fd00:0:0:1::%d", i + 1);
        fds[i] = connect_from(from, "fd00:0:0:9::1");
    }
    assert_int_equal(stats().connections, 8);
    assert_int_equal(code_from("fd00:0:0:1::99", "fd00:0:0:9::1"), 0);
    assert_int_equal(stats().crowded, 1);
    assert_int_equal(code_from("fd00:0:0:2::99", "fd00:0:0:9::1"), 200);
    /* The nodes of this one's own subnet. */
    for (int i = 0; i < 12; i++) {
        snprintf(from, sizeof(from), "fd00:0:0:9::%d", i + 2);
        more[i] = connect_from(from, "fd00:0:0:9::1");
    }
    assert_int_equal(stats().connections, 20);
    assert_int_equal(stats().crowded, 1);
    for (int i = 0; i < 12; i++)
        close(more[i]);
    for (int i = 0; i < 8; i++)
        close(fds[i]);
    wait_for_quiet();
    assert_int_equal(code_from("fd00:0:0:1::99", "fd00:0:0:9::1"), 200);
}

/* A server with a socket of systemd, which IPv4 peers reach as ::ffff:a.b.c.d. */
static int setup_both_families(void **state)
{
    const struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;
    const struct http_server_options options = {.connections = 64,
                                                .connections_an_address = 2,
                                                .connections_a_subnet = 4,
                                                .sockets = &fd,
                                                .n_sockets = 1};

    (void)state;
    assert_int_equal(setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)), 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&any, sizeof(any)), 0);
    assert_int_equal(listen(fd, 64), 0);
    setup_with(&options);
    return 0;
}

/* A connection from 127.0.0.HOST to the socket of both families. */
static int connect_by_ipv4(unsigned host)
{
    struct sockaddr_in source = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host)};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)http_server_port(server, 0))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&source, sizeof(source)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    spin(20);
    return fd;
}

/* Also at an IPv6 socket, all IPv4 addresses of this host are one host. */
static void test_ipv4_at_an_ipv6_socket(void **state)
{
    int fds[3];

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        fds[i] = connect_by_ipv4(i + 2);
    assert_int_equal(stats().crowded, 1);
    for (unsigned i = 0; i < 3; i++)
        close(fds[i]);
    wait_for_quiet();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_body_too_long, setup, teardown),
        cmocka_unit_test_setup_teardown(test_endless_body_is_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bodies_share_a_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_byte_at_a_time, setup_impatient, teardown),
        cmocka_unit_test_setup_teardown(test_peer_that_does_not_read, setup_impatient, teardown),
        cmocka_unit_test_setup_teardown(test_handler_that_is_too_slow, setup_impatient, teardown),
        cmocka_unit_test_setup_teardown(test_many_connections, setup, teardown),
        cmocka_unit_test_setup_teardown(test_places_become_free, setup, teardown),
        cmocka_unit_test_setup_teardown(test_crowd_of_one_address, setup_crowd, teardown),
        cmocka_unit_test_setup_teardown(test_ipv4_at_an_ipv6_socket, setup_both_families, teardown),
        cmocka_unit_test_setup_teardown(test_crowd_of_handled_requests, setup_crowd, teardown),
        /* The last one: the process stays in its network namespace. */
        cmocka_unit_test_setup_teardown(test_crowd_of_one_subnet, setup_subnets, teardown),
    };

    return cmocka_run_group_tests_name("http_limits", tests, NULL, NULL);
}

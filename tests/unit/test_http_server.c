/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The HTTP server, with real peers: their requests, and how they disconnect. */
#define _GNU_SOURCE
#include "tests/unit/http_peer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

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
    /* A peer that does not speak HTTP gets 400 or no answer. */
    ask("\x16\x03\x01\x02\r\n\r\n");
    assert_true(code_of(answer) == 400 || !*answer);
    wait_for_quiet();
}

static int setup_password(void **state)
{
    const struct http_server_options options = {.userpwd = "prom:geheim:1"};

    (void)state;
    setup_with(&options);
    return 0;
}

static void test_password(void **state)
{
    /* "prom:geheim:1" in base64 */
    static const char good[] = "Basic cHJvbTpnZWhlaW06MQ==";
    /* A wrong end, a wrong user, a prefix, more, nothing, no colon, no base64, another scheme */
    static const char *const bad[] = {"Basic cHJvbTpnZWhlaW06Mg==",
                                      "Basic cHJvbjpnZWhlaW06MQ==",
                                      "Basic cHJvbTpnZWhlaW0=",
                                      "Basic cHJvbTpnZWhlaW06MTE=",
                                      "Basic ",
                                      "Basic cHJvbQ==",
                                      "Basic *",
                                      "Bearer cHJvbTpnZWhlaW06MQ=="};
    char request[256];

    (void)state;
    assert_int_equal(code_of(ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")), 401);
    assert_non_null(strstr(answer, "WWW-Authenticate: Basic realm=\"jobio\"\r\n"));
    assert_ends(answer, "\r\n\r\na user and a password are required\n");
    /* It does not say which pages exist. */
    assert_int_equal(code_of(ask("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")), 401);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(request, sizeof(request),
                 "GET /hello HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n", bad[i]);
        if (code_of(ask(request)) != 401)
            fail_msg("%s: %s", bad[i], answer);
    }
    assert_int_equal(stats().requests, 0);
    assert_int_equal(stats().refused, 2 + sizeof(bad) / sizeof(bad[0]));
    snprintf(request, sizeof(request),
             "GET /hello HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n\r\n", good);
    assert_int_equal(code_of(ask(request)), 200);
    assert_int_equal(stats().requests, 1);
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

        (void)say(fd, request, 100000); /* the server may hang up meanwhile */
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

static void test_late_answer(void **state)
{
    int fd = peer();

    (void)state;
    assert_true(say_text(fd, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n"));
    while (!parked)
        spin(1);
    /* Other peers are served meanwhile. */
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

/* The peer sends everything, closes its side, and waits. */
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
    /* A peer that disconnects in the middle has not sent a request. */
    fd = post(100);
    assert_true(say_text(fd, "half"));
    assert_int_equal(shutdown(fd, SHUT_WR), 0);
    hear(fd);
    assert_int_equal(stats().requests, 2);
    wait_for_quiet();
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

static struct {
    unsigned calls;
    struct error why;
} reported;

static void on_listening(const struct error *why, void *arg)
{
    (void)arg;
    reported.calls++;
    reported.why = why ? *why : (struct error){""};
}

static int listen_anywhere(char text[32])
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(in);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &size), 0);
    (void)snprintf(text, 32, "127.0.0.1:%u", ntohs(in.sin_port));
    return fd;
}

/* Somebody else has the port, and leaves it later. */
static void test_retry(void **state)
{
    char text[32], port[16];
    const char *listen[] = {text, "127.0.0.1:0"};
    const struct http_server_options options = {
        .listen = listen, .n_listen = 2, .retry_ns = 20000000, .listening = on_listening};
    struct http_server *other = NULL;
    int fd = listen_anywhere(text);

    (void)state;
    assert_int_equal(http_server_create(&other, loop, &options, &error), 0);
    assert_int_equal(reported.calls, 1);
    assert_non_null(strstr(reported.why.text, text));
    assert_int_equal(http_server_port(other, 0), 0);
    assert_true(http_server_port(other, 1) > 0);
    for (unsigned i = 0; i < 5; i++)
        assert_true(sd_event_run(loop, 30000) >= 0);
    assert_int_equal(reported.calls, 1);
    (void)close(fd);
    for (unsigned i = 0; i < 1000 && reported.calls == 1; i++)
        assert_true(sd_event_run(loop, 30000) >= 0);
    assert_int_equal(reported.calls, 2);
    assert_string_equal(reported.why.text, "");
    (void)snprintf(port, sizeof(port), "%u", http_server_port(other, 0));
    assert_string_equal(strchr(text, ':') + 1, port);
    http_server_destroy(other);
}

/* A socket that systemd made is used instead of the address. */
static void test_socket(void **state)
{
    char text[32], port[16];
    const char *listen[] = {text};
    int fd = listen_anywhere(text);
    const struct http_server_options options = {
        .listen = listen, .n_listen = 1, .sockets = &fd, .n_sockets = 1};
    struct http_server *other = NULL;

    (void)state;
    assert_int_equal(http_server_create(&other, loop, &options, &error), 0);
    (void)snprintf(port, sizeof(port), "%u", http_server_port(other, 0));
    assert_string_equal(strchr(text, ':') + 1, port);
    http_server_destroy(other);
    assert_int_equal(close(fd), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_routes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_password, setup_password, teardown),
        cmocka_unit_test_setup_teardown(test_long_header_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_body_of_every_size, setup, teardown),
        cmocka_unit_test_setup_teardown(test_chunked_body, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_retry, setup, teardown),
        cmocka_unit_test_setup_teardown(test_socket, setup, teardown),
        cmocka_unit_test_setup_teardown(test_answer_without_a_peer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_half_closed_peer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ipv6, setup, teardown),
        cmocka_unit_test_setup_teardown(test_destroy_with_requests_under_way, setup, teardown),
        cmocka_unit_test_setup_teardown(test_addresses, setup, teardown),
    };

    return cmocka_run_group_tests_name("http_server", tests, NULL, NULL);
}

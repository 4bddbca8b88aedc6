/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The socket, with real peers: well-behaved ones, slow ones, hostile ones. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/daemon/socket.h"

#define NOBODY 65534

static char path[108];
static sd_event *loop;
static struct server *server;
static struct error error;
static char said[512];
static unsigned lines;
static struct request *parked;
static uid_t handled[16]; /* whose requests, in this order */
static size_t n_handled;
static int late_fd; /* of root, connected while a request of a user was handled */

static int peer(void);
static void ask(int fd, const char *type);

/* --- the other side of the hooks -------------------------------------------------------------- */

static void handle(struct request *request, const struct message *m, void *arg)
{
    const char *type = message_get(m, "TYPE");

    (void)arg;
    if (n_handled < sizeof(handled) / sizeof(handled[0]))
        handled[n_handled++] = request_uid(request);
    if (!strcmp(type, "ok")) {
        request_ok(request);
    } else if (!strcmp(type, "connect")) {
        if (late_fd < 0) {
            late_fd = peer();
            ask(late_fd, "ok");
        }
        request_ok(request);
    } else if (!strcmp(type, "long")) {
        char *text = malloc(500001);

        for (size_t i = 0; i < 500000; i++)
            text[i] = (char)('a' + i % 26);
        text[500000] = '\0';
        request_text(request, text, false);
    } else if (!strcmp(type, "cut")) {
        request_text(request, strdup("half"), true);
    } else if (!strcmp(type, "park")) {
        parked = request;
    } else if (!strcmp(type, "who")) {
        request_error(request, "uid %u pid %d admin %d", (unsigned)request_uid(request),
                      (int)request_pid(request), request_is_admin(request));
    } else {
        request_refuse(request, "unknown TYPE \"%s\"", type);
    }
}

static void say(enum log_level level, const char *text, void *arg)
{
    (void)level, (void)arg;
    snprintf(said, sizeof(said), "%s", text);
    lines++;
}

static int setup_with(unsigned question_ms, unsigned answer_ms, unsigned clients_a_user)
{
    const struct server_options options = {.path = path,
                                           .admin_gid = (gid_t)-1,
                                           .question_ms = question_ms,
                                           .answer_ms = answer_ms,
                                           .clients_a_user = clients_a_user,
                                           .clients_users = 2 * clients_a_user,
                                           .answers_a_user = 700000};
    const struct server_hooks hooks = {handle, say, NULL};

    snprintf(path, sizeof(path), "/tmp/jobio-test-server-%d", (int)getpid());
    said[0] = '\0';
    lines = 0;
    parked = NULL;
    n_handled = 0;
    late_fd = -1;
    assert_true(sd_event_new(&loop) >= 0);
    assert_int_equal(server_create(&server, loop, &options, &hooks, &error), 0);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return setup_with(10000, 10000, 4);
}

/* For slow peers. */
static int setup_impatient(void **state)
{
    (void)state;
    return setup_with(200, 200, 4);
}

static int teardown(void **state)
{
    (void)state;
    server_destroy(server);
    sd_event_unref(loop);
    return access(path, F_OK) == 0;
}

/* --- a peer ----------------------------------------------------------------------------------- */

static int peer(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);

    strcpy(address.sun_path, path);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void spin(unsigned ms)
{
    struct timespec start, now;

    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        assert_true(sd_event_run(loop, 5000) >= 0);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
             (long)ms);
}

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

/* Run the loop until there is an answer. */
static struct message *wait_answer(int fd)
{
    static struct message m;
    ssize_t n;

    for (int i = 0; i < 400 && !is_readable(fd); i++)
        spin(5);
    n = recv(fd, m.data, sizeof(m.data), MSG_DONTWAIT);
    m.size = n > 0 ? (size_t)n : 0;
    if (n <= 0)
        return NULL;
    assert_int_equal(message_check(&m, &error), 0);
    return &m;
}

static void ask(int fd, const char *type)
{
    struct message m;

    message_init(&m, type);
    assert_int_equal(send(fd, m.data, m.size, 0), m.size);
}

static const char *error_of(int fd)
{
    struct message *m = wait_answer(fd);

    assert_non_null(m);
    assert_string_equal(message_get(m, "STATUS"), "error");
    return message_get(m, "ERROR");
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_question_and_answer(void **state)
{
    int fd = peer();
    char expected[64];
    struct message *m;

    (void)state;
    ask(fd, "ok");
    m = wait_answer(fd);
    assert_string_equal(message_get(m, "STATUS"), "ok");
    assert_null(wait_answer(fd)); /* one request per connection */
    close(fd);
    fd = peer();
    ask(fd, "who");
    snprintf(expected, sizeof(expected), "uid %u pid %d admin %d", (unsigned)getuid(),
             (int)getpid(), getuid() == 0);
    assert_string_equal(error_of(fd), expected);
    close(fd);
}

static void test_long_answer_comes_in_parts(void **state)
{
    int fd = peer();
    size_t n = 0, parts = 0;
    struct message *m;
    bool more = true;

    (void)state;
    ask(fd, "long");
    while (more) {
        const char *text;

        m = wait_answer(fd);
        assert_non_null(m);
        text = message_get(m, "TEXT");
        for (size_t i = 0; text[i]; i++, n++)
            assert_int_equal(text[i], 'a' + n % 26);
        more = message_get(m, "MORE") != NULL;
        parts++;
    }
    assert_int_equal(n, 500000);
    assert_int_equal(parts, 9);
    close(fd);
}

static void test_bad_messages(void **state)
{
    static const struct {
        const char *data;
        size_t size;
        const char *reason;
    } bad[] = {
        {"VERSION=1\0TYPE=ok", 17, "bad message: "},
        {"\x01\x02\x03\xff", 5, "bad message: "},
        {"VERSION=9\0TYPE=ok", 18, "bad message: "},
        {"TYPE=ok", 8, "bad message: "},
        {"VERSION=1\0TYPE=sing", 20, "unknown TYPE \"sing\""},
    };
    struct server_stats stats;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int fd = peer();
        const char *text;

        assert_int_equal(send(fd, bad[i].data, bad[i].size, 0), bad[i].size);
        text = error_of(fd);
        if (strncmp(text, bad[i].reason, strlen(bad[i].reason)) != 0)
            fail_msg("\"%s\" does not begin with \"%s\"", text, bad[i].reason);
        close(fd);
    }
    /* One log line for all of them. */
    assert_int_equal(lines, 1);
    server_stats(server, &stats);
    assert_int_equal(stats.bad, 4);
    assert_int_equal(stats.refused, 5);
}

static void test_oversized_message(void **state)
{
    static char big[MESSAGE_MAX + 5000];
    int fd = peer(), size = sizeof(big) * 2;

    (void)state;
    memset(big, 'x', sizeof(big) - 1);
    memcpy(big, "VERSION=1\0TYPE=ok\0K=", 20);
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    assert_int_equal(send(fd, big, sizeof(big), 0), sizeof(big));
    assert_non_null(strstr(error_of(fd), "bad message"));
    close(fd);
}

static void test_silent_peer_is_dropped(void **state)
{
    int fd = peer();
    struct server_stats stats;

    (void)state;
    assert_null(wait_answer(fd));
    server_stats(server, &stats);
    assert_int_equal(stats.timeouts, 1);
    assert_int_equal(stats.clients, 0);
    close(fd);
}

/* The peer never reads its answer: the memory is freed after the time limit. */
static void test_peer_that_does_not_read(void **state)
{
    int fd = peer();
    struct server_stats stats;

    (void)state;
    ask(fd, "long");
    spin(50);
    server_stats(server, &stats);
    assert_int_equal(stats.clients, 1);
    spin(400);
    server_stats(server, &stats);
    assert_int_equal(stats.clients, 0);
    assert_int_equal(stats.timeouts, 1);
    close(fd);
}

static void test_peer_goes_while_we_think(void **state)
{
    int fd = peer();
    struct server_stats stats;

    (void)state;
    ask(fd, "park");
    spin(20);
    assert_non_null(parked);
    close(fd);
    spin(20);
    request_ok(parked);
    server_stats(server, &stats);
    assert_int_equal(stats.clients, 0);
    /* A request that is answered after the server was destroyed. */
    fd = peer();
    ask(fd, "park");
    spin(20);
    server_destroy(server);
    server = NULL;
    request_error(parked, "too late");
    close(fd);
}

/* The server ends while one peer waits for its answer and older and newer ones still ask. */
static void test_end_with_peers(void **state)
{
    int older = peer(), fd, newer;

    (void)state;
    spin(20);
    fd = peer();
    ask(fd, "park");
    spin(20);
    assert_non_null(parked);
    newer = peer();
    spin(20);
    server_destroy(server);
    server = NULL;
    request_ok(parked);
    close(older);
    close(fd);
    close(newer);
}

/* Users cannot use up the connections of root or of other users. Needs root, to change the user. */
static bool receive(int fd, struct message *m)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    ssize_t n = poll(&p, 1, 5000) == 1 ? recv(fd, m->data, sizeof(m->data), 0) : -1;

    m->size = n > 0 ? (size_t)n : 0;
    return n > 0 && message_check(m, NULL) == 0;
}

/* A process of this user with n connections, whose first one has sent this request; NULL: none. */
static pid_t hold_as(uid_t uid, int n, const char *first)
{
    pid_t child = fork();

    if (child)
        return child;
    if (setuid(uid) < 0)
        _exit(1);
    for (int i = 0; i < n; i++) {
        int fd = peer();

        if (first && !i)
            ask(fd, first);
    }
    pause();
    _exit(0);
}

static pid_t ask_as(uid_t uid)
{
    pid_t child = fork();
    struct message m;
    int fd;

    if (child)
        return child;
    if (setuid(uid) < 0)
        _exit(1);
    fd = peer();
    ask(fd, "ok");
    _exit(receive(fd, &m) && !strcmp(message_get(&m, "STATUS"), "ok") ? 0 : 2);
}

static unsigned clients(void)
{
    struct server_stats stats;

    server_stats(server, &stats);
    return stats.clients;
}

static void test_places(void **state)
{
    int root_fd, status;
    pid_t child;

    (void)state;
    if (getuid() != 0)
        skip();
    child = hold_as(NOBODY, 6, NULL);
    spin(100);
    root_fd = peer();
    ask(root_fd, "ok");
    assert_string_equal(message_get(wait_answer(root_fd), "STATUS"), "ok");
    close(root_fd);
    assert_non_null(strstr(said, "too many connections at once"));
    assert_int_equal(clients(), 4);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

/* Such as the subordinate uids of one user. */
static void test_many_uids_do_not_keep_others_out(void **state)
{
    pid_t holders[2], other;
    int status;

    (void)state;
    if (getuid() != 0)
        skip();
    holders[0] = hold_as(NOBODY - 1, 4, "park");
    while (!parked || clients() < 4)
        spin(5);
    holders[1] = hold_as(NOBODY - 2, 4, NULL);
    while (clients() < 8)
        spin(5);
    other = ask_as(NOBODY);
    while (waitpid(other, &status, WNOHANG) == 0)
        spin(5);
    assert_int_equal(status, 0);
    assert_non_null(strstr(said, "too many connections at once"));
    /* An idle one was closed, not the request before it. */
    assert_int_equal(clients(), 7);
    request_ok(parked);
    for (int i = 0; i < 2; i++) {
        kill(holders[i], SIGKILL);
        waitpid(holders[i], &status, 0);
    }
}

/* Root does not wait for users that came first. Needs root, to change the user. */
static void test_root_comes_first(void **state)
{
    int root_fd, status, ready[2];
    pid_t child;
    char byte;

    (void)state;
    if (getuid() != 0)
        skip();
    assert_int_equal(pipe(ready), 0);
    child = fork();
    if (child == 0) {
        if (setuid(NOBODY) < 0)
            _exit(1);
        for (int i = 0; i < 4; i++)
            ask(peer(), "connect");
        (void)!write(ready[1], "r", 1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    root_fd = peer();
    ask(root_fd, "ok");
    spin(200);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    assert_int_equal(n_handled, 6);
    assert_int_equal(handled[0], 0);
    assert_int_equal(handled[1], NOBODY); /* meanwhile root connects again */
    assert_int_equal(handled[2], 0);
    for (size_t i = 3; i < n_handled; i++)
        assert_int_equal(handled[i], NOBODY);
    close(root_fd);
    close(late_fd);
    close(ready[0]);
    close(ready[1]);
}

static void test_cut_answer(void **state)
{
    int fd = peer();
    struct message *m;

    (void)state;
    ask(fd, "cut");
    m = wait_answer(fd);
    assert_string_equal(message_get(m, "CUT"), "1");
    assert_string_equal(message_get(m, "TEXT"), "half");
    close(fd);
}

/* Runs in a process of its own. Returns 0 if the second long answer is refused until the first one
 * is read, and sent afterwards. */
static int hoard(void)
{
    static struct message m;
    int first, second, third;

    if (setuid(NOBODY) < 0)
        return 1;
    first = peer();
    ask(first, "long");
    if (!receive(first, &m) || !message_get(&m, "MORE"))
        return 2;
    second = peer();
    ask(second, "long");
    if (!receive(second, &m) || !message_get(&m, "ERROR"))
        return 3;
    third = peer();
    ask(third, "ok");
    if (!receive(third, &m) || message_get(&m, "ERROR"))
        return 4;
    while (receive(first, &m))
        if (!message_get(&m, "MORE"))
            break;
    close(first);
    second = peer();
    ask(second, "long");
    return receive(second, &m) && message_get(&m, "MORE") ? 0 : 5;
}

static void test_answers_that_nobody_takes(void **state)
{
    int status = -1;
    pid_t child;

    (void)state;
    if (getuid() != 0)
        skip();
    child = fork();
    if (child == 0)
        _exit(hoard());
    for (int i = 0; i < 2000 && waitpid(child, &status, WNOHANG) == 0; i++)
        assert_true(sd_event_run(loop, 10000) >= 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_replaces_a_dead_socket(void **state)
{
    const struct server_options options = {.path = path, .admin_gid = (gid_t)-1};
    const struct server_hooks hooks = {handle, say, NULL};
    FILE *f;

    (void)state;
    server_destroy(server);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(server_create(&server, loop, &options, &hooks, &error), 0);
    test_question_and_answer(state);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TEST_IMPATIENT(f) cmocka_unit_test_setup_teardown(f, setup_impatient, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_question_and_answer),
        TEST(test_long_answer_comes_in_parts),
        TEST(test_bad_messages),
        TEST(test_oversized_message),
        TEST_IMPATIENT(test_silent_peer_is_dropped),
        TEST_IMPATIENT(test_peer_that_does_not_read),
        TEST(test_peer_goes_while_we_think),
        TEST(test_end_with_peers),
        TEST(test_places),
        TEST(test_many_uids_do_not_keep_others_out),
        TEST(test_root_comes_first),
        TEST(test_cut_answer),
        TEST(test_answers_that_nobody_takes),
        TEST(test_replaces_a_dead_socket),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

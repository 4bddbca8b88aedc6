/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a caller sees of a jobiod that answers, refuses, talks nonsense, is silent or is not there.
 */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "common/call.h"
#include "tests/unit/answerer.h"

static char directory[] = "/tmp/jobio-test-call-XXXXXX";
static struct message m;

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(directory);
}

static uint64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int ask(enum answer how, struct error *e)
{
    struct answerer a;
    int r;

    answerer_start(&a, directory, how);
    message_init(&m, "status");
    r = call(a.path, &m, 5000, e);
    answerer_stop(&a);
    return r;
}

static void test_answers(void **state)
{
    struct error e = {""};

    (void)state;
    assert_int_equal(ask(ANSWER_OK, &e), 0);
    assert_string_equal(message_get(&m, "STATUS"), "ok");
    assert_int_equal(ask(ANSWER_ERROR, &e), -EREMOTEIO);
    assert_string_equal(e.text, "no such step");
}

static void test_nonsense(void **state)
{
    struct error e = {""};

    (void)state;
    assert_int_equal(ask(ANSWER_BYTE, &e), -EBADMSG);
    assert_int_equal(ask(ANSWER_CUT, &e), -EBADMSG);
    assert_int_equal(ask(ANSWER_HUGE, &e), -EBADMSG);
    assert_non_null(strstr(e.text, "at most 65536"));
    assert_int_equal(ask(ANSWER_VERSION, &e), -EPROTONOSUPPORT);
    assert_int_equal(ask(ANSWER_CLOSE, &e), -ECONNRESET);
}

static void test_parts(void **state)
{
    struct error e = {""};
    struct answerer a;
    char text[32] = "";
    int fd, more;

    (void)state;
    answerer_start(&a, directory, ANSWER_PARTS);
    message_init(&m, "query-job");
    fd = call_open(a.path, &m, 5000, &e);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    do {
        assert_int_equal(call_receive(fd, &m, 5000, &e), 0);
        strcat(text, message_get(&m, "TEXT"));
        more = message_get(&m, "MORE") != NULL;
    } while (more);
    assert_string_equal(text, "one two three");
    assert_int_equal(call_receive(fd, &m, 5000, &e), -ECONNRESET);
    close(fd);
    answerer_stop(&a);
}

static void test_nobody_there(void **state)
{
    struct error e = {""};
    struct answerer a;
    char path[300];

    (void)state;
    answerer_start(&a, directory, ANSWER_DEAF);
    close(a.fd);
    message_init(&m, "status");
    assert_int_equal(call(a.path, &m, 5000, &e), -ECONNREFUSED);
    answerer_stop(&a);
    message_init(&m, "status");
    assert_int_equal(call(a.path, &m, 5000, &e), -ENOENT);
    assert_non_null(strstr(e.text, "jobiod.sock\": No such file"));
    memset(path, 'p', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(call(path, &m, 5000, &e), -ENAMETOOLONG);
}

/* Late, but not never, and not before its time either. */
static void assert_times_out(const char *path, unsigned timeout_ms)
{
    struct error e = {""};
    uint64_t before = now_ms(), took;

    message_init(&m, "status");
    assert_int_equal(call(path, &m, timeout_ms, &e), -ETIMEDOUT);
    took = now_ms() - before;
    assert_in_range(took, timeout_ms, timeout_ms + 1500);
}

static void ignore(int signo)
{
    (void)signo;
}

static void test_silence_is_bounded(void **state)
{
    struct answerer a;

    (void)state;
    answerer_start(&a, directory, ANSWER_NEVER);
    assert_times_out(a.path, 150);
    assert_times_out(a.path, 0);
    answerer_stop(&a);
}

/* The backlog takes two connections; from then on connect() itself has to be bounded. */
static void test_full_backlog_is_bounded(void **state)
{
    struct error e = {""};
    struct answerer a;
    int fds[8], n = 0;

    (void)state;
    answerer_start(&a, directory, ANSWER_DEAF);
    message_init(&m, "status");
    do
        fds[n] = call_open(a.path, &m, 100, &e);
    while (fds[n] >= 0 && ++n < 8);
    assert_in_range(n, 1, 7);
    assert_int_equal(fds[n], -ETIMEDOUT);
    assert_non_null(strstr(e.text, "accept"));
    assert_times_out(a.path, 150);
    while (n > 0)
        close(fds[--n]);
    answerer_stop(&a);
}

/* A signal every 5 ms neither shortens nor prolongs the deadline. */
static void test_signals_do_not_matter(void **state)
{
    const struct itimerval often = {{0, 5000}, {0, 5000}}, stop = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = ignore};
    struct answerer silent, deaf;
    struct error e;
    int fd[3];

    (void)state;
    answerer_start(&silent, directory, ANSWER_NEVER);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    assert_times_out(silent.path, 150);
    setitimer(ITIMER_REAL, &stop, NULL);
    answerer_stop(&silent);

    answerer_start(&deaf, directory, ANSWER_DEAF);
    message_init(&m, "status");
    for (int i = 0; i < 3; i++)
        fd[i] = call_open(deaf.path, &m, 50, &e);
    assert_int_equal(fd[2], -ETIMEDOUT);
    setitimer(ITIMER_REAL, &often, NULL);
    assert_times_out(deaf.path, 150);
    setitimer(ITIMER_REAL, &stop, NULL);
    close(fd[0]);
    close(fd[1]);
    answerer_stop(&deaf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_silence_is_bounded),
        cmocka_unit_test(test_full_backlog_is_bounded),
        cmocka_unit_test(test_signals_do_not_matter),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

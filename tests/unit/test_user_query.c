/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries of users on another host: who asks, what may be asked, and what the answer has. */
#define _GNU_SOURCE /* memfd_create */
#include "tests/unit/node_pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/source/remote.h"
#include "common/message.h"

#define NOBODY 65534

/* What another process has got, in memory that it shares. */
struct result {
    int rc, applied, cut, done;
    char text[256], error[512];
};
static struct result *result;
static int result_fd = -1;
static char url[64];

static bool map_result(void)
{
    result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED, result_fd, 0);
    return result != MAP_FAILED;
}

/* The other process: it is this program again. */
struct asker {
    const char *program, *fd, *uid, *type, *name, *to, *munge_socket;
};

static int ask_as(const struct asker *asker)
{
    struct message m;
    struct error error = {""};
    char *text = NULL;

    result_fd = atoi(asker->fd);
    if (!map_result() || setuid((uid_t)atoi(asker->uid)) < 0)
        return 1;
    message_init(&m, asker->type);
    (void)message_put(&m, "NAME", asker->name);
    result->rc = remote_ask(asker->to, asker->munge_socket, &m, 60000, &text, &error);
    result->applied = result->rc == 0 && strcmp(message_get(&m, "APPLIED"), "NAME ") == 0;
    result->cut = result->rc == 0 && message_get(&m, "CUT") != NULL;
    (void)snprintf(result->text, sizeof(result->text), "%s", text ? text : "");
    (void)snprintf(result->error, sizeof(result->error), "%s", error.text);
    free(text);
    __atomic_store_n(&result->done, 1, __ATOMIC_RELEASE);
    return 0;
}

static bool is_done(void)
{
    return __atomic_load_n(&result->done, __ATOMIC_ACQUIRE);
}

/* This process has threads: after fork() one of them may hold a lock of malloc() for ever, so that
 * the child has to exec. */
static void ask(uid_t uid, const char *type, const char *name, const char *to)
{
    char fd[16], who[16];
    pid_t pid;
    int status;

    (void)snprintf(fd, sizeof(fd), "%d", result_fd);
    (void)snprintf(who, sizeof(who), "%u", uid);
    memset(result, 0, sizeof(*result));
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)execl("/proc/self/exe", "ask", fd, who, type, name, to, node_pair_munge_socket(),
                    NULL);
        _exit(127);
    }
    node_pair_until(is_done);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_user(void **state)
{
    (void)state;
    node_pair_skip();
    ask(NOBODY, "query-history", "a \"b\" = ü", url);
    assert_int_equal(result->rc, 0);
    assert_string_equal(result->text, "user 65534: a \"b\" = ü");
    assert_true(result->applied);
    assert_true(result->cut);
    ask(0, "query-history", "", url);
    assert_string_equal(result->text, "user 0: ");
    assert_int_equal(node_pair_count(&first, "served"), 2);
}

/* Of jobio.conf, where someone wrote a slash at its end. */
static void test_slash(void **state)
{
    char with[128];

    (void)state;
    node_pair_skip();
    (void)snprintf(with, sizeof(with), "%s//", url);
    ask(0, "query-history", "", with);
    assert_int_equal(result->rc, 0);
    assert_string_equal(result->text, "user 0: ");
}

static void test_refused(void **state)
{
    (void)state;
    node_pair_skip();
    ask(NOBODY, "tag", "x", url);
    assert_int_equal(result->rc, -EREMOTEIO);
    assert_non_null(strstr(result->error, "not for users on other hosts"));
}

/* An answer that does not fit into a credential. */
static void test_too_long(void **state)
{
    (void)state;
    node_pair_skip();
    ask(NOBODY, "query-history", NODE_PAIR_LONG, url);
    assert_int_equal(result->rc, -EREMOTEIO);
    assert_non_null(strstr(result->error, "too long for another host"));
}

static void test_unreachable(void **state)
{
    (void)state;
    node_pair_skip();
    ask(NOBODY, "query-history", "x", "http://127.0.0.1:1");
    assert_int_equal(result->rc, -EHOSTUNREACH);
    assert_non_null(strstr(result->error, "no answer from jobiod at http://127.0.0.1:1"));
    ask(NOBODY, "query-history", "x", "http://");
    assert_int_equal(result->rc, -EINVAL);
    assert_string_equal(result->error, "\"http://\" is not a URL like http://host:9091");
}

static int setup(void **state)
{
    int r = node_pair_setup(state);

    (void)snprintf(url, sizeof(url), "http://" FIRST ":%u", node_pair_port());
    return r;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, node_pair_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_user),     TEST(test_slash),       TEST(test_refused),
        TEST(test_too_long), TEST(test_unreachable),
    };

    if (argc == sizeof(struct asker) / sizeof(char *))
        return ask_as((const struct asker *)argv);
    result_fd = memfd_create("result", 0);
    if (result_fd < 0 || ftruncate(result_fd, sizeof(*result)) < 0 || !map_result())
        return 1;
    return cmocka_run_group_tests(tests, node_pair_begin, node_pair_end);
}

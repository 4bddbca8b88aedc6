/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves, with real processes: the command waits until it may start, its status and its signals are
 * kept, and the reason is reported if it cannot be executed. */
#define _GNU_SOURCE /* pipe2 */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/run/child.h"
#include "common/cleanup.h"

static struct child *make(const char *program, char *const argv[])
{
    struct child *child = NULL;
    struct error error;

    if (child_create(&child, program, argv, NULL, NULL, &error) < 0)
        fail_msg("%s", error.text);
    return child;
}

#define SHELL(script) make("/bin/sh", (char *[]){"sh", "-c", script, NULL})

/* child_create() changes them for good: it is meant for one command per process. */
static void reset_signals(void)
{
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
}

static int finish(struct child *child)
{
    int status;

    while (!child_handle(child))
        child_wait(child);
    status = child_status(child);
    child_destroy(child);
    reset_signals();
    return status;
}

static int start(struct child *child)
{
    struct error error = {""};
    uint64_t value;
    int rc = child_start(child, &value, &error);

    assert_true(rc == 0 || strlen(error.text) > 0);
    return rc;
}

static void test_status(void **state)
{
    struct child *child = SHELL("exit 7");

    (void)state;
    assert_int_equal(start(child), 0);
    assert_int_equal(finish(child), 7);
    child = SHELL("kill -TERM $$");
    assert_int_equal(start(child), 0);
    assert_int_equal(finish(child), 128 + SIGTERM);
}

static void test_held_back(void **state)
{
    int pair[2];
    char script[64], byte;
    struct child *child;

    (void)state;
    assert_int_equal(pipe2(pair, O_NONBLOCK), 0);
    (void)snprintf(script, sizeof(script), "printf x >&%d", pair[1]);
    child = SHELL(script);
    usleep(50000); /* a process that does not wait would have written by then */
    assert_int_equal(read(pair[0], &byte, 1), -1);
    assert_int_equal(start(child), 0);
    assert_int_equal(finish(child), 0);
    assert_int_equal(read(pair[0], &byte, 1), 1);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static void test_never_started_leaves_nothing(void **state)
{
    struct child *child = SHELL("exit 0");
    pid_t pid = child_pid(child);

    (void)state;
    child_destroy(child);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(errno, ESRCH);
}

static void test_signals_are_forwarded(void **state)
{
    int pair[2];
    char script[128], byte;
    struct child *child;

    (void)state;
    assert_int_equal(pipe2(pair, 0), 0);
    (void)snprintf(script, sizeof(script),
                   "trap 'exit 33' USR1; printf x >&%d; while :; do sleep 0.05; done", pair[1]);
    child = SHELL(script);
    assert_int_equal(start(child), 0);
    assert_int_equal(read(pair[0], &byte, 1), 1);
    assert_int_equal(kill(getpid(), SIGUSR1), 0);
    assert_int_equal(finish(child), 33);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static void test_signal_state_is_as_it_was(void **state)
{
    struct child *child;

    (void)state;
    reset_signals();
    child =
        make("/bin/grep", (char *[]){"grep", "-qE", "^SigBlk:\\s0+$", "/proc/self/status", NULL});
    assert_int_equal(start(child), 0);
    assert_int_equal(finish(child), 0);
    /* The bit of SIGPIPE, 0x1000. */
    child =
        make("/bin/grep", (char *[]){"grep", "-qE", "^SigIgn:\\s[0-9a-f]*[02468ace][0-9a-f]{3}$",
                                     "/proc/self/status", NULL});
    assert_int_equal(start(child), 0);
    assert_int_equal(finish(child), 0);
}

static int prepare_number(void *arg, uint64_t *ret, struct error *error)
{
    (void)error;
    *ret = *(const uint64_t *)arg;
    return 0;
}

static int prepare_failure(void *arg, uint64_t *ret, struct error *error)
{
    (void)arg;
    (void)ret;
    return error_set(error, -ECONNREFUSED, "nobody is there");
}

static void test_prepare(void **state)
{
    char *const argv[] = {(char *)"true", NULL};
    uint64_t number = 1ull << 40, got = 0;
    struct child *child = NULL;
    struct error error;

    (void)state;
    assert_int_equal(child_create(&child, "/bin/true", argv, prepare_number, &number, &error), 0);
    assert_int_equal(child_start(child, &got, &error), 0);
    assert_true(got == number);
    assert_int_equal(finish(child), 0);
    assert_int_equal(child_create(&child, "/bin/true", argv, prepare_failure, NULL, &error), 0);
    assert_int_equal(child_start(child, &got, &error), -ECONNREFUSED);
    assert_string_equal(error.text, "nobody is there");
    assert_int_equal(child_failure(child), 0);
    child_destroy(child);
}

static volatile sig_atomic_t handled;

static void handle(int signal)
{
    handled = signal;
}

/* After the end of the command. */
static void test_interrupts(void **state)
{
    static const int interrupts[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    struct child *child = SHELL("exit 3");

    (void)state;
    assert_int_equal(start(child), 0);
    while (!child_handle(child))
        child_wait(child);
    assert_false(child_wait_interrupt(child, 0));
    for (size_t i = 0; i < ARRAY_SIZE(interrupts); i++) {
        assert_int_equal(kill(getpid(), SIGUSR1), 0);
        assert_int_equal(kill(getpid(), interrupts[i]), 0);
        assert_true(child_wait_interrupt(child, 10000));
    }
    assert_int_equal(kill(getpid(), SIGUSR1), 0);
    assert_false(child_wait_interrupt(child, 10));
    assert_int_equal(finish(child), 3);
}

static void test_cancelled_command_can_be_replaced(void **state)
{
    struct child *child;
    struct sigaction now;
    pid_t pid;

    (void)state;
    reset_signals();
    (void)signal(SIGUSR2, handle);
    child = SHELL("exit 1");
    pid = child_pid(child);
    assert_int_equal(kill(getpid(), SIGUSR2), 0);
    assert_int_equal(handled, 0);
    child_cancel(child);
    assert_int_equal(handled, SIGUSR2);
    assert_int_equal(kill(pid, 0), -1);
    assert_int_equal(sigaction(SIGPIPE, NULL, &now), 0);
    assert_true(now.sa_handler == SIG_DFL);
    (void)signal(SIGUSR2, SIG_DFL);
    child_cancel(NULL);
}

static char directory[] = "/tmp/jobio-child-XXXXXX";

static char *file_make(const char *name, const char *text, mode_t mode)
{
    char *path;
    FILE *f;

    assert_true(asprintf(&path, "%s/%s", directory, name) > 0);
    f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs(text, f);
    (void)fclose(f);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

static void test_resolve(void **state)
{
    _free_ char *script = NULL, *plain = NULL, *path = NULL;
    struct error error;

    (void)state;
    script = file_make("script", "exit \"$1\"\n", 0755);
    plain = file_make("plain", "no program", 0644);
    setenv("PATH", directory, 1);
    assert_int_equal(child_resolve("script", &path, &error), 0);
    assert_string_equal(path, script);
    free(path);
    path = NULL;
    assert_int_equal(child_resolve("nothing-here", &path, &error), -ENOENT);
    assert_int_equal(child_resolve("", &path, &error), -ENOENT);
    assert_int_equal(child_resolve("/nowhere/x", &path, &error), -ENOENT);
    assert_int_equal(child_resolve("plain", &path, &error), -EACCES);
    assert_int_equal(child_resolve(plain, &path, &error), -EACCES);
    assert_int_equal(child_resolve(directory, &path, &error), -EACCES);
    assert_null(path);
    setenv("PATH", "/usr/bin:/bin", 1);
}

static void test_execute(void **state)
{
    _free_ char *script = NULL, *bad = NULL;
    struct child *child;

    (void)state;
    /* No "#!": run by the shell, like execvp does. */
    script = file_make("script", "exit \"$1\"\n", 0755);
    child = make(script, (char *[]){"script", "9", NULL});
    assert_int_equal(start(child), 0);
    assert_int_equal(finish(child), 9);
    bad = file_make("bad", "#!/nowhere/interpreter\n", 0755);
    child = make(bad, (char *[]){"bad", NULL});
    assert_int_equal(start(child), -ENOENT);
    assert_int_equal(child_failure(child), ENOENT);
    assert_int_equal(finish(child), 127);
}

static int setup(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int teardown(void **state)
{
    static const char *const names[] = {"script", "plain", "bad"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        _free_ char *path = NULL;

        if (asprintf(&path, "%s/%s", directory, names[i]) > 0)
            (void)unlink(path);
    }
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_held_back),
        cmocka_unit_test(test_never_started_leaves_nothing),
        cmocka_unit_test(test_signals_are_forwarded),
        cmocka_unit_test(test_signal_state_is_as_it_was),
        cmocka_unit_test(test_prepare),
        cmocka_unit_test(test_interrupts),
        cmocka_unit_test(test_cancelled_command_can_be_replaced),
        cmocka_unit_test(test_resolve),
        cmocka_unit_test(test_execute),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The child that writes job records, with shell scripts instead of jobio-record. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/daemon/recorder.h"

static char program[] = "/tmp/jobio-test-recorder-XXXXXX";
static sd_event *loop;
static struct recorder *recorder;
static unsigned done;
static int last_result;
static struct error last_error;

static void on_done(int result, const struct error *error, void *arg)
{
    assert_ptr_equal(arg, &done);
    done++;
    last_result = result;
    last_error = *error;
}

static void start(const char *script, unsigned timeout_ms)
{
    struct error error;
    FILE *f = fopen(program, "w");

    assert_non_null(f);
    fprintf(f, "#!/bin/sh\n%s\n", script);
    fclose(f);
    assert_int_equal(chmod(program, 0700), 0);
    assert_int_equal(recorder_create(&recorder, loop, program, timeout_ms, &error), 0);
}

static void record(const char *text)
{
    struct error error;

    assert_int_equal(recorder_start(recorder, 17, 2, text, on_done, &done, &error), 0);
}

static void wait_for(unsigned n)
{
    for (int i = 0; i < 1000 && done < n; i++)
        assert_true(sd_event_run(loop, 10000) >= 0);
    assert_int_equal(done, n);
}

static int setup(void **state)
{
    sigset_t set;

    (void)state;
    done = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return sd_event_new(&loop) < 0;
}

static int teardown(void **state)
{
    (void)state;
    recorder_destroy(recorder);
    sd_event_unref(loop);
    return 0;
}

static void test_arguments_and_record(void **state)
{
    (void)state;
    start(
        "[ \"$*\" = '--job 17 --restart 2 --timeout 5000ms' ] && [ \"$(cat)\" = 'IO1:{\"v\":1}' ]",
        5000);
    record("IO1:{\"v\":1}");
    assert_int_equal(done, 0); /* never inside the call */
    wait_for(1);
    assert_int_equal(last_result, 0);
    assert_int_equal(recorder_pending(recorder), 0);
}

static void test_failure_has_its_words(void **state)
{
    (void)state;
    start("echo 'jobio-record: slurmctld says no' >&2; echo more >&2; exit 1", 5000);
    record("x");
    wait_for(1);
    assert_int_equal(last_result, -EIO);
    assert_string_equal(last_error.text, "jobio-record: slurmctld says no");
}

static void test_hung_child_is_killed(void **state)
{
    (void)state;
    start("exec sleep 100", 100);
    record("x");
    wait_for(1);
    assert_int_equal(last_result, -ETIMEDOUT);
    assert_string_equal(last_error.text, "ended by signal 9");
}

static void test_no_program(void **state)
{
    (void)state;
    start("", 5000);
    assert_int_equal(unlink(program), 0);
    record("x");
    assert_int_equal(done, 0);
    wait_for(1);
    assert_int_equal(last_result, -ENOENT);
    assert_non_null(strstr(last_error.text, program));
}

/* At most four run at once; the others wait. */
static void test_storm(void **state)
{
    char script[256];

    (void)state;
    snprintf(script, sizeof(script),
             "d=%s.d; mkdir -p $d; : > $d/$$; n=$(ls $d | wc -l); sleep 0.05; rm $d/$$; "
             "[ $n -le 4 ]",
             program);
    start(script, 5000);
    for (int i = 0; i < 20; i++)
        record("x");
    assert_int_equal(recorder_pending(recorder), 20);
    for (unsigned i = 1; i <= 20; i++) {
        wait_for(i);
        assert_int_equal(last_result, 0);
    }
    snprintf(script, sizeof(script), "%s.d", program);
    assert_int_equal(rmdir(script), 0);
}

static char last_nodes[128];

static void on_nodes(int result, const char *nodes, const struct error *error, void *arg)
{
    on_done(result, error, arg);
    (void)snprintf(last_nodes, sizeof(last_nodes), "%s", nodes ? nodes : "");
}

static void list_nodes(const char *script)
{
    struct error error;

    start(script, 0);
    assert_int_equal(recorder_list_nodes(recorder, 17, 2, on_nodes, &done, &error), 0);
    wait_for(1);
    done = 0;
    recorder_destroy(recorder);
    recorder = NULL;
}

static void test_list_nodes(void **state)
{
    (void)state;
    list_nodes("[ \"$*\" = '--nodes --restart 2 --timeout 30000ms 17' ] && echo n1,n2");
    assert_int_equal(last_result, 0);
    assert_string_equal(last_nodes, "n1,n2");
    list_nodes("echo no such job >&2; exit 4");
    assert_int_equal(last_result, -ESRCH);
    assert_string_equal(last_error.text, "no such job");
    list_nodes("echo slurmctld is down >&2; exit 1");
    assert_int_equal(last_result, -EIO);
    assert_string_equal(last_error.text, "slurmctld is down");
    list_nodes("exit 0");
    assert_int_equal(last_result, -EIO);
}

/* With an old libsystemd, the header of compat/ makes a timer by sd_event_add_time(). */
#ifdef sd_event_add_time_relative
#define ADD_TIMER sd_event_add_time
#define ADD_TIMER_NAME "sd_event_add_time"
#else
#define ADD_TIMER sd_event_add_time_relative
#define ADD_TIMER_NAME "sd_event_add_time_relative"
#endif

/* The next timer cannot be made. */
static bool no_timer;

int ADD_TIMER(sd_event *e, sd_event_source **source, clockid_t clock, uint64_t usec,
              uint64_t accuracy, sd_event_time_handler_t handler, void *arg)
{
    __typeof__(&ADD_TIMER) real = (__typeof__(real))dlsym(RTLD_NEXT, ADD_TIMER_NAME);

    if (no_timer) {
        no_timer = false;
        return -ENOMEM;
    }
    return real(e, source, clock, usec, accuracy, handler, arg);
}

static struct slurm_end last_end;

static void on_state(int result, const struct slurm_end *end, const struct error *error, void *arg)
{
    last_end = *end;
    on_done(result, error, arg);
}

static void ask_state(const char *script)
{
    struct error error;

    start(script, 0);
    assert_int_equal(recorder_ask_state(recorder, 17, 2, on_state, &done, &error), 0);
    wait_for(1);
    done = 0;
    recorder_destroy(recorder);
    recorder = NULL;
}

static void assert_end(enum slurm_state state, bool has_exit, unsigned code, unsigned signal)
{
    assert_int_equal(last_result, 0);
    assert_int_equal(last_end.state, state);
    assert_int_equal(last_end.has_exit, has_exit);
    assert_int_equal(last_end.exit_code, code);
    assert_int_equal(last_end.exit_signal, signal);
}

static void test_ask_state(void **state)
{
    (void)state;
    ask_state("[ \"$*\" = '--state --restart 2 --timeout 30000ms 17' ] && echo state FAILED 3:0");
    assert_end(SLURM_STATE_FAILED, true, 3, 0);
    /* What libslurm prints is not the answer. */
    ask_state("echo 'slurm: warning: state FAILED' >&2; echo state CANCELLED 0:15");
    assert_end(SLURM_STATE_CANCELLED, true, 0, 15);
    ask_state("echo state OUT_OF_MEMORY 0:125");
    assert_end(SLURM_STATE_OOM, true, 0, 125);
    ask_state("echo state REQUEUED");
    assert_end(SLURM_STATE_REQUEUED, false, 0, 0);
    ask_state("echo state RUNNING");
    assert_int_equal(last_result, -EAGAIN);
    ask_state("echo state COMPLETING");
    assert_int_equal(last_result, -EAGAIN);
    ask_state("echo no such job >&2; exit 4");
    assert_int_equal(last_result, -ESRCH);
    assert_string_equal(last_error.text, "no such job");
    ask_state("echo slurmctld is down >&2; exit 1");
    assert_int_equal(last_result, -EIO);
    assert_string_equal(last_error.text, "slurmctld is down");
    ask_state("echo state UNHEARD_OF 0:0");
    assert_int_equal(last_result, -EIO);
    assert_int_equal(last_end.state, SLURM_STATE_UNKNOWN);
    ask_state("exit 0");
    assert_int_equal(last_result, -EIO);
}

/* The child is killed and reaped. */
static void test_no_timer(void **state)
{
    (void)state;
    start("exec sleep 5", 5000);
    no_timer = true;
    record("x");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    wait_for(1);
    assert_int_equal(last_result, -ENOENT);
    assert_int_equal(recorder_pending(recorder), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_arguments_and_record),
        TEST(test_failure_has_its_words),
        TEST(test_hung_child_is_killed),
        TEST(test_no_program),
        TEST(test_storm),
        TEST(test_list_nodes),
        TEST(test_ask_state),
        TEST(test_no_timer),
    };
    int fd = mkstemp(program), r;

    if (fd < 0)
        return 99;
    close(fd);
    r = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(program);
    return r;
}

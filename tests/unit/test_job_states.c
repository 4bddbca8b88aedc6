/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How jobiod learns the end of jobs in Slurm, with a shell script instead of jobio-record, and a
 * real store. */
#define _GNU_SOURCE
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/daemon/job_states.h"
#include "collector/daemon/recorder.h"
#include "collector/store/writer.h"
#include "common/clock.h"

#define END (NOW + 10 * SECOND)

static const char *const sinks[] = {"history", NULL};
static sd_event *loop;
static struct recorder *recorder;
static struct writer *writer;
static struct job_states *states;
static char program[256], asked[256];
static unsigned queued;

static void on_queued(void *arg)
{
    assert_ptr_equal(arg, &queued);
    queued++;
}

/* The script gets the arguments of jobio-record, and writes a line to `asked` for each call. */
static void write_script(const char *script)
{
    FILE *f = fopen(program, "w");

    assert_non_null(f);
    fprintf(f, "#!/bin/sh\necho \"$*\" >> %s\nn=$(wc -l < %s)\n%s\n", asked, asked, script);
    fclose(f);
    assert_int_equal(chmod(program, 0700), 0);
}

static int on_outcome(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    (void)source, (void)fd, (void)events, (void)arg;
    (void)writer_dispatch(writer);
    return 0;
}

/* As jobiod starts: the store is handed to the writer when the jobs of the last hour are known. */
static void start(const char *script)
{
    const struct job_states_options options = {loop, recorder, sinks, on_queued, &queued};
    struct error error;

    write_script(script);
    assert_ok(job_states_create(&states, &options, opened, &error), error);
    assert_ok(writer_create(&writer, opened, 0, 0, &error), error);
    opened = NULL;
    assert_true(sd_event_add_io(loop, NULL, writer_fd(writer), EPOLLIN, on_outcome, NULL) >= 0);
    job_states_attach(states, writer);
}

static void put_ended_job(uint32_t jobid, uint64_t end_ns, const char *first_node)
{
    struct job_account *job = job_make(jobid, end_ns - 10 * SECOND);
    struct step_account step;

    step_make(&step, 0, end_ns - 10 * SECOND, 1);
    job->ended = true;
    job->end_ns = end_ns;
    job->first_node = first_node ? strdup(first_node) : NULL;
    put_rows(job, &step, true);
    step_account_clear(&step);
    job_account_destroy(job);
}

static void add(uint32_t jobid, const char *first_node)
{
    struct job_account *job = job_make(jobid, NOW);

    job->first_node = first_node ? strdup(first_node) : NULL;
    job_states_add(states, job);
    job_account_destroy(job);
}

static unsigned count_asked(void)
{
    FILE *f = fopen(asked, "r");
    unsigned n = 0;

    for (int c; f && (c = getc(f)) != EOF;)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

static struct slurm_end end_of(uint32_t jobid)
{
    struct store *reader = open_reader(&directory);
    struct job_account **found = NULL;
    struct slurm_end end;
    struct error error;

    assert_ok(store_jobs(reader, NULL, jobid, false, UINT32_MAX, &found, &error), error);
    assert_non_null(found[0]);
    end = found[0]->slurm;
    store_jobs_free(found);
    store_close(reader);
    return end;
}

static void run_for(unsigned ms)
{
    uint64_t until = clock_ns(CLOCK_MONOTONIC) + ms * 1000000ull;

    while (clock_ns(CLOCK_MONOTONIC) < until)
        assert_true(sd_event_run(loop, 10000) >= 0);
}

static void wait_for_end(uint32_t jobid)
{
    for (int i = 0; i < 2000 && end_of(jobid).state == SLURM_STATE_UNKNOWN; i++)
        assert_true(sd_event_run(loop, 10000) >= 0);
}

static uint64_t count_queued(void)
{
    struct store *reader = open_reader(&directory);
    struct outbox_stats stats;
    struct error error;

    assert_ok(store_outbox_stats(reader, "history", &stats, &error), error);
    store_close(reader);
    return stats.waiting;
}

static int setup(void **state)
{
    struct error error;
    sigset_t set;

    store_set_up(state);
    queued = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    (void)snprintf(program, sizeof(program), "%s/jobio-record", directory.path);
    (void)snprintf(asked, sizeof(asked), "%s/asked", directory.path);
    assert_true(sd_event_new(&loop) >= 0);
    assert_ok(recorder_create(&recorder, loop, program, 0, &error), error);
    return 0;
}

static int teardown(void **state)
{
    recorder_destroy(recorder);
    writer_destroy(writer);
    writer = NULL;
    job_states_destroy(states);
    sd_event_unref(loop);
    (void)unlink(program);
    (void)unlink(asked);
    return folder_tear_down(state);
}

/* The answer is stored, and one row of the job goes to the sinks again. */
static void test_answer_is_stored(void **state)
{
    struct slurm_end end;

    (void)state;
    put_ended_job(7, END, NULL);
    start("[ \"$*\" = '--state --restart 0 --timeout 30000ms 7' ] && echo state FAILED 3:0");
    assert_int_equal(count_queued(), 0);
    add(7, NULL);
    assert_int_equal(count_asked(), 0); /* not inside the call */
    wait_for_end(7);
    end = end_of(7);
    assert_int_equal(end.state, SLURM_STATE_FAILED);
    assert_int_equal(end.exit_code, 3);
    run_for(50);
    assert_int_equal(count_queued(), 1);
    assert_int_equal(queued, 1);
    run_for(1500);
    assert_int_equal(count_asked(), 1);
}

/* slurmctld hears of the end later, or cannot be reached for a while. */
static void test_asks_again(void **state)
{
    (void)state;
    put_ended_job(7, END, NULL);
    start("case $n in 1) echo state RUNNING;; 2) echo down >&2; exit 1;; *) echo state COMPLETED "
          "0:0; esac");
    add(7, NULL);
    wait_for_end(7);
    assert_int_equal(end_of(7).state, SLURM_STATE_COMPLETED);
    assert_int_equal(count_asked(), 3);
}

/* Another node asks; slurmctld has forgotten the job: both are final. One question at a time. */
static void test_does_not_ask(void **state)
{
    (void)state;
    put_ended_job(7, END, NULL);
    put_ended_job(8, END, NULL);
    put_ended_job(9, END, "n0");
    start("mkdir $0.busy || exit 1; sleep .1; rmdir $0.busy\n"
          "case $* in *' 7') exit 4;; *) echo state TIMEOUT 0:0; esac");
    add(9, "n0");
    add(7, NULL);
    add(8, NULL);
    wait_for_end(8);
    assert_int_equal(end_of(8).state, SLURM_STATE_TIMEOUT);
    run_for(1500);
    assert_int_equal(count_asked(), 2);
    assert_int_equal(end_of(7).state, SLURM_STATE_UNKNOWN);
    assert_int_equal(end_of(9).state, SLURM_STATE_UNKNOWN);
}

static int put_late(struct store *store, void *arg, struct error *error)
{
    (void)arg, (void)error;
    opened = store;
    put_ended_job(7, END, NULL);
    opened = NULL;
    return 0;
}

/* The end of the job is not in the store yet: the state is kept until it is. */
static void test_waits_for_the_row(void **state)
{
    (void)state;
    start("echo state CANCELLED 0:15");
    add(7, NULL);
    run_for(1500);
    assert_int_equal(count_asked(), 1);
    assert_int_equal(writer_submit(writer, true, put_late, NULL, NULL), 0);
    assert_int_equal(writer_flush(writer, 5000), 0);
    wait_for_end(7);
    assert_int_equal(end_of(7).state, SLURM_STATE_CANCELLED);
    assert_int_equal(count_asked(), 1);
}

/* A new process asks for the jobs of the last hour. */
static void test_restart(void **state)
{
    uint64_t now = clock_ns(CLOCK_REALTIME);

    (void)state;
    put_ended_job(7, now - 10 * SECOND, NULL);
    put_ended_job(8, now - 2 * NS_PER_HOUR, NULL);
    put_ended_job(9, now - 10 * SECOND, "n0");
    start("echo state NODE_FAIL 0:0");
    wait_for_end(7);
    assert_int_equal(end_of(7).state, SLURM_STATE_NODE_FAIL);
    run_for(1000);
    assert_int_equal(count_asked(), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_answer_is_stored),  TEST(test_asks_again), TEST(test_does_not_ask),
        TEST(test_waits_for_the_row), TEST(test_restart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

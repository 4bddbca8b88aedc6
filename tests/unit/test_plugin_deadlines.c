/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobio.so in a slurmstepd (stepd.h) whose jobiod is absent, slow or silent, or whose file system
 * is full: how long the hooks take, and what is logged. */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/unit/answerer.h"
#include "tests/unit/stepd.h"

/* /run must not fill up while no jobiod removes the files. */
static void test_full_file_system(void **state)
{
    struct cgroups c;
    struct answerer a;
    char path[256], node[300], name[300];
    char *sub_words[] = {node, NULL};
    _free_ char *asked = NULL;

    (void)state;
    stepd_cgroups(&c, 2, "step_batch");
    snprintf(path, sizeof(path), "%s/run", stepd_directory);
    snprintf(node, sizeof(node), "socket=%s/jobiod.sock", path);
    stepd_mount("tmpfs", path, "nr_inodes=40");
    for (int i = 0; i < 34; i++) {
        snprintf(name, sizeof(name), "run/%d", i);
        stepd_age(name, 0);
    }
    answerer_start(&a, path, ANSWER_OK);
    stepd_run(&stepd_batch, sub_words, &c, NULL);
    asked = answerer_asked(&a);
    answerer_stop(&a);
    assert_has(asked, "TYPE=tag");
    assert_has(asked, "TYPE=end");
    assert_has(spank_host_log->text, "step file: less than 10 % of \"");
    assert_has_not(spank_host_log->text, "not counted");
    assert_false(stepd_has("run/steps/17.2.4294967294.4294967291"));
    /* Without jobiod, too. Its socket has left room for a file. */
    stepd_age("run/34", 0);
    stepd_run(&stepd_batch, sub_words, &c, NULL);
    assert_has(spank_host_log->text, "jobio: step 17.batch: not counted: connect to ");
    assert_has(spank_host_log->text, ", and there is no step file");
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof(name), "%s/%d", path, i);
        assert_int_equal(unlink(name), 0);
    }
    stepd_run(&stepd_batch, sub_words, &c, NULL);
    assert_true(stepd_has("run/steps/17.2.4294967294.4294967291.end"));
    assert_int_equal(umount2(path, MNT_DETACH), 0);
    cgroups_destroy(&c);
}

/* srun in a job does not print errors of the site's configuration to the output of the job. */
static void test_words_of_srun(void **state)
{
    static char bad[] = "sumary=full";
    char *odd[] = {bad, NULL};
    struct spank_handle handle = {.context = S_CTX_LOCAL};
    struct spank_plugin plugin;

    (void)state;
    spank_host_load(&plugin, &handle, odd);
    setenv("SLURM_JOB_ID", "17", 1);
    assert_int_equal(spank_host_run(&plugin, "init"), 0);
    assert_string_equal(spank_host_log->text, "");
    unsetenv("SLURM_JOB_ID");
    assert_int_equal(spank_host_run(&plugin, "init"), 0);
    assert_has(spank_host_log->text, "error: jobio: plugstack.conf: \"sumary=full\"");
    spank_host_unload(&plugin);
}

static void test_absent(void **state)
{
    struct cgroups c;
    uint64_t before;

    (void)state;
    stepd_cgroups(&c, 2, "step_batch");
    before = stepd_now_ms();
    stepd_run(&stepd_batch, stepd_words, &c, NULL);
    assert_in_range(stepd_now_ms() - before, 0, 1500);
    assert_true(stepd_has("steps/17.2.4294967294.4294967291.end"));
    assert_has(stepd_read("steps/17.2.4294967294.4294967291"), "\nDIRECT=0\n");
    assert_false(stepd_has("down"));
    assert_has(spank_host_log->text, "info: jobio: step 17.batch: tag: connect to ");
    assert_has(spank_host_log->text, "; not counted until jobiod runs: open ");
    assert_int_equal(stepd_count(spank_host_log->text, "\n"), 3);
    assert_has_not(spank_host_log->text, "error:");
    cgroups_destroy(&c);
}

static void test_refused(void **state)
{
    struct answerer a;
    struct cgroups c;

    (void)state;
    stepd_cgroups(&c, 2, "step_batch");
    answerer_start(&a, stepd_directory, ANSWER_ERROR);
    stepd_run(&stepd_batch, stepd_words, &c, NULL);
    assert_has(spank_host_log->text, "info: jobio: step 17.batch: tag: no such step\n");
    assert_has(spank_host_log->text, "info: jobio: step 17.batch: report: no such step\n");
    assert_string_equal(stepd_read("output"), "");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

/* 100 steps and a hung jobiod: only the first step waits for the deadlines (tag, and end unless
 * jobiod is already marked as down). */
static void hundred_steps(enum answer how)
{
    struct answerer a;
    struct cgroups c;
    uint64_t before, alone, took;
    struct spank_handle handle = stepd_batch;

    stepd_cgroups(&c, 2, "step_7");
    before = stepd_now_ms();
    for (handle.stepid = 0; handle.stepid < 100; handle.stepid++)
        stepd_run(&handle, stepd_words, &c, NULL);
    alone = stepd_now_ms() - before;
    answerer_start(&a, stepd_directory, how);
    before = stepd_now_ms();
    for (handle.stepid = 0; handle.stepid < 100; handle.stepid++)
        stepd_run(&handle, stepd_words, &c, NULL);
    took = stepd_now_ms() - before;
    print_message("100 steps: %llu ms without jobiod, %llu ms with a hung one\n",
                  (unsigned long long)alone, (unsigned long long)took);
    assert_in_range(stepd_count(spank_host_log->text, " in time"), 1, 2);
    assert_in_range(took, 200, 3 * alone + 3000);
    assert_true(stepd_has("down"));
    assert_true(stepd_has("steps/17.2.4294967294.0.end"));
    assert_true(stepd_has("steps/17.2.4294967294.99.end"));
    assert_has_not(spank_host_log->text, "error:");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

static void test_silent_jobiod(void **state)
{
    (void)state;
    hundred_steps(ANSWER_NEVER);
}

static void test_deaf_jobiod(void **state)
{
    (void)state;
    hundred_steps(ANSWER_DEAF);
}

/* If "end" times out, the summary is still printed. */
static void test_slow_jobiod(void **state)
{
    struct answerer a;
    struct cgroups c;

    (void)state;
    stepd_cgroups(&c, 2, "step_batch");
    answerer_start(&a, stepd_directory, ANSWER_SLOW);
    stepd_run(&stepd_batch, stepd_words, &c, NULL);
    assert_has(spank_host_log->text, "step 17.batch: end: jobiod did not answer in time\n");
    assert_string_equal(stepd_read("output"), "the summary\n");
    assert_false(stepd_has("down"));
    answerer_stop(&a);
    cgroups_destroy(&c);
}

/* With patience it does not time out, and WITHIN of the report is longer, too. */
static void test_patience(void **state)
{
    static char patience[] = "patience=20";
    char *words[] = {stepd_words[0], patience, NULL};
    struct answerer a;
    struct cgroups c;
    _free_ char *asked = NULL;

    (void)state;
    stepd_cgroups(&c, 2, "step_batch");
    answerer_start(&a, stepd_directory, ANSWER_SLOW);
    stepd_run(&stepd_batch, words, &c, NULL);
    asked = answerer_asked(&a);
    assert_has_not(spank_host_log->text, "in time");
    assert_has(asked, "|WITHIN=4000|NODES=");
    assert_has(asked, "|WITHIN=40000|");
    assert_string_equal(stepd_read("output"), "the summary\n");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

static void test_mark_ages(void **state)
{
    static const struct {
        time_t age;
        bool asks;
    } cases[] = {{0, false}, {55, false}, {61, true}, {-3600, true}};
    struct answerer a;
    struct cgroups c;

    stepd_cgroups(&c, 2, "step_batch");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _free_ char *asked = NULL;

        answerer_start(&a, stepd_directory, ANSWER_OK);
        stepd_age("down", cases[i].age);
        stepd_run(&stepd_batch, stepd_words, &c, NULL);
        asked = answerer_asked(&a);
        assert_int_equal(strstr(asked, "TYPE=tag") != NULL, cases[i].asks);
        assert_int_equal(stepd_has("down"), !cases[i].asks);
        assert_has(stepd_read("steps/17.2.4294967294.4294967291"),
                   cases[i].asks ? "\nWITHIN=200\n" : "\nWITHIN=0\n");
        assert_int_equal(strstr(spank_host_log->text, "verbose: ") != NULL, !cases[i].asks);
        answerer_stop(&a);
        stepd_clean(state);
    }
    cgroups_destroy(&c);
}

/* The output of the job blocks like a hung NFS mount: a pipe without a reader. */
static void test_output_hangs(void **state)
{
    struct spank_handle handle = stepd_batch;
    struct spank_plugin plugin;
    struct answerer a;
    struct cgroups c;
    int fds[2], others[2], status;
    uint64_t before;
    char byte;
    pid_t pid;

    (void)state;
    stepd_cgroups(&c, 2, "step_batch");
    answerer_start(&a, stepd_directory, ANSWER_OK);
    assert_int_equal(pipe(fds) | pipe(others), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(fds[0]);
        if (!cgroups_enter(&c, c.stepd) || dup2(fds[1], STDERR_FILENO) < 0 ||
            fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK) < 0)
            _exit(100);
        while (write(STDERR_FILENO, "x", 1) == 1)
            ;
        (void)fcntl(STDERR_FILENO, F_SETFL, 0);
        spank_host_load(&plugin, &handle, stepd_words);
        spank_host_run(&plugin, "init");
        spank_host_run(&plugin, "init_post_opt");
        _exit(spank_host_run(&plugin, "exit"));
    }
    before = stepd_now_ms();
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_in_range(stepd_now_ms() - before, 1900, 5000);
    assert_int_equal(status, 0);
    assert_has(spank_host_log->text, "the job's output did not take the summary in time\n");
    /* The abandoned writer has no other descriptors of slurmstepd. */
    close(others[1]);
    assert_int_equal(fcntl(others[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(read(others[0], &byte, 1), 0);
    close(others[0]);
    /* Without a reader, the abandoned writer ends. */
    close(fds[0]);
    close(fds[1]);
    answerer_stop(&a);
    cgroups_destroy(&c);
}

/* Become the user for a short time, with all threads of the process. */
static void *act_as_user(void *arg)
{
    int *told = arg;
    const struct timespec moment = {.tv_nsec = 10 * 1000 * 1000};

    if (seteuid(stepd_batch.uid) < 0 || write(*told, "x", 1) != 1)
        _exit(101);
    (void)nanosleep(&moment, NULL);
    if (seteuid(0) < 0)
        _exit(102);
    return NULL;
}

/* slurmstepd does that in other threads, in parallel to the hooks. */
static void __attribute__((noreturn)) end_beside_user(const struct cgroups *c)
{
    struct spank_handle handle = stepd_batch;
    struct spank_plugin plugin;
    pthread_t thread;
    int fds[2], r;
    char byte;

    if (!cgroups_enter(c, c->stepd) || pipe(fds) < 0)
        _exit(100);
    spank_host_load(&plugin, &handle, stepd_words);
    spank_host_run(&plugin, "init");
    spank_host_run(&plugin, "init_post_opt");
    do /* again if the moment was over too soon */
        if (pthread_create(&thread, NULL, act_as_user, &fds[1]) != 0 || read(fds[0], &byte, 1) != 1)
            _exit(103);
    while (geteuid() != stepd_batch.uid && pthread_join(thread, NULL) == 0);
    r = spank_host_run(&plugin, "exit");
    (void)pthread_join(thread, NULL);
    _exit(r);
}

static void test_beside_user(void **state)
{
    struct cgroups c;
    int status;
    pid_t pid;

    (void)state;
    stepd_cgroups(&c, 2, "step_batch");
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        end_beside_user(&c);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(stepd_has("steps/17.2.4294967294.4294967291.end"));
    cgroups_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_full_file_system, stepd_clean),
        cmocka_unit_test_teardown(test_words_of_srun, stepd_clean),
        cmocka_unit_test_teardown(test_absent, stepd_clean),
        cmocka_unit_test_teardown(test_refused, stepd_clean),
        cmocka_unit_test_teardown(test_silent_jobiod, stepd_clean),
        cmocka_unit_test_teardown(test_deaf_jobiod, stepd_clean),
        cmocka_unit_test_teardown(test_slow_jobiod, stepd_clean),
        cmocka_unit_test_teardown(test_patience, stepd_clean),
        cmocka_unit_test_teardown(test_mark_ages, stepd_clean),
        cmocka_unit_test_teardown(test_output_hangs, stepd_clean),
        cmocka_unit_test_teardown(test_beside_user, stepd_clean),
    };

    return cmocka_run_group_tests(tests, stepd_set_up, stepd_tear_down);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobio.so in a slurmstepd (stepd.h) with a jobiod that answers: tags, step files, ends, the
 * summary, prolog and epilog.
 */
#include "config.h"

#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cleanup.h"
#include "common/job.h"
#include "tests/unit/answerer.h"
#include "tests/unit/stepd.h"

static void test_batch_step(void **state)
{
    static const char *const env[] = {"SLURM_JOB_NUM_NODES=3", "SLURM_JOB_NAME=a\nb=c",
                                      "SLURM_JOB_ACCOUNT=forged", NULL};
    struct spank_handle handle = stepd_batch;
    struct answerer a;
    struct cgroups c;
    char part[PATH_MAX];
    _free_ char *asked = NULL;
    char *file;

    (void)state;
    stepd_cgroups(&c, 2, "step_batch");
    handle.env = env;
    answerer_start(&a, stepd_directory, ANSWER_OK);
    stepd_run(&handle, stepd_words, &c, NULL);
    asked = answerer_asked(&a);
    assert_has(asked, "VERSION=1|TYPE=tag|JOBID=17|RESTART=2|HET=4294967294|STEP=4294967291|"
                      "UID=1000|CGROUP=/");
    snprintf(part, sizeof(part), "|CGROUP=%.200s|CGROUP_ID=%llu|CGROUP_LEVEL=3|CGROUP_VERSION=2|",
             c.step, (unsigned long long)cgroups_inode(&c, c.step));
    assert_has(asked, part);
    assert_has(asked,
               "|PLUGIN=" PACKAGE_VERSION "|WITHIN=200|NODES=3|NODE=n1|NAME=a\nb=c|DIRECT=0|");
    assert_has_not(asked, "forged");
    assert_has(asked, "TYPE=end|JOBID=17|RESTART=2|HET=4294967294|STEP=4294967291|ENDED_AT=");
    /* Nobody has chosen a summary, so jobiod does. */
    assert_has(asked, "TYPE=report|JOBID=17|RESTART=2|HET=4294967294|STEP=4294967291|WITHIN=");
    file = stepd_read("steps/17.2.4294967294.4294967291");
    assert_true(strncmp(file, "JOBID=17\nRESTART=2\n", 19) == 0);
    assert_has(file, "\nNAME=a b=c\nDIRECT=0\n");
    assert_has(stepd_read("steps/17.2.4294967294.4294967291.end"), "\nENDED_BOOT=");
    assert_string_equal(stepd_read("output"), "the summary\n");
    assert_string_equal(spank_host_log->text, "");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

/* The items are 0, NO_VAL or not set if the job is not a task of an array. */
static void test_array_task(void **state)
{
    static const struct {
        uint32_t job, task;
        const char *said;
    } cases[] = {
        {15, 2, "|ARRAY_JOB=15|ARRAY_TASK=2|DIRECT="},
        {17, 0, "|ARRAY_JOB=17|ARRAY_TASK=0|DIRECT="},
        {0, 0xfffffffe, NULL},
        {0xfffffffe, 0xfffffffe, NULL},
        {17, 0xfffffffe, NULL},
        {0, 0, NULL},
    };
    struct cgroups c;

    (void)state;
    stepd_cgroups(&c, 2, "step_batch");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct spank_handle handle = stepd_batch;
        struct answerer a;
        _free_ char *asked = NULL;
        char *file;

        handle.array_job = cases[i].job;
        handle.array_task = cases[i].task;
        answerer_start(&a, stepd_directory, ANSWER_OK);
        stepd_run(&handle, stepd_words, &c, NULL);
        asked = answerer_asked(&a);
        file = stepd_read("steps/17.2.4294967294.4294967291");
        if (cases[i].said) {
            assert_has(asked, cases[i].said);
            assert_has(file, "\nARRAY_JOB=");
        } else {
            assert_has_not(asked, "ARRAY");
            assert_has_not(file, "ARRAY");
        }
        answerer_stop(&a);
    }
    cgroups_destroy(&c);
}

/* v1: slurmstepd is in the directory of the job, and only the task is in that of the step. */
static void test_freezer(void **state)
{
    struct spank_handle handle = stepd_batch;
    struct answerer a;
    struct cgroups c;
    char part[PATH_MAX];
    _free_ char *asked = NULL;

    (void)state;
    stepd_cgroups(&c, 1, "step_0");
    handle.stepid = 0;
    answerer_start(&a, stepd_directory, ANSWER_OK);
    stepd_run(&handle, stepd_words, &c, NULL);
    asked = answerer_asked(&a);
    snprintf(part, sizeof(part), "|CGROUP=%.200s|CGROUP_ID=%llu|CGROUP_LEVEL=2|CGROUP_VERSION=1|",
             c.step, (unsigned long long)cgroups_inode(&c, c.step));
    assert_has(asked, part);
    assert_has(asked, "TYPE=end|JOBID=17|RESTART=2|HET=4294967294|STEP=0|");
    assert_has_not(asked, "TYPE=report");
    assert_string_equal(stepd_read("output"), "");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

static void test_freezer_extern(void **state)
{
    struct spank_handle handle = stepd_batch;
    struct answerer a;
    struct cgroups c;
    _free_ char *asked = NULL;

    (void)state;
    stepd_cgroups(&c, 1, "step_extern");
    handle.stepid = STEP_EXTERN;
    handle.nodes = 5;
    answerer_start(&a, stepd_directory, ANSWER_OK);
    stepd_run(&handle, stepd_words, &c, NULL);
    asked = answerer_asked(&a);
    assert_has(asked, "/step_extern|");
    assert_has(asked, "|CGROUP_VERSION=1|");
    assert_has(asked, "|NODES=5|");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

/* A cgroup that slurmstepd shares with its tasks may be that of slurmd: never tag it. */
static void test_no_cgroup_of_its_own(void **state)
{
    struct spank_handle handle = stepd_batch;
    struct answerer a;
    struct cgroups c;
    _free_ char *asked = NULL;

    (void)state;
    stepd_cgroups(&c, 1, "step_0");
    snprintf(c.stepd, sizeof(c.stepd), "%s", c.step);
    answerer_start(&a, stepd_directory, ANSWER_OK);
    stepd_run(&handle, stepd_words, &c, NULL);
    asked = answerer_asked(&a);
    assert_string_equal(asked, "");
    assert_has(spank_host_log->text,
               "info: jobio: step 17.batch: not counted: the step has no cgroup of its own\n");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

/* In 22.05 the item is always 0: the number is that in the file of the prolog. */
static void test_restart_from_prolog(void **state)
{
    struct spank_handle handle = stepd_batch, prolog = {.context = S_CTX_JOB_SCRIPT, .jobid = 17};
    struct spank_plugin plugin;
    struct cgroups c;

    (void)state;
    stepd_cgroups(&c, 2, "step_batch");
    handle.restart = 0;
    stepd_run(&handle, stepd_words, &c, NULL);
    assert_true(stepd_has("steps/17.0.4294967294.4294967291.end"));
    setenv("SLURM_JOB_RESTART_COUNT", "4", 1);
    spank_host_load(&plugin, &prolog, stepd_words);
    assert_int_equal(spank_host_run(&plugin, "job_prolog"), 0);
    spank_host_unload(&plugin);
    unsetenv("SLURM_JOB_RESTART_COUNT");
    stepd_run(&handle, stepd_words, &c, NULL);
    assert_has(stepd_read("steps/17.4.4294967294.4294967291"), "\nRESTART=4\n");
    cgroups_destroy(&c);
}

static void test_het_component(void **state)
{
    struct spank_handle handle = stepd_batch;
    struct answerer a;
    struct cgroups c;
    _free_ char *asked = NULL;

    (void)state;
    stepd_cgroups(&c, 2, "step_4+1");
    handle.stepid = 4;
    handle.nodes = 1;
    answerer_start(&a, stepd_directory, ANSWER_OK);
    stepd_run(&handle, stepd_words, &c, NULL);
    asked = answerer_asked(&a);
    assert_has(asked, "|HET=1|STEP=4|");
    assert_has(asked, "|NODES=0|");
    assert_true(stepd_has("steps/17.2.1.4.end"));
    answerer_stop(&a);
    cgroups_destroy(&c);
}

/* When the last task on the first node of a step has ended, the request for the summary has the
 * nodes of the step. */
static void check_step_nodes(const char *list, const char *in_report)
{
    char variable[256];
    const char *const env[] = {variable, NULL};
    struct spank_handle handle = stepd_batch;
    struct answerer a;
    struct cgroups c;
    _free_ char *asked = NULL;

    (void)snprintf(variable, sizeof(variable), "SLURM_STEP_NODELIST=%s", list);
    stepd_cgroups(&c, 2, "step_0");
    handle.stepid = 0;
    handle.tasks = 2;
    handle.env = env;
    answerer_start(&a, stepd_directory, ANSWER_OK);
    stepd_run(&handle, stepd_words, &c, NULL);
    asked = answerer_asked(&a);
    assert_has(asked, "TYPE=task-exit|JOBID=17|RESTART=2|HET=4294967294|STEP=0|");
    assert_has(asked, in_report);
    answerer_stop(&a);
    cgroups_destroy(&c);
    (void)stepd_clean(NULL);
}

static void test_step_nodes(void **state)
{
    (void)state;
    check_step_nodes("n1,n2,n10", "|STEP=0|WITHIN=2000|SOFAR=1|STEPNODES=n1,n2,n10|\n");
    check_step_nodes("n1", "|STEP=0|WITHIN=2000|SOFAR=1|STEPNODES=n1|\n");
    check_step_nodes("", "|STEP=0|WITHIN=2000|SOFAR=1|\n");
}

/* Whether a step requests a summary when its only task has ended. */
static bool asks_at_task_exit(uint32_t stepid, const char *variable)
{
    const char *const env[] = {variable, NULL};
    struct spank_handle handle = stepd_batch;
    struct answerer a;
    struct cgroups c;
    _free_ char *asked = NULL;
    bool asks;

    stepd_cgroups(&c, 2, "step_x");
    handle.stepid = stepid;
    handle.tasks = 1;
    handle.env = env;
    answerer_start(&a, stepd_directory, ANSWER_OK);
    stepd_run(&handle, stepd_words, &c, NULL);
    asked = answerer_asked(&a);
    asks = strstr(asked, "|SOFAR=1");
    answerer_stop(&a);
    cgroups_destroy(&c);
    (void)stepd_clean(NULL);
    return asks;
}

/* A job without a script gets one summary: of the step of an srun that made the job, or of the
 * shell of salloc. srun --quiet gets none. */
static void test_one_summary(void **state)
{
    (void)state;
    assert_true(asks_at_task_exit(0, NULL));
    assert_true(asks_at_task_exit(0, "SRUN_DEBUG=3"));
    assert_true(asks_at_task_exit(0, "SRUN_DEBUG=x"));
    assert_false(asks_at_task_exit(0, "SRUN_DEBUG=2"));
    assert_false(asks_at_task_exit(0, "SLURM_JOBIO_ALLOCATION=1"));
    assert_false(asks_at_task_exit(1, NULL));
    assert_true(asks_at_task_exit(STEP_INTERACTIVE, NULL));
    assert_true(asks_at_task_exit(STEP_INTERACTIVE, "SLURM_JOBIO_ALLOCATION=1"));
    assert_false(asks_at_task_exit(STEP_INTERACTIVE, "SRUN_DEBUG=2"));
    assert_false(asks_at_task_exit(STEP_EXTERN, NULL));
    assert_false(asks_at_task_exit(STEP_BATCH, NULL));
}

/* The hook of the prolog was not called: the batch step sends the nodes, once. */
static void test_nodes_without_prolog(void **state)
{
    static const char *const env[] = {"SLURM_JOB_NODELIST=n1,n2", NULL};
    struct spank_handle handle = stepd_batch;
    struct answerer a;
    struct cgroups c;
    char *asked;

    (void)state;
    handle.env = env;
    stepd_cgroups(&c, 2, "step_batch");
    answerer_start(&a, stepd_directory, ANSWER_OK);
    stepd_run(&handle, stepd_words, &c, NULL);
    asked = answerer_asked(&a);
    assert_has(asked, "TYPE=job|JOBID=17|RESTART=2|NODE=n1|GATHER=n1|NODELIST=n1,n2|\n");
    assert_string_equal(stepd_read("jobs/17"),
                        "JOBID=17\nRESTART=2\nNODE=n1\nGATHER=n1\nNODELIST=n1,n2\n");
    free(asked);
    answerer_stop(&a);
    answerer_start(&a, stepd_directory, ANSWER_OK);
    stepd_run(&handle, stepd_words, &c, NULL);
    asked = answerer_asked(&a);
    assert_has(asked, "TYPE=tag|");
    assert_has_not(asked, "TYPE=job|");
    free(asked);
    answerer_stop(&a);
    cgroups_destroy(&c);
}

static void test_words(void **state)
{
    static char bad[] = "sumary=full", worse[] = "summary=loud", relative[] = "socket=x/y",
                rooted[] = "socket=/y", hasty[] = "patience=0", node[128];
    char *odd[] = {bad, worse, relative, node, rooted, hasty, NULL};
    struct answerer a;
    struct cgroups c;
    char sub[128];
    _free_ char *asked = NULL;

    (void)state;
    stepd_cgroups(&c, 2, "step_batch");
    snprintf(node, sizeof(node), "socket=%s/%%n/jobiod.sock", stepd_directory);
    snprintf(sub, sizeof(sub), "%s/n1", stepd_directory);
    assert_int_equal(mkdir(sub, 0700), 0);
    answerer_start(&a, sub, ANSWER_OK);
    stepd_run(&stepd_batch, odd, &c, NULL);
    asked = answerer_asked(&a);
    assert_has(asked, "TYPE=tag");
    assert_true(stepd_has("n1/steps/17.2.4294967294.4294967291"));
    assert_has(spank_host_log->text, "error: jobio: plugstack.conf: \"sumary=full\" is not known");
    assert_has(spank_host_log->text, "\"summary=loud\" is not off, short or full\n");
    assert_has(spank_host_log->text, "\"socket=x/y\" is not an absolute path\n");
    assert_has(spank_host_log->text, "\"socket=/y\" is not in a directory of its own\n");
    assert_has(spank_host_log->text, "\"patience=0\" is not 1 to 60\n");
    answerer_stop(&a);
    cgroups_destroy(&c);
}

static void check_prolog(const char *list, const char *in_file, const char *in_message)
{
    struct spank_handle handle = {.context = S_CTX_JOB_SCRIPT, .jobid = 17};
    struct spank_plugin plugin;
    struct answerer a;
    _free_ char *asked = NULL;
    char file[256], messages[512];

    setenv("SLURM_JOB_ACCOUNT", "physics", 1);
    setenv("SLURM_JOB_PARTITION", "p", 1);
    setenv("SLURM_JOB_USER", "ann", 1);
    setenv("SLURM_JOB_RESTART_COUNT", "3", 1);
    setenv("SLURM_JOB_NODELIST", list, 1);
    answerer_start(&a, stepd_directory, ANSWER_OK);
    spank_host_load(&plugin, &handle, stepd_words);
    assert_int_equal(spank_host_run(&plugin, "job_prolog"), 0);
    assert_int_equal(spank_host_run(&plugin, "job_epilog"), 0);
    spank_host_unload(&plugin);
    (void)snprintf(file, sizeof(file),
                   "JOBID=17\nACCOUNT=physics\nPARTITION=p\nUSER=ann\nRESTART=3\n%sENDED=1\n",
                   in_file);
    assert_string_equal(stepd_read("jobs/17"), file);
    (void)snprintf(messages, sizeof(messages),
                   "VERSION=1|TYPE=job|JOBID=17|ACCOUNT=physics|PARTITION=p|USER=ann|RESTART=3|%s\n"
                   "VERSION=1|TYPE=job-end|JOBID=17|\n",
                   in_message);
    asked = answerer_asked(&a);
    assert_string_equal(asked, messages);
    answerer_stop(&a);
}

static void test_prolog_and_epilog(void **state)
{
    (void)state;
    check_prolog("n1", "NODE=n1\nGATHER=n1\nNODELIST=n1\n", "NODE=n1|GATHER=n1|NODELIST=n1|");
    check_prolog("n1,n2,n10", "NODE=n1\nGATHER=n1\nNODELIST=n1,n2,n10\n",
                 "NODE=n1|GATHER=n1|NODELIST=n1,n2,n10|");
    check_prolog("n0,n1", "NODE=n1\nGATHER=n0\nNODELIST=n0,n1\n",
                 "NODE=n1|GATHER=n0|NODELIST=n0,n1|");
    check_prolog("", "NODE=n1\n", "NODE=n1|");
}

/* slurmd still remembered the job and did not call the prolog for its next run. */
static void test_run_without_prolog(void **state)
{
    static const char *const env[] = {"SLURM_JOB_NODELIST=n1,n3", NULL};
    struct spank_handle handle = stepd_batch;
    struct answerer a;
    struct cgroups c;
    char *asked;

    (void)state;
    handle.restart = 0; /* not set in Slurm 22.05 */
    handle.env = env;
    check_prolog("n0,n1", "NODE=n1\nGATHER=n0\nNODELIST=n0,n1\n",
                 "NODE=n1|GATHER=n0|NODELIST=n0,n1|");
    stepd_cgroups(&c, 2, "step_batch");
    answerer_start(&a, stepd_directory, ANSWER_OK);
    stepd_run(&handle, stepd_words, &c, NULL);
    asked = answerer_asked(&a);
    assert_has(asked, "TYPE=job|JOBID=17|ACCOUNT=physics|PARTITION=p|USER=ann|RESTART=4|NODE=n1|"
                      "GATHER=n1|NODELIST=n1,n3|\nVERSION=1|TYPE=tag|JOBID=17|RESTART=4|");
    assert_string_equal(stepd_read("jobs/17"),
                        "JOBID=17\nACCOUNT=physics\nPARTITION=p\nUSER=ann\nRESTART=4\n"
                        "NODE=n1\nGATHER=n1\nNODELIST=n1,n3\n");
    free(asked);
    answerer_stop(&a);
    cgroups_destroy(&c);
}

/* The extern step starts first and has to send the job, although it does not know the nodes. */
static void test_extern_without_prolog(void **state)
{
    static const char *const env[] = {"SLURM_JOB_NODELIST=n1,n3", NULL};
    struct spank_handle first = stepd_batch, batch;
    struct answerer a;
    struct cgroups c;
    char *asked;

    (void)state;
    first.restart = 0;
    batch = first;
    first.stepid = STEP_EXTERN;
    batch.env = env;
    check_prolog("n0,n1", "NODE=n1\nGATHER=n0\nNODELIST=n0,n1\n",
                 "NODE=n1|GATHER=n0|NODELIST=n0,n1|");
    stepd_cgroups(&c, 2, "step_extern");
    answerer_start(&a, stepd_directory, ANSWER_OK);
    stepd_run(&first, stepd_words, &c, NULL);
    assert_string_equal(stepd_read("jobs/17"),
                        "JOBID=17\nACCOUNT=physics\nPARTITION=p\nUSER=ann\nRESTART=4\n");
    stepd_run(&batch, stepd_words, &c, NULL);
    stepd_run(&batch, stepd_words, &c, NULL);
    assert_string_equal(stepd_read("jobs/17"),
                        "JOBID=17\nACCOUNT=physics\nPARTITION=p\nUSER=ann\nRESTART=4\n"
                        "NODE=n1\nGATHER=n1\nNODELIST=n1,n3\n");
    asked = answerer_asked(&a);
    assert_int_equal(stepd_count(asked, "TYPE=job|"), 2);
    assert_has_not(asked, "RESTART=5");
    free(asked);
    answerer_stop(&a);
    cgroups_destroy(&c);
}

static void check_second_line(const char *second, uint32_t stepid, const char *output)
{
    struct spank_handle handle = stepd_batch;
    struct answerer a;
    struct cgroups c;
    _free_ char *asked = NULL;

    stepd_cgroups(&c, 2, "step_0");
    handle.stepid = stepid;
    handle.tasks = 2;
    answerer_start(&a, stepd_directory, ANSWER_OK);
    stepd_second = second;
    stepd_run(&handle, stepd_words, &c, NULL);
    stepd_second = NULL;
    asked = answerer_asked(&a);
    assert_int_equal(stepd_count(asked, "TYPE=tag|"), 1);
    assert_int_equal(stepd_count(asked, "TYPE=task-exit|"), stepid == STEP_BATCH ? 0 : 1);
    assert_int_equal(stepd_count(asked, "TYPE=end|"), 1);
    assert_int_equal(stepd_count(asked, "TYPE=report|"), 1);
    assert_string_equal(stepd_read("output"), output);
    assert_string_equal(spank_host_log->text,
                        "info: jobio: plugstack.conf loads jobio.so more than "
                        "once: only the first line is used\n");
    answerer_stop(&a);
    cgroups_destroy(&c);
    (void)stepd_clean(NULL);
}

/* plugstack.conf loads the plugin twice, from the same file or from a copy. */
static void test_loaded_twice(void **state)
{
    char copy[PATH_MAX], command[3 * PATH_MAX];

    (void)state;
    snprintf(copy, sizeof(copy), "%s/copy/jobio.so", stepd_directory);
    snprintf(command, sizeof(command), "install -D '%s' '%s'", JOBIO_PLUGIN, copy);
    check_second_line(JOBIO_PLUGIN, STEP_BATCH, "the summary\n");
    check_second_line(JOBIO_PLUGIN, 0, "the summary\n");
    assert_int_equal(system(command), 0);
    check_second_line(copy, STEP_BATCH, "the summary\n");
    assert_int_equal(system(command), 0);
    check_second_line(copy, 0, "the summary\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_batch_step, stepd_clean),
        cmocka_unit_test_teardown(test_array_task, stepd_clean),
        cmocka_unit_test_teardown(test_freezer, stepd_clean),
        cmocka_unit_test_teardown(test_freezer_extern, stepd_clean),
        cmocka_unit_test_teardown(test_no_cgroup_of_its_own, stepd_clean),
        cmocka_unit_test_teardown(test_restart_from_prolog, stepd_clean),
        cmocka_unit_test_teardown(test_het_component, stepd_clean),
        cmocka_unit_test_teardown(test_step_nodes, stepd_clean),
        cmocka_unit_test_teardown(test_nodes_without_prolog, stepd_clean),
        cmocka_unit_test_teardown(test_words, stepd_clean),
        cmocka_unit_test_teardown(test_one_summary, stepd_clean),
        cmocka_unit_test_teardown(test_prolog_and_epilog, stepd_clean),
        cmocka_unit_test_teardown(test_run_without_prolog, stepd_clean),
        cmocka_unit_test_teardown(test_extern_without_prolog, stepd_clean),
        cmocka_unit_test_teardown(test_loaded_twice, stepd_clean),
    };

    return cmocka_run_group_tests(tests, stepd_set_up, stepd_tear_down);
}

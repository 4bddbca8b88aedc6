/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jobio.so in a slurmstepd (stepd.h) with a jobiod of another version (tests/data/protocol): an
 * older one, whose answers were recorded, and later ones, whose answers are made up.
 */
#include "tests/unit/test.h"

#include "common/cleanup.h"
#include "tests/unit/answerer.h"
#include "tests/unit/stepd.h"

#define SUMMARY "I/O summary: job 1, ended, 1 node, 00:00:00\nat least 23 % of the run time"

/* Run the hooks of step 0 and of the batch step with such a jobiod. */
static void run_with(const char *recording, struct answerer *a)
{
    struct spank_handle srun = stepd_batch;
    struct cgroups c;

    srun.stepid = 0;
    srun.tasks = 1;
    stepd_cgroups(&c, 2, "step");
    answerer_recording = recording;
    answerer_start(a, stepd_directory, ANSWER_RECORDED);
    stepd_run(&srun, stepd_words, &c, NULL);
    stepd_run(&stepd_batch, stepd_words, &c, NULL);
    cgroups_destroy(&c);
}

/* It does not know the message "task-exit". */
static void test_older_jobiod(void **state)
{
    struct answerer a;
    _free_ char *asked = NULL;

    (void)state;
    run_with(TESTS_DATA "/protocol/jobiod-0.1.0", &a);
    asked = answerer_asked(&a);
    assert_has(asked, "TYPE=task-exit|");
    assert_has(asked, "TYPE=end|");
    assert_true(strncmp(stepd_read("output"), SUMMARY, strlen(SUMMARY)) == 0);
    assert_string_equal(spank_host_log->text,
                        "info: jobio: step 17.0: task exit: unknown TYPE \"task-exit\"\n");
    assert_false(stepd_has("down"));
    answerer_stop(&a);
}

/* It sends more keys, and a value that this plugin does not know. */
static void test_newer_jobiod(void **state)
{
    struct answerer a;

    (void)state;
    run_with(TESTS_DATA "/protocol/jobiod-next", &a);
    assert_true(strncmp(stepd_read("output"), SUMMARY, strlen(SUMMARY)) == 0);
    assert_string_equal(spank_host_log->text, "");
    assert_false(stepd_has("down"));
    answerer_stop(&a);
}

/* Its answers cannot be understood: the step file remains for it. */
static void test_another_protocol(void **state)
{
    struct answerer a;

    (void)state;
    run_with(TESTS_DATA "/protocol/jobiod-version-2", &a);
    assert_string_equal(stepd_read("output"), "");
    assert_has(spank_host_log->text, "info: jobio: step 17.batch: tag: protocol version 2 is not "
                                     "supported; 1 is; not counted until jobiod runs: ");
    assert_has(spank_host_log->text, "report: protocol version 2 is not supported; 1 is\n");
    assert_has_not(spank_host_log->text, "error:");
    assert_true(stepd_has("steps/17.2.4294967294.4294967291.end"));
    answerer_stop(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_older_jobiod, stepd_clean),
        cmocka_unit_test_teardown(test_newer_jobiod, stepd_clean),
        cmocka_unit_test_teardown(test_another_protocol, stepd_clean),
    };

    return cmocka_run_group_tests(tests, stepd_set_up, stepd_tear_down);
}

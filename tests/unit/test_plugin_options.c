/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of jobio.so, in the command that submits the job and in a slurmstepd (stepd.h) with a
 * jobiod that answers.
 */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "tests/unit/answerer.h"
#include "tests/unit/stepd.h"

static void test_summary(void **state)
{
    static char off[] = "summary=off";
    char *words_off[] = {stepd_words[0], off, NULL};
    static const struct {
        const char *option;
        const char *const env[4];
        bool config_off;
        const char *expected;
    } cases[] = {
        {NULL, {NULL}, false, "|SUMMARY=short|"},
        {NULL, {NULL}, true, "|SUMMARY=off|"},
        {"full", {"JOBIO_SUMMARY=off", NULL}, true, "|SUMMARY=full|"},
        {"loud", {NULL}, false, "|SUMMARY=short|"},
        {NULL, {"JOBIO_SUMMARY=full", NULL}, true, "|SUMMARY=full|"},
        {NULL, {"JOBIO_SUMMARY=loud", NULL}, true, "|SUMMARY=off|"},
        {NULL, {"SLURM_JOBIO_SUMMARY=full", NULL}, true, "|SUMMARY=full|"},
        {NULL,
         {"JOBIO_SUMMARY=off", "SLURM_SPANK__SLURM_SPANK_OPTION_jobio_io_summary=full", NULL},
         false,
         "|SUMMARY=full|"},
    };
    struct answerer a;
    struct cgroups c;

    stepd_cgroups(&c, 2, "step_batch");
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct spank_handle handle = stepd_batch;
        _free_ char *asked = NULL;

        handle.env = cases[i].env;
        answerer_start(&a, stepd_directory, ANSWER_OK);
        stepd_run(&handle, cases[i].config_off ? words_off : stepd_words, &c, cases[i].option);
        asked = answerer_asked(&a);
        assert_has(asked, cases[i].expected);
        /* The report is requested for any summary, because it also writes the job record. */
        assert_has(asked, "TYPE=end");
        assert_has(asked, "TYPE=report");
        answerer_stop(&a);
        stepd_clean(state);
    }
    cgroups_destroy(&c);
}

static void test_submit(void **state)
{
    struct spank_handle handle = {.context = S_CTX_ALLOCATOR};
    struct spank_plugin plugin;

    (void)state;
    setenv("JOBIO_SUMMARY", "full", 1);
    spank_host_load(&plugin, &handle, stepd_words);
    assert_int_equal(spank_host_run(&plugin, "init"), 0);
    assert_int_equal(spank_host_option("io-summary")->has_arg, 1);
    assert_int_not_equal(spank_host_option("io-summary")->cb(0, "loud", 0), 0);
    assert_has(spank_host_log->text, "error: jobio: --io-summary=loud is not off, short or full\n");
    assert_int_equal(spank_host_run(&plugin, "init_post_opt"), 0);
    assert_string_equal(getenv("SLURM_JOBIO_SUMMARY"), "full");

    unsetenv("SLURM_JOBIO_SUMMARY");
    setenv("JOBIO_SUMMARY", "loud", 1);
    assert_int_equal(spank_host_run(&plugin, "init_post_opt"), 0);
    assert_null(getenv("SLURM_JOBIO_SUMMARY"));
    assert_has(spank_host_log->text, "JOBIO_SUMMARY=loud is not off, short or full: ignored\n");

    setenv("JOBIO_SUMMARY", "full", 1);
    assert_int_equal(spank_host_option("io-summary")->cb(0, "off", 0), 0);
    assert_int_equal(spank_host_run(&plugin, "init_post_opt"), 0);
    assert_null(getenv("SLURM_JOBIO_SUMMARY"));
    assert_int_equal(spank_host_run(&plugin, "exit"), 0);
    unsetenv("JOBIO_SUMMARY");
    spank_host_unload(&plugin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_summary, stepd_clean),
        cmocka_unit_test_teardown(test_submit, stepd_clean),
    };

    return cmocka_run_group_tests(tests, stepd_set_up, stepd_tear_down);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of jobio.so, in the command that submits the job and in a slurmstepd (stepd.h) with a
 * jobiod that answers.
 */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/job.h"
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
        {NULL, {NULL}, false, NULL}, /* jobiod chooses */
        {NULL, {NULL}, true, "|SUMMARY=off|"},
        {"full", {"JOBIO_SUMMARY=off", NULL}, true, "|SUMMARY=full|"},
        {"loud", {NULL}, false, NULL},
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
        if (cases[i].expected)
            assert_has(asked, cases[i].expected);
        else
            assert_has_not(asked, "SUMMARY=");
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

/* Whether the tag and the step file of a step ask for the MPI-IO to be counted. */
static bool asks_for_mpi(uint32_t stepid, bool option, const char *const *env)
{
    struct spank_handle handle = stepd_batch;
    struct answerer a;
    struct cgroups c;
    _free_ char *asked = NULL;
    char name[64];
    bool asks;

    stepd_cgroups(&c, 2, "step_x");
    handle.stepid = stepid;
    handle.env = env;
    answerer_start(&a, stepd_directory, ANSWER_OK);
    stepd_mpi = option;
    stepd_run(&handle, stepd_words, &c, NULL);
    stepd_mpi = false;
    asked = answerer_asked(&a);
    asks = strstr(asked, "|DIRECT=0|MPI=1|\n");
    snprintf(name, sizeof(name), "steps/17.2.4294967294.%u", stepid);
    assert_int_equal(asks, strstr(stepd_read(name), "\nDIRECT=0\nMPI=1\n") != NULL);
    assert_int_equal(stepd_count(asked, "|MPI="), asks);
    assert_string_equal(spank_host_log->text, "");
    answerer_stop(&a);
    cgroups_destroy(&c);
    (void)stepd_clean(NULL);
    return asks;
}

static void test_mpi(void **state)
{
    static const char *const one[] = {"JOBIO_MPI=1", NULL}, *const zero[] = {"JOBIO_MPI=0", NULL},
                             *const many[] = {"JOBIO_MPI=11", NULL},
                             *const empty[] = {"JOBIO_MPI=", NULL},
                             *const copy[] = {"SLURM_JOBIO_MPI=1", NULL},
                             *const both[] = {"JOBIO_MPI=0", "SLURM_JOBIO_MPI=1", NULL},
                             *const none[] = {"JOBIO_MPI=1", "SLURM_JOBIO_MPI=0", NULL};

    (void)state;
    assert_false(asks_for_mpi(STEP_BATCH, false, NULL));
    assert_true(asks_for_mpi(STEP_BATCH, true, NULL));
    assert_true(asks_for_mpi(3, true, NULL));
    assert_true(asks_for_mpi(3, true, zero));
    assert_true(asks_for_mpi(3, false, one));
    assert_false(asks_for_mpi(3, false, zero));
    assert_false(asks_for_mpi(3, false, many));
    assert_false(asks_for_mpi(3, false, empty));
    assert_true(asks_for_mpi(STEP_BATCH, false, copy));
    assert_true(asks_for_mpi(3, false, copy));
    assert_true(asks_for_mpi(3, false, both));
    assert_false(asks_for_mpi(3, false, none));
}

/* Returns what a step says of MPI and traces in its message; "": nothing. */
static const char *trace_keys(uint32_t stepid, bool option, const char *const *env)
{
    struct spank_handle handle = stepd_batch;
    static char keys[512];
    struct answerer a;
    struct cgroups c;
    _free_ char *asked = NULL;
    const char *at;

    handle.stepid = stepid;
    handle.env = env;
    stepd_cgroups(&c, 2, "step_x");
    answerer_start(&a, stepd_directory, ANSWER_OK);
    stepd_trace = option;
    stepd_run(&handle, stepd_words, &c, NULL);
    stepd_trace = false;
    asked = answerer_asked(&a);
    at = strstr(asked, "|DIRECT=0|");
    assert_non_null(at);
    at += strlen("|DIRECT=0|");
    snprintf(keys, sizeof(keys), "%.*s", (int)strcspn(at, "\n"), at);
    assert_string_equal(spank_host_log->text, "");
    answerer_stop(&a);
    cgroups_destroy(&c);
    (void)stepd_clean(NULL);
    return keys;
}

static void test_trace(void **state)
{
    static const char *const caller[] = {"TRACEPARENT=00-ab-cd-01", NULL},
                             *const one[] = {"JOBIO_TRACE=1", "TRACEPARENT=00-ab-cd-01", NULL},
                             *const copy[] = {"SLURM_JOBIO_TRACE=1", "JOBIO_TRACE=0", NULL},
                             *const none[] = {"JOBIO_TRACE=1", "SLURM_JOBIO_TRACE=0", NULL};
    char text[256] = "TRACEPARENT=";
    const char *const longer[] = {text, NULL};

    (void)state;
    assert_string_equal(trace_keys(STEP_BATCH, false, caller), "");
    assert_string_equal(trace_keys(STEP_BATCH, true, NULL), "TRACE=1|");
    assert_string_equal(trace_keys(3, true, caller), "TRACE=1|TRACEPARENT=00-ab-cd-01|");
    assert_string_equal(trace_keys(3, false, one), "TRACE=1|TRACEPARENT=00-ab-cd-01|");
    assert_string_equal(trace_keys(3, false, copy), "TRACE=1|");
    assert_string_equal(trace_keys(3, false, none), "");
    assert_string_equal(trace_keys(STEP_EXTERN, true, NULL), "");
    memset(text + strlen(text), 'a', sizeof(text) - 1 - strlen(text));
    assert_string_equal(trace_keys(3, true, longer), "TRACE=1|");
}

static const char *stacks_keys(uint32_t stepid, bool option, const char *const *env)
{
    const char *keys;

    stepd_stacks = option;
    keys = trace_keys(stepid, false, env);
    stepd_stacks = false;
    return keys;
}

static void test_stacks(void **state)
{
    static const char *const one[] = {"JOBIO_STACKS=1", NULL},
                             *const copy[] = {"SLURM_JOBIO_STACKS=1", "JOBIO_STACKS=0", NULL},
                             *const none[] = {"JOBIO_STACKS=1", "SLURM_JOBIO_STACKS=0", NULL},
                             *const other[] = {"JOBIO_STACKS=yes", NULL};

    (void)state;
    assert_string_equal(stacks_keys(STEP_BATCH, false, NULL), "");
    assert_string_equal(stacks_keys(STEP_BATCH, true, NULL), "STACKS=1|");
    assert_string_equal(stacks_keys(3, true, none), "STACKS=1|");
    assert_string_equal(stacks_keys(3, false, one), "STACKS=1|");
    assert_string_equal(stacks_keys(3, false, copy), "STACKS=1|");
    assert_string_equal(stacks_keys(3, false, none), "");
    assert_string_equal(stacks_keys(3, false, other), "");
    assert_string_equal(stacks_keys(STEP_EXTERN, true, NULL), "");
}

/* A step never fails for its words: those that it does not know are not there. */
static void test_trace_of(void **state)
{
    static const struct {
        bool option;
        const char *value;
        const char *const env[3];
        const char *expected;
    } cases[] = {
        {true, "mpi", {NULL}, "MPI=1|TRACE=1|TRACE_OF=mpi|"},
        {true, "ops", {NULL}, "TRACE=1|"},
        {true, "", {NULL}, "TRACE=1|"},
        {true, "(null)", {NULL}, "TRACE=1|"},
        {true, "MPI", {NULL}, ""},
        {true, "1", {NULL}, ""},
        {true, "ops", {"JOBIO_TRACE=mpi", NULL}, "TRACE=1|"},
        {true, "mpi", {"JOBIO_TRACE=0", "JOBIO_MPI=0"}, "MPI=1|TRACE=1|TRACE_OF=mpi|"},
        {true, "of a newer version", {"SLURM_JOBIO_TRACE=mpi"}, "MPI=1|TRACE=1|TRACE_OF=mpi|"},
        {true, "ops,paths", {NULL}, "TRACE=1|TRACE_PATHS=1|"},
        {true, "mpi,paths", {NULL}, "MPI=1|TRACE=1|TRACE_OF=mpi|TRACE_PATHS=1|"},
        {true, "paths", {NULL}, ""},
        {false, NULL, {"JOBIO_TRACE=ops"}, "TRACE=1|"},
        {false, NULL, {"JOBIO_TRACE=ops,paths"}, "TRACE=1|TRACE_PATHS=1|"},
        {false, NULL, {"JOBIO_TRACE=1,paths"}, ""},
        {false, NULL, {"JOBIO_TRACE=mpi"}, "MPI=1|TRACE=1|TRACE_OF=mpi|"},
        {false, NULL, {"JOBIO_TRACE=mpis"}, ""},
        {false, NULL, {"SLURM_JOBIO_TRACE=1", "JOBIO_TRACE=mpi"}, "TRACE=1|"},
        {false, NULL, {"JOBIO_TRACE=0", "JOBIO_MPI=1"}, "MPI=1|"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        stepd_trace_of = cases[i].value;
        assert_string_equal(trace_keys(3, cases[i].option, cases[i].env), cases[i].expected);
    }
    stepd_trace_of = NULL;
}

static void assert_variable(const char *name, const char *expected)
{
    const char *value = getenv(name);

    assert_int_equal(value != NULL, expected != NULL);
    if (value)
        assert_string_equal(value, expected);
    unsetenv(name);
}

/* What the submitting command passes on to the steps, and of MPI to the prologs of the job: NULL is
 * nothing. */
static void check_passed_on(const char *what, const char *variable, bool option,
                            const char *expected, const char *log)
{
    bool mpi = !strcmp(what, "MPI");
    bool implied = !mpi && expected && !strcmp(expected, "mpi");
    const char *given = mpi ? "io-mpi" : !strcmp(what, "STACKS") ? "io-stacks" : "io-trace";
    struct spank_handle handle = {.context = S_CTX_ALLOCATOR};
    struct spank_plugin plugin;
    char name[32], copy[48], prolog[48];

    snprintf(name, sizeof(name), "JOBIO_%s", what);
    snprintf(copy, sizeof(copy), "SLURM_%s", name);
    snprintf(prolog, sizeof(prolog), "SPANK_%s", name);
    if (variable)
        setenv(name, variable, 1);
    spank_host_load(&plugin, &handle, stepd_words);
    assert_int_equal(spank_host_run(&plugin, "init"), 0);
    if (option)
        assert_int_equal(spank_host_option(given)->cb(0, NULL, 0), 0);
    assert_int_equal(spank_host_run(&plugin, "init_post_opt"), 0);
    spank_host_unload(&plugin);
    assert_variable(copy, expected);
    assert_variable(prolog, mpi ? expected : NULL);
    assert_variable("SLURM_JOBIO_MPI", implied ? "1" : NULL);
    assert_variable("SPANK_JOBIO_MPI", implied ? "1" : NULL);
    assert_string_equal(spank_host_log->text, log);
    memset(spank_host_log, 0, sizeof(*spank_host_log));
    unsetenv(name);
}

static void test_submit_switches(void **state)
{
    static const char *const names[] = {"MPI", "STACKS", "TRACE"};
    static const char *const words[] = {"0 or 1", "0 or 1",
                                        "0, 1, ops, mpi, ops,paths or mpi,paths"};
    char log[160];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        check_passed_on(names[i], NULL, false, NULL, "");
        check_passed_on(names[i], NULL, true, "1", "");
        check_passed_on(names[i], "1", false, "1", "");
        check_passed_on(names[i], "0", false, "0", "");
        check_passed_on(names[i], "0", true, "1", "");
        snprintf(log, sizeof(log), "error: jobio: JOBIO_%s=yes is not %s: ignored\n", names[i],
                 words[i]);
        check_passed_on(names[i], "yes", false, NULL, log);
    }
    check_passed_on("TRACE", "ops", false, "1", "");
    check_passed_on("TRACE", "mpi", false, "mpi", "");
    check_passed_on("TRACE", "mpi", true, "1", "");
    check_passed_on("TRACE", "ops,paths", false, "ops,paths", "");
}

/* Returns SLURM_JOBIO_TRACE after the option with this value; NULL: it was refused. */
static const char *passed_on_of(const char *value)
{
    struct spank_handle handle = {.context = S_CTX_LOCAL};
    struct spank_plugin plugin;
    static char copy[16];
    bool taken;

    spank_host_load(&plugin, &handle, stepd_words);
    assert_int_equal(spank_host_run(&plugin, "init"), 0);
    assert_int_equal(spank_host_option("io-trace")->has_arg, 2);
    taken = spank_host_option("io-trace")->cb(0, value, 0) == ESPANK_SUCCESS;
    assert_int_equal(spank_host_run(&plugin, "init_post_opt"), 0);
    spank_host_unload(&plugin);
    assert_int_equal(taken, getenv("SLURM_JOBIO_TRACE") != NULL);
    (void)snprintf(copy, sizeof(copy), "%s", taken ? getenv("SLURM_JOBIO_TRACE") : "");
    unsetenv("SLURM_JOBIO_TRACE");
    assert_variable("SLURM_JOBIO_MPI", !strncmp(copy, "mpi", 3) ? "1" : NULL);
    assert_variable("SPANK_JOBIO_MPI", !strncmp(copy, "mpi", 3) ? "1" : NULL);
    return taken ? copy : NULL;
}

static void test_submit_trace_of(void **state)
{
    (void)state;
    assert_string_equal(passed_on_of(NULL), "1");
    assert_string_equal(passed_on_of(""), "1");
    assert_string_equal(passed_on_of("(null)"), "1");
    assert_string_equal(passed_on_of("ops"), "1");
    assert_string_equal(passed_on_of("mpi"), "mpi");
    assert_string_equal(passed_on_of("ops,paths"), "ops,paths");
    assert_string_equal(passed_on_of("mpi,paths"), "mpi,paths");
    assert_string_equal(spank_host_log->text, "");
    setenv("JOBIO_MPI", "0", 1);
    assert_string_equal(passed_on_of("mpi"), "mpi");
    unsetenv("JOBIO_MPI");
    assert_null(passed_on_of("1"));
    assert_null(passed_on_of("mpis"));
    assert_string_equal(spank_host_log->text,
                        "error: jobio: --io-trace=1 is not ops, mpi, ops,paths or mpi,paths\n"
                        "error: jobio: --io-trace=mpis is not ops, mpi, ops,paths or mpi,paths\n");
}

static void run_in_slurmd(const char *hook)
{
    struct spank_handle handle = {.context = S_CTX_JOB_SCRIPT, .jobid = 17};
    struct spank_plugin plugin;
    struct answerer a;

    answerer_start(&a, stepd_directory, ANSWER_OK);
    spank_host_load(&plugin, &handle, stepd_words);
    assert_int_equal(spank_host_run(&plugin, hook), 0);
    spank_host_unload(&plugin);
    answerer_stop(&a);
}

static void run_prolog(const char *mpi)
{
    setenv("SPANK_JOBIO_MPI", mpi, 1);
    run_in_slurmd("job_prolog");
    unsetenv("SPANK_JOBIO_MPI");
}

/* Whether the extern step asks, which has no environment; and a step whose environment says no. */
static void check_mpi_after_prolog(const char *in_prolog, bool expected)
{
    static const char *const zero[] = {"SLURM_JOBIO_MPI=0", NULL};

    run_prolog(in_prolog);
    assert_int_equal(strstr(stepd_read("jobs/17"), "MPI=1\n") != NULL, expected);
    assert_int_equal(asks_for_mpi(STEP_EXTERN, false, NULL), expected);
    run_prolog(in_prolog);
    assert_false(asks_for_mpi(3, false, zero));
}

static void test_mpi_after_prolog(void **state)
{
    (void)state;
    check_mpi_after_prolog("1", true);
    check_mpi_after_prolog("0", false);
    check_mpi_after_prolog("1\nENDED=1", false);
}

/* The job is requeued, and slurmd does not call the prolog for its next run. */
static void test_mpi_of_next_run(void **state)
{
    struct spank_handle handle = stepd_batch;
    struct cgroups c;

    (void)state;
    run_prolog("1");
    run_in_slurmd("job_epilog");
    assert_has(stepd_read("jobs/17"), "ENDED=1\n");
    stepd_cgroups(&c, 2, "step_extern");
    handle.stepid = STEP_EXTERN;
    stepd_run(&handle, stepd_words, &c, NULL);
    assert_string_equal(stepd_read("jobs/17"), "JOBID=17\nMPI=1\nRESTART=2\n");
    cgroups_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_summary, stepd_clean),
        cmocka_unit_test_teardown(test_submit, stepd_clean),
        cmocka_unit_test_teardown(test_mpi, stepd_clean),
        cmocka_unit_test_teardown(test_submit_switches, stepd_clean),
        cmocka_unit_test_teardown(test_stacks, stepd_clean),
        cmocka_unit_test_teardown(test_trace, stepd_clean),
        cmocka_unit_test_teardown(test_trace_of, stepd_clean),
        cmocka_unit_test_teardown(test_submit_trace_of, stepd_clean),
        cmocka_unit_test_teardown(test_mpi_after_prolog, stepd_clean),
        cmocka_unit_test_teardown(test_mpi_of_next_run, stepd_clean),
    };

    return cmocka_run_group_tests(tests, stepd_set_up, stepd_tear_down);
}

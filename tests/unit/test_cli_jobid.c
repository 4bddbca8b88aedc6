/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves: ids in Slurm's notation are parsed, and nothing else is accepted. */
#include "tests/unit/test.h"

#include "cli/base/jobid.h"
#include "common/cleanup.h"
#include "common/job.h"

static void test_taken(void **state)
{
    static const struct {
        const char *text;
        struct jobid want;
    } cases[] = {
        {"123", {.job = 123}},
        {"123.0", {.job = 123, .has_step = true, .step = 0}},
        {"123.17", {.job = 123, .has_step = true, .step = 17}},
        {"123.batch", {.job = 123, .has_step = true, .step = STEP_BATCH}},
        {"123.extern", {.job = 123, .has_step = true, .step = STEP_EXTERN}},
        {"123.interactive", {.job = 123, .has_step = true, .step = STEP_INTERACTIVE}},
        {"123_4", {.job = 123, .has_task = true, .task = 4}},
        {"123_0", {.job = 123, .has_task = true, .task = 0}},
        {"123_4.0", {.job = 123, .has_task = true, .task = 4, .has_step = true, .step = 0}},
        {"123_4.batch",
         {.job = 123, .has_task = true, .task = 4, .has_step = true, .step = STEP_BATCH}},
        {"4294967280_4294967280.interactive",
         {.job = 4294967280u,
          .has_task = true,
          .task = 4294967280u,
          .has_step = true,
          .step = STEP_INTERACTIVE}},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct jobid id = {0};
        struct error error;
        char text[JOBID_TEXT];

        assert_int_equal(jobid_parse(cases[i].text, &id, &error), 0);
        assert_int_equal(id.job, cases[i].want.job);
        assert_int_equal(id.has_task, cases[i].want.has_task);
        assert_int_equal(id.task, cases[i].want.task);
        assert_int_equal(id.has_step, cases[i].want.has_step);
        assert_int_equal(id.step, cases[i].want.step);
        assert_string_equal(jobid_format(&id, text), cases[i].text);
    }
}

static void test_refused(void **state)
{
    static const char *const texts[] = {
        "",           "0",
        "x",          "123x",
        "-1",         "+1",
        " 1",         "1 ",
        "123.",       "123_",
        "123_x",      "123.x",
        "123.0x",     "123.0_4",
        "123__4",     "123..0",
        "123.batchy", "123.folded",
        "123._4",     "_4",
        ".0",         "123,4",
        "123_[1]",    "99999999999999999999",
        "4294967281", "123.4294967295",
        "1\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct jobid id = {.job = 7};
        struct error error;

        assert_int_equal(jobid_parse(texts[i], &id, &error), -EINVAL);
        assert_int_equal(id.job, 7);
        assert_non_null(strstr(error.text, "is not a job ID"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),
        cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

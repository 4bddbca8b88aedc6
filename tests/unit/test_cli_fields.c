/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves: the columns of `jobio history` are found, sized, aligned, cut and made safe. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/base/fields.h"
#include "common/cleanup.h"

static const struct history_row sample = {
    .cluster = "test",
    .user = "alice",
    .name = "a-rather-long-name",
    .jobid = 123,
    .restart = 1,
    .ended = true,
    .complete = true,
    .start_ns = 1763632800000000000ull, /* 2025-11-20T10:00:00Z */
    .elapsed_ns = 7000000000ull,
    .steps = 2,
    .reads = {.requests = 10, .bytes = 4096, .time_ns = 1500000000},
    .writes = {.requests = 20, .bytes = 123456789},
    .meta = {.requests = 12345, .errors = 3},
    .errors = 4,
    .wait_ns = 2000000000,
    .longest_wait_ns = 1400000000,
};

/* The table of one row, malloc'd. */
static char *table(const char *list, const struct history_row *row, bool parsable)
{
    struct columns columns;
    struct error error;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(columns_parse(list, false, &columns, &error), 0);
    columns_header(&columns, parsable, out);
    assert_int_equal(columns_row(&columns, row, parsable, out), 0);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void expect(const char *list, const struct history_row *row, bool parsable, const char *want)
{
    _free_ char *text = table(list, row, parsable);

    assert_string_equal(text, want);
}

/* A job of which nothing was counted: its numbers are unknown. */
static void test_not_counted(void **state)
{
    struct history_row row = {.jobid = 7, .ended = true, .elapsed_ns = 7000000000ull};

    (void)state;
    expect("JobID,Read,Meta,Wait", &row, false,
           "   JobID      Read    Meta    Wait\n"
           "-------- --------- ------- -------\n"
           "       7         -       -       -\n");
    expect("Read,Exact", &row, true, "Read|Exact\n0|no\n");
    row.complete = true; /* it did nothing */
    expect("Read", &row, false, "     Read\n---------\n      0 B\n");
}

static void test_aligned(void **state)
{
    (void)state;
    expect("JobID,User,Read", &sample, false,
           "   JobID User          Read\n"
           "-------- -------- ---------\n"
           "     123 alice      4.0 KiB\n");
}

static void test_task_of_an_array(void **state)
{
    struct history_row task = sample;

    (void)state;
    task.array_job = 120;
    task.array_task = 0;
    expect("JobID,JobIDRaw", &task, true, "JobID|JobIDRaw\n120_0|123\n");
    expect("JobID,JobIDRaw", &sample, true, "JobID|JobIDRaw\n123|123\n");
}

static void test_any_case_and_widths(void **state)
{
    (void)state;
    expect("jobid%4,USER%-6,jobname%6,read%-8,state", &sample, false,
           "Job+ User   JobNa+ Read     State\n"
           "---- ------ ------ -------- ----------\n"
           " 123 alice  a-rat+ 4.0 KiB  ended\n");
}

static void test_state_and_exit_code(void **state)
{
    struct history_row row = sample;

    (void)state;
    row.slurm = (struct slurm_end){SLURM_STATE_OOM, true, 0, 125};
    expect("State,ExitCode", &row, true, "State|ExitCode\nOUT_OF_MEMORY|0:125\n");
    expect("State,ExitCode", &row, false,
           "State      ExitCode\n---------- --------\nOUT_OF_ME+    0:125\n");
    row.slurm = (struct slurm_end){SLURM_STATE_REQUEUED, false, 0, 0};
    expect("State,ExitCode", &row, true, "State|ExitCode\nREQUEUED|\n");
    expect("State,ExitCode", &sample, true, "State|ExitCode\nended|\n");
    row = sample;
    row.ended = false;
    expect("State,ExitCode", &row, true, "State|ExitCode\nrunning|\n");
}

static void test_numbers_are_never_cut(void **state)
{
    (void)state;
    expect("JobID%1,Elapsed%2,UID", &sample, false,
           "+ E+ " /* headers are */
           "     UID\n"
           "- -- --------\n"
           "123 00:00:07        0\n");
}

static void test_parsable_is_exact(void **state)
{
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    expect("JobID,JobName,Start,End,Elapsed,Read,ReadTime,Write,Meta,Wait,Exact", &sample, true,
           "JobID|JobName|Start|End|Elapsed|Read|ReadTime|Write|Meta|Wait|Exact\n"
           "123|a-rather-long-name|2025-11-20T10:00:00|Unknown|00:00:07|4096|1.500000000|123456789|"
           "12345|20.00|yes\n");
}

static void test_no_share_is_above_all(void **state)
{
    struct history_row row = sample;
    _free_ char *text = NULL, *exact = NULL;

    (void)state;
    row.longest_wait_ns = 8000000000;
    text = table(FIELDS_DEFAULT, &row, false);
    assert_non_null(strstr(text, " 100 % "));
    exact = table(FIELDS_DEFAULT ",LongestWait", &row, true);
    assert_non_null(strstr(exact, "|100.00|yes|8.000000000\n"));
}

static void test_untrusted_text(void **state)
{
    struct history_row row = sample;

    (void)state;
    row.name = "a|b\033[31m\n";
    row.user = NULL;
    row.complete = false;
    expect("User,JobName,Exact", &row, true, "User|JobName|Exact\n|a?b?[31m?|no\n");
    row.name = "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4"; /* five letters, ten bytes */
    expect("JobName%5,State", &row, false,
           "JobN+ State\n----- ----------\n\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4 ended\n");
    expect("JobName%3,State", &row, false, "Jo+ State\n--- ----------\n\xc3\xa4\xc3\xb6+ ended\n");
}

static void test_default_fits_80_columns(void **state)
{
    struct history_row row = sample;
    _free_ char *text = NULL;

    (void)state;
    row.jobid = 67108863; /* the largest of Slurm */
    row.elapsed_ns = 9ull * 86400 * 1000000000;
    row.reads.bytes = row.writes.bytes = 999ull << 40;
    text = table(FIELDS_DEFAULT, &row, false);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        if (strlen(line) > 80)
            fail_msg("%zu columns: \"%s\"", strlen(line), line);
    }
}

static void test_refusals(void **state)
{
    static const struct {
        const char *list, *reason;
    } bad[] = {
        {"JobID,Colour", "unknown column \"Colour\""},
        {"JobID,Raed%9", "did you mean \"Read\"?"},
        {"Job", "unknown column \"Job\""},
        {"Colour%9", "unknown column \"Colour\""},
        {"JobID%", "width"},
        {"JobID%0", "width"},
        {"JobID%x", "width"},
        {"JobID%9z", "width"},
        {"JobID%1001", "width"},
        {"JobID%--5", "width"},
        {"", "no fields"},
        {",,", "no fields"},
    };
    struct columns columns = {.n = 77};
    struct error error;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        assert_int_equal(columns_parse(bad[i].list, false, &columns, &error), -EINVAL);
        if (!strstr(error.text, bad[i].reason))
            fail_msg("\"%s\": \"%s\"", bad[i].list, error.text);
    }
    assert_int_equal(columns.n, 77);
}

static void test_every_field_prints(void **state)
{
    _free_ char *list = NULL;
    struct columns columns;
    struct error error;
    size_t size, n = 0;
    FILE *out = open_memstream(&list, &size);

    (void)state;
    fields_list(out);
    assert_int_equal(fclose(out), 0);
    for (char *save = NULL, *line = strtok_r(list, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save), n++) {
        line[strcspn(line, " ")] = '\0';
        assert_int_equal(columns_parse(line, false, &columns, &error), 0);
        free(table(line, &sample, false));
        free(table(line, &sample, true));
    }
    assert_true(n > 20 && n <= FIELDS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_counted),
        cmocka_unit_test(test_aligned),
        cmocka_unit_test(test_task_of_an_array),
        cmocka_unit_test(test_any_case_and_widths),
        cmocka_unit_test(test_state_and_exit_code),
        cmocka_unit_test(test_numbers_are_never_cut),
        cmocka_unit_test(test_parsable_is_exact),
        cmocka_unit_test(test_no_share_is_above_all),
        cmocka_unit_test(test_untrusted_text),
        cmocka_unit_test(test_default_fits_80_columns),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_every_field_prints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

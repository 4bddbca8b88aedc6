/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which jobs `jobio history` lists, and in which order. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <stdio.h>
#include <stdlib.h>

static int keep_row(const struct history_row *row, void *arg)
{
    *(struct history_row *)arg = *row;
    return 0;
}

struct seen {
    uint32_t jobids[8];
    size_t n;
};

static int note_job(const struct history_row *row, void *arg)
{
    struct seen *seen = arg;

    assert_true(seen->n < 8);
    seen->jobids[seen->n++] = row->jobid;
    return 0;
}

/* `want` as text: the jobs in the order that they come. */
static void assert_history(struct history_filter filter, const char *want)
{
    struct seen seen = {0};
    struct error error;
    char got[64] = "";

    assert_ok(store_history(opened, &filter, note_job, &seen, &error), error);
    for (size_t i = 0; i < seen.n; i++)
        (void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%u", i ? " " : "",
                       seen.jobids[i]);
    assert_string_equal(got, want);
}

static void test_history_filters(void **state)
{
    const uint32_t all = UINT32_MAX;
    int r;
    struct error error;
    struct history_row row;

    (void)state;
    fill_history();
    assert_history((struct history_filter){.uid = all}, "4 3 2 1");
    assert_history((struct history_filter){.uid = all, .limit = 2}, "4 3");
    assert_history((struct history_filter){.uid = all, .sort = HISTORY_READ}, "3 1 4 2");
    assert_history((struct history_filter){.uid = all, .sort = HISTORY_WRITE, .limit = 1}, "3");
    assert_history((struct history_filter){.uid = all, .sort = HISTORY_WAIT, .limit = 1}, "3");
    assert_history((struct history_filter){.uid = all, .sort = HISTORY_META}, "4 3 2 1");
    assert_history((struct history_filter){.uid = 1000}, "3 1");
    assert_history((struct history_filter){.uid = all, .user = "bob"}, "4 2");
    assert_history((struct history_filter){.uid = all, .user = "2000"}, "4 2");
    assert_history((struct history_filter){.uid = 1000, .user = "bob"}, "");
    assert_history((struct history_filter){.uid = 1000, .user = "2000"}, "");
    assert_history((struct history_filter){.uid = 1000, .user = "alice"}, "3 1");
    assert_history((struct history_filter){.uid = all, .user = "x' OR 1=1 --"}, "");
    /* the first instant of job 2 and the last of job 3, and one beyond each */
    assert_history((struct history_filter){.uid = all,
                                           .since_ns = NOW + 20 * SECOND,
                                           .until_ns = NOW + 40 * SECOND},
                   "3 2");
    assert_history((struct history_filter){.uid = all,
                                           .since_ns = NOW + 20 * SECOND - 1,
                                           .until_ns = NOW + 40 * SECOND + 1},
                   "4 3 2 1");
    assert_history((struct history_filter){.uid = all, .since_ns = NOW + 500 * SECOND}, "4");
    r = store_history(opened, &(struct history_filter){.uid = all}, keep_row, &row, &error);
    assert_int_equal(r, 0);
}

static int stop_at_once(const struct history_row *row, void *arg)
{
    (void)row;
    (void)arg;
    return 42;
}

static void test_history_can_be_stopped(void **state)
{
    const struct history_filter all = {.uid = UINT32_MAX};
    struct error error;

    (void)state;
    fill_history();
    assert_int_equal(store_history(opened, &all, stop_at_once, NULL, &error), 42);
    assert_history(all, "4 3 2 1");
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, store_set_up, folder_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_history_filters),
        STORE_TEST(test_history_can_be_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of steps are read back as they were stored, stay if the row of the step is written
 * again, and disappear with their step. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/store_impl.h"
#include "common/text.h"

static int64_t count(const char *sql)
{
    struct error error;
    int64_t n = -1;

    assert_ok(store_number(opened, sql, &n, &error), error);
    return n;
}

static struct stack_profile *make(uint64_t n)
{
    struct stack_profile *p = calloc(1, sizeof(*p));
    struct stack *stacks = calloc(n, sizeof(*stacks));

    assert_non_null(p);
    assert_non_null(stacks);
    *p = (struct stack_profile){.failed = {1, 2},
                                .truncated = {3, 4},
                                .unread = {5, 6},
                                .least_ns = 7,
                                .counts = {{1000, INT64_MAX}, {8, 9}, {10, 11}}};
    for (uint64_t i = 0; i < n; i++)
        stacks[i] = (struct stack){text_format("app;main\tapp;f%d\tlib", (int)i), {i + 1, 100 * i}};
    stack_profile_fill(p, stacks, n);
    return p;
}

static void assert_same(const struct stack_profile *a, const struct stack_profile *b)
{
    assert_int_equal(a != NULL, b != NULL);
    if (!a || !b)
        return;
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_string_equal(a->stacks[i].text, b->stacks[i].text);
        assert_memory_equal(&a->stacks[i].weight, &b->stacks[i].weight,
                            sizeof(a->stacks[i].weight));
    }
    assert_memory_equal(&a->other, &b->other, sizeof(*a) - offsetof(struct stack_profile, other));
}

/* The only step of job 7 is stored with this profile. */
static void assert_stored(const struct stack_profile *profile)
{
    struct job_account **found = jobs_found(7, false, UINT32_MAX);

    assert_int_equal(found[0]->n_steps, 1);
    assert_same(found[0]->steps[0].stacks, profile);
    assert_same(found[0]->stacks, profile);
    store_jobs_free(found);
}

static void put(const struct job_account *job, const struct step_account *step, uint64_t n)
{
    struct stack_profile *profile = make(n);
    struct error error;

    assert_ok(store_put_stacks(opened, &job->key, step, profile, &error), error);
    assert_stored(profile);
    stack_profile_destroy(profile);
}

static void test_round_trip(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct stack_profile *profile = make(2);
    struct step_account step;

    (void)state;
    step_make(&step, 0, NOW, 5);
    put_rows(job, &step, true);
    assert_stored(NULL);
    put(job, &step, 120);
    put(job, &step, 2);
    assert_int_equal(count("SELECT count(*) FROM stack"), 2);
    assert_int_equal(count("SELECT time_s * 1e9 FROM v_step_stack WHERE number = 0"), 100);
    put_rows(job, &step, true);
    assert_stored(profile);
    stack_profile_destroy(profile);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* The user's share of the store includes them, so that it is limited. */
static void test_share(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;
    uint64_t before, after;
    struct error error;

    (void)state;
    step_make(&step, 0, NOW, 5);
    put_rows(job, &step, true);
    assert_ok(store_step_bytes(opened, 1, &before, &error), error);
    put(job, &step, 100);
    assert_ok(store_step_bytes(opened, 1, &after, &error), error);
    assert_true(after >= before + 100 * strlen("app;main.app;f1.lib"));
    step_account_clear(&step);
    job_account_destroy(job);
}

static void test_sum(void **state)
{
    struct job_account *job = job_make(7, NOW), **found;
    struct stack_profile *profile = make(3);
    struct error error;

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        struct step_account step;

        step_make(&step, i, NOW, 5);
        put_rows(job, &step, true);
        if (i < 2)
            assert_ok(store_put_stacks(opened, &job->key, &step, profile, &error), error);
        step_account_clear(&step);
    }
    found = jobs_found(7, false, UINT32_MAX);
    assert_null(found[0]->steps[2].stacks);
    assert_int_equal(found[0]->stacks->n, 3);
    assert_int_equal(found[0]->stacks->stacks[0].weight.time_ns, 400);
    assert_int_equal(found[0]->stacks->counts.all.calls, 2000);
    store_jobs_free(found);
    stack_profile_destroy(profile);
    job_account_destroy(job);
}

static void test_no_step(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct stack_profile *profile = make(1);
    struct step_account step;
    struct error error;

    (void)state;
    step_make(&step, 0, NOW, 5);
    assert_int_equal(store_put_stacks(opened, &job->key, &step, profile, &error), -ENOENT);
    put_rows(job, &step, true);
    step.step++;
    assert_int_equal(store_put_stacks(opened, &job->key, &step, profile, &error), -ENOENT);
    assert_int_equal(count("SELECT count(*) FROM stack"), 0);
    stack_profile_destroy(profile);
    step_account_clear(&step);
    job_account_destroy(job);
}

static void test_deleted_with_the_step(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;
    struct error error;

    (void)state;
    step_make(&step, 0, NOW, 5);
    put_rows(job, &step, true);
    put(job, &step, 4);
    assert_ok(store_exec(opened, "DELETE FROM step", &error), error);
    assert_int_equal(count("SELECT count(*) FROM stack_profile"), 0);
    assert_int_equal(count("SELECT count(*) FROM stack"), 0);
    step_account_clear(&step);
    job_account_destroy(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_round_trip),
        STORE_TEST(test_share),
        STORE_TEST(test_sum),
        STORE_TEST(test_no_step),
        STORE_TEST(test_deleted_with_the_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The block requests of steps are read back as they were stored, and disappear with their step. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <stdlib.h>
#include <string.h>

#include "collector/store/store_impl.h"

static int64_t count(const char *sql)
{
    struct error error;
    int64_t n = -1;

    assert_ok(store_number(opened, sql, &n, &error), error);
    return n;
}

static void fill(struct block_counter *c, uint64_t n)
{
    uint64_t *numbers = (uint64_t *)c;

    for (size_t i = 0; i < sizeof(*c) / sizeof(*numbers); i++)
        numbers[i] = n + i;
}

static struct block_account *make(uint64_t n)
{
    struct block_account *account = calloc(1, sizeof(*account));

    assert_non_null(account);
    for (int i = 0; i < BLOCK_CLASS_COUNT; i++) {
        fill(&block_account_get(account, "sdb")->own[i], n * (uint64_t)(i + 1));
        fill(&block_account_get(account, "nvme0n1")->shared[i], 7 * n);
    }
    return account;
}

static void assert_same(const struct block_account *a, const struct block_account *b)
{
    assert_int_equal(a != NULL, b != NULL);
    if (!a || !b)
        return;
    assert_int_equal(a->incomplete, b->incomplete);
    assert_int_equal(a->shared_at_most, b->shared_at_most);
    assert_int_equal(a->n, b->n);
    if (a->n)
        assert_memory_equal(a->items, b->items, a->n * sizeof(*a->items));
}

/* The only step of job 7 is stored with this account. */
static void assert_stored(const struct block_account *block)
{
    struct job_account **found = jobs_found(7, false, UINT32_MAX);

    assert_int_equal(found[0]->n_steps, 1);
    assert_same(found[0]->steps[0].block, block);
    assert_same(found[0]->block, block);
    store_jobs_free(found);
}

static void put_account(const struct job_account *job, struct step_account *step,
                        struct block_account *account)
{
    step->block = account;
    put_rows(job, step, false);
    assert_stored(account);
    block_account_destroy(account);
    step->block = NULL;
}

/* The rows of a running step are replaced, also by fewer; the largest numbers fit. */
static void test_round_trip(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct block_account *account = make(3);
    struct step_account step;

    (void)state;
    step_make(&step, 0, NOW, 5);
    account->incomplete = true;
    put_account(job, &step, account);
    account = make(INT64_MAX / 8);
    account->shared_at_most = true;
    account->items[1].own[BLOCK_WRITE].bytes = INT64_MAX;
    put_account(job, &step, account);
    account = calloc(1, sizeof(*account));
    block_account_get(account, "sda")->own[BLOCK_FLUSH].requests = 1;
    put_account(job, &step, account);
    assert_int_equal(count("SELECT count(*) FROM block"), 1);
    assert_int_equal(count("SELECT requests FROM v_step_block WHERE device = 'sda'"), 1);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* A step without requests has no row, whether they were counted or not. */
static void test_no_requests(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;

    (void)state;
    step_make(&step, 0, NOW, 5);
    put_account(job, &step, NULL);
    assert_int_equal(count("SELECT count(*) FROM step WHERE block_incomplete IS NULL"), 1);
    put_account(job, &step, calloc(1, sizeof(struct block_account)));
    assert_int_equal(count("SELECT count(*) FROM step WHERE block_incomplete = 0"), 1);
    put_account(job, &step, NULL);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* The sum is incomplete if a step with requests was not counted, in any order. */
static void test_sums(void **state)
{
    (void)state;
    for (uint32_t counted = 0; counted < 2; counted++) {
        struct job_account *job = job_make(7, NOW), **found;

        for (uint32_t i = 0; i < 2; i++) {
            struct step_account step;

            step_make(&step, i, NOW, 5);
            step.block = i == counted ? make(3) : NULL;
            put_rows(job, &step, true);
            step_account_clear(&step);
        }
        found = jobs_found(7, false, UINT32_MAX);
        assert_true(found[0]->block->incomplete);
        assert_false(found[0]->steps[counted].block->incomplete);
        store_jobs_free(found);
        job_account_destroy(job);
    }
}

static void test_deleted_with_the_step(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;
    struct error error;

    (void)state;
    step_make(&step, 0, NOW, 5);
    put_account(job, &step, make(3));
    assert_int_equal(count("SELECT count(*) FROM block"), 2 * BLOCK_CLASS_COUNT);
    assert_ok(store_exec(opened, "DELETE FROM step", &error), error);
    assert_int_equal(count("SELECT count(*) FROM block"), 0);
    step_account_clear(&step);
    job_account_destroy(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_round_trip),
        STORE_TEST(test_no_requests),
        STORE_TEST(test_sums),
        STORE_TEST(test_deleted_with_the_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

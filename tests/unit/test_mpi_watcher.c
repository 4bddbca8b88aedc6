/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The thread that counts the MPI-IO of steps, with programs that this test replaces. */
#include "config.h"

#include "tests/unit/test.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/mpi/watcher.h"
#include "common/clock.h"
#include "tests/unit/mpi_fake.h"

/* Waits 1 ms; fails the test after 20 s. */
static bool pause_once(unsigned *n)
{
    if (++*n > 20000)
        fail_msg("waited in vain");
    return usleep(1000) == 0;
}

static void await_ready(struct mpi_watcher *watcher)
{
    struct mpi_watcher_state state;
    unsigned waited = 0;

    do
        mpi_watcher_get_state(watcher, &state);
    while (!state.ready && pause_once(&waited));
}

/* Reads the step until its account has `n` causes. */
static void await_causes(struct mpi_watcher *watcher, uint32_t step, size_t n)
{
    unsigned waited = 0;
    size_t has;

    do {
        struct mpi_account *account = mpi_watcher_read(watcher, step);

        assert_non_null(account);
        has = account->completeness.n;
        mpi_account_destroy(account);
    } while (has != n && pause_once(&waited));
}

static void check(struct mpi_watcher *watcher, uint32_t step, uint64_t calls, const char *cause)
{
    struct mpi_account *account = mpi_watcher_read(watcher, step);

    assert_non_null(account);
    assert_int_equal(account->classes[MPI_OPEN].calls, calls);
    assert_int_equal(account->completeness.n, cause != NULL);
    if (cause)
        assert_string_equal(account->completeness.items[0].cause, cause);
    mpi_account_destroy(account);
}

static void test_steps(void **state)
{
    struct mpi_watcher *watcher = mpi_watcher_create(NULL, 0);
    unsigned waited = 0;

    (void)state;
    assert_non_null(watcher);
    assert_false(mpi_watcher_has(watcher, 3));
    assert_false(mpi_watcher_add(watcher, 3)); /* not attached yet */
    assert_true(mpi_watcher_has(watcher, 3));
    await_ready(watcher);
    assert_true(mpi_watcher_add(watcher, 4));
    assert_true(mpi_watcher_add(watcher, 4));
    assert_int_equal(fake_mpi.added, 2); /* at once, if the programs are loaded */
    check(watcher, 3, 3, NULL);
    check(watcher, 4, 4, NULL);
    mpi_watcher_remove(watcher, 3);
    assert_false(mpi_watcher_has(watcher, 3));
    mpi_watcher_remove(watcher, 3);
    mpi_watcher_remove(watcher, 4);
    /* Without a step, the libraries are free again. */
    while (fake_mpi.removed < 2 || fake_mpi.links)
        (void)pause_once(&waited);
    mpi_watcher_destroy(watcher);
    assert_int_equal(fake_mpi.removed, 2);
    assert_int_equal(fake_mpi.loaded, 0);
}

static void test_always(void **state)
{
    struct mpi_watcher *watcher = mpi_watcher_create(NULL, MPI_WATCHER_ALWAYS);

    (void)state;
    assert_non_null(watcher);
    await_ready(watcher);
    assert_int_equal(fake_mpi.loaded, 1);
    (void)mpi_watcher_add(watcher, 5);
    check(watcher, 5, 5, NULL);
    mpi_watcher_destroy(watcher);
    assert_int_equal(fake_mpi.loaded, 0);
    assert_int_equal(fake_mpi.links, 0);
}

static void test_cannot_load(void **state)
{
    struct mpi_watcher *watcher = mpi_watcher_create(NULL, MPI_WATCHER_ALWAYS);
    struct mpi_watcher_state now;
    unsigned waited = 0;

    (void)state;
    assert_non_null(watcher);
    mpi_watcher_destroy(watcher);
    fake_mpi.fails = true;
    watcher = mpi_watcher_create(NULL, MPI_WATCHER_ALWAYS);
    (void)mpi_watcher_add(watcher, 6);
    do
        mpi_watcher_get_state(watcher, &now);
    while (!*now.why.text && pause_once(&waited));
    assert_false(now.ready);
    assert_int_equal(now.steps, 1);
    check(watcher, 6, 0, MPI_CAUSE_LIBRARY "this kernel is too old");
    mpi_watcher_destroy(watcher);
}

/* It is tried again after a pause, and after twice the pause. */
static void test_can_load_later(void **state)
{
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    struct mpi_watcher_state now;
    struct mpi_watcher *watcher;
    unsigned waited = 0;

    (void)state;
    fake_mpi.fails = true;
    watcher = mpi_watcher_create(NULL, 0);
    assert_non_null(watcher);
    assert_false(mpi_watcher_add(watcher, 6));
    while (fake_mpi.attempts < 2)
        (void)pause_once(&waited);
    assert_true(clock_ns(CLOCK_MONOTONIC) - start >= NS_PER_S);
    check(watcher, 6, 0, MPI_CAUSE_LIBRARY "this kernel is too old");
    fake_mpi.fails = false;
    await_ready(watcher);
    assert_int_equal(fake_mpi.attempts, 3);
    assert_true(clock_ns(CLOCK_MONOTONIC) - start >= 3 * NS_PER_S);
    mpi_watcher_get_state(watcher, &now);
    assert_string_equal(now.why.text, "");
    await_causes(watcher, 6, 0);
    mpi_watcher_destroy(watcher);
}

static void test_no_room(void **state)
{
    struct mpi_watcher *watcher = mpi_watcher_create(NULL, MPI_WATCHER_ALWAYS);
    uint32_t *pids = calloc(1, sizeof(*pids));

    (void)state;
    assert_non_null(watcher);
    await_ready(watcher);
    fake_mpi.full = true;
    assert_false(mpi_watcher_add(watcher, 7));
    check(watcher, 7, 7, MPI_CAUSE_UNSEEN);
    fake_mpi.full = false;
    mpi_watcher_scan(watcher, 7, pids, 1, false);
    await_causes(watcher, 7, 0); /* the thread has tried again */
    mpi_watcher_scan(watcher, 7, calloc(1, sizeof(*pids)), 1, true);
    check(watcher, 7, 7, MPI_CAUSE_UNSEEN);
    mpi_watcher_scan(watcher, 8, calloc(1, sizeof(*pids)), 1, false); /* not counted */
    mpi_watcher_destroy(watcher);
}

/* The thread hangs while it loads, attaches or looks: readings do not wait for it. */
static void test_busy(void **state)
{
    struct mpi_watcher *watcher;

    (void)state;
    (void)pthread_mutex_lock(&fake_mpi.gate);
    watcher = mpi_watcher_create(NULL, MPI_WATCHER_ALWAYS);
    assert_non_null(watcher);
    (void)mpi_watcher_add(watcher, 9);
    check(watcher, 9, 0, MPI_CAUSE_UNSEEN);
    (void)pthread_mutex_unlock(&fake_mpi.gate);
    await_causes(watcher, 9, 0);
    (void)pthread_mutex_lock(&fake_mpi.gate);
    (void)mpi_watcher_add(watcher, 10);
    check(watcher, 10, 10, NULL);
    (void)pthread_mutex_unlock(&fake_mpi.gate);
    mpi_watcher_destroy(watcher);
}

/* The thread does it, while the step runs. */
static void test_clean(void **state)
{
    struct mpi_watcher *watcher = mpi_watcher_create(NULL, 0);
    unsigned waited = 0;
    size_t left;

    (void)state;
    assert_non_null(watcher);
    (void)pthread_mutex_lock(&fake_mpi.gate);
    fake_mpi.room = 1;
    fake_mpi.seen[fake_mpi.n_seen++] = (struct mpi_process){22, 0x7fffffff, NS_PER_S};
    (void)mpi_watcher_add(watcher, 22);
    (void)pthread_mutex_unlock(&fake_mpi.gate);
    do {
        (void)pthread_mutex_lock(&fake_mpi.gate);
        left = fake_mpi.n_seen;
        (void)pthread_mutex_unlock(&fake_mpi.gate);
    } while (left && pause_once(&waited));
    mpi_watcher_destroy(watcher);
}

/* For ThreadSanitizer. */
static void test_many(void **state)
{
    struct mpi_watcher *watcher = mpi_watcher_create(NULL, 0);

    (void)state;
    assert_non_null(watcher);
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t *pids = calloc(1, sizeof(*pids));

        (void)mpi_watcher_add(watcher, i);
        pids[0] = (uint32_t)getpid();
        mpi_watcher_scan(watcher, i, pids, 1, false);
        mpi_account_destroy(mpi_watcher_read(watcher, i));
        if (i >= 2)
            mpi_watcher_remove(watcher, i - 2);
    }
    mpi_watcher_destroy(watcher);
    assert_int_equal(fake_mpi.loaded, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_steps, fake_mpi_reset),
        cmocka_unit_test_setup(test_always, fake_mpi_reset),
        cmocka_unit_test_setup(test_cannot_load, fake_mpi_reset),
        cmocka_unit_test_setup(test_can_load_later, fake_mpi_reset),
        cmocka_unit_test_setup(test_no_room, fake_mpi_reset),
        cmocka_unit_test_setup(test_busy, fake_mpi_reset),
        cmocka_unit_test_setup(test_clean, fake_mpi_reset),
        cmocka_unit_test_setup(test_many, fake_mpi_reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

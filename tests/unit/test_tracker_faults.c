/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each allocation, call on files, and write of the store fails once in the life of a step, and at a
 * restart of jobiod. Later calls without a fault give the exact account, stored once. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <stdint.h>

#include "bpf/records.h"
#include "collector/cgroup/users.h"
#include "tests/unit/fault.h"
#include "tests/unit/node.h"

#define WRITTEN (5 * 4096)

static struct tag tag;
static uint32_t number;

/* Without a thread, which could still look a name up when the blocks in use are counted. */
int users_create(struct users **ret, users_lookup_f look_up, struct error *error)
{
    (void)look_up, (void)error;
    *ret = NULL;
    return 0;
}

void users_destroy(struct users *users)
{
    (void)users;
}

char *users_find_name(struct users *users, uid_t uid)
{
    (void)users, (void)uid;
    return NULL;
}

/* --- the life of a step ----------------------------------------------------------------------- */

static void prepare_step(void)
{
    void *state = NULL;

    assert_int_equal(node_setup(&state), 0);
    tag = node_tag(0, true);
    number = step_number(tag.cgroup_id, 2);
    node_write(number, 5, 4096);
}

static int run_step(struct error *error)
{
    int r = tracker_tag(node.tracker, &tag, error);

    if (!r)
        r = tracker_tick(node.tracker, error);
    if (!r)
        r = tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, error);
    if (!r)
        r = tracker_job_end(node.tracker, JOB, error);
    if (!r)
        node_flush();
    return r;
}

static void assert_step(struct job_account *job, uint32_t id, uint64_t bytes)
{
    struct step_account *step = node_step(job, id);

    assert_non_null(step);
    assert_int_equal(step->state, STEP_ENDED);
    assert_int_equal(node_written(&step->mounts), bytes);
}

/* Stored once, with exact numbers, and without a mark unless a call has failed. */
static void assert_stored(size_t steps, bool hit)
{
    struct job_account **jobs = node_stored();

    assert_non_null(jobs[0]);
    assert_null(jobs[1]);
    assert_true(jobs[0]->ended);
    assert_int_equal(jobs[0]->n_steps, steps);
    for (uint32_t i = 0; i < steps; i++)
        assert_step(jobs[0], i, WRITTEN);
    assert_true(hit || job_is_complete(jobs[0]));
    assert_int_equal(node_written(&jobs[0]->mounts), steps * WRITTEN);
    store_jobs_free(jobs);
}

static void assert_totals(uint64_t bytes)
{
    struct tracker_stats stats;

    tracker_stats(node.tracker, &stats);
    assert_true(node_total() == bytes || stats.lost);
    assert_int_equal(stats.unsaved, 0);
}

/* What failed is done by the next tick, or by the next message of the plugin. */
static void check_step(int r, bool hit)
{
    void *state = NULL;

    if (r < 0)
        node_must(run_step(&node.error));
    for (int i = 0; i < 3; i++) {
        node_must(tracker_tick(node.tracker, &node.error));
        node_flush();
    }
    assert_int_equal(node.over, 1);
    assert_stored(1, hit);
    assert_totals(WRITTEN);
    assert_int_equal(node_teardown(&state), 0);
}

static void test_step(void **state)
{
    static const struct fault_scenario life = {"the life of a step", prepare_step, run_step,
                                               check_step};

    (void)state;
    fault_each(FAULT_MEMORY, &life, 1);
    fault_each(FAULT_FILE, &life, 1);
    fault_each(FAULT_SQLITE_MEMORY, &life, 29);
    fault_each(FAULT_SQLITE_IO, &life, 1);
    fault_each(FAULT_SQLITE_FULL, &life, 1);
}

/* --- a restart -------------------------------------------------------------------------------- */

/* Step 0 runs, and step 1 has ended while jobiod was away. Both have rows. */
static void prepare_restart(void)
{
    uint32_t numbers[2];
    void *state = NULL;

    assert_int_equal(node_setup(&state), 0);
    for (uint32_t id = 0; id < 2; id++) {
        numbers[id] = node_begin(id);
        node_write(numbers[id], 3, 4096);
    }
    node_must(tracker_tick(node.tracker, &node.error));
    node_flush();
    for (uint32_t id = 0; id < 2; id++)
        node_write(numbers[id], 2, 4096);
    node_put_end(1, node_now(CLOCK_BOOTTIME));
    node_stop();
    fake_probe_adopt(node.probe);
}

static int run_start(struct error *error)
{
    int r = node_try_start();

    if (r < 0)
        *error = node.error;
    return r;
}

static void check_restart(int r, bool hit)
{
    void *state = NULL;

    if (r < 0)
        node_must(node_try_start());
    node_must(tracker_tick(node.tracker, &node.error));
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_must(tracker_job_end(node.tracker, JOB, &node.error));
    for (int i = 0; i < 2; i++) {
        node_must(tracker_tick(node.tracker, &node.error));
        node_flush();
    }
    assert_stored(2, hit);
    assert_totals(2 * WRITTEN);
    assert_int_equal(node_teardown(&state), 0);
}

static void test_restart(void **state)
{
    static const struct fault_scenario restart = {"a restart", prepare_restart, run_start,
                                                  check_restart};

    (void)state;
    fault_each(FAULT_MEMORY, &restart, 1);
    fault_each(FAULT_FILE, &restart, 1);
    fault_each(FAULT_SQLITE_MEMORY, &restart, 53);
    fault_each(FAULT_SQLITE_IO, &restart, 3);
}

static int set_up(void **state)
{
    (void)state;
    fault_sqlite_set_up();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step),
        cmocka_unit_test(test_restart),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}

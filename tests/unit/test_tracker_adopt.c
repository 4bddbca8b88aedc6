/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One jobiod after the other on a node (tests/unit/node.h): what was left is taken over. */
#include "tests/unit/test.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/records.h"
#include "collector/cgroup/hierarchy.h"
#include "tests/unit/node.h"

#define MANY 200

static void test_restart_goes_on(void **state)
{
    uint32_t batch = node_begin(STEP_BATCH), zero = node_begin(0), one = node_begin(1);
    struct job_account *report, **jobs;

    (void)state;
    node_write(batch, 1, 1);
    node_write(zero, 1, 20);
    node_write(one, 1, 300);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_must(tracker_tick(node.tracker, &node.error));
    node_restart();
    /* One went on, and one ended, while nobody looked. */
    node_write(batch, 1, 4000);
    node_must(tracker_report(node.tracker, JOB, 0, false, &report, &node.error));
    assert_int_equal(node_written(&report->mounts), 4321);
    assert_true(job_is_complete(report));
    assert_int_equal(report->array_job, 4);
    assert_int_equal(report->array_task, 0);
    job_account_destroy(report);
    node_stop();
    node_write(one, 1, 50000);
    node_put_end(1, node_now(CLOCK_BOOTTIME) + 5 * S);
    fake_probe_adopt(node.probe);
    node_start();
    node_flush();
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &node.error));
    node_must(tracker_job_end(node.tracker, JOB, &node.error));
    node_flush();
    jobs = node_stored();
    assert_true(jobs[0]->ended);
    assert_null(jobs[1]);
    assert_int_equal(jobs[0]->n_steps, 3);
    assert_int_equal(jobs[0]->array_job, 4);
    assert_int_equal(node_written(&jobs[0]->mounts), 54321);
    assert_int_equal(node_step(jobs[0], 1)->state, STEP_ENDED);
    assert_in_range(node_step(jobs[0], 1)->elapsed_ns, 5 * S, 6 * S);
    assert_true(job_is_complete(jobs[0]));
    store_jobs_free(jobs);
    assert_int_equal(node_total(), 54321);
}

/* What the job says of events that no program saw. */
static uint64_t missed_of(void)
{
    struct job_account *report;
    uint64_t count = 0;

    node_must(tracker_report(node.tracker, JOB, 0, false, &report, &node.error));
    for (size_t i = 0; i < report->completeness.n; i++)
        if (!strcmp(report->completeness.items[i].cause, "recursion-missed"))
            count += report->completeness.items[i].count;
    job_account_destroy(report);
    return count;
}

static void test_missed_while_nobody_read(void **state)
{
    (void)state;
    fake_probe_hook(node.probe, 1)->missed = 1; /* before the step: none of its business */
    node_restart();
    node_begin(0);
    assert_int_equal(missed_of(), 0);
    fake_probe_hook(node.probe, 1)->missed += 2;
    node_must(tracker_tick(node.tracker, &node.error));
    node_flush();
    assert_int_equal(missed_of(), 2);
    node_stop();
    fake_probe_hook(node.probe, 1)->missed += 30;
    node_start();
    assert_int_equal(missed_of(), 32);
    node_must(tracker_tick(node.tracker, &node.error));
    node_flush();
    node_restart();
    assert_int_equal(missed_of(), 32);
    /* Killed before the first reading. */
    fake_probe_hook(node.probe, 0)->missed += 400;
    node_restart();
    node_restart();
    assert_int_equal(missed_of(), 432);
    /* A step that begins now missed nothing of that. */
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_begin(1);
    assert_int_equal(missed_of(), 432);
}

/* Killed between the commit of a final row and the removal of what it came from. */
static void test_kill_after_commit(void **state)
{
    uint32_t zero = node_begin(0);
    struct tag tag = node_tag(0, false);
    char full[256], saved[8192] = "";
    FILE *f;

    (void)state;
    node_path(full, "run/steps/17.0.4294967294.0");
    f = fopen(full, "r");
    assert_non_null(f);
    assert_true(fread(saved, 1, sizeof(saved) - 1, f) > 0);
    fclose(f);
    node_begin(1);
    node_write(zero, 1, 600);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_flush();
    assert_int_equal(node_total(), 600);
    node_stop();
    node_put("run/steps/17.0.4294967294.0", saved);
    node_put_end(0, node_now(CLOCK_BOOTTIME));
    node_must(probe_add(node.probe, tag.cgroup_id, 1, 2, NULL, &node.error));
    node_write(zero, 1, 600);
    node_start();
    node_flush();
    assert_int_equal(node_total(), 600);
    assert_false(node_has_step(0));
    assert_null(fake_probe_step(node.probe, zero));
}

/* jobiod has stopped: the node starts again. */
static void reboot(void)
{
    struct store_options options = {0};
    struct store *store;
    char full[256];

    fake_probe_reset(node.probe);
    node_path(full, "run/steps/17.0.4294967294.4294967291");
    assert_int_equal(unlink(full), 0);
    node_path(full, "jobio.db");
    options.path = full;
    node_must(store_open(&store, &options, &node.error));
    node_must(store_put_state(store, "boot-id", "another boot", &node.error));
    store_close(store);
}

static void test_reboot(void **state)
{
    uint32_t number = node_begin(STEP_BATCH);
    struct job_account **jobs;

    (void)state;
    node_write(number, 1, 70);
    node_must(tracker_tick(node.tracker, &node.error));
    node_stop();
    reboot();
    node_start();
    node_flush();
    assert_int_equal(node.over, 1);
    jobs = node_stored();
    assert_true(jobs[0]->ended);
    assert_int_equal(jobs[0]->steps[0].state, STEP_VANISHED);
    assert_true(node_blames(&jobs[0]->completeness, "node-restarted"));
    assert_int_equal(node_written(&jobs[0]->mounts), 70);
    store_jobs_free(jobs);
    assert_int_equal(node_total(), 70);
}

static void change_store(const char *sql)
{
    sqlite3 *db = NULL;
    char full[256];

    node_path(full, "jobio.db");
    assert_int_equal(sqlite3_open(full, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* A row that jobiod writes at its start cannot be stored. The next start continues from there. */
static void test_reboot_and_a_full_disk(void **state)
{
    uint32_t number = node_begin(STEP_BATCH);
    struct job_account **jobs;

    (void)state;
    node_write(number, 1, 70);
    node_must(tracker_tick(node.tracker, &node.error));
    node_stop();
    reboot();
    change_store(
        "CREATE TRIGGER full BEFORE UPDATE ON step BEGIN SELECT RAISE(ABORT, 'full'); END");
    assert_true(node_try_start() < 0);
    change_store("DROP TRIGGER full");
    node_start();
    node_flush();
    assert_int_equal(node.over, 1);
    jobs = node_stored();
    assert_true(jobs[0]->ended);
    assert_true(node_blames(&jobs[0]->completeness, "node-restarted"));
    store_jobs_free(jobs);
}

/* Its plugin has not confirmed a late step yet, and the next jobiod finds it in the map. */
static void test_restart_with_a_late_tag(void **state)
{
    struct tag tag = node_tag(0, true);
    struct job_account **jobs;

    (void)state;
    tag.within_ms = 6000;
    tag.tagged_boot_ns -= 7 * S;
    node_must(tracker_tag(node.tracker, &tag, &node.error));
    node_must(tracker_tick(node.tracker, &node.error));
    node_flush();
    node_restart();
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_flush();
    jobs = node_stored();
    assert_true(node_blames(&jobs[0]->completeness, "began-untracked"));
    store_jobs_free(jobs);
}

/* The same, and it is killed before the first tick. */
static void test_kill_after_a_late_tag(void **state)
{
    struct tag tag = node_tag(0, true);
    struct job_account **jobs;

    (void)state;
    tag.within_ms = 6000;
    tag.tagged_boot_ns -= 7 * S;
    node_must(tracker_tag(node.tracker, &tag, &node.error));
    node_restart();
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_flush();
    jobs = node_stored();
    assert_false(job_is_complete(jobs[0]));
    assert_true(node_blames(&jobs[0]->completeness, "began-untracked"));
    store_jobs_free(jobs);
}

/* The plugin could not write the file of a step. */
static void test_kill_without_a_step_file(void **state)
{
    struct job_account **jobs;
    struct tag tag;

    (void)state;
    node_begin(STEP_EXTERN);
    tag = node_tag(STEP_BATCH, false);
    node_must(tracker_tag(node.tracker, &tag, &node.error));
    node_write(step_number(tag.cgroup_id, 2), 1, 600);
    node_restart();
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, STEP_EXTERN, 0, &node.error));
    node_must(tracker_job_end(node.tracker, JOB, &node.error));
    node_flush();
    jobs = node_stored();
    assert_true(jobs[0]->ended);
    assert_false(job_is_complete(jobs[0]));
    assert_true(node_blames(&jobs[0]->completeness, "step-vanished"));
    store_jobs_free(jobs);
}

static int see(int64_t id, const struct job_account *job, void *arg)
{
    (void)id;
    assert_int_equal(job->n_steps, 1);
    assert_int_equal(job->steps[0].state, STEP_VANISHED);
    assert_int_equal(node_written(&job->steps[0].mounts), 70);
    assert_true(node_blames(&job->steps[0].completeness, "node-restarted") ||
                node_blames(&job->steps[0].completeness, "step-vanished"));
    assert_string_equal(job->first_node, "first");
    ++*(unsigned *)arg;
    return 0;
}

/* Steps that wait for the sink, all of them lost. */
static unsigned lost_for(const char *sink)
{
    struct store *reader;
    unsigned n = 0;
    char full[256];

    node_path(full, "jobio.db");
    node_must(store_open_reader(&reader, full, &node.error));
    node_must(store_outbox_read(reader, sink, 0, 100, see, &n, &node.error));
    store_close(reader);
    return n;
}

/* A batch step of a job whose first node is another one, of which the store has a provisional
 * row. */
static void begin_elsewhere(void)
{
    static const char *const sinks[] = {"history", NULL};
    uint32_t number;

    node.sinks = sinks;
    node.peers = true;
    node_restart();
    node_put("run/jobs/17", "JOBID=17\nNODE=n\nGATHER=first\nNODELIST=first,n\n");
    number = node_begin(STEP_BATCH);
    node_write(number, 1, 70);
    node_must(tracker_tick(node.tracker, &node.error));
    node_flush();
    node_stop();
}

static void test_lost_step_is_sent(void **state)
{
    char full[256];

    (void)state;
    begin_elsewhere();
    node_path(full, "run/steps/17.0.4294967294.4294967291");
    assert_int_equal(unlink(full), 0);
    fake_probe_adopt(node.probe);
    node_start();
    assert_int_equal(lost_for("history"), 1);
    assert_int_equal(lost_for("peer:first"), 1);
}

/* The provisional row of the batch step gets `opens` of MPI-IO. */
static void store_opens(uint64_t opens)
{
    struct job_account **jobs = NULL;
    struct store *store;
    char full[256];

    node_path(full, "jobio.db");
    node_must(store_open(&store, &(struct store_options){.path = full}, &node.error));
    node_must(store_jobs(store, NULL, JOB, false, UINT32_MAX, &jobs, &node.error));
    assert_int_equal(jobs[0]->n_steps, 1);
    jobs[0]->steps[0].mpi = calloc(1, sizeof(*jobs[0]->steps[0].mpi));
    jobs[0]->steps[0].mpi->classes[MPI_OPEN].calls = opens;
    node_must(store_put_step(store, &jobs[0]->key, &jobs[0]->steps[0], false, &node.error));
    store_jobs_free(jobs);
    store_close(store);
}

/* A step that is lost, and the sums of its job, keep the MPI-IO of its last row. */
static void test_lost_step_with_mpi(void **state)
{
    struct job_account **jobs, *job;
    char full[256];

    (void)state;
    begin_elsewhere();
    store_opens(5);
    node_path(full, "run/steps/17.0.4294967294.4294967291");
    assert_int_equal(unlink(full), 0);
    fake_probe_adopt(node.probe);
    node_start();
    jobs = node_stored();
    assert_int_equal(jobs[0]->steps[0].state, STEP_VANISHED);
    assert_int_equal(jobs[0]->steps[0].mpi->classes[MPI_OPEN].calls, 5);
    store_jobs_free(jobs);
    node_must(tracker_report(node.tracker, JOB, 0, false, &job, &node.error));
    assert_int_equal(job->mpi->classes[MPI_OPEN].calls, 5);
    assert_false(job_mpi_is_complete(job));
    job_account_destroy(job);
}

static int count_row(int64_t id, const struct job_account *job, void *arg)
{
    (void)id, (void)job;
    ++*(unsigned *)arg;
    return 0;
}

static unsigned waiting_for(const char *sink)
{
    struct store *reader;
    unsigned n = 0;
    char full[256];

    node_path(full, "jobio.db");
    node_must(store_open_reader(&reader, full, &node.error));
    node_must(store_outbox_read(reader, sink, 0, 100, count_row, &n, &node.error));
    store_close(reader);
    return n;
}

/* No prolog has told which is the first node: the one that gathers the job. */
static void test_gathered_by(void **state)
{
    const struct job_key key = {.jobid = JOB};

    (void)state;
    node.peers = true;
    node_restart();
    node_begin(0);
    node_begin(1);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_flush();
    assert_int_equal(waiting_for("peer:first"), 0);
    tracker_attach(node.tracker, NULL); /* as if the writer's queue was full */
    tracker_set_first_node(node.tracker, &key, "first");
    tracker_attach(node.tracker, node.writer);
    node_flush();
    assert_int_equal(waiting_for("peer:first"), 1);
    tracker_set_first_node(node.tracker, &key, "other");
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 1, 0, &node.error));
    node_flush();
    assert_int_equal(waiting_for("peer:first"), 2);
    assert_int_equal(waiting_for("peer:other"), 0);
    assert_true(node.queued > 0);
}

/* It is told by the prolog that this is the first node. */
static void test_gathered_by_a_stranger(void **state)
{
    const struct job_key key = {.jobid = JOB};

    (void)state;
    node.peers = true;
    node_restart();
    node_put("run/jobs/17", "JOBID=17\nNODE=n\nGATHER=n\nNODELIST=n,other\n");
    node_begin(0);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    tracker_set_first_node(node.tracker, &key, "other");
    node_flush();
    assert_int_equal(waiting_for("peer:other"), 0);
}

/* The only step ended 70 s ago, and no epilog has come. Returns whether the job ends. */
static bool ends_without_epilog(uint32_t step)
{
    node_begin(step);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, step, 0, &node.error));
    node_flush();
    node_stop();
    change_store("UPDATE job SET start_ns = start_ns - 70000000000;"
                 "UPDATE step SET tagged_at_ns = tagged_at_ns - 70000000000");
    fake_probe_adopt(node.probe);
    node_start();
    node_must(tracker_tick(node.tracker, &node.error));
    return node.over == 1;
}

static void test_end_after_extern_step(void **state)
{
    (void)state;
    assert_true(ends_without_epilog(STEP_EXTERN));
}

static void test_end_after_batch_step(void **state)
{
    (void)state;
    assert_true(ends_without_epilog(STEP_BATCH));
}

/* The next one may come after a long pause. */
static void test_no_end_after_other_step(void **state)
{
    (void)state;
    assert_false(ends_without_epilog(0));
}

/* The nodes are told after the first step has begun. */
static void test_nodes_are_told_late(void **state)
{
    const struct job_key key = {.jobid = JOB};

    (void)state;
    node_begin(STEP_EXTERN);
    assert_null(tracker_nodes(node.tracker, &key));
    node_put("run/jobs/17", "JOBID=17\nNODE=n\nGATHER=n\nNODELIST=n,other\n");
    tracker_describe(node.tracker, JOB, NULL, NULL, NULL);
    assert_string_equal(tracker_nodes(node.tracker, &key), "n,other");
}

/* The file that told the first node has gone with the boot. */
static void test_lost_by_reboot_is_sent(void **state)
{
    char full[256];

    (void)state;
    begin_elsewhere();
    reboot();
    node_path(full, "run/jobs/17");
    assert_int_equal(unlink(full), 0);
    node_start();
    node_flush();
    assert_int_equal(node.over, 1);
    assert_int_equal(lost_for("history"), 1);
    assert_int_equal(lost_for("peer:first"), 1);
}

/* Killed between the commit of the sum that a step was folded into and the removal of its file. */
static void test_kill_after_folding(void **state)
{
    struct store_options options = {0};
    struct store *store;
    struct tag tag;
    char full[256], key[128];

    (void)state;
    node_begin(STEP_BATCH);
    node_must(tracker_tick(node.tracker, &node.error));
    node_stop();
    tag = node_tag(5000, true);
    node_put_end(5000, node_now(CLOCK_BOOTTIME));
    node_must(probe_add(node.probe, tag.cgroup_id, 1, 2, NULL, &node.error));
    node_write(step_number(tag.cgroup_id, 2), 1, 600);
    node_path(full, "jobio.db");
    options.path = full;
    node_must(store_open(&store, &options, &node.error));
    snprintf(key, sizeof(key), "folded/17.0.%u.5000.%" PRIu64, HET_NONE, tag.tagged_at_ns);
    node_must(store_put_state(store, key, "1", &node.error));
    node_must(store_put_state(store, "folded", "stays", &node.error));
    node_must(store_put_state(store, "folded0", "stays", &node.error));
    store_close(store);
    node_start();
    node_flush();
    assert_int_equal(node_total(), 0);
    assert_false(node_has_step(5000));
    assert_true(node_has_step(STEP_BATCH));
    assert_null(fake_probe_step(node.probe, step_number(tag.cgroup_id, 2)));
    assert_false(node_has_state(key));
    assert_true(node_has_state("folded"));
    assert_true(node_has_state("folded0"));
}

/* The same, while no jobiod was there: tagged before or never, ended or gone. */
static void test_many_ends_while_down(void **state)
{
    struct tracker_stats stats;
    unsigned before;

    (void)state;
    node_begin(STEP_BATCH);
    for (uint32_t step = 0; step < MANY; step++) {
        struct tag tag = node_tag(step, true);

        if (step % 2)
            node_must(tracker_tag(node.tracker, &tag, &node.error));
        else
            node_must(probe_add(node.probe, tag.cgroup_id, 1, 2, NULL, &node.error));
        node_write(step_number(tag.cgroup_id, 2), 1, 1);
    }
    node_must(tracker_tick(node.tracker, &node.error));
    node_stop();
    for (uint32_t step = 0; step < MANY; step++)
        node_put_end(step, node_now(CLOCK_BOOTTIME));
    fake_probe_adopt(node.probe);
    before = fake_probe_passes(node.probe);
    node_start();
    assert_int_equal(node_total(), MANY);
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.steps, 1);
    node_flush();
    assert_int_equal(fake_probe_passes(node.probe) - before, 2);
    assert_false(node_has_step(MANY - 1));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, node_setup, node_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_restart_goes_on),
        TEST(test_missed_while_nobody_read),
        TEST(test_kill_after_commit),
        TEST(test_reboot),
        TEST(test_reboot_and_a_full_disk),
        TEST(test_restart_with_a_late_tag),
        TEST(test_lost_step_is_sent),
        TEST(test_lost_step_with_mpi),
        TEST(test_gathered_by),
        TEST(test_gathered_by_a_stranger),
        TEST(test_end_after_extern_step),
        TEST(test_end_after_batch_step),
        TEST(test_no_end_after_other_step),
        TEST(test_nodes_are_told_late),
        TEST(test_lost_by_reboot_is_sent),
        TEST(test_kill_after_folding),
        TEST(test_many_ends_while_down),
        TEST(test_kill_after_a_late_tag),
        TEST(test_kill_without_a_step_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

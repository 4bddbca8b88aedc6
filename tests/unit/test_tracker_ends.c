/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps that end, in many ways and in numbers, and queries of users, on a node (tests/unit/node.h).
 */
#include "tests/unit/test.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/stat.h>

#include "bpf/records.h"
#include "collector/cgroup/hierarchy.h"
#include "collector/track/accounts.h"
#include "common/cleanup.h"
#include "tests/unit/node.h"

static void test_vanished_step(void **state)
{
    uint32_t number = node_begin(0);
    struct job_account **jobs;

    (void)state;
    node_write(number, 2, 50);
    node_rmdir("cg/step_0");
    node_must(tracker_tick(node.tracker, &node.error));
    node_flush();
    jobs = node_stored();
    assert_int_equal(jobs[0]->steps[0].state, STEP_VANISHED);
    assert_true(node_blames(&jobs[0]->steps[0].completeness, "step-vanished"));
    assert_int_equal(node_written(&jobs[0]->mounts), 100);
    store_jobs_free(jobs);
    assert_false(node_has_step(0));
}

/* The last task of a step has ended, so its plugin has nothing more to say about the start. */
static void test_late_tag_of_a_short_step(void **state)
{
    struct tag tag = node_tag(0, true);
    const struct job_key key = {NULL, JOB, 0};
    struct job_account *report;

    (void)state;
    tag.within_ms = 6000;
    tag.tagged_boot_ns -= 7 * S;
    node_must(tracker_tag(node.tracker, &tag, &node.error));
    tracker_task_exit(node.tracker, &key, HET_NONE, 0);
    node_must(tracker_report(node.tracker, JOB, 0, true, &report, &node.error));
    assert_true(node_blames(&report->completeness, "began-untracked"));
    job_account_destroy(report);
}

/* A step in the cgroup /job/user. Nobody is in /job, or some process: cg/job/cgroup.events. */
static uint32_t begin_in_job(uint32_t step)
{
    struct tag tag = node_tag(step, false);
    struct stat st;
    char full[256];

    node_mkdir("cg/job/user");
    node_path(full, "cg/job/user");
    assert_int_equal(stat(full, &st), 0);
    tag.cgroup = (char *)"/job/user";
    tag.cgroup_id = st.st_ino;
    node_must(tracker_tag(node.tracker, &tag, &node.error));
    return step_number(tag.cgroup_id, 2);
}

/* With ticks of 10 s, it has vanished when it is seen empty twice. */
static void test_deserted_step(void **state)
{
    struct tracker_stats stats;

    (void)state;
    node_mkdir("cg/job");
    node_put("cg/job/cgroup.events", "populated 0\nfrozen 0\n");
    node_begin(0);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    (void)begin_in_job(1);
    node_must(tracker_tick(node.tracker, &node.error));
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.steps, 1);
    node_must(tracker_tick(node.tracker, &node.error));
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.steps, 0);
    assert_int_equal(stats.vanished, 1);
}

static void tick_empty(unsigned n)
{
    node_put("cg/job/cgroup.events", "populated 0\nfrozen 0\n");
    while (n--)
        node_must(tracker_tick(node.tracker, &node.error));
}

/* A step has vanished after 5 s without a process. One that has moved to another cgroup, and
 * returns before that, is counted to the end. */
static void test_process_returns(void **state)
{
    struct tracker_stats stats;
    uint32_t number;

    (void)state;
    node_stop();
    node.interval = S;
    node_start();
    node_mkdir("cg/job");
    number = begin_in_job(0);
    for (int i = 0; i < 2; i++) {
        tick_empty(4);
        node_put("cg/job/cgroup.events", "populated 1\nfrozen 0\n");
        node_write(number, 1, 100);
        node_must(tracker_tick(node.tracker, &node.error));
    }
    tick_empty(4);
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.steps, 1);
    assert_int_equal(stats.vanished, 0);
    tick_empty(1);
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.steps, 0);
    assert_int_equal(stats.vanished, 1);
    assert_int_equal(node_total(), 200);
}

/* Steps that end at the same moment share one pass over the maps, and none loses what it did. */
static void test_ends_share_a_reading(void **state)
{
    uint32_t a = node_begin(0), b = node_begin(1), c;
    uint64_t ended;

    (void)state;
    node_write(a, 1, 1);
    node_write(b, 1, 20);
    ended = node_now(CLOCK_BOOTTIME);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, ended, &node.error));
    /* After its end: cannot be, and shows that nobody looks again. */
    node_write(b, 1, 100000);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 1, ended, &node.error));
    assert_int_equal(node_total(), 21);
    /* One that began later than that pass has one of its own. */
    c = node_begin(2);
    node_write(c, 1, 300);
    ended = node_now(CLOCK_BOOTTIME);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 2, ended, &node.error));
    assert_int_equal(node_total(), 321);
}

/* Returns how long it took, which is at least as long as its reading. */
static uint64_t tick_duration(void)
{
    uint64_t start = node_now(CLOCK_MONOTONIC);

    node_must(tracker_tick(node.tracker, &node.error));
    return node_now(CLOCK_MONOTONIC) - start;
}

/* A job whose readings take long must not delay the ends and reports of others. */
static void test_long_readings_leave_out_others(void **state)
{
    uint32_t a = node_begin(0), b = node_begin(1);
    struct job_account *job;
    unsigned before;
    int tries = 0;

    (void)state;
    node_write(a, 1, 1);
    node_write(b, 1, 20);
    fake_probe_slow_down(node.probe, 20);
    node_must(tracker_tick(node.tracker, &node.error));
    before = fake_probe_reads_of_all(node.probe);
    node_write(a, 1, 300);
    node_write(b, 1, 100000);
    node_must(
        tracker_end(node.tracker, JOB, 0, HET_NONE, 0, node_now(CLOCK_BOOTTIME), &node.error));
    assert_int_equal(node_total(), 321);
    assert_int_equal(fake_probe_reads_of_all(node.probe), before);
    fake_probe_slow_down(node.probe, 0);
    /* A fast one is shared. On a loaded machine it may take several to have a fast one. */
    while (tick_duration() >= S / 200)
        assert_true(++tries < 500);
    before = fake_probe_reads_of_all(node.probe);
    node_must(tracker_report(node.tracker, JOB, 0, true, &job, &node.error));
    job_account_destroy(job);
    assert_true(fake_probe_reads_of_all(node.probe) > before);
}

/* However many steps end, vanish or are met only after their end, a tick reads once, and drops them
 * once. */
#define MANY 200

static unsigned passes_of(uint32_t n)
{
    unsigned before;
    uint64_t bytes = node_total();

    for (uint32_t step = 0; step < n; step++) {
        uint32_t number = node_begin(step);

        node_write(number, 1, 1);
        if (step % 3 == 0)
            node_lose_cgroup();
        else
            node_put_end(step, node_now(CLOCK_BOOTTIME));
    }
    before = fake_probe_passes(node.probe);
    node_must(tracker_tick(node.tracker, &node.error));
    assert_int_equal(node_total(), bytes + n);
    node_flush();
    for (uint32_t step = 0; step < n; step++)
        assert_false(node_has_step(step));
    return fake_probe_passes(node.probe) - before;
}

static void test_many_ends_cost_one_pass(void **state)
{
    (void)state;
    node_begin(STEP_BATCH);
    assert_int_equal(passes_of(3), 2);
    assert_int_equal(passes_of(MANY), 2);
}

static void end_one(uint32_t step)
{
    node_write(node_begin(step), 1, 10);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, step, 0, &node.error));
    node_flush();
}

/* Who tags a step waits while others are dropped. */
static void test_drops_keep_a_distance(void **state)
{
    (void)state;
    node_stop();
    node.gap = 3600 * S;
    node_start();
    node_begin(STEP_BATCH);
    end_one(0);
    assert_false(node_has_step(0));
    end_one(1);
    end_one(2);
    assert_in_range(tracker_settle(node.tracker), 3000 * S, 3600 * S);
    assert_true(node_has_step(1) && node_has_step(2));
    assert_int_equal(node_total(), 30);
    node_must(tracker_tick(node.tracker, &node.error));
    node_flush();
    assert_false(node_has_step(1) || node_has_step(2));
    assert_int_equal(tracker_settle(node.tracker), 0);
    assert_int_equal(node_total(), 30);
}

/* The kernel's programs, for whose end a drop waits. */
static struct {
    sem_t running, may_end;
    pthread_t loop;
} programs;

static void wait_for_programs(void *arg)
{
    (void)arg;
    if (pthread_equal(programs.loop, pthread_self()))
        fail_msg("the event loop waits");
    (void)sem_post(&programs.running);
    (void)sem_wait(&programs.may_end);
}

/* Steps start, are read and end as always while the counters of another one wait to be dropped. */
static void test_drop_waits_on_a_thread(void **state)
{
    struct job_account *job;

    (void)state;
    programs.loop = pthread_self();
    (void)sem_init(&programs.running, 0, 0);
    (void)sem_init(&programs.may_end, 0, 0);
    node_write(node_begin(0), 1, 10);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_must(writer_flush(node.writer, 5000));
    fake_probe_set_wait(node.probe, wait_for_programs, NULL);
    (void)tracker_settle(node.tracker);
    (void)sem_wait(&programs.running);
    node_write(node_begin(1), 1, 20);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 1, 0, &node.error));
    node_must(tracker_tick(node.tracker, &node.error));
    node_must(tracker_report(node.tracker, JOB, 0, true, &job, &node.error));
    assert_int_equal(node_written(&job->mounts), 30);
    assert_int_equal(job->n_steps, 2);
    job_account_destroy(job);
    assert_true(node_has_step(0) && node_has_step(1));
    (void)sem_post(&programs.may_end);
    (void)sem_post(&programs.may_end);
    node_flush();
    assert_false(node_has_step(0) || node_has_step(1));
    assert_int_equal(node_total(), 30);
}

/* The maps are looked through at the start, and when steps have been dropped and no job is left. */
static void test_maps_are_swept(void **state)
{
    unsigned before = fake_probe_sweeps(node.probe);

    (void)state;
    node_restart();
    assert_int_equal(fake_probe_sweeps(node.probe), ++before);
    node_must(tracker_tick(node.tracker, &node.error));
    node_begin(0);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_flush();
    node_must(tracker_tick(node.tracker, &node.error));
    assert_int_equal(fake_probe_sweeps(node.probe), before);
    for (int i = 0; i < 60; i++)
        node_must(tracker_tick(node.tracker, &node.error));
    assert_int_equal(fake_probe_sweeps(node.probe), ++before);
    node_begin(1);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 1, 0, &node.error));
    node_must(tracker_job_end(node.tracker, JOB, &node.error));
    node_flush();
    for (int i = 0; i < 100; i++)
        node_must(tracker_tick(node.tracker, &node.error));
    assert_int_equal(fake_probe_sweeps(node.probe), ++before);
}

/* How many steps a summary now would list, and how many more it would speak of. */
static void check_listed(size_t listed, uint32_t more)
{
    struct job_account *report;

    node_must(tracker_report(node.tracker, JOB, 0, true, &report, &node.error));
    assert_int_equal(report->n_steps, listed);
    assert_int_equal(report->more_steps, more);
    job_account_destroy(report);
}

/* Other nodes compare their steps with as many, of which each is on this node once. */
static void check_mpi_parts(size_t n)
{
    struct job_account *report;

    node_must(tracker_report(node.tracker, JOB, 0, true, &report, &node.error));
    assert_int_equal(report->mpi_parts.n, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(report->mpi_parts.items[i].counted, 0);
        assert_int_equal(report->mpi_parts.items[i].uncounted, 1);
    }
    job_account_destroy(report);
}

static void test_many_steps_fold(void **state)
{
    struct job_account **jobs;
    struct step_account *folded;
    uint32_t batch = node_begin(STEP_BATCH);

    (void)state;
    for (uint32_t step = 0; step < TRACKER_STEPS_PER_JOB + 20; step++) {
        uint32_t number = node_begin(step);

        node_write(number, 1, 10);
        node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, step, 0, &node.error));
        if (step % 20 == 0)
            node_flush();
    }
    node_flush();
    check_listed(50 + 2, TRACKER_STEPS_PER_JOB - 51); /* with the batch step and the folded ones */
    check_mpi_parts(TRACKER_STEPS_PER_JOB + 1);
    node_restart();
    check_listed(2, TRACKER_STEPS_PER_JOB - 1);
    check_mpi_parts(TRACKER_STEPS_PER_JOB + 1);
    node_write(batch, 1, 1);
    node_begin(5000);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 5000, 0, &node.error));
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &node.error));
    node_must(tracker_job_end(node.tracker, JOB, &node.error));
    node_flush();
    jobs = node_stored();
    assert_int_equal(jobs[0]->n_steps, TRACKER_STEPS_PER_JOB + 1);
    folded = node_step(jobs[0], STEP_FOLDED);
    assert_non_null(folded);
    assert_int_equal(folded->folded, 22);
    assert_int_equal(node_written(&folded->mounts), 210);
    assert_int_equal(node_written(&jobs[0]->mounts), (TRACKER_STEPS_PER_JOB + 20) * 10 + 1);
    store_jobs_free(jobs);
    assert_int_equal(node_total(), (TRACKER_STEPS_PER_JOB + 20) * 10 + 1);
}

/* Folded steps that the queue had no room for are in the sum that the next row writes. */
static void test_stop_with_a_full_queue(void **state)
{
    struct job_account **jobs;

    (void)state;
    node_begin(STEP_BATCH);
    for (uint32_t step = 1; step < TRACKER_STEPS_PER_JOB; step++) {
        node_begin(step);
        node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, step, 0, &node.error));
        if (step % 20 == 0)
            node_flush();
    }
    node_flush();
    node_stop();
    node.capacity = 1;
    node_start();
    for (uint32_t step = 6000; step < 6003; step++) {
        node_write(node_begin(step), 1, 10);
        node_put_end(step, node_now(CLOCK_BOOTTIME));
        node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, step, 0, &node.error));
    }
    node_flush();
    node_must(tracker_tick(node.tracker, &node.error));
    node_stop();
    node.capacity = 0;
    node_start();
    node_flush();
    jobs = node_stored();
    assert_int_equal(node_step(jobs[0], STEP_FOLDED)->folded, 3);
    assert_int_equal(node_written(&jobs[0]->mounts), 30);
    store_jobs_free(jobs);
    assert_int_equal(node_total(), 30);
}

static int count_queued(int64_t id, const struct job_account *job, void *arg)
{
    (void)id;
    ((unsigned *)arg)[job->ended]++;
    ((unsigned *)arg)[2] = job->steps[0].step;
    return 0;
}

/* {of the running job, of the ended job, the last step} */
static void queued(unsigned ret[3])
{
    struct store *reader;
    char path[256];

    node_path(path, "jobio.db");
    node_must(store_open_reader(&reader, path, &node.error));
    ret[0] = ret[1] = 0;
    node_must(store_outbox_read(reader, "history", 0, 100, count_queued, ret, &node.error));
    store_close(reader);
}

/* A final step is queued with its row, a running one is not; the end of the job is queued as
 * well. */
static void test_final_steps_are_queued(void **state)
{
    static const char *const sinks[] = {"history", "peer:m", NULL};
    unsigned n[3];

    (void)state;
    node_stop();
    node.sinks = sinks;
    node_start();
    node_begin(0);
    node_begin(STEP_EXTERN);
    node_must(tracker_tick(node.tracker, &node.error));
    node_flush();
    queued(n);
    assert_int_equal(n[0] + n[1], 0);
    assert_int_equal(node.queued, 0);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_flush();
    queued(n);
    assert_int_equal(n[0], 1);
    assert_int_equal(n[1], 0);
    assert_int_equal(node.queued, 1);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, STEP_EXTERN, 0, &node.error));
    node_must(tracker_job_end(node.tracker, JOB, &node.error));
    node_flush();
    node_must(tracker_tick(node.tracker, &node.error));
    node_flush();
    queued(n);
    assert_int_equal(n[0], 0);
    assert_int_equal(n[1], 2); /* each step once */
    assert_int_equal(n[2], 0); /* again, because the job has ended */
    assert_true(node.queued >= 2);
}

/* A user must not make jobiod read or copy the accounts of others. */
static void test_jobs_of_others_are_not_read(void **state)
{
    uint32_t number = node_begin(0);
    struct job_account **live;
    unsigned passes = fake_probe_passes(node.probe);

    (void)state;
    node_write(number, 1, 100);
    node_must(tracker_jobs(node.tracker, JOB, 1001, &live, &node.error));
    assert_null(live[0]);
    store_jobs_free(live);
    node_must(tracker_task_jobs(node.tracker, 4, 0, 1001, &live, &node.error));
    assert_null(live[0]);
    store_jobs_free(live);
    assert_int_equal(fake_probe_passes(node.probe), passes);
    node_must(tracker_jobs(node.tracker, JOB, 1000, &live, &node.error));
    assert_int_equal(node_written(&live[0]->mounts), 100);
    assert_null(live[1]);
    store_jobs_free(live);
    assert_true(fake_probe_passes(node.probe) > passes);
}

/* Users can invent types of file systems (fuse.NAME). */
static void test_totals_of_many_types(void **state)
{
    CLEANUP(io_mounts_clear) struct io_mounts totals = {0};
    uint64_t reads = 0;

    (void)state;
    for (unsigned i = 0; i < 600; i++) {
        CLEANUP(io_mounts_clear) struct io_mounts step = {0};
        char type[32];

        (void)snprintf(type, sizeof(type), "fuse.%03u", i % 300);
        io_account_op(&io_mounts_get(&step, "/m", type, "s", true)->io, IO_READ)->requests = 1;
        assert_int_equal(totals_add(&totals, &step), 0);
    }
    assert_int_equal(totals.n, IO_PRIVATE_TYPES + 1);
    for (size_t i = 0; i < totals.n; i++)
        reads += totals.items[i].io.ops[IO_READ]->requests;
    assert_int_equal(reads, 600);
    assert_int_equal(totals.items[0].io.ops[IO_READ]->requests, 2);
    assert_string_equal(totals.items[IO_PRIVATE_TYPES].fstype, "(other)");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, node_setup, node_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_vanished_step),
        TEST(test_late_tag_of_a_short_step),
        TEST(test_deserted_step),
        TEST(test_process_returns),
        TEST(test_ends_share_a_reading),
        TEST(test_long_readings_leave_out_others),
        TEST(test_many_ends_cost_one_pass),
        TEST(test_drops_keep_a_distance),
        TEST(test_drop_waits_on_a_thread),
        TEST(test_maps_are_swept),
        TEST(test_many_steps_fold),
        TEST(test_totals_of_many_types),
        TEST(test_stop_with_a_full_queue),
        TEST(test_final_steps_are_queued),
        TEST(test_jobs_of_others_are_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs and steps on a node (tests/unit/node.h): tags, questions, ends. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/records.h"
#include "collector/cgroup/hierarchy.h"
#include "report/top/top.h"
#include "tests/unit/node.h"

static void test_a_job_from_tag_to_store(void **state)
{
    uint32_t extern_number = node_begin(STEP_EXTERN), number = node_begin(STEP_BATCH);
    struct job_account **jobs, *report;
    struct tracker_stats stats;

    (void)state;
    node_put("run/jobs/17", "JOBID=17\nUSER=ann\nACCOUNT=physics\nPARTITION=long\n");
    node_write(number, 10, 1000);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &node.error));
    node_must(tracker_report(node.tracker, JOB, 0, false, &report, &node.error));
    assert_int_equal(node_written(&report->mounts), 10000);
    assert_true(job_is_complete(report));
    assert_string_equal(report->account, "physics");
    job_account_destroy(report);
    node_flush();
    assert_false(node_has_step(STEP_BATCH));
    assert_null(fake_probe_step(node.probe, number));
    node_write(extern_number, 1, 5);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, STEP_EXTERN, 0, &node.error));
    node_must(tracker_job_end(node.tracker, JOB, &node.error));
    assert_int_equal(node.over, 1);
    node_flush();
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.jobs, 0);
    assert_false(node_has("run/jobs/17"));
    assert_int_equal(node_total(), 10005);

    jobs = node_stored();
    assert_non_null(jobs[0]);
    assert_true(jobs[0]->ended);
    assert_string_equal(jobs[0]->user, "ann");
    assert_int_equal(jobs[0]->n_steps, 2);
    assert_int_equal(node_step(jobs[0], STEP_BATCH)->state, STEP_ENDED);
    assert_int_equal(node_written(&node_step(jobs[0], STEP_BATCH)->mounts), 10000);
    assert_int_equal(node_written(&jobs[0]->mounts), 10005);
    store_jobs_free(jobs);
}

static void test_report_counts_what_runs(void **state)
{
    uint32_t batch = node_begin(STEP_BATCH), zero = node_begin(0);
    struct job_account *report, **live;

    (void)state;
    node_write(batch, 1, 100);
    node_write(zero, 1, 20);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &node.error));
    node_must(tracker_report(node.tracker, JOB, 0, false, &report, &node.error));
    assert_int_equal(node_written(&report->mounts), 120);
    job_account_destroy(report);
    node_flush();
    node_write(zero, 1, 3);
    /* However young and dear the last reading was: who asks so wants all that was done until
     * now. */
    node_must(tracker_report(node.tracker, JOB, 0, false, &report, &node.error));
    job_account_destroy(report);
    node_write(zero, 1, 0);
    node_must(tracker_report(node.tracker, JOB, 0, true, &report, &node.error));
    assert_int_equal(node_written(&report->mounts), 123);
    /* The batch step is in the store by now; its sum is listed, and only for the report. */
    assert_int_equal(report->n_steps, 2);
    assert_int_equal(node_written(&node_step(report, STEP_BATCH)->mounts), 100);
    assert_int_equal(node_step(report, STEP_BATCH)->state, STEP_ENDED);
    assert_int_equal(node_written(&node_step(report, 0)->mounts), 23);
    assert_int_equal(node_step(report, 0)->state, STEP_RUNNING);
    job_account_destroy(report);
    node_must(tracker_task_jobs(node.tracker, 4, 1, UINT32_MAX, &live, &node.error));
    assert_null(live[0]);
    store_jobs_free(live);
    node_must(tracker_task_jobs(node.tracker, 4, 0, UINT32_MAX, &live, &node.error));
    assert_non_null(live[0]);
    assert_null(live[1]);
    store_jobs_free(live);
    node_must(tracker_jobs(node.tracker, JOB, UINT32_MAX, &live, &node.error));
    assert_int_equal(live[0]->n_steps, 1);
    assert_int_equal(node_written(&live[0]->mounts), 123);
    assert_null(live[1]);
    store_jobs_free(live);
    assert_int_equal(tracker_report(node.tracker, JOB, 1, false, &report, &node.error), -ENOENT);
}

static uint64_t live_written(const struct top_mount *mounts, size_t n)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < n; i++)
        bytes += mounts[i].sums.write_bytes;
    return bytes;
}

/* The sums of a job only grow, whatever becomes of its steps, and so do the totals. */
static void test_live_sums(void **state)
{
    uint32_t batch = node_begin(STEP_BATCH), zero = node_begin(0);
    unsigned passes;

    (void)state;
    node_write(batch, 1, 100);
    node_write(zero, 1, 20);
    for (int i = 0; i < 3; i++) {
        struct top_reading *r = calloc(1, sizeof(*r));

        if (i == 1)
            node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &node.error));
        if (i == 2) {
            node_flush();
            assert_false(node_has_step(STEP_BATCH));
        }
        node_must(tracker_refresh(node.tracker, 0, &node.error));
        node_must(tracker_top(node.tracker, r, &node.error));
        assert_int_equal(r->n, 1);
        assert_int_equal(r->all[0].number, JOB);
        assert_int_equal(r->all[0].steps, i ? 1 : 2);
        assert_int_equal(live_written(r->all[0].mounts, r->all[0].n), 120);
        assert_int_equal(live_written(r->totals, r->n_totals), 120);
        top_reading_destroy(r);
    }
    /* Who asks for what is young enough gets it. */
    passes = fake_probe_passes(node.probe);
    for (int i = 0; i < 100; i++)
        node_must(tracker_refresh(node.tracker, 3600 * S, &node.error));
    assert_int_equal(fake_probe_passes(node.probe), passes);
}

static void test_cgroups_that_are_not_there(void **state)
{
    struct tag tag = node_tag(0, false);
    struct tracker_stats stats;

    (void)state;
    tag.cgroup_id++;
    assert_int_equal(tracker_tag(node.tracker, &tag, &node.error), -ESTALE);
    node_rmdir("cg/step_0");
    assert_int_equal(tracker_tag(node.tracker, &tag, &node.error), -ENOENT);
    assert_string_equal(node.error.text, "cgroup \"/step_0\": No such file or directory");
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.jobs + stats.steps, 0);
    assert_int_equal(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error), -ENOENT);
}

static void test_tag_is_idempotent(void **state)
{
    struct tag tag = node_tag(0, true);
    struct tracker_stats stats;

    (void)state;
    node_must(tracker_tag(node.tracker, &tag, &node.error));
    node_write(step_number(tag.cgroup_id, 2), 1, 7);
    node_must(tracker_tag(node.tracker, &tag, &node.error));
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.steps, 1);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    assert_int_equal(node_total(), 7);
}

/* The plugin did not wait for an answer, and its END was read before its TAG. */
static void test_tag_after_the_end(void **state)
{
    uint32_t other = node_begin(1), number;
    struct tag tag = node_tag(0, true);
    struct tracker_stats stats;
    struct job_account **jobs;

    (void)state;
    number = step_number(tag.cgroup_id, 2);
    assert_int_not_equal(number, other);
    node_must(tracker_tag(node.tracker, &tag, &node.error));
    node_write(number, 1, 70);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_flush();
    assert_int_equal(node_total(), 70);
    node_must(tracker_tag(node.tracker, &tag, &node.error));
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.steps, 1);
    assert_null(fake_probe_step(node.probe, number));
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_flush();
    jobs = node_stored();
    assert_int_equal(node_written(&node_step(jobs[0], 0)->mounts), 70);
    store_jobs_free(jobs);
    /* The same numbers, tagged anew, are another step. */
    tag.tagged_at_ns = node_now(CLOCK_REALTIME);
    node_must(tracker_tag(node.tracker, &tag, &node.error));
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.steps, 2);
}

/* Who outlives a run. */
static void test_processes_of_a_cgroup(void **state)
{
    (void)state;
    assert_int_equal(hierarchy_processes(node.hierarchy, "/leaf"), 0);
    node_mkdir("cg/leaf");
    node_put("cg/leaf/cgroup.events", "populated 0\nfrozen 0\n");
    node_put("cg/leaf/cgroup.procs", "");
    assert_int_equal(hierarchy_processes(node.hierarchy, "/leaf"), 0);
    node_put("cg/leaf/cgroup.events", "populated 1\nfrozen 0\n");
    assert_int_equal(hierarchy_processes(node.hierarchy, "/leaf"), 1);
    node_put("cg/leaf/cgroup.procs", "12\n13\n");
    assert_int_equal(hierarchy_processes(node.hierarchy, "/leaf"), 2);
}

static void test_late_tag_is_said(void **state)
{
    struct tag late = node_tag(0, false), direct = node_tag(1, false), patient = node_tag(2, false);
    struct job_account *report;

    (void)state;
    late.cgroup = (char *)"/step_0";
    late.tagged_boot_ns -= 4 * S;
    node_must(tracker_tag(node.tracker, &late, &node.error));
    direct.cgroup = (char *)"/step_1";
    direct.tagged_boot_ns -= S;
    node_must(probe_add(node.probe, direct.cgroup_id, 1, 2, NULL, &node.error));
    node_must(tracker_tag(node.tracker, &direct, &node.error));
    patient.cgroup = (char *)"/step_2";
    patient.tagged_boot_ns -= 4 * S;
    patient.within_ms = 6000;
    node_must(tracker_tag(node.tracker, &patient, &node.error));
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 2, 0, &node.error));
    node_must(tracker_report(node.tracker, JOB, 0, false, &report, &node.error));
    assert_false(job_is_complete(report));
    assert_true(node_blames(&node_step(report, 0)->completeness, "began-untracked"));
    assert_false(node_blames(&node_step(report, 1)->completeness, "began-untracked"));
    assert_false(node_blames(&node_step(report, 2)->completeness, "began-untracked"));
    job_account_destroy(report);
}

/* We were slow, but its plugin was about to put it into the map: its file says so a moment
 * later. */
static void test_late_tag_and_direct(void **state)
{
    struct tag tag = node_tag(0, true);
    struct job_account *report;
    char full[256];
    FILE *f;

    (void)state;
    tag.within_ms = 6000;
    tag.tagged_boot_ns -= 7 * S;
    node_must(tracker_tag(node.tracker, &tag, &node.error));
    node_must(tracker_report(node.tracker, JOB, 0, false, &report, &node.error));
    assert_true(job_is_complete(report));
    job_account_destroy(report);
    node_path(full, "run/steps/17.0.4294967294.0");
    f = fopen(full, "a");
    assert_non_null(f);
    fputs("DIRECT=1\n", f);
    fclose(f);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_must(tracker_report(node.tracker, JOB, 0, false, &report, &node.error));
    assert_true(job_is_complete(report));
    job_account_destroy(report);
}

static uint64_t stored_bytes(void)
{
    struct job_account **jobs;
    uint64_t bytes;

    node_must(tracker_tick(node.tracker, &node.error));
    node_flush();
    jobs = node_stored();
    assert_non_null(jobs[0]);
    bytes = node_written(&jobs[0]->mounts);
    store_jobs_free(jobs);
    return bytes;
}

/* Most of what jobiod does is to write them: not at every reading, but for a step that is new. */
static void test_provisional_rows(void **state)
{
    uint32_t zero, one;

    (void)state;
    node_stop();
    node.rows = 3600 * S;
    node_start();
    zero = node_begin(0);
    node_write(zero, 1, 100);
    assert_int_equal(stored_bytes(), 100);
    node_write(zero, 1, 20);
    assert_int_equal(stored_bytes(), 100);
    one = node_begin(1);
    node_write(one, 1, 3);
    assert_int_equal(stored_bytes(), 123);
    node_write(one, 1, 4);
    assert_int_equal(stored_bytes(), 123);
    tracker_make_rows_due(node.tracker);
    assert_int_equal(stored_bytes(), 127);
    node_write(one, 1, 4);
    assert_int_equal(stored_bytes(), 127);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_flush();
    node_write(one, 1, 4);
    assert_int_equal(stored_bytes(), 127);
}

/* The plugin met no jobiod: the step is found by its file, at once or by the next tick. */
static void test_step_files(void **state)
{
    struct tag tag = node_tag(0, true);
    struct tracker_stats stats;
    uint32_t number = step_number(tag.cgroup_id, 2);

    (void)state;
    node_must(probe_add(node.probe, tag.cgroup_id, 1, 2, NULL, &node.error));
    node_write(number, 1, 9);
    node_must(tracker_tick(node.tracker, &node.error));
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.steps, 1);
    node_put_end(0, node_now(CLOCK_BOOTTIME));
    /* An end waits for its END until the next tick. */
    tracker_file(node.tracker, "17.0.4294967294.0");
    tracker_file(node.tracker, "17.0.4294967294.0.end");
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.steps, 1);
    node_must(tracker_tick(node.tracker, &node.error));
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.steps, 0);
    assert_int_equal(stats.untracked, 0);
    assert_int_equal(node_total(), 9);
    node_flush();
    assert_false(node_has_step(0));
    /* It comes after all. */
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    assert_int_equal(tracker_end(node.tracker, JOB, 0, HET_NONE, 1, 0, &node.error), -ENOENT);
}

static void test_bad_step_files(void **state)
{
    struct tracker_stats stats;

    (void)state;
    node_put("run/steps/17.0.4294967294.5", "JOBID=17\nSTEP=5\nUID=x\n");
    node_put("run/steps/17.0.4294967294.6", "no list of anything");
    node_put("run/steps/.17.0.4294967294.7", "JOBID=17\n");
    node_put("run/steps/README", "hello\n");
    node_must(tracker_tick(node.tracker, &node.error));
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.jobs, 0);
    assert_true(node_has("run/steps/17.0.4294967294.5.bad"));
    assert_true(node_has("run/steps/17.0.4294967294.6.bad"));
    assert_true(node_has("run/steps/README"));
}

/* An ended step is in the job's sum, and no longer beside it. */
static void test_peak_of_the_job(void **state)
{
    uint64_t peaks[2];
    uint32_t number;

    (void)state;
    node_stop();
    node.interval = S / 50;
    node_start();
    number = node_begin(0);
    node_write(number, 1, 1000000);
    usleep(30000);
    node_must(tracker_tick(node.tracker, &node.error));
    for (int i = 0; i < 2; i++) {
        struct job_account *report;

        node_must(tracker_report(node.tracker, JOB, 0, false, &report, &node.error));
        peaks[i] = report->mounts.items[0].peaks[IO_WRITE].bytes_per_s;
        job_account_destroy(report);
        node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    }
    /* Their intervals differ if this thread had to wait: the second may be the larger one. */
    assert_in_range(peaks[0], 1, 1000000 / 0.03);
    assert_in_range(peaks[1], 1, 1000000 / 0.03);
}

/* Its epilog is faster than the store: the file of its step is still there. */
static void test_job_end_before_the_store(void **state)
{
    uint32_t number = node_begin(STEP_BATCH);
    struct tracker_stats stats;
    struct job_account **jobs;

    (void)state;
    node_put("run/jobs/17", "JOBID=17\nUSER=ann\nACCOUNT=physics\nPARTITION=long\n");
    node_write(number, 1, 30);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &node.error));
    node_must(tracker_job_end(node.tracker, JOB, &node.error));
    assert_true(node_has_step(STEP_BATCH));
    node_must(tracker_tick(node.tracker, &node.error));
    tracker_file(node.tracker, "17.0.4294967294.4294967291");
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &node.error));
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.jobs, 0);
    node_flush();
    assert_false(node_has_step(STEP_BATCH));
    node_must(tracker_job_end(node.tracker, JOB, &node.error));
    node_flush();
    assert_int_equal(node.over, 1);
    jobs = node_stored();
    assert_int_equal(node_written(&jobs[0]->mounts), 30);
    assert_string_equal(jobs[0]->account, "physics");
    assert_null(jobs[1]);
    store_jobs_free(jobs);
}

/* The same step again in another cgroup, before the row of the first is safe: the end is that of
 * the second, and its file stays. */
static void test_same_step_twice(void **state)
{
    uint32_t first = node_begin(0), second;
    struct tracker_stats stats;
    struct tag tag;

    (void)state;
    node_write(first, 1, 1);
    node_must(tracker_tick(node.tracker, &node.error));
    assert_int_equal(node_rename("cg/step_0", "cg/old"), 0);
    tag = node_tag(0, true);
    second = step_number(tag.cgroup_id, 2);
    assert_int_not_equal(first, second);
    node_must(tracker_tag(node.tracker, &tag, &node.error));
    node_must(tracker_tag(node.tracker, &tag, &node.error));
    node_write(second, 1, 20);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.steps, 0);
    assert_int_equal(stats.unsaved, 2);
    assert_int_equal(node_total(), 21);
    node_flush();
    assert_false(node_has_step(0));
}

static void test_requeue_is_another_job(void **state)
{
    struct tag again;
    struct job_account **jobs;
    uint32_t number = node_begin(STEP_BATCH);

    (void)state;
    node_write(number, 1, 1);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &node.error));
    node_must(tracker_job_end(node.tracker, JOB, &node.error));
    /* The prolog of the next run comes before the last row of this one is safe. */
    node_put("run/jobs/17", "JOBID=17\nUSER=ann\nRESTART=1\n");
    node_flush();
    assert_true(node_has("run/jobs/17"));
    node_must(tracker_job_end(node.tracker, JOB, &node.error)); /* said once more, and late */
    assert_true(node_has("run/jobs/17"));
    node_rmdir("cg/step_4294967291");
    node_mkdir("cg/other");
    again = node_tag(STEP_BATCH, false);
    again.restart = 1;
    node_must(tracker_tag(node.tracker, &again, &node.error));
    node_write(step_number(again.cgroup_id, 2), 1, 2);
    node_must(tracker_end(node.tracker, JOB, 1, HET_NONE, STEP_BATCH, 0, &node.error));
    node_must(tracker_job_end(node.tracker, JOB, &node.error));
    node_flush();
    assert_false(node_has("run/jobs/17"));
    node_must(tracker_job_end(node.tracker, 99, &node.error));
    jobs = node_stored();
    assert_int_equal(jobs[0]->key.restart, 1);
    assert_int_equal(node_written(&jobs[0]->mounts), 2);
    assert_int_equal(jobs[1]->key.restart, 0);
    assert_int_equal(node_written(&jobs[1]->mounts), 1);
    store_jobs_free(jobs);
}

/* The epilog has left word in the job's file for the case that no prolog is called for the next
 * run. */
static void test_file_of_a_job_that_is_over(void **state)
{
    static const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    char path[256];
    uint32_t number = node_begin(STEP_BATCH);

    (void)state;
    node_put("run/jobs/17", "JOBID=17\nUSER=ann\nRESTART=0\nENDED=1\n");
    node_put("run/jobs/18", "JOBID=18\nUSER=ann\nRESTART=0\n");
    node_write(number, 1, 1);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &node.error));
    node_must(tracker_job_end(node.tracker, JOB, &node.error));
    node_flush();
    node_must(tracker_tick(node.tracker, &node.error));
    assert_true(node_has("run/jobs/17"));
    node_path(path, "run/jobs/17");
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    node_path(path, "run/jobs/18");
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    node_restart();
    node_must(tracker_tick(node.tracker, &node.error));
    assert_false(node_has("run/jobs/17"));
    assert_true(node_has("run/jobs/18")); /* it may run */
}

/* A step on some of the job's nodes does not know how many there are: its prolog does. */
static void test_number_of_nodes(void **state)
{
    struct job_account *report;

    (void)state;
    node_put("run/jobs/17", "JOBID=17\nNODE=n\nGATHER=first\nNODELIST=first,n,last\n");
    node_begin(0);
    node_must(tracker_report(node.tracker, JOB, 0, true, &report, &node.error));
    assert_int_equal(report->nodes_expected, 3);
    job_account_destroy(report);
}

/* The prolog of the next run comes, on more nodes, before the last row of this one is safe. */
static void test_nodes_of_the_next_run(void **state)
{
    struct job_account *report;

    (void)state;
    node_put("run/jobs/17", "JOBID=17\nRESTART=0\nNODE=n\nGATHER=n\nNODELIST=n,last\n");
    node_begin(0);
    node_put("run/jobs/17", "JOBID=17\nRESTART=1\nNODE=n\nGATHER=first\nNODELIST=first,n,last\n");
    tracker_describe(node.tracker, JOB, "ann", NULL, NULL);
    node_must(tracker_report(node.tracker, JOB, 0, true, &report, &node.error));
    assert_int_equal(report->nodes_expected, 2);
    assert_null(report->first_node);
    job_account_destroy(report);
}

static void test_progress(void **state)
{
    const struct job_key key = {.jobid = JOB};

    (void)state;
    assert_int_equal(tracker_progress(node.tracker, &key, HET_NONE, 0), TRACKER_UNKNOWN);
    node_begin(0);
    node_begin(1);
    assert_int_equal(tracker_progress(node.tracker, &key, HET_NONE, 0), TRACKER_BUSY);
    assert_int_equal(tracker_progress(node.tracker, &key, HET_NONE, 2), TRACKER_UNKNOWN);
    tracker_task_exit(node.tracker, &key, HET_NONE, 0);
    assert_int_equal(tracker_progress(node.tracker, &key, HET_NONE, 0), TRACKER_DONE);
    assert_int_equal(tracker_progress(node.tracker, &key, HET_NONE, 1), TRACKER_BUSY);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 1, 0, &node.error));
    assert_int_equal(tracker_progress(node.tracker, &key, HET_NONE, 1), TRACKER_DONE);
    /* In the store, and forgotten here. */
    node_flush();
    assert_int_equal(tracker_progress(node.tracker, &key, HET_NONE, 1), TRACKER_DONE);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, node_setup, node_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_job_from_tag_to_store),
        TEST(test_report_counts_what_runs),
        TEST(test_live_sums),
        TEST(test_cgroups_that_are_not_there),
        TEST(test_tag_is_idempotent),
        TEST(test_tag_after_the_end),
        TEST(test_number_of_nodes),
        TEST(test_nodes_of_the_next_run),
        TEST(test_progress),
        TEST(test_processes_of_a_cgroup),
        TEST(test_late_tag_is_said),
        TEST(test_late_tag_and_direct),
        TEST(test_provisional_rows),
        TEST(test_step_files),
        TEST(test_bad_step_files),
        TEST(test_peak_of_the_job),
        TEST(test_job_end_before_the_store),
        TEST(test_same_step_twice),
        TEST(test_requeue_is_another_job),
        TEST(test_file_of_a_job_that_is_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

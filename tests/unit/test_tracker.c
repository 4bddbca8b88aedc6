/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tracker with a real store, writer, sampler and table of mounts. The probe is a fake
 * (fake_probe.h), and the cgroups are plain folders: an id is an inode number there, too.
 */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bpf/records.h"
#include "collector/hierarchy.h"
#include "collector/mounts.h"
#include "collector/sampler.h"
#include "collector/store.h"
#include "collector/tracker.h"
#include "collector/writer.h"
#include "common/job.h"
#include "tests/unit/fake_probe.h"

#define S 1000000000ull
#define EXT4 ((8u << 20) | 1)
#define JOB 17

static char root[64];
static struct probe *probe;
static struct mounts *mounts;
static struct hierarchy *hierarchy;
static struct sampler *sampler;
static struct tracker *tracker;
static struct writer *writer;
static struct error error;
static unsigned over;
static uint64_t interval = 10 * S;
static size_t capacity; /* of the writer's queue; 0: as always */

static void must(int r)
{
    if (r < 0)
        fail_msg("%d: %s", r, error.text);
}

static uint64_t now(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * S + (uint64_t)ts.tv_nsec;
}

static void path(char buf[256], const char *name)
{
    snprintf(buf, 256, "%s/%s", root, name);
}

static void put_file(const char *name, const char *text)
{
    char full[256];
    FILE *f;

    path(full, name);
    f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void make_dir(const char *name)
{
    char full[256];

    path(full, name);
    assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
}

static bool exists(const char *name)
{
    char full[256];

    path(full, name);
    return access(full, F_OK) == 0;
}

static int rename_dir(const char *from, const char *to)
{
    char a[256], b[256];

    path(a, from);
    path(b, to);
    return rename(a, b);
}

static void remove_dir(const char *name)
{
    char full[256];

    path(full, name);
    assert_int_equal(rmdir(full), 0);
}

/* --- a jobiod without its socket --------------------------------------------------------------- */

static void on_over(const struct job_account *job, void *arg)
{
    (void)arg;
    assert_true(job->ended);
    over++;
}

static void start(void)
{
    const struct tracker_hooks hooks = {on_over, NULL, NULL};
    struct tracker_options options = {.cluster = "c", .node = "n", .interval_ns = interval};
    struct store_options store_options = {0};
    struct store *store;
    char full[256], runtime[256];

    path(full, "proc");
    must(mounts_create(&mounts, full, &error));
    path(full, "mountinfo");
    must(hierarchy_create(&hierarchy, full, &error));
    must(sampler_create(&sampler, probe, mounts, interval, &error));
    path(runtime, "run");
    options.runtime_dir = runtime;
    options.probe = probe;
    options.sampler = sampler;
    options.hierarchy = hierarchy;
    must(tracker_create(&tracker, &options, &hooks, &error));
    path(full, "jobio.db");
    store_options.path = full;
    must(store_open(&store, &store_options, &error));
    must(tracker_adopt(tracker, store, &error));
    must(writer_create(&writer, store, capacity, 0, &error));
    tracker_attach(tracker, writer);
}

static void stop(void)
{
    tracker_attach(tracker, NULL);
    writer_destroy(writer);
    tracker_destroy(tracker);
    sampler_destroy(sampler);
    hierarchy_destroy(hierarchy);
    mounts_destroy(mounts);
}

/* As SIGKILL would: what the writer has not done yet may or may not be in the store; here it is
 * not looked at. */
static void restart(void)
{
    stop();
    fake_probe_adopt(probe);
    start();
}

static void flush(void)
{
    must(writer_flush(writer, 5000));
    must(writer_flush(writer, 5000)); /* what the outcomes have asked for */
}

static int setup(void **state)
{
    char text[256], mount[128];

    (void)state;
    snprintf(root, sizeof(root), "/tmp/jobio-test-tracker-XXXXXX");
    assert_non_null(mkdtemp(root));
    make_dir("proc");
    make_dir("proc/1");
    put_file("proc/1/mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    make_dir("run");
    make_dir("cg");
    snprintf(mount, sizeof(mount), "%s/cg", root);
    snprintf(text, sizeof(text), "30 1 0:30 / %s rw - cgroup2 cgroup2 rw\n", mount);
    put_file("mountinfo", text);
    over = 0;
    interval = 10 * S;
    capacity = 0;
    probe = fake_probe_create();
    start();
    return 0;
}

static int remove_entry(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(name);
}

static int teardown(void **state)
{
    (void)state;
    stop();
    probe_destroy(probe);
    return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- steps ------------------------------------------------------------------------------------- */

static char cgroup_name[64];

static struct tag make_tag(uint32_t step, bool file)
{
    struct tag tag = {.jobid = JOB, .het = HET_NONE, .step = step, .uid = 1000, .nodes = 1};
    char full[256], text[512], name[TAG_FILE_SIZE], where[128];
    struct stat st;

    snprintf(cgroup_name, sizeof(cgroup_name), "/step_%u", step);
    snprintf(where, sizeof(where), "cg%s", cgroup_name);
    make_dir(where);
    path(full, where);
    assert_int_equal(stat(full, &st), 0);
    tag.cgroup = cgroup_name;
    tag.cgroup_id = st.st_ino;
    tag.level = 1;
    tag.version = 2;
    tag.tagged_at_ns = now(CLOCK_REALTIME);
    tag.tagged_boot_ns = now(CLOCK_BOOTTIME);
    if (!file)
        return tag;
    snprintf(text, sizeof(text),
             "JOBID=%u\nRESTART=0\nHET=%u\nSTEP=%u\nUID=1000\nCGROUP=%s\nCGROUP_ID=%" PRIu64
             "\nCGROUP_LEVEL=1\nCGROUP_VERSION=2\nTAGGED_AT=%" PRIu64 "\nTAGGED_BOOT=%" PRIu64
             "\nNODES=1\nNODE=n\nNAME=job name\nSUMMARY=short\n",
             JOB, HET_NONE, step, cgroup_name, tag.cgroup_id, tag.tagged_at_ns,
             tag.tagged_boot_ns);
    snprintf(where, sizeof(where), "run/steps/%s",
             tag_file_name(name, JOB, 0, HET_NONE, step));
    put_file(where, text);
    return tag;
}

static void put_end_file(uint32_t step, uint64_t boot_ns)
{
    char where[128], name[TAG_FILE_SIZE], text[128];

    snprintf(where, sizeof(where), "run/steps/%s.end",
             tag_file_name(name, JOB, 0, HET_NONE, step));
    snprintf(text, sizeof(text), "ENDED_AT=%" PRIu64 "\nENDED_BOOT=%" PRIu64 "\n",
             now(CLOCK_REALTIME), boot_ns);
    put_file(where, text);
}

static bool has_step_file(uint32_t step)
{
    char where[128], name[TAG_FILE_SIZE];

    snprintf(where, sizeof(where), "run/steps/%s", tag_file_name(name, JOB, 0, HET_NONE, step));
    return exists(where);
}

static uint32_t begin(uint32_t step)
{
    struct tag tag = make_tag(step, true);

    must(tracker_tag(tracker, &tag, &error));
    return step_number(tag.cgroup_id, 2);
}

static void write_bytes(uint32_t number, uint64_t requests, uint64_t bytes)
{
    fake_probe_count(probe, number, EXT4, IO_WRITE, requests, bytes);
    fake_probe_sight(probe, number, EXT4, "ext4");
}

static struct job_account **stored(void)
{
    struct job_account **jobs;
    struct store *reader;
    char full[256];

    path(full, "jobio.db");
    must(store_open_reader(&reader, full, &error));
    must(store_jobs(reader, "c", JOB, true, UINT32_MAX, &jobs, &error));
    store_close(reader);
    return jobs;
}

static uint64_t written(const struct io_mounts *m)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < m->n; i++)
        bytes += io_account_writes(&m->items[i].io).bytes;
    return bytes;
}

static uint64_t total(void)
{
    struct io_mounts totals = {0};
    uint64_t bytes;

    assert_int_equal(tracker_totals(tracker, &totals), 0);
    bytes = written(&totals);
    io_mounts_clear(&totals);
    return bytes;
}

static struct step_account *step_of(struct job_account *job, uint32_t step)
{
    for (size_t i = 0; i < job->n_steps; i++)
        if (job->steps[i].step == step)
            return &job->steps[i];
    return NULL;
}

static bool blamed(const struct completeness *c, const char *cause)
{
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->items[i].cause, cause))
            return true;
    return false;
}

/* --- tests ------------------------------------------------------------------------------------- */

static void test_a_job_from_tag_to_store(void **state)
{
    uint32_t extern_number = begin(STEP_EXTERN), number = begin(STEP_BATCH);
    struct job_account **jobs, *report;
    struct tracker_stats stats;

    (void)state;
    put_file("run/jobs/17", "JOBID=17\nUSER=ann\nACCOUNT=physics\nPARTITION=long\n");
    write_bytes(number, 10, 1000);
    must(tracker_end(tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &error));
    must(tracker_report(tracker, JOB, 0, &report, &error));
    assert_int_equal(written(&report->mounts), 10000);
    assert_true(job_is_complete(report));
    assert_string_equal(report->account, "physics");
    job_account_destroy(report);
    flush();
    assert_false(has_step_file(STEP_BATCH));
    assert_null(fake_probe_step(probe, number));
    write_bytes(extern_number, 1, 5);
    must(tracker_end(tracker, JOB, 0, HET_NONE, STEP_EXTERN, 0, &error));
    must(tracker_job_end(tracker, JOB, &error));
    assert_int_equal(over, 1);
    flush();
    tracker_stats(tracker, &stats);
    assert_int_equal(stats.jobs, 0);
    assert_false(exists("run/jobs/17"));
    assert_int_equal(total(), 10005);

    jobs = stored();
    assert_non_null(jobs[0]);
    assert_true(jobs[0]->ended);
    assert_string_equal(jobs[0]->user, "ann");
    assert_int_equal(jobs[0]->n_steps, 2);
    assert_int_equal(step_of(jobs[0], STEP_BATCH)->state, STEP_ENDED);
    assert_int_equal(written(&step_of(jobs[0], STEP_BATCH)->mounts), 10000);
    assert_int_equal(written(&jobs[0]->mounts), 10005);
    store_jobs_free(jobs);
}

static void test_report_counts_what_runs(void **state)
{
    uint32_t batch = begin(STEP_BATCH), zero = begin(0);
    struct job_account *report, **live;

    (void)state;
    write_bytes(batch, 1, 100);
    write_bytes(zero, 1, 20);
    must(tracker_end(tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &error));
    must(tracker_report(tracker, JOB, 0, &report, &error));
    assert_int_equal(written(&report->mounts), 120);
    job_account_destroy(report);
    flush();
    write_bytes(zero, 1, 3);
    must(tracker_report(tracker, JOB, 0, &report, &error));
    assert_int_equal(written(&report->mounts), 123);
    /* The batch step is in the store by now; its sum is listed, and only for the report. */
    assert_int_equal(report->n_steps, 2);
    assert_int_equal(written(&step_of(report, STEP_BATCH)->mounts), 100);
    assert_int_equal(step_of(report, STEP_BATCH)->state, STEP_ENDED);
    assert_int_equal(written(&step_of(report, 0)->mounts), 23);
    assert_int_equal(step_of(report, 0)->state, STEP_RUNNING);
    job_account_destroy(report);
    must(tracker_jobs(tracker, JOB, &live, &error));
    assert_int_equal(live[0]->n_steps, 1);
    assert_int_equal(written(&live[0]->mounts), 123);
    assert_null(live[1]);
    store_jobs_free(live);
    assert_int_equal(tracker_report(tracker, JOB, 1, &report, &error), -ENOENT);
}

static void test_cgroups_that_are_not_there(void **state)
{
    struct tag tag = make_tag(0, false);
    struct tracker_stats stats;

    (void)state;
    tag.cgroup_id++;
    assert_int_equal(tracker_tag(tracker, &tag, &error), -ESTALE);
    remove_dir("cg/step_0");
    assert_int_equal(tracker_tag(tracker, &tag, &error), -ENOENT);
    assert_string_equal(error.text, "cgroup \"/step_0\": No such file or directory");
    tracker_stats(tracker, &stats);
    assert_int_equal(stats.jobs + stats.steps, 0);
    assert_int_equal(tracker_end(tracker, JOB, 0, HET_NONE, 0, 0, &error), -ENOENT);
}

static void test_tag_is_idempotent(void **state)
{
    struct tag tag = make_tag(0, true);
    struct tracker_stats stats;

    (void)state;
    must(tracker_tag(tracker, &tag, &error));
    write_bytes(step_number(tag.cgroup_id, 2), 1, 7);
    must(tracker_tag(tracker, &tag, &error));
    tracker_stats(tracker, &stats);
    assert_int_equal(stats.steps, 1);
    must(tracker_end(tracker, JOB, 0, HET_NONE, 0, 0, &error));
    assert_int_equal(total(), 7);
}

/* The plugin did not wait for an answer, and its END was read before its TAG. */
static void test_tag_after_the_end(void **state)
{
    uint32_t other = begin(1), number;
    struct tag tag = make_tag(0, true);
    struct tracker_stats stats;
    struct job_account **jobs;

    (void)state;
    number = step_number(tag.cgroup_id, 2);
    assert_int_not_equal(number, other);
    must(tracker_tag(tracker, &tag, &error));
    write_bytes(number, 1, 70);
    must(tracker_end(tracker, JOB, 0, HET_NONE, 0, 0, &error));
    flush();
    assert_int_equal(total(), 70);
    must(tracker_tag(tracker, &tag, &error));
    tracker_stats(tracker, &stats);
    assert_int_equal(stats.steps, 1);
    assert_null(fake_probe_step(probe, number));
    must(tracker_end(tracker, JOB, 0, HET_NONE, 0, 0, &error));
    flush();
    jobs = stored();
    assert_int_equal(written(&step_of(jobs[0], 0)->mounts), 70);
    store_jobs_free(jobs);
    /* The same numbers, tagged anew, are another step. */
    tag.tagged_at_ns = now(CLOCK_REALTIME);
    must(tracker_tag(tracker, &tag, &error));
    tracker_stats(tracker, &stats);
    assert_int_equal(stats.steps, 2);
}

static void test_vanished_step(void **state)
{
    uint32_t number = begin(0);
    struct job_account **jobs;

    (void)state;
    write_bytes(number, 2, 50);
    remove_dir("cg/step_0");
    must(tracker_tick(tracker, &error));
    flush();
    jobs = stored();
    assert_int_equal(jobs[0]->steps[0].state, STEP_VANISHED);
    assert_true(blamed(&jobs[0]->steps[0].completeness, "step-vanished"));
    assert_int_equal(written(&jobs[0]->mounts), 100);
    store_jobs_free(jobs);
    assert_false(has_step_file(0));
}

static void test_deserted_step(void **state)
{
    struct tracker_stats stats;

    (void)state;
    make_dir("cg/job");
    put_file("cg/job/cgroup.events", "populated 0\nfrozen 0\n");
    begin(0);
    must(tracker_end(tracker, JOB, 0, HET_NONE, 0, 0, &error));
    /* The parent of /job/user is /job: nobody is left in it, twice. */
    {
        struct tag tag = make_tag(1, false);
        struct stat st;
        char full[256];

        make_dir("cg/job/user");
        path(full, "cg/job/user");
        assert_int_equal(stat(full, &st), 0);
        tag.cgroup = (char *)"/job/user";
        tag.cgroup_id = st.st_ino;
        must(tracker_tag(tracker, &tag, &error));
    }
    must(tracker_tick(tracker, &error));
    tracker_stats(tracker, &stats);
    assert_int_equal(stats.steps, 1);
    must(tracker_tick(tracker, &error));
    tracker_stats(tracker, &stats);
    assert_int_equal(stats.steps, 0);
    assert_int_equal(stats.vanished, 1);
}

/* Who outlives a run. */
static void test_processes_of_a_cgroup(void **state)
{
    (void)state;
    assert_int_equal(hierarchy_processes(hierarchy, "/leaf"), 0);
    make_dir("cg/leaf");
    put_file("cg/leaf/cgroup.events", "populated 0\nfrozen 0\n");
    put_file("cg/leaf/cgroup.procs", "");
    assert_int_equal(hierarchy_processes(hierarchy, "/leaf"), 0);
    put_file("cg/leaf/cgroup.events", "populated 1\nfrozen 0\n");
    assert_int_equal(hierarchy_processes(hierarchy, "/leaf"), 1);
    put_file("cg/leaf/cgroup.procs", "12\n13\n");
    assert_int_equal(hierarchy_processes(hierarchy, "/leaf"), 2);
}

static void test_restart_goes_on(void **state)
{
    uint32_t batch = begin(STEP_BATCH), zero = begin(0), one = begin(1);
    struct job_account *report, **jobs;

    (void)state;
    write_bytes(batch, 1, 1);
    write_bytes(zero, 1, 20);
    write_bytes(one, 1, 300);
    must(tracker_end(tracker, JOB, 0, HET_NONE, 0, 0, &error));
    must(tracker_tick(tracker, &error));
    restart();
    /* One went on, and one ended, while nobody looked. */
    write_bytes(batch, 1, 4000);
    must(tracker_report(tracker, JOB, 0, &report, &error));
    assert_int_equal(written(&report->mounts), 4321);
    assert_true(job_is_complete(report));
    job_account_destroy(report);
    stop();
    write_bytes(one, 1, 50000);
    put_end_file(1, now(CLOCK_BOOTTIME) + 5 * S);
    fake_probe_adopt(probe);
    start();
    flush();
    must(tracker_end(tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &error));
    must(tracker_job_end(tracker, JOB, &error));
    flush();
    jobs = stored();
    assert_true(jobs[0]->ended);
    assert_null(jobs[1]);
    assert_int_equal(jobs[0]->n_steps, 3);
    assert_int_equal(written(&jobs[0]->mounts), 54321);
    assert_int_equal(step_of(jobs[0], 1)->state, STEP_ENDED);
    assert_in_range(step_of(jobs[0], 1)->elapsed_ns, 5 * S, 6 * S);
    assert_true(job_is_complete(jobs[0]));
    store_jobs_free(jobs);
    assert_int_equal(total(), 54321);
}

/* What the job says of events that no program saw. */
static uint64_t missed_of(void)
{
    struct job_account *report;
    uint64_t count = 0;

    must(tracker_report(tracker, JOB, 0, &report, &error));
    for (size_t i = 0; i < report->completeness.n; i++)
        if (!strcmp(report->completeness.items[i].cause, "recursion-missed"))
            count += report->completeness.items[i].count;
    job_account_destroy(report);
    return count;
}

static void test_missed_while_nobody_read(void **state)
{
    (void)state;
    fake_probe_hook(probe, 1)->missed = 1; /* before the step: none of its business */
    restart();
    begin(0);
    assert_int_equal(missed_of(), 0);
    fake_probe_hook(probe, 1)->missed += 2;
    must(tracker_tick(tracker, &error));
    flush();
    assert_int_equal(missed_of(), 2);
    stop();
    fake_probe_hook(probe, 1)->missed += 30;
    start();
    assert_int_equal(missed_of(), 32);
    must(tracker_tick(tracker, &error));
    flush();
    restart();
    assert_int_equal(missed_of(), 32);
    /* Killed before the first reading. */
    fake_probe_hook(probe, 0)->missed += 400;
    restart();
    restart();
    assert_int_equal(missed_of(), 432);
    /* A step that begins now missed nothing of that. */
    must(tracker_end(tracker, JOB, 0, HET_NONE, 0, 0, &error));
    begin(1);
    assert_int_equal(missed_of(), 432);
}

/* Killed between the commit of a final row and the removal of what it came from. */
static void test_kill_after_commit(void **state)
{
    uint32_t zero = begin(0);
    struct tag tag = make_tag(0, false);
    char full[256], saved[8192] = "";
    FILE *f;

    (void)state;
    path(full, "run/steps/17.0.4294967294.0");
    f = fopen(full, "r");
    assert_non_null(f);
    assert_true(fread(saved, 1, sizeof(saved) - 1, f) > 0);
    fclose(f);
    begin(1);
    write_bytes(zero, 1, 600);
    must(tracker_end(tracker, JOB, 0, HET_NONE, 0, 0, &error));
    flush();
    assert_int_equal(total(), 600);
    stop();
    put_file("run/steps/17.0.4294967294.0", saved);
    put_end_file(0, now(CLOCK_BOOTTIME));
    must(probe_add(probe, tag.cgroup_id, 1, 2, NULL, &error));
    write_bytes(zero, 1, 600);
    start();
    flush();
    assert_int_equal(total(), 600);
    assert_false(has_step_file(0));
    assert_null(fake_probe_step(probe, zero));
}

static void test_reboot(void **state)
{
    uint32_t number = begin(STEP_BATCH);
    struct store_options options = {0};
    struct job_account **jobs;
    struct store *store;
    char full[256];

    (void)state;
    write_bytes(number, 1, 70);
    must(tracker_tick(tracker, &error));
    stop();
    fake_probe_reset(probe);
    path(full, "run/steps/17.0.4294967294.4294967291");
    assert_int_equal(unlink(full), 0);
    path(full, "jobio.db");
    options.path = full;
    must(store_open(&store, &options, &error));
    must(store_put_state(store, "boot-id", "another boot", &error));
    store_close(store);
    start();
    flush();
    assert_int_equal(over, 1);
    jobs = stored();
    assert_true(jobs[0]->ended);
    assert_int_equal(jobs[0]->steps[0].state, STEP_VANISHED);
    assert_true(blamed(&jobs[0]->completeness, "node-restarted"));
    assert_int_equal(written(&jobs[0]->mounts), 70);
    store_jobs_free(jobs);
    assert_int_equal(total(), 70);
}

static void test_late_tag_is_said(void **state)
{
    struct tag late = make_tag(0, false), direct = make_tag(1, false);
    struct job_account *report;

    (void)state;
    late.cgroup = (char *)"/step_0";
    late.tagged_boot_ns -= 4 * S;
    must(tracker_tag(tracker, &late, &error));
    direct.cgroup = (char *)"/step_1";
    direct.tagged_boot_ns -= S;
    must(probe_add(probe, direct.cgroup_id, 1, 2, NULL, &error));
    must(tracker_tag(tracker, &direct, &error));
    must(tracker_report(tracker, JOB, 0, &report, &error));
    assert_false(job_is_complete(report));
    assert_true(blamed(&step_of(report, 0)->completeness, "began-untracked"));
    assert_false(blamed(&step_of(report, 1)->completeness, "began-untracked"));
    job_account_destroy(report);
}

/* We were slow, but its plugin was about to put it into the map: its file says so a moment later. */
static void test_late_tag_and_direct(void **state)
{
    struct tag tag = make_tag(0, true);
    struct job_account *report;
    char full[256];
    FILE *f;

    (void)state;
    tag.tagged_boot_ns -= S;
    must(tracker_tag(tracker, &tag, &error));
    must(tracker_report(tracker, JOB, 0, &report, &error));
    assert_true(job_is_complete(report));
    job_account_destroy(report);
    path(full, "run/steps/17.0.4294967294.0");
    f = fopen(full, "a");
    assert_non_null(f);
    fputs("DIRECT=1\n", f);
    fclose(f);
    must(tracker_end(tracker, JOB, 0, HET_NONE, 0, 0, &error));
    must(tracker_report(tracker, JOB, 0, &report, &error));
    assert_true(job_is_complete(report));
    job_account_destroy(report);
}

/* The plugin met no jobiod: the step is found by its file, at once or by the next tick. */
static void test_step_files(void **state)
{
    struct tag tag = make_tag(0, true);
    struct tracker_stats stats;
    uint32_t number = step_number(tag.cgroup_id, 2);

    (void)state;
    must(probe_add(probe, tag.cgroup_id, 1, 2, NULL, &error));
    write_bytes(number, 1, 9);
    must(tracker_tick(tracker, &error));
    tracker_stats(tracker, &stats);
    assert_int_equal(stats.steps, 1);
    put_end_file(0, now(CLOCK_BOOTTIME));
    /* An end waits for its END until the next tick. */
    tracker_file(tracker, "17.0.4294967294.0");
    tracker_file(tracker, "17.0.4294967294.0.end");
    tracker_stats(tracker, &stats);
    assert_int_equal(stats.steps, 1);
    must(tracker_tick(tracker, &error));
    tracker_stats(tracker, &stats);
    assert_int_equal(stats.steps, 0);
    assert_int_equal(stats.untracked, 0);
    assert_int_equal(total(), 9);
    flush();
    assert_false(has_step_file(0));
    /* It comes after all. */
    must(tracker_end(tracker, JOB, 0, HET_NONE, 0, 0, &error));
    assert_int_equal(tracker_end(tracker, JOB, 0, HET_NONE, 1, 0, &error), -ENOENT);
}

/* An ended step is in the job's sum, and no longer beside it. */
static void test_peak_of_the_job(void **state)
{
    uint64_t peaks[2];
    uint32_t number;

    (void)state;
    stop();
    interval = S / 50;
    start();
    number = begin(0);
    write_bytes(number, 1, 1000000);
    usleep(30000);
    must(tracker_tick(tracker, &error));
    for (int i = 0; i < 2; i++) {
        struct job_account *report;

        must(tracker_report(tracker, JOB, 0, &report, &error));
        peaks[i] = report->mounts.items[0].peaks[IO_WRITE].bytes_per_s;
        job_account_destroy(report);
        must(tracker_end(tracker, JOB, 0, HET_NONE, 0, 0, &error));
    }
    assert_in_range(peaks[0], 1, 1000000 / 0.03);
    assert_in_range(peaks[1], 1, peaks[0]);
}

static void test_bad_step_files(void **state)
{
    struct tracker_stats stats;

    (void)state;
    put_file("run/steps/17.0.4294967294.5", "JOBID=17\nSTEP=5\nUID=x\n");
    put_file("run/steps/17.0.4294967294.6", "no list of anything");
    put_file("run/steps/.17.0.4294967294.7", "JOBID=17\n");
    put_file("run/steps/README", "hello\n");
    must(tracker_tick(tracker, &error));
    tracker_stats(tracker, &stats);
    assert_int_equal(stats.jobs, 0);
    assert_true(exists("run/steps/17.0.4294967294.5.bad"));
    assert_true(exists("run/steps/17.0.4294967294.6.bad"));
    assert_true(exists("run/steps/README"));
}

static void test_many_steps_fold(void **state)
{
    struct job_account **jobs;
    struct step_account *folded;
    uint32_t batch = begin(STEP_BATCH);

    (void)state;
    for (uint32_t step = 0; step < TRACKER_STEPS_PER_JOB + 20; step++) {
        uint32_t number = begin(step);

        write_bytes(number, 1, 10);
        must(tracker_end(tracker, JOB, 0, HET_NONE, step, 0, &error));
        if (step % 20 == 0)
            flush();
    }
    flush();
    restart();
    write_bytes(batch, 1, 1);
    begin(5000);
    must(tracker_end(tracker, JOB, 0, HET_NONE, 5000, 0, &error));
    must(tracker_end(tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &error));
    must(tracker_job_end(tracker, JOB, &error));
    flush();
    jobs = stored();
    assert_int_equal(jobs[0]->n_steps, TRACKER_STEPS_PER_JOB + 1);
    folded = step_of(jobs[0], STEP_FOLDED);
    assert_non_null(folded);
    assert_int_equal(folded->folded, 22);
    assert_int_equal(written(&folded->mounts), 210);
    assert_int_equal(written(&jobs[0]->mounts), (TRACKER_STEPS_PER_JOB + 20) * 10 + 1);
    store_jobs_free(jobs);
    assert_int_equal(total(), (TRACKER_STEPS_PER_JOB + 20) * 10 + 1);
}

/* Killed between the commit of the sum that a step was folded into and the removal of its file. */
static void test_kill_after_folding(void **state)
{
    struct store_options options = {0};
    struct store *store;
    struct tag tag;
    char full[256], key[128];

    (void)state;
    begin(STEP_BATCH);
    must(tracker_tick(tracker, &error));
    stop();
    tag = make_tag(5000, true);
    put_end_file(5000, now(CLOCK_BOOTTIME));
    must(probe_add(probe, tag.cgroup_id, 1, 2, NULL, &error));
    write_bytes(step_number(tag.cgroup_id, 2), 1, 600);
    path(full, "jobio.db");
    options.path = full;
    must(store_open(&store, &options, &error));
    snprintf(key, sizeof(key), "folded/17.0.%u.5000.%" PRIu64, HET_NONE, tag.tagged_at_ns);
    must(store_put_state(store, key, "1", &error));
    store_close(store);
    start();
    flush();
    assert_int_equal(total(), 0);
    assert_false(has_step_file(5000));
    assert_true(has_step_file(STEP_BATCH));
    assert_null(fake_probe_step(probe, step_number(tag.cgroup_id, 2)));
}

/* Folded steps that the queue had no room for are in the sum that the next row writes. */
static void test_stop_with_a_full_queue(void **state)
{
    struct job_account **jobs;

    (void)state;
    begin(STEP_BATCH);
    for (uint32_t step = 1; step < TRACKER_STEPS_PER_JOB; step++) {
        begin(step);
        must(tracker_end(tracker, JOB, 0, HET_NONE, step, 0, &error));
        if (step % 20 == 0)
            flush();
    }
    flush();
    stop();
    capacity = 1;
    start();
    for (uint32_t step = 6000; step < 6003; step++) {
        write_bytes(begin(step), 1, 10);
        put_end_file(step, now(CLOCK_BOOTTIME));
        must(tracker_end(tracker, JOB, 0, HET_NONE, step, 0, &error));
    }
    flush();
    must(tracker_tick(tracker, &error));
    stop();
    capacity = 0;
    start();
    flush();
    jobs = stored();
    assert_int_equal(step_of(jobs[0], STEP_FOLDED)->folded, 3);
    assert_int_equal(written(&jobs[0]->mounts), 30);
    store_jobs_free(jobs);
    assert_int_equal(total(), 30);
}

/* Steps that end at the same moment share one pass over the maps, and none loses what it did. */
static void test_ends_share_a_reading(void **state)
{
    uint32_t a = begin(0), b = begin(1), c;
    uint64_t ended;

    (void)state;
    write_bytes(a, 1, 1);
    write_bytes(b, 1, 20);
    ended = now(CLOCK_BOOTTIME);
    must(tracker_end(tracker, JOB, 0, HET_NONE, 0, ended, &error));
    /* After its end: cannot be, and shows that nobody looks again. */
    write_bytes(b, 1, 100000);
    must(tracker_end(tracker, JOB, 0, HET_NONE, 1, ended, &error));
    assert_int_equal(total(), 21);
    /* One that began later than that pass has one of its own. */
    c = begin(2);
    write_bytes(c, 1, 300);
    must(tracker_end(tracker, JOB, 0, HET_NONE, 2, now(CLOCK_BOOTTIME), &error));
    assert_int_equal(total(), 321);
}

/* Its epilog is faster than the store: the file of its step is still there. */
static void test_job_end_before_the_store(void **state)
{
    uint32_t number = begin(STEP_BATCH);
    struct tracker_stats stats;
    struct job_account **jobs;

    (void)state;
    put_file("run/jobs/17", "JOBID=17\nUSER=ann\nACCOUNT=physics\nPARTITION=long\n");
    write_bytes(number, 1, 30);
    must(tracker_end(tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &error));
    must(tracker_job_end(tracker, JOB, &error));
    assert_true(has_step_file(STEP_BATCH));
    must(tracker_tick(tracker, &error));
    tracker_file(tracker, "17.0.4294967294.4294967291");
    must(tracker_end(tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &error));
    tracker_stats(tracker, &stats);
    assert_int_equal(stats.jobs, 0);
    flush();
    assert_false(has_step_file(STEP_BATCH));
    must(tracker_job_end(tracker, JOB, &error));
    flush();
    assert_int_equal(over, 1);
    jobs = stored();
    assert_int_equal(written(&jobs[0]->mounts), 30);
    assert_string_equal(jobs[0]->account, "physics");
    assert_null(jobs[1]);
    store_jobs_free(jobs);
}

/* The same step again in another cgroup, before the row of the first is safe: the end is that of the
 * second, and its file stays. */
static void test_same_step_twice(void **state)
{
    uint32_t first = begin(0), second;
    struct tracker_stats stats;
    struct tag tag;

    (void)state;
    write_bytes(first, 1, 1);
    must(tracker_tick(tracker, &error));
    assert_int_equal(rename_dir("cg/step_0", "cg/old"), 0);
    tag = make_tag(0, true);
    second = step_number(tag.cgroup_id, 2);
    assert_int_not_equal(first, second);
    must(tracker_tag(tracker, &tag, &error));
    must(tracker_tag(tracker, &tag, &error));
    write_bytes(second, 1, 20);
    must(tracker_end(tracker, JOB, 0, HET_NONE, 0, 0, &error));
    tracker_stats(tracker, &stats);
    assert_int_equal(stats.steps, 0);
    assert_int_equal(stats.unsaved, 2);
    assert_int_equal(total(), 21);
    flush();
    assert_false(has_step_file(0));
}

static void test_requeue_is_another_job(void **state)
{
    struct tag again;
    struct job_account **jobs;
    uint32_t number = begin(STEP_BATCH);

    (void)state;
    write_bytes(number, 1, 1);
    must(tracker_end(tracker, JOB, 0, HET_NONE, STEP_BATCH, 0, &error));
    must(tracker_job_end(tracker, JOB, &error));
    /* The prolog of the next run comes before the last row of this one is safe. */
    put_file("run/jobs/17", "JOBID=17\nUSER=ann\nRESTART=1\n");
    flush();
    assert_true(exists("run/jobs/17"));
    must(tracker_job_end(tracker, JOB, &error)); /* said once more, and late */
    assert_true(exists("run/jobs/17"));
    remove_dir("cg/step_4294967291");
    make_dir("cg/other");
    again = make_tag(STEP_BATCH, false);
    again.restart = 1;
    must(tracker_tag(tracker, &again, &error));
    write_bytes(step_number(again.cgroup_id, 2), 1, 2);
    must(tracker_end(tracker, JOB, 1, HET_NONE, STEP_BATCH, 0, &error));
    must(tracker_job_end(tracker, JOB, &error));
    flush();
    assert_false(exists("run/jobs/17"));
    must(tracker_job_end(tracker, 99, &error));
    jobs = stored();
    assert_int_equal(jobs[0]->key.restart, 1);
    assert_int_equal(written(&jobs[0]->mounts), 2);
    assert_int_equal(jobs[1]->key.restart, 0);
    assert_int_equal(written(&jobs[1]->mounts), 1);
    store_jobs_free(jobs);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_job_from_tag_to_store),
        TEST(test_report_counts_what_runs),
        TEST(test_cgroups_that_are_not_there),
        TEST(test_tag_is_idempotent),
        TEST(test_tag_after_the_end),
        TEST(test_vanished_step),
        TEST(test_deserted_step),
        TEST(test_processes_of_a_cgroup),
        TEST(test_restart_goes_on),
        TEST(test_missed_while_nobody_read),
        TEST(test_kill_after_commit),
        TEST(test_reboot),
        TEST(test_late_tag_is_said),
        TEST(test_late_tag_and_direct),
        TEST(test_step_files),
        TEST(test_peak_of_the_job),
        TEST(test_bad_step_files),
        TEST(test_many_steps_fold),
        TEST(test_kill_after_folding),
        TEST(test_stop_with_a_full_queue),
        TEST(test_ends_share_a_reading),
        TEST(test_job_end_before_the_store),
        TEST(test_same_step_twice),
        TEST(test_requeue_is_another_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

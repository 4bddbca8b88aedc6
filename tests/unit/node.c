/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "tests/unit/node.h"

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/records.h"
#include "tests/unit/test.h"

struct node node;

void node_must(int r)
{
    if (r < 0)
        fail_msg("%d: %s", r, node.error.text);
}

uint64_t node_now(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * S + (uint64_t)ts.tv_nsec;
}

void node_path(char buf[256], const char *name)
{
    snprintf(buf, 256, "%s/%s", node.root, name);
}

void node_put(const char *name, const char *text)
{
    char full[256];
    FILE *f;

    node_path(full, name);
    f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

void node_mkdir(const char *name)
{
    char full[256];

    node_path(full, name);
    assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
}

bool node_has(const char *name)
{
    char full[256];

    node_path(full, name);
    return access(full, F_OK) == 0;
}

int node_rename(const char *from, const char *to)
{
    char a[256], b[256];

    node_path(a, from);
    node_path(b, to);
    return rename(a, b);
}

void node_rmdir(const char *name)
{
    char full[256];

    node_path(full, name);
    assert_int_equal(rmdir(full), 0);
}

/* --- a jobiod without its socket -------------------------------------------------------------- */

static void on_over(const struct job_account *job, void *arg)
{
    (void)arg;
    assert_true(job->ended);
    node.over++;
}

static void on_queued(void *arg)
{
    (void)arg;
    node.queued++;
}

/* The parts that node_stop() ends, besides the writer. */
static void destroy_parts(void)
{
    tracker_destroy(node.tracker);
    sampler_destroy(node.sampler);
    hierarchy_destroy(node.hierarchy);
    mounts_destroy(node.mounts);
    node.tracker = NULL;
    node.sampler = NULL;
    node.hierarchy = NULL;
    node.mounts = NULL;
}

int node_try_start(void)
{
    const struct tracker_hooks hooks = {.job_over = on_over, .queued = on_queued};
    struct tracker_options options = {
        .cluster = "c",
        .node = "n",
        .interval_ns = node.interval,
        .rows_ns = node.rows,
        .drop_gap_ns = node.gap,
        .sinks = node.sinks,
        .peers = node.peers,
        .state_dir = node.root,
        .trace_directory = {.max_bytes = 1 << 20, .keep_ns = 3600 * S}};
    struct store_options store_options = {0};
    struct store *store = NULL;
    char proc[256], mountinfo[256], runtime[256], db[256];
    int r;

    node_path(proc, "proc");
    node_path(mountinfo, "mountinfo");
    node_path(runtime, "run");
    node_path(db, "jobio.db");
    r = mounts_create(&node.mounts, proc, &node.error);
    if (!r)
        r = hierarchy_create(&node.hierarchy, mountinfo, &node.error);
    if (!r)
        r = sampler_create(&node.sampler, node.probe, node.mounts, node.interval, &node.error);
    options.runtime_dir = runtime;
    options.probe = node.probe;
    options.sampler = node.sampler;
    options.hierarchy = node.hierarchy;
    if (!r)
        r = tracker_create(&node.tracker, &options, &hooks, &node.error);
    store_options.path = db;
    if (!r)
        r = store_open(&store, &store_options, &node.error);
    if (!r)
        r = tracker_adopt(node.tracker, store, &node.error);
    if (!r)
        r = writer_create(&node.writer, store, node.capacity, 0, &node.error);
    if (r < 0) {
        store_close(store);
        destroy_parts();
        return r;
    }
    tracker_attach(node.tracker, node.writer);
    return 0;
}

void node_start(void)
{
    node_must(node_try_start());
}

void node_stop(void)
{
    tracker_attach(node.tracker, NULL);
    writer_destroy(node.writer);
    destroy_parts();
}

void node_restart(void)
{
    node_stop();
    fake_probe_adopt(node.probe);
    node_start();
}

void node_flush(void)
{
    node_must(writer_flush(node.writer, 5000));
    node_must(writer_flush(node.writer, 5000)); /* what the outcomes have asked for */
    (void)tracker_settle(node.tracker);
    node_must(writer_flush(node.writer, 5000)); /* the wait of a drop */
}

int node_setup(void **state)
{
    char text[256], mount[128];

    (void)state;
    snprintf(node.root, sizeof(node.root), "/tmp/jobio-test-tracker-XXXXXX");
    assert_non_null(mkdtemp(node.root));
    node_mkdir("proc");
    node_mkdir("proc/1");
    node_put("proc/1/mountinfo", "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    node_mkdir("run");
    node_mkdir("cg");
    snprintf(mount, sizeof(mount), "%s/cg", node.root);
    snprintf(text, sizeof(text), "30 1 0:30 / %s rw - cgroup2 cgroup2 rw\n", mount);
    node_put("mountinfo", text);
    node.over = node.queued = 0;
    node.sinks = NULL;
    node.peers = false;
    node.interval = 10 * S;
    node.capacity = node.rows = node.gap = 0;
    node.probe = fake_probe_create();
    node_start();
    return 0;
}

static int remove_entry(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(name);
}

int node_teardown(void **state)
{
    (void)state;
    node_stop();
    probe_destroy(node.probe);
    return nftw(node.root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- steps ------------------------------------------------------------------------------------ */

struct tag node_tag(uint32_t step, bool file)
{
    struct tag tag = {.jobid = JOB,
                      .het = HET_NONE,
                      .step = step,
                      .uid = 1000,
                      .nodes = 1,
                      .within_ms = 200,
                      .array_job = 4,
                      .array_task = 0};
    char full[256], text[512], name[TAG_FILE_SIZE], where[128];
    struct stat st;

    snprintf(node.cgroup, sizeof(node.cgroup), "/step_%u", step);
    snprintf(where, sizeof(where), "cg%s", node.cgroup);
    node_mkdir(where);
    node_path(full, where);
    assert_int_equal(stat(full, &st), 0);
    tag.cgroup = node.cgroup;
    tag.cgroup_id = st.st_ino;
    tag.level = 1;
    tag.version = 2;
    tag.tagged_at_ns = node_now(CLOCK_REALTIME);
    tag.tagged_boot_ns = node_now(CLOCK_BOOTTIME);
    if (!file)
        return tag;
    snprintf(text, sizeof(text),
             "JOBID=%u\nRESTART=0\nHET=%u\nSTEP=%u\nUID=1000\nCGROUP=%s\nCGROUP_ID=%" PRIu64
             "\nCGROUP_LEVEL=1\nCGROUP_VERSION=2\nTAGGED_AT=%" PRIu64 "\nTAGGED_BOOT=%" PRIu64
             "\nNODES=1\nNODE=n\nNAME=job name\nARRAY_JOB=4\nARRAY_TASK=0\nSUMMARY=short\n"
             "PLUGIN=0.0.1\n",
             JOB, HET_NONE, step, node.cgroup, tag.cgroup_id, tag.tagged_at_ns, tag.tagged_boot_ns);
    snprintf(where, sizeof(where), "run/steps/%s", tag_file_name(name, JOB, 0, HET_NONE, step));
    node_put(where, text);
    return tag;
}

void node_put_end(uint32_t step, uint64_t boot_ns)
{
    char where[128], name[TAG_FILE_SIZE], text[128];

    snprintf(where, sizeof(where), "run/steps/%s.end", tag_file_name(name, JOB, 0, HET_NONE, step));
    snprintf(text, sizeof(text), "ENDED_AT=%" PRIu64 "\nENDED_BOOT=%" PRIu64 "\n",
             node_now(CLOCK_REALTIME), boot_ns);
    node_put(where, text);
}

bool node_has_step(uint32_t step)
{
    char where[128], name[TAG_FILE_SIZE];

    snprintf(where, sizeof(where), "run/steps/%s", tag_file_name(name, JOB, 0, HET_NONE, step));
    return node_has(where);
}

/* That of the last tag. Renamed, because an inode number that is free is soon used again. */
void node_lose_cgroup(void)
{
    static unsigned n;
    char from[80], to[80];

    snprintf(from, sizeof(from), "cg%s", node.cgroup);
    snprintf(to, sizeof(to), "cg/old-%u", n++);
    assert_int_equal(node_rename(from, to), 0);
}

uint32_t node_begin(uint32_t step)
{
    struct tag tag = node_tag(step, true);

    node_must(tracker_tag(node.tracker, &tag, &node.error));
    return step_number(tag.cgroup_id, 2);
}

void node_write(uint32_t number, uint64_t requests, uint64_t bytes)
{
    fake_probe_count(node.probe, number, EXT4, IO_WRITE, requests, bytes);
    fake_probe_sight(node.probe, number, EXT4, "ext4");
}

struct job_account **node_stored(void)
{
    struct job_account **jobs;
    struct store *reader;
    char full[256];

    node_path(full, "jobio.db");
    node_must(store_open_reader(&reader, full, &node.error));
    node_must(store_jobs(reader, "c", JOB, true, UINT32_MAX, &jobs, &node.error));
    store_close(reader);
    return jobs;
}

bool node_has_state(const char *key)
{
    struct store *reader;
    char full[256], *value = NULL;
    bool has;

    node_path(full, "jobio.db");
    node_must(store_open_reader(&reader, full, &node.error));
    node_must(store_get_state(reader, key, &value, &node.error));
    store_close(reader);
    has = value != NULL;
    free(value);
    return has;
}

uint64_t node_written(const struct io_mounts *m)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < m->n; i++)
        bytes += io_account_writes(&m->items[i].io).bytes;
    return bytes;
}

uint64_t node_total(void)
{
    struct io_mounts totals = {0};
    uint64_t bytes;

    assert_int_equal(tracker_totals(node.tracker, &totals), 0);
    bytes = node_written(&totals);
    io_mounts_clear(&totals);
    return bytes;
}

struct step_account *node_step(struct job_account *job, uint32_t step)
{
    for (size_t i = 0; i < job->n_steps; i++)
        if (job->steps[i].step == step)
            return &job->steps[i];
    return NULL;
}

bool node_blames(const struct completeness *c, const char *cause)
{
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->items[i].cause, cause))
            return true;
    return false;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table latency_day: the median latencies of ended jobs, the baseline of each mount. */
#include "collector/store/store_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"

#define BASELINE_DAYS 30

/* The members of struct mount_baseline. */
static const struct {
    enum io_op op;
    size_t offset;
} kinds[] = {
    {IO_READ, offsetof(struct mount_baseline, read)},
    {IO_WRITE, offsetof(struct mount_baseline, write)},
    {IO_OPEN, offsetof(struct mount_baseline, open)},
};
#define KINDS ARRAY_SIZE(kinds)

static int kind_of(const char *op)
{
    for (size_t k = 0; op && k < KINDS; k++)
        if (strcmp(op, io_op_name(kinds[k].op)) == 0)
            return (int)k;
    return -1;
}

/* --- counting --------------------------------------------------------------------------------- */

/* Latencies of all steps of a job on one mount. */
struct mount_latency {
    int64_t mount; /* 0: not set yet */
    uint64_t latency[KINDS][IO_BUCKETS];
    bool unreadable[KINDS]; /* a histogram is unreadable: no median */
};

struct counted_job {
    int64_t id;
    uint64_t end_ns;
    uint64_t day; /* under which it is counted; 0: not counted */
    bool settled; /* all of its nodes have reported, or report to another node */
};

/* Count the medians (SQL_BASELINE_PUT), or remove them again (SQL_BASELINE_TAKE). */
static int change_medians(struct store *store, enum sql_query change,
                          const struct mount_latency *on, uint64_t day, struct error *error)
{
    int r = 0;

    for (size_t k = 0; on->mount && k < KINDS && r == 0; k++) {
        uint64_t median = on->unreadable[k] ? 0 : io_latency_median(on->latency[k]);

        if (median)
            r = store_run(store, change,
                          VALUES(U64((uint64_t)on->mount), TEXT(io_op_name(kinds[k].op)), U64(day),
                                 U64(median)),
                          error);
    }
    return r;
}

static void add_row(sqlite3_stmt *row, struct mount_latency *on)
{
    int kind = kind_of(column_text(row, 1));
    uint64_t buckets[IO_BUCKETS];

    if (kind < 0)
        return;
    if (io_histogram_parse(column_text(row, 2), buckets) < 0) {
        on->unreadable[kind] = true;
        return;
    }
    io_histogram_add(on->latency[kind], buckets);
}

static int change_job(struct store *store, enum sql_query change, int64_t job, uint64_t day,
                      struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    struct mount_latency on = {0};
    int r = store_start(store, SQL_BASELINE_LIST, VALUES(U64((uint64_t)job)), &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        if (on.mount != sqlite3_column_int64(row, 0)) {
            r = change_medians(store, change, &on, day, error);
            on = (struct mount_latency){.mount = sqlite3_column_int64(row, 0)};
        }
        add_row(row, &on);
    }
    return r < 0 ? r : change_medians(store, change, &on, day, error);
}

/* Remember jobs whose nodes have not all reported; the sweep looks at these only. */
static int set_waiting(struct store *store, int64_t job, bool waits, struct error *error)
{
    char key[40];

    (void)snprintf(key, sizeof(key), "normal/%" PRId64, job);
    return store_put_state(store, key, waits ? "waits" : NULL, error);
}

/* Returns 1 if found. */
static int take_found(struct store *store, sqlite3_stmt *row, struct counted_job *ret,
                      struct error *error)
{
    int r = store_next(store, row, error);

    if (r <= 0)
        return r;
    *ret = (struct counted_job){.id = sqlite3_column_int64(row, 0),
                                .end_ns = column_u64(row, 1),
                                .day = column_u64(row, 2),
                                .settled = sqlite3_column_int(row, 3)};
    if (ret->day == 1) /* initial value */
        ret->day = ret->end_ns / NS_PER_DAY;
    return r;
}

static int find_ended(struct store *store, const struct job_key *key, struct counted_job *ret,
                      struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(
        store, SQL_BASELINE_JOB,
        VALUES(TEXT(key->cluster ? key->cluster : ""), U64(key->jobid), U64(key->restart)), &row,
        error);

    return r < 0 ? r : take_found(store, row, ret, error);
}

static int find_row(struct store *store, int64_t id, struct counted_job *ret, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_BASELINE_ROW, VALUES(U64((uint64_t)id)), &row, error);

    return r < 0 ? r : take_found(store, row, ret, error);
}

static int count(struct store *store, const struct counted_job *job, struct error *error)
{
    uint64_t day = job->end_ns / NS_PER_DAY;
    int r = change_job(store, SQL_BASELINE_PUT, job->id, day, error);

    if (r == 0)
        r = store_run(store, SQL_BASELINE_MARK, VALUES(U64((uint64_t)job->id), U64(day)), error);
    return r < 0 ? r : set_waiting(store, job->id, false, error);
}

static int settle(struct store *store, const struct counted_job *job, struct error *error)
{
    if (job->day)
        return 0;
    return job->settled ? count(store, job, error) : set_waiting(store, job->id, true, error);
}

static int baseline_write(struct store *store, const void *arg, struct error *error)
{
    const struct job_key *key = arg;
    struct counted_job job;
    int r = find_ended(store, key, &job, error);

    if (r == 0)
        return error_set(error, -ENOENT, "store \"%s\": job %u has not ended", store->path,
                         key->jobid);
    return r < 0 ? r : settle(store, &job, error);
}

int store_put_baseline(struct store *store, const struct job_key *key, struct error *error)
{
    return store_write(store, baseline_write, key, error);
}

int store_settle_baseline(struct store *store, int64_t id, struct error *error)
{
    struct counted_job job;
    int r = find_row(store, id, &job, error);

    return r <= 0 ? r : settle(store, &job, error);
}

int store_take_baseline(struct store *store, int64_t id, struct error *error)
{
    struct counted_job job;
    int r = find_row(store, id, &job, error);

    if (r <= 0 || !job.day)
        return r < 0 ? r : 0;
    r = change_job(store, SQL_BASELINE_TAKE, id, job.day, error);
    if (r == 0)
        r = store_run(store, SQL_BASELINE_TIDY, VALUES(U64(job.day)), error);
    if (r == 0)
        r = store_run(store, SQL_BASELINE_MARK, VALUES(U64((uint64_t)id), U64(0)), error);
    return r < 0 ? r : set_waiting(store, id, true, error);
}

/* --- the sweep -------------------------------------------------------------------------------- */

/* A node that has not reported by then is down or has no jobiod. */
#define SETTLE_NS NS_PER_HOUR
/* A transaction takes milliseconds. */
#define DUE_MAX 50

/* Jobs that are due, at most DUE_MAX. */
static int list_due(struct store *store, uint64_t now_ns, int64_t ids[DUE_MAX], size_t *n,
                    struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    uint64_t before = now_ns > SETTLE_NS ? now_ns - SETTLE_NS : 0;
    int r = store_start(store, SQL_BASELINE_DUE, VALUES(U64(before), U64(DUE_MAX)), &row, error);

    while (r >= 0 && *n < DUE_MAX && (r = store_next(store, row, error)) > 0)
        ids[(*n)++] = sqlite3_column_int64(row, 0);
    return r < 0 ? r : 0;
}

static uint64_t first_day(uint64_t now_ns)
{
    uint64_t day = now_ns / NS_PER_DAY;

    return day > BASELINE_DAYS ? day - BASELINE_DAYS : 0;
}

static int drop_days(struct store *store, uint64_t now_ns, struct error *error)
{
    int r = store->baseline_day == now_ns / NS_PER_DAY
                ? 0
                : store_run(store, SQL_BASELINE_DROP, VALUES(U64(first_day(now_ns))), error);

    if (r < 0 || store->baseline_day == now_ns / NS_PER_DAY)
        return r;
    if (sqlite3_changes(store->db))
        store->mounts_at = 0; /* some mounts may be unused now */
    store->baseline_day = now_ns / NS_PER_DAY;
    return store_run(store, SQL_BASELINE_FORGET, NULL, 0, error);
}

int store_sweep_baseline(struct store *store, uint64_t now_ns, struct error *error)
{
    int64_t ids[DUE_MAX];
    struct counted_job job;
    size_t n = 0;
    int r = drop_days(store, now_ns, error);

    if (r == 0)
        r = list_due(store, now_ns, ids, &n, error);
    for (size_t i = 0; i < n && r >= 0; i++) {
        r = find_row(store, ids[i], &job, error);
        if (r > 0)
            r = job.day ? set_waiting(store, job.id, false, error) : count(store, &job, error);
    }
    return r < 0 ? r : n == DUE_MAX;
}

/* --- queries ---------------------------------------------------------------------------------- */

/* Number of jobs by median, ascending. There are at most as many medians as buckets. */
struct medians {
    struct {
        uint64_t ns, jobs;
    } items[IO_BUCKETS];
    size_t n;
};

static int medians_read(struct store *store, const struct io_mount *mount, uint64_t now_ns,
                        struct medians of[KINDS], struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_BASELINE_GET,
                        VALUES(TEXT(mount->mount), TEXT(mount->fstype), TEXT(mount->source),
                               U64(first_day(now_ns))),
                        &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        int kind = kind_of(column_text(row, 0));
        struct medians *m = kind < 0 ? NULL : &of[kind];

        if (!m || m->n == IO_BUCKETS)
            continue;
        m->items[m->n].ns = column_u64(row, 1);
        m->items[m->n++].jobs = column_u64(row, 2);
    }
    return r;
}

static void take_out(struct medians *m, uint64_t median)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->items[i].ns == (median < INT64_MAX ? median : INT64_MAX) && m->items[i].jobs > 0) {
            m->items[i].jobs--;
            return;
        }
}

/* The smallest median that at least this share of the jobs does not exceed. */
static uint64_t quantile(const struct medians *m, uint64_t jobs, double q)
{
    uint64_t seen = 0;

    for (size_t i = 0; i < m->n; i++) {
        seen += m->items[i].jobs;
        if (seen && (double)seen >= q * (double)jobs)
            return m->items[i].ns;
    }
    return 0;
}

static struct latency_baseline summarise(const struct medians *m)
{
    uint64_t jobs = 0;

    for (size_t i = 0; i < m->n; i++)
        jobs += m->items[i].jobs;
    return (struct latency_baseline){jobs, jobs ? quantile(m, jobs, 0.5) : 0,
                                     jobs ? quantile(m, jobs, 0.99) : 0};
}

int store_mount_baseline(struct store *store, const struct io_mount *mount,
                         const struct job_key *but, uint64_t now_ns, struct mount_baseline *ret,
                         struct error *error)
{
    struct medians of[KINDS] = {0};
    struct counted_job job = {0};
    int r = mount->private ? 0 : medians_read(store, mount, now_ns, of, error);

    if (r >= 0 && but)
        r = find_ended(store, but, &job, error);
    if (r < 0)
        return r;
    for (size_t k = 0; k < KINDS; k++) {
        const struct io_counter *c = mount->io.ops[kinds[k].op];

        if (job.day && c)
            take_out(&of[k], io_latency_median(c->latency_log2));
        *(struct latency_baseline *)((char *)ret + kinds[k].offset) = summarise(&of[k]);
    }
    return 0;
}

int store_baselines(struct store *store, uint64_t now_ns, struct io_mounts *ret,
                    struct error *error)
{
    CLEANUP(io_mounts_clear) struct io_mounts mounts = {0};
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_BASELINE_MOUNTS, NULL, 0, &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0)
        if (!io_mounts_get(&mounts, column_text(row, 0), column_text(row, 1), column_text(row, 2),
                           false))
            return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    for (size_t i = 0; r >= 0 && i < mounts.n; i++)
        r = store_mount_baseline(store, &mounts.items[i], NULL, now_ns, &mounts.items[i].baseline,
                                 error);
    if (r < 0)
        return r;
    *ret = mounts;
    mounts = (struct io_mounts){0};
    return 0;
}

/* The baseline as of the end of the job. */
int store_fill_baseline(struct store *store, struct job_account *job, struct error *error)
{
    uint64_t now_ns = job->ended ? job->end_ns : job->start_ns + job->elapsed_ns;
    bool begun;
    int r = store_snapshot(store, &begun, error);

    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < job->mounts.n; i++)
        r = store_mount_baseline(store, &job->mounts.items[i], &job->key, now_ns,
                                 &job->mounts.items[i].baseline, error);
    store_snapshot_end(store, begun);
    return r;
}

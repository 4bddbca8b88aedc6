/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What calls take on a mount as a rule, from the jobs that have ended. */
#include "collector/store_private.h"

#include <string.h>

#define DAY_NS (24 * 3600ull * 1000000000u)
#define NORMAL_DAYS 30

/* The operations of struct mount_normal. */
static const struct {
    enum io_op op;
    size_t offset;
} kinds[] = {
    {IO_READ, offsetof(struct mount_normal, read)},
    {IO_WRITE, offsetof(struct mount_normal, write)},
    {IO_OPEN, offsetof(struct mount_normal, open)},
};
#define KINDS ARRAY_SIZE(kinds)

static int kind_of(const char *op)
{
    for (size_t k = 0; op && k < KINDS; k++)
        if (strcmp(op, io_op_name(kinds[k].op)) == 0)
            return (int)k;
    return -1;
}

/* --- counting ---------------------------------------------------------------------------------- */

/* The steps of a job on one mount. */
struct on_mount {
    int64_t mount; /* 0: none yet */
    uint64_t latency[KINDS][IO_BUCKETS];
};

static int count_mount(struct store *store, const struct on_mount *on, uint64_t day,
                       struct error *error)
{
    int r = 0;

    for (size_t k = 0; on->mount && k < KINDS && r == 0; k++) {
        uint64_t median = io_latency_median(on->latency[k]);

        if (median)
            r = store_run(store, SQL_NORMAL_PUT,
                          VALUES(U64((uint64_t)on->mount), TEXT(io_op_name(kinds[k].op)), U64(day),
                                 U64(median)),
                          error);
    }
    return r;
}

static int add_row(struct store *store, sqlite3_stmt *row, struct on_mount *on,
                   struct error *error)
{
    int kind = kind_of(column_text(row, 1));
    uint64_t buckets[IO_BUCKETS];

    if (store_histogram_parse(column_text(row, 2), buckets) < 0)
        return error_set(error, -EBADMSG, "store \"%s\": a histogram cannot be read", store->path);
    for (unsigned b = 0; kind >= 0 && b < IO_BUCKETS; b++)
        if (__builtin_add_overflow(on->latency[kind][b], buckets[b], &on->latency[kind][b]))
            on->latency[kind][b] = UINT64_MAX;
    return 0;
}

static int count_job(struct store *store, int64_t job, uint64_t day, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    struct on_mount on = {0};
    int r = store_start(store, SQL_NORMAL_LIST, VALUES(U64((uint64_t)job)), &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        if (on.mount != sqlite3_column_int64(row, 0)) {
            r = count_mount(store, &on, day, error);
            on = (struct on_mount){.mount = sqlite3_column_int64(row, 0)};
        }
        if (r >= 0)
            r = add_row(store, row, &on, error);
    }
    return r < 0 ? r : count_mount(store, &on, day, error);
}

struct counted_job {
    int64_t id;
    uint64_t end_ns;
    bool counted;
};

/* 1: found. */
static int find_ended(struct store *store, const struct job_key *key, struct counted_job *ret,
                      struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(
        store, SQL_NORMAL_JOB,
        VALUES(TEXT(key->cluster ? key->cluster : ""), U64(key->jobid), U64(key->restart)), &row,
        error);

    if (r == 0)
        r = store_next(store, row, error);
    if (r > 0)
        *ret = (struct counted_job){.id = sqlite3_column_int64(row, 0),
                                    .end_ns = column_u64(row, 1),
                                    .counted = sqlite3_column_int(row, 2)};
    return r;
}

static int normal_write(struct store *store, const void *arg, struct error *error)
{
    const struct job_key *key = arg;
    struct counted_job job;
    int r = find_ended(store, key, &job, error);

    if (r == 0)
        return error_set(error, -ENOENT, "store \"%s\": job %u has not ended", store->path,
                         key->jobid);
    if (r < 0 || job.counted)
        return r < 0 ? r : 0;
    r = count_job(store, job.id, job.end_ns / DAY_NS, error);
    return r < 0 ? r : store_run(store, SQL_NORMAL_MARK, VALUES(U64((uint64_t)job.id)), error);
}

int store_put_normal(struct store *store, const struct job_key *key, struct error *error)
{
    return store_write(store, normal_write, key, error);
}

static uint64_t first_day(uint64_t now_ns)
{
    uint64_t day = now_ns / DAY_NS;

    return day > NORMAL_DAYS ? day - NORMAL_DAYS : 0;
}

int store_drop_normal(struct store *store, uint64_t now_ns, struct error *error)
{
    return store_run(store, SQL_NORMAL_DROP, VALUES(U64(first_day(now_ns))), error);
}

/* --- asking ------------------------------------------------------------------------------------ */

/* How many jobs had which median, in the order of the medians: there are no more than buckets. */
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
    int r = store_start(store, SQL_NORMAL_GET,
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

/* The smallest median that at least this part of the jobs stayed at or below. */
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

static struct latency_normal summarise(const struct medians *m)
{
    uint64_t jobs = 0;

    for (size_t i = 0; i < m->n; i++)
        jobs += m->items[i].jobs;
    return (struct latency_normal){jobs, jobs ? quantile(m, jobs, 0.5) : 0,
                                   jobs ? quantile(m, jobs, 0.99) : 0};
}

int store_mount_normal(struct store *store, const struct io_mount *mount,
                       const struct job_key *but, uint64_t now_ns, struct mount_normal *ret,
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

        if (job.counted && c)
            take_out(&of[k], io_latency_median(c->latency_log2));
        *(struct latency_normal *)((char *)ret + kinds[k].offset) = summarise(&of[k]);
    }
    return 0;
}

int store_normals(struct store *store, uint64_t now_ns, struct io_mounts *ret, struct error *error)
{
    CLEANUP(io_mounts_clear) struct io_mounts mounts = {0};
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_NORMAL_MOUNTS, NULL, 0, &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0)
        if (!io_mounts_get(&mounts, column_text(row, 0), column_text(row, 1), column_text(row, 2),
                           false))
            return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    for (size_t i = 0; r >= 0 && i < mounts.n; i++)
        r = store_mount_normal(store, &mounts.items[i], NULL, now_ns, &mounts.items[i].normal,
                               error);
    if (r < 0)
        return r;
    *ret = mounts;
    mounts = (struct io_mounts){0};
    return 0;
}

/* As of its end: what is kept is that of the last days in any case. */
int store_fill_normal(struct store *store, struct job_account *job, struct error *error)
{
    uint64_t now_ns = job->ended ? job->end_ns : job->start_ns + job->elapsed_ns;
    int r = 0;

    for (size_t i = 0; r == 0 && i < job->mounts.n; i++)
        r = store_mount_normal(store, &job->mounts.items[i], &job->key, now_ns,
                               &job->mounts.items[i].normal, error);
    return r;
}

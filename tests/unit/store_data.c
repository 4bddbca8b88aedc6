/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* nftw */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

struct directory directory;
struct store *opened;

void assert_ok_at(int r, const struct error *error, const char *file, int line)
{
    if (r < 0)
        print_error("%s:%d: %d: %s\n", file, line, r, error->text);
    assert_true(r >= 0);
}

void folder_make(struct directory *ret)
{
    const char *tmp = getenv("TMPDIR");

    (void)snprintf(ret->path, sizeof(ret->path), "%s/jobio-store-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(ret->path));
    (void)snprintf(ret->store, sizeof(ret->store), "%s/jobio.db", ret->path);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void folder_remove(struct directory *at)
{
    (void)nftw(at->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int folder_set_up(void **state)
{
    (void)state;
    folder_make(&directory);
    return 0;
}

int store_set_up(void **state)
{
    folder_set_up(state);
    opened = open_store(&directory);
    return 0;
}

int folder_tear_down(void **state)
{
    (void)state;
    store_close(opened);
    opened = NULL;
    folder_remove(&directory);
    return 0;
}

struct store *open_store(const struct directory *at)
{
    struct store *store = NULL;
    struct error error;

    assert_ok(store_open(&store, &(struct store_options){.path = at->store}, &error), error);
    return store;
}

struct store *open_reader(const struct directory *at)
{
    struct store *store = NULL;
    struct error error;

    assert_ok(store_open_reader(&store, at->store, &error), error);
    return store;
}

struct job_account *job_make(uint32_t jobid, uint64_t start_ns)
{
    struct job_account *job = job_account_create();

    assert_non_null(job);
    job->key.cluster = strdup("linux");
    job->key.jobid = jobid;
    job->uid = 1000;
    job->user = strdup("alice");
    job->account = strdup("physics");
    job->partition = strdup("debug");
    job->name = strdup("run 'it'; \x1b[31m");
    job->start_ns = start_ns;
    job->elapsed_ns = 5 * SECOND;
    job->ns_per_event = 200;
    job->nodes_expected = job->nodes_reported = 1;
    return job;
}

static struct io_counter *counter(struct io_mount *m, enum io_op op, uint64_t requests,
                                  uint64_t bytes)
{
    struct io_counter *c = io_account_op(&m->io, op);

    assert_non_null(c);
    c->requests = requests;
    c->bytes = bytes;
    c->time_ns = requests * 1000;
    c->max_ns = 1500;
    c->latency_log2[io_latency_bucket(1000)] = requests;
    if (io_op_is_data(op))
        c->size_log2[io_size_bucket(requests ? bytes / requests : 0)] = requests;
    return c;
}

void step_make(struct step_account *step, uint32_t number, uint64_t tagged_at_ns, uint64_t scale)
{
    struct io_mount *scratch, *private;
    struct io_counter *opens;

    *step = (struct step_account){.het = HET_NONE,
                                  .step = number,
                                  .node = strdup("n1"),
                                  .tagged_at_ns = tagged_at_ns,
                                  .elapsed_ns = 3 * SECOND,
                                  .state = STEP_ENDED,
                                  .longest_wait_ns = scale * 900};
    scratch = io_mounts_get(&step->mounts, "/scratch", "nfs4", "srv:/x", false);
    assert_non_null(scratch);
    scratch->labelled = true;
    (void)counter(scratch, IO_READ, scale, 4096 * scale);
    (void)counter(scratch, IO_COPY_WRITE, 1, 512);
    opens = counter(scratch, IO_OPEN, 3, 0);
    opens->errors = 3;
    assert_int_equal(io_counter_errno(opens, ENOENT, 2), 0);
    assert_int_equal(io_counter_errno(opens, EACCES, 1), 0);
    scratch->peaks[IO_READ] = (struct io_peak){.bytes_per_s = 70 * scale, .requests_per_s = 7};
    scratch->cache.hit_bytes = 11;
    scratch->cache.fill_bytes[IO_FILL_PREFETCH] = 13;
    private = io_mounts_get(&step->mounts, "/mnt/mine", "tmpfs", "none", true);
    assert_non_null(private);
    (void)counter(private, IO_WRITE, 2 * scale, 100 * scale);
    for (size_t i = 0; i < step->mounts.n; i++) {
        struct io_mount *m = &step->mounts.items[i];
        struct timeline_bin all = io_account_now(&m->io);

        all.longest_ns = all.of[TIMELINE_WAIT] / 2;
        assert_int_equal(timeline_spread(&m->timeline, 1, tagged_at_ns + SECOND / 2,
                                         tagged_at_ns + step->elapsed_ns, &all),
                         0);
    }
}

void step_add_mpi(struct step_account *step, uint64_t scale)
{
    struct mpi_account *mpi = calloc(1, sizeof(*mpi));
    struct mpi_counter *c;

    assert_non_null(mpi);
    c = &mpi->classes[MPI_WRITE_ALL];
    c->calls = 8 * scale;
    c->errors = 1;
    c->time_ns = 9000 * scale;
    c->bytes = scale << 23;
    c->requested_bytes = 77 * scale;
    c->unknown_calls = 2;
    c->size_log2[20] = 8 * scale;
    c->latency_log2[3] = 8 * scale - 1;
    c->latency_log2[IO_BUCKETS - 1] = 1;
    c = &mpi->classes[MPI_OPEN];
    c->calls = 2 * scale;
    c->time_ns = 500;
    c->latency_log2[2] = 2 * scale;
    assert_int_equal(completeness_add(&mpi->completeness, MPI_CAUSE_LATE, scale, 0), 0);
    step->mpi = mpi;
}

static void fill_block(struct block_counter *c, uint64_t requests)
{
    c->requests = requests;
    c->errors = 1;
    c->bytes = requests << 16;
    c->queued_ns = 30 * requests;
    c->device_ns = 8000 * requests;
    c->latency_log2[6] = requests - 1;
    c->latency_log2[9] = 1;
}

void step_add_block(struct step_account *step, uint64_t scale)
{
    struct block_account *block = calloc(1, sizeof(*block));
    struct block_device *sda, *sdb;

    assert_non_null(block);
    sdb = block_account_get(block, "sdb");
    assert_non_null(sdb);
    fill_block(&sdb->own[BLOCK_READ], 3 * scale);
    sda = block_account_get(block, "sda");
    assert_non_null(sda);
    fill_block(&sda->own[BLOCK_WRITE], 5 * scale);
    fill_block(&sda->shared[BLOCK_WRITE], 7);
    block->incomplete = true;
    step->block = block;
}

void put_rows(const struct job_account *job, const struct step_account *step, bool final)
{
    struct error error;

    assert_ok(store_put_job(opened, job, &error), error);
    if (step)
        assert_ok(store_put_step(opened, &job->key, step, final, &error), error);
}

void fill_history(void)
{
    const uint64_t scales[] = {30, 10, 40, 20};
    struct step_account step;

    for (uint32_t id = 1; id <= 4; id++) {
        struct job_account *job = job_make(id, NOW + id * 10 * SECOND);

        job->ended = id < 4;
        job->end_ns = job->start_ns + 10 * SECOND - 1;
        if (id % 2 == 0) {
            free(job->user);
            job->user = strdup("bob");
            job->uid = 2000;
        }
        step_make(&step, 0, job->start_ns, scales[id - 1]);
        put_rows(job, &step, true);
        step_account_clear(&step);
        job_account_destroy(job);
    }
}

void store_fill(struct store *store, uint32_t steps)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;
    struct error error;

    assert_ok(store_begin(store, true, &error), error);
    assert_ok(store_put_job(store, job, &error), error);
    for (uint32_t n = 0; n < steps; n++) {
        step_make(&step, n, NOW, 1);
        assert_ok(store_put_step(store, &job->key, &step, true, &error), error);
        step_account_clear(&step);
    }
    assert_ok(store_commit(store, &error), error);
    job_account_destroy(job);
}

void store_make(uint32_t steps)
{
    struct store *store = open_store(&directory);

    store_fill(store, steps);
    store_close(store);
}

size_t store_count_steps(void)
{
    struct store *store = open_store(&directory);
    struct store_stats stats;
    struct error error;

    assert_ok(store_stats(store, &stats, &error), error);
    store_close(store);
    return stats.steps;
}

void store_sql(const char *text)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(directory.store, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

struct job_account **jobs_found(uint32_t jobid, bool all, uint32_t uid)
{
    struct job_account **found = NULL;
    struct error error;

    assert_ok(store_jobs(opened, "linux", jobid, all, uid, &found, &error), error);
    return found;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void put_cell(FILE *out, sqlite3_stmt *row, int column)
{
    if (strcmp(sqlite3_column_name(row, column), "queued_ns") != 0)
        (void)fprintf(out, " %s",
                      sqlite3_column_text(row, column)
                          ? (const char *)sqlite3_column_text(row, column)
                          : "NULL");
}

static void put_table(FILE *out, sqlite3 *db, const char *table)
{
    sqlite3_stmt *row = NULL;
    char query[128];

    (void)snprintf(query, sizeof(query), "SELECT * FROM \"%s\" ORDER BY 1, 2, 3", table);
    if (sqlite3_prepare_v2(db, query, -1, &row, NULL) != SQLITE_OK) { /* less than three columns */
        (void)snprintf(query, sizeof(query), "SELECT * FROM \"%s\" ORDER BY 1, 2", table);
        assert_int_equal(sqlite3_prepare_v2(db, query, -1, &row, NULL), SQLITE_OK);
    }
    while (sqlite3_step(row) == SQLITE_ROW) {
        (void)fputs(table, out);
        for (int i = 0; i < sqlite3_column_count(row); i++)
            put_cell(out, row, i);
        (void)fputc('\n', out);
    }
    (void)sqlite3_finalize(row);
}

char *store_rows(void)
{
    sqlite3_stmt *table = NULL;
    sqlite3 *db = NULL;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(sqlite3_open(directory.store, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT name FROM sqlite_master WHERE type = 'table' "
                                        "ORDER BY name",
                                        -1, &table, NULL),
                     SQLITE_OK);
    while (sqlite3_step(table) == SQLITE_ROW)
        put_table(out, db, (const char *)sqlite3_column_text(table, 0));
    (void)sqlite3_finalize(table);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

void assert_store_rows(const char *rows, const char *want)
{
    size_t i = 0;

    while (rows[i] && rows[i] == want[i])
        i++;
    while (i && (rows[i] || want[i]) && rows[i - 1] != '\n')
        i--;
    if (strcmp(rows, want) != 0)
        fail_msg("\"%.*s\" instead of \"%.*s\"", (int)strcspn(rows + i, "\n"), rows + i,
                 (int)strcspn(want + i, "\n"), want + i);
}

void step_add_users(struct step_account *step)
{
    struct io_users *users = step->mounts.items[0].users;

    users[IO_READERS] = (struct io_users){.processes = 3, .threads = 5, .at_least = true};
    users[IO_WRITERS] = (struct io_users){.processes = 2, .threads = 2};
}

void step_add_rpc(struct step_account *step)
{
    struct rpc_account *rpc = calloc(1, sizeof(*rpc));

    assert_non_null(rpc);
    rpc->known = rpc->incomplete = true;
    rpc->own[RPC_READ] = (struct rpc_counter){9, 1, 2, 300, 4000, 50000, 600000, 7000000};
    rpc->own[RPC_OTHER] = (struct rpc_counter){1, 0, 0, 1, 1, 1, 1, 1};
    rpc->shared[RPC_READ] = (struct rpc_counter){8, 7, 6, 5, 4, 3, 2, 1};
    step->mounts.items[0].rpc = rpc;
}

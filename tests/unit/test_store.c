/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows are read back as they were stored, and sums count each step once, no matter how often it is
 * written. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include "collector/store/store_impl.h"

static const struct io_counter *op_of(const struct io_mounts *mounts, const char *name,
                                      enum io_op op)
{
    for (size_t i = 0; i < mounts->n; i++)
        if (!strcmp(mounts->items[i].mount, name))
            return mounts->items[i].io.ops[op];
    return NULL;
}

static void assert_same_counter(const struct io_counter *a, const struct io_counter *b)
{
    assert_int_equal(a != NULL, b != NULL);
    if (!a)
        return;
    assert_int_equal(a->requests, b->requests);
    assert_int_equal(a->async_requests, b->async_requests);
    assert_int_equal(a->sequential_requests, b->sequential_requests);
    assert_int_equal(a->random_requests, b->random_requests);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->errors, b->errors);
    assert_int_equal(a->time_ns, b->time_ns);
    assert_int_equal(a->max_ns, b->max_ns);
    assert_memory_equal(a->size_log2, b->size_log2, sizeof(a->size_log2));
    assert_memory_equal(a->latency_log2, b->latency_log2, sizeof(a->latency_log2));
    assert_int_equal(a->n_errnos, b->n_errnos);
    for (size_t i = 0; i < a->n_errnos; i++) {
        assert_int_equal(a->errnos[i].code, b->errnos[i].code);
        assert_int_equal(a->errnos[i].count, b->errnos[i].count);
    }
}

static void assert_same_mount(const struct io_mount *a, const struct io_mount *b)
{
    assert_string_equal(a->mount, b->mount);
    assert_string_equal(a->fstype, b->fstype);
    assert_string_equal(a->source, b->source);
    assert_int_equal(a->private, b->private);
    assert_int_equal(a->labelled, b->labelled);
    for (int op = 0; op < IO_OP_COUNT; op++)
        assert_same_counter(a->io.ops[op], b->io.ops[op]);
    assert_memory_equal(a->peaks, b->peaks, sizeof(a->peaks));
    assert_memory_equal(&a->cache, &b->cache, sizeof(a->cache));
    assert_memory_equal(a->users, b->users, sizeof(a->users));
    assert_int_equal(!a->rpc, !b->rpc);
    if (a->rpc)
        assert_memory_equal(a->rpc, b->rpc, sizeof(*a->rpc));
    assert_int_equal(a->timeline.n, b->timeline.n);
    assert_int_equal(a->timeline.start_s, b->timeline.start_s);
    assert_int_equal(a->timeline.width_s, b->timeline.width_s);
    if (a->timeline.n)
        assert_memory_equal(a->timeline.bins, b->timeline.bins,
                            a->timeline.n * sizeof(*a->timeline.bins));
}

static void test_round_trip(void **state)
{
    struct job_account *job = job_make(7, NOW), **found;
    struct step_account step;

    (void)state;
    step_make(&step, STEP_BATCH, NOW, 5);
    step_add_users(&step);
    step_add_rpc(&step);
    step.completeness.lost = 4;
    assert_int_equal(completeness_add(&step.completeness, "map-\"full\"", 4, 1 << IO_READ), 0);
    assert_int_equal(completeness_add(&job->completeness, "began-untracked", 1, 0), 0);
    job->unsupported = 1ull << IO_MMAP_READ | 1ull << IO_SETXATTR;
    job->longest_wait_ns = 12;
    put_rows(job, &step, true);
    found = jobs_found(7, false, UINT32_MAX);
    assert_non_null(found[0]);
    assert_null(found[1]);
    assert_string_equal(found[0]->key.cluster, "linux");
    assert_string_equal(found[0]->name, job->name);
    assert_string_equal(found[0]->user, "alice");
    assert_string_equal(found[0]->account, "physics");
    assert_string_equal(found[0]->partition, "debug");
    assert_int_equal(found[0]->uid, 1000);
    assert_false(found[0]->ended);
    assert_int_equal(found[0]->start_ns, NOW);
    assert_int_equal(found[0]->end_ns, 0);
    assert_int_equal(found[0]->elapsed_ns, 5 * SECOND);
    assert_int_equal(found[0]->unsupported, job->unsupported);
    assert_int_equal(found[0]->ns_per_event, 200);
    assert_int_equal(found[0]->longest_wait_ns, 4500); /* of the step */
    assert_int_equal(found[0]->completeness.lost, 4);
    assert_int_equal(found[0]->completeness.n, 2);
    assert_int_equal(found[0]->n_steps, 1);
    assert_int_equal(found[0]->steps[0].step, STEP_BATCH);
    assert_int_equal(found[0]->steps[0].het, HET_NONE);
    assert_int_equal(found[0]->steps[0].state, STEP_ENDED);
    assert_int_equal(found[0]->steps[0].tagged_at_ns, NOW);
    assert_string_equal(found[0]->steps[0].node, "n1");
    assert_string_equal(found[0]->steps[0].completeness.items[0].cause, "map-\"full\"");
    assert_int_equal(found[0]->steps[0].completeness.items[0].ops, 1 << IO_READ);
    assert_int_equal(found[0]->steps[0].mounts.n, 2);
    for (size_t i = 0; i < 2; i++)
        assert_same_mount(&found[0]->steps[0].mounts.items[i], &step.mounts.items[i]);
    assert_int_equal(found[0]->steps[0].mounts.items[0].timeline.n, 3);
    store_jobs_free(found);
    step_account_clear(&step);
    job_account_destroy(job);
}

static int64_t count(const char *sql)
{
    struct error error;
    int64_t n = -1;

    assert_ok(store_number(opened, sql, &n, &error), error);
    return n;
}

/* Time lines of the maximum length and the largest numbers; their sum in the job; malformed text is
 * refused; they are deleted with their step. */
static void test_time_lines(void **state)
{
    struct job_account *job = job_make(7, NOW), **found = NULL;
    struct timeline_bin bins[TIMELINE_BINS], sum;
    struct step_account step;
    struct error error;

    (void)state;
    for (int i = 0; i < TIMELINE_BINS; i++)
        bins[i] = (struct timeline_bin){{UINT64_MAX / 512, (uint64_t)(i == 7), 0, (uint64_t)i},
                                        (uint64_t)i / 2};
    for (uint32_t n = 0; n < 2; n++) {
        step_make(&step, n, NOW, 5);
        timeline_clear(&step.mounts.items[0].timeline);
        assert_int_equal(timeline_set(&step.mounts.items[0].timeline, 1024 * n, 1 << n, bins, 200),
                         0);
        put_rows(job, &step, false);
        put_rows(job, &step, true); /* again: counted once */
        store_jobs_free(found);
        found = jobs_found(7, false, UINT32_MAX);
        assert_same_mount(&found[0]->steps[n].mounts.items[0], &step.mounts.items[0]);
        step_account_clear(&step);
    }
    assert_int_equal(found[0]->mounts.items[0].timeline.width_s, 8);
    sum = timeline_sum(&found[0]->mounts.items[0].timeline);
    assert_true(sum.of[TIMELINE_READ] == UINT64_MAX / 512 * 400);
    assert_int_equal(sum.of[TIMELINE_WRITE], 2);
    assert_int_equal(sum.of[TIMELINE_META], 0);
    assert_int_equal(sum.of[TIMELINE_WAIT], 200 * 199);
    store_jobs_free(found);
    assert_int_equal(count("SELECT count(*) FROM timeline"), 4);
    assert_int_equal(count("SELECT sum(value) FROM timeline, json_each(wait_ns) WHERE step_id = 1 "
                           "AND mount_id = 1"),
                     100 * 199);
    assert_ok(
        store_exec(opened, "UPDATE timeline SET read_bytes = '[1,x]' WHERE step_id = 1", &error),
        error);
    assert_int_equal(store_jobs(opened, "linux", 7, false, UINT32_MAX, &found, &error), -EBADMSG);
    assert_ok(store_exec(opened, "DELETE FROM job", &error), error);
    assert_int_equal(count("SELECT count(*) FROM timeline"), 0);
    job_account_destroy(job);
}

/* Whose wait was the longest is unknown in stores of older releases. */
static void test_longest_wait(void **state)
{
    struct job_account *job = job_make(7, NOW), **found = NULL;
    struct step_account step;
    struct timeline *t = NULL;
    struct error error;

    (void)state;
    step_make(&step, 0, NOW, 5);
    t = &step.mounts.items[0].timeline;
    for (unsigned i = 0; i < t->n; i++)
        t->bins[i].longest_ns = 0;
    put_rows(job, &step, true);
    found = jobs_found(7, false, UINT32_MAX);
    assert_int_equal(timeline_sum(&found[0]->mounts.items[0].timeline).longest_ns, 0);
    store_jobs_free(found);
    timeline_forget_longest(t);
    put_rows(job, &step, true);
    assert_int_equal(count("SELECT count(*) FROM timeline WHERE longest_wait_ns IS NULL"), 1);
    found = jobs_found(7, false, UINT32_MAX);
    assert_same_mount(&found[0]->steps[0].mounts.items[0], &step.mounts.items[0]);
    store_jobs_free(found);
    step_account_clear(&step);
    assert_ok(store_exec(opened, "DELETE FROM job", &error), error);
    job_account_destroy(job);
}

/* The peak of a job is its own busiest interval, not the largest of its steps. */
static void test_peaks_of_the_job(void **state)
{
    struct job_account *job = job_make(7, NOW), **found;
    struct step_account step;
    struct io_mount *m = io_mounts_get(&job->mounts, "/scratch", "nfs4", "srv:/x", false);

    (void)state;
    m->labelled = true;
    m->peaks[IO_READ] = (struct io_peak){.bytes_per_s = 999, .requests_per_s = 88};
    step_make(&step, 0, NOW, 1);
    put_rows(job, &step, true);
    m->peaks[IO_READ].bytes_per_s = 1001;
    put_rows(job, NULL, true);
    found = jobs_found(7, false, UINT32_MAX);
    assert_int_equal(found[0]->mounts.n, 2);
    assert_int_equal(found[0]->mounts.items[0].peaks[IO_READ].bytes_per_s, 1001);
    assert_int_equal(found[0]->mounts.items[0].peaks[IO_READ].requests_per_s, 88);
    assert_int_equal(found[0]->steps[0].mounts.items[0].peaks[IO_READ].bytes_per_s, 70);
    store_jobs_free(found);
    step_account_clear(&step);
    job_account_destroy(job);
}

static int keep_row(const struct history_row *row, void *arg)
{
    *(struct history_row *)arg = *row;
    return 0;
}

static struct history_row only_row(void)
{
    struct history_row row = {0};
    struct error error;

    assert_ok(
        store_history(opened, &(struct history_filter){.uid = UINT32_MAX}, keep_row, &row, &error),
        error);
    return row;
}

static uint64_t total_of(const char *mount, enum io_op op)
{
    struct io_mounts totals = {0};
    const struct io_counter *c;
    struct error error;
    uint64_t requests;

    assert_ok(store_node_totals(opened, &totals, &error), error);
    c = op_of(&totals, mount, op);
    requests = c ? c->requests : 0;
    io_mounts_clear(&totals);
    return requests;
}

/* A step that is written while it runs, at its end, and again after a crash counts once. */
static void test_sums_hold_a_step_once(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step, other;
    struct history_row row;

    (void)state;
    step_make(&step, 0, NOW, 2);
    step_add_users(&step);
    put_rows(job, &step, false);
    assert_int_equal(total_of("/scratch", IO_READ), 0);
    assert_int_equal(only_row().reads.requests, 2);
    step_account_clear(&step);
    step_make(&step, 0, NOW, 5);
    step_add_users(&step);
    for (int i = 0; i < 3; i++)
        put_rows(job, &step, true);
    put_rows(job, &step, false);
    step_make(&other, 1, NOW + 1, 7);
    put_rows(job, &other, true);
    assert_int_equal(total_of("/scratch", IO_READ), 12);
    assert_int_equal(total_of("(private)", IO_WRITE), 24);
    row = only_row();
    assert_int_equal(row.steps, 2);
    assert_int_equal(row.reads.requests, 12);
    assert_int_equal(row.reads.bytes, 4096 * 12);
    assert_int_equal(row.reads.max_ns, 1500);
    assert_int_equal(row.writes.bytes, 100 * 12 + 2 * 512);
    assert_int_equal(row.meta.requests, 6);
    assert_int_equal(row.errors, 6);
    assert_int_equal(row.wait_ns, (12 + 2 + 6 + 24) * 1000);
    assert_true(row.complete);
    step_account_clear(&step);
    step_account_clear(&other);
    job_account_destroy(job);
}

/* The row of folded steps grows after it was final; the name of a mount may become known later. */
static void test_final_row_that_changes(void **state)
{
    struct job_account *job = job_make(7, NOW);
    struct step_account step;
    struct history_row row;
    struct error error;
    int64_t left;

    (void)state;
    for (unsigned n = 1; n <= 4; n++) {
        step_make(&step, STEP_FOLDED, NOW, 10 * n);
        step.folded = n;
        put_rows(job, &step, true);
        assert_int_equal(total_of("/scratch", IO_READ), 10 * n);
        row = only_row();
        assert_int_equal(row.steps, n);
        assert_int_equal(row.reads.requests, 10 * n);
        step_account_clear(&step);
    }
    step_make(&step, STEP_FOLDED, NOW, 40);
    step.folded = 4;
    free(step.mounts.items[0].mount);
    step.mounts.items[0].mount = strdup("/late");
    put_rows(job, &step, true);
    assert_int_equal(total_of("/scratch", IO_READ), 0);
    assert_int_equal(total_of("/late", IO_READ), 40);
    assert_ok(store_number(opened,
                           "SELECT count(*) FROM job_mount JOIN mount ON mount.id = mount_id"
                           " WHERE mount = '/scratch'",
                           &left, &error),
              error);
    assert_int_equal(left, 0);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* 1,005 steps, of which 5 are folded: the sums have all of them. */
static void test_many_steps(void **state)
{
    struct job_account *job = job_make(7, NOW), **found;
    struct step_account step;
    struct error error;

    (void)state;
    assert_ok(store_begin(opened, true, &error), error);
    put_rows(job, NULL, true);
    for (uint32_t n = 0; n < 1000; n++) {
        step_make(&step, n, NOW + n, 1);
        put_rows(job, &step, true);
        step_account_clear(&step);
    }
    step_make(&step, STEP_FOLDED, NOW + 1000, 5);
    step.folded = 5;
    put_rows(job, &step, true);
    step_account_clear(&step);
    assert_ok(store_commit(opened, &error), error);
    assert_int_equal(total_of("/scratch", IO_READ), 1005);
    assert_int_equal(only_row().steps, 1005);
    found = jobs_found(7, false, UINT32_MAX);
    assert_int_equal(found[0]->n_steps, 1001);
    assert_int_equal(op_of(&found[0]->mounts, "/scratch", IO_READ)->requests, 1005);
    store_jobs_free(found);
    job_account_destroy(job);
}

static void test_numbers_saturate(void **state)
{
    struct job_account *job = job_make(7, NOW), **found;
    struct step_account step;
    const struct io_counter *c;

    (void)state;
    for (uint32_t n = 0; n < 2; n++) {
        step_make(&step, n, NOW, 1);
        step.mounts.items[0].io.ops[IO_READ]->bytes = UINT64_MAX;
        step.mounts.items[0].io.ops[IO_READ]->size_log2[31] = UINT64_MAX;
        put_rows(job, &step, true);
        step_account_clear(&step);
    }
    found = jobs_found(7, false, UINT32_MAX);
    c = op_of(&found[0]->steps[0].mounts, "/scratch", IO_READ);
    assert_int_equal(c->bytes, INT64_MAX);
    assert_int_equal(c->size_log2[31], UINT64_MAX);
    assert_int_equal(only_row().reads.bytes, INT64_MAX);
    store_jobs_free(found);
    job_account_destroy(job);
}

static void test_restarts_and_holders(void **state)
{
    struct job_account *job = job_make(7, NOW), **found;
    struct step_account step;

    (void)state;
    step_make(&step, STEP_BATCH, NOW, 1);
    job->ended = true;
    job->end_ns = NOW + 10 * SECOND;
    put_rows(job, &step, true);
    put_rows(job, &step, true); /* the same again */
    job->key.restart = 1;
    job->start_ns = step.tagged_at_ns = NOW + 20 * SECOND;
    job->end_ns = NOW + 30 * SECOND;
    put_rows(job, &step, true);
    job->key.restart = 0; /* after a reset, the cluster reuses the number for another user */
    job->start_ns = step.tagged_at_ns = NOW + 40 * SECOND;
    job->end_ns = NOW + 50 * SECOND;
    job->uid = 2000;
    put_rows(job, &step, true);
    found = jobs_found(7, true, UINT32_MAX);
    assert_int_equal(found[0]->uid, 2000);
    assert_int_equal(found[0]->n_steps, 1);
    assert_int_equal(found[1]->key.restart, 1);
    assert_int_equal(found[2]->start_ns, NOW);
    assert_null(found[3]);
    store_jobs_free(found);
    found = jobs_found(7, false, 1000);
    assert_int_equal(found[0]->key.restart, 1);
    assert_null(found[1]);
    store_jobs_free(found);
    found = jobs_found(7, false, 4711);
    assert_null(found[0]);
    store_jobs_free(found);
    found = jobs_found(8, true, UINT32_MAX);
    assert_null(found[0]);
    store_jobs_free(found);
    step_account_clear(&step);
    job_account_destroy(job);
}

/* Steps with and without the numbers of the array. */
static void test_unfinished_after_a_restart(void **state)
{
    struct job_account *running = job_make(1, NOW), *ended = job_make(2, NOW), **found = NULL;
    struct step_account step;
    struct error error;

    (void)state;
    step_make(&step, 0, NOW, 3);
    step.state = STEP_RUNNING;
    put_rows(running, &step, false);
    ended->ended = true;
    ended->end_ns = NOW + SECOND;
    put_rows(ended, NULL, true);
    store_close(opened);
    opened = open_store(&directory);
    assert_ok(store_unfinished(opened, &found, &error), error);
    assert_int_equal(found[0]->key.jobid, 1);
    assert_null(found[1]);
    assert_int_equal(found[0]->steps[0].state, STEP_RUNNING);
    store_jobs_free(found);
    step_account_clear(&step);
    job_account_destroy(running);
    job_account_destroy(ended);
}

static void test_write_that_fails_undoes_itself(void **state)
{
    struct job_account *job = job_make(7, NOW), **found;
    struct job_key nobody = {.cluster = (char[]){"linux"}, .jobid = 99};
    struct step_account step;
    struct error error;

    (void)state;
    step_make(&step, 0, NOW, 1);
    assert_ok(store_begin(opened, true, &error), error);
    put_rows(job, &step, true);
    assert_int_equal(store_put_step(opened, &nobody, &step, true, &error), -ENOENT);
    assert_non_null(strstr(error.text, "job 99"));
    assert_ok(store_commit(opened, &error), error);
    assert_int_equal(total_of("/scratch", IO_READ), 1);
    assert_ok(store_begin(opened, false, &error), error);
    job->key.jobid = 8;
    put_rows(job, &step, true);
    store_rollback(opened);
    found = jobs_found(8, true, UINT32_MAX);
    assert_null(found[0]);
    store_jobs_free(found);
    assert_int_equal(total_of("/scratch", IO_READ), 1);
    step_account_clear(&step);
    job_account_destroy(job);
}

static void test_state(void **state)
{
    struct error error;
    char *value = (char *)"untouched";

    (void)state;
    assert_ok(store_get_state(opened, "push:a", &value, &error), error);
    assert_null(value);
    assert_ok(store_put_state(opened, "push:a", "1", &error), error);
    assert_ok(store_put_state(opened, "push:a", "2", &error), error);
    assert_ok(store_get_state(opened, "push:a", &value, &error), error);
    assert_string_equal(value, "2");
    free(value);
    assert_ok(store_put_state(opened, "push:a", NULL, &error), error);
    assert_ok(store_get_state(opened, "push:a", &value, &error), error);
    assert_null(value);
}

static int join_state(const char *key, const char *value, void *arg)
{
    char *text = arg;

    sprintf(text + strlen(text), "%s=%s ", key, value);
    return strcmp(value, "stop") == 0 ? 7 : 0;
}

static void test_states_below_a_prefix(void **state)
{
    struct error error;
    char text[200] = "";

    (void)state;
    assert_ok(store_each_state(opened, "p/", join_state, text, &error), error);
    assert_string_equal(text, "");
    assert_ok(store_put_state(opened, "p/b", "2", &error), error);
    assert_ok(store_put_state(opened, "o/a", "x", &error), error);
    assert_ok(store_put_state(opened, "p/a", "1", &error), error);
    assert_ok(store_put_state(opened, "p0", "y", &error), error); /* '0' follows '/' */
    assert_ok(store_each_state(opened, "p/", join_state, text, &error), error);
    assert_string_equal(text, "p/a=1 p/b=2 ");
    assert_ok(store_put_state(opened, "p/a", "stop", &error), error);
    text[0] = '\0';
    assert_int_equal(store_each_state(opened, "p/", join_state, text, &error), 7);
    assert_string_equal(text, "p/a=stop ");
}

static void test_stats(void **state)
{
    struct store_stats stats;
    struct error error;

    (void)state;
    fill_history();
    assert_ok(store_stats(opened, &stats, &error), error);
    assert_int_equal(stats.jobs, 4);
    assert_int_equal(stats.steps, 4);
    assert_int_equal(stats.oldest_ns, NOW + 20 * SECOND - 1);
    assert_true(stats.bytes > 4096);
}

/* A reader sees what the writer has committed, and cannot write. */
static void test_reader_beside_the_writer(void **state)
{
    struct store *reader = open_reader(&directory);
    struct job_account *job = job_make(7, NOW), **found = NULL;
    struct error error;

    (void)state;
    put_rows(job, NULL, true);
    assert_ok(store_jobs(reader, NULL, 7, false, UINT32_MAX, &found, &error), error);
    assert_non_null(found[0]);
    store_jobs_free(found);
    assert_int_equal(store_put_job(reader, job, &error), -EROFS);
    store_close(reader);
    job_account_destroy(job);
}

static void test_views_answer(void **state)
{
    int64_t number;
    struct error error;

    (void)state;
    fill_history();
    assert_ok(
        store_number(opened, "SELECT count(*) FROM v_job WHERE state = 'running'", &number, &error),
        error);
    assert_int_equal(number, 1);
    assert_ok(
        store_number(opened, "SELECT sum(bytes) FROM v_step_io WHERE op = 'read'", &number, &error),
        error);
    assert_int_equal(number, 4096 * 100);
    assert_ok(store_number(opened, "SELECT bytes FROM v_job_io WHERE jobid = 3 AND op = 'read'",
                           &number, &error),
              error);
    assert_int_equal(number, 4096 * 40);
    assert_ok(store_number(opened,
                           "SELECT write_bytes FROM v_job_mount"
                           " WHERE jobid = 3 AND mount = '/scratch'",
                           &number, &error),
              error);
    assert_int_equal(number, 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(test_round_trip),
        STORE_TEST(test_time_lines),
        STORE_TEST(test_longest_wait),
        STORE_TEST(test_peaks_of_the_job),
        STORE_TEST(test_sums_hold_a_step_once),
        STORE_TEST(test_final_row_that_changes),
        STORE_TEST(test_many_steps),
        STORE_TEST(test_numbers_saturate),
        STORE_TEST(test_restarts_and_holders),
        STORE_TEST(test_unfinished_after_a_restart),
        STORE_TEST(test_write_that_fails_undoes_itself),
        STORE_TEST(test_state),
        STORE_TEST(test_states_below_a_prefix),
        STORE_TEST(test_stats),
        STORE_TEST(test_reader_beside_the_writer),
        STORE_TEST(test_views_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

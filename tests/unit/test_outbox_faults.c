/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each allocation, call on files and write fails once while the outbox is changed and read: a
 * change is complete, or an error and the rows are as before; what is read is exact or an error. */
#include "tests/unit/test.h"
#include "tests/unit/store_data.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/deliver/kinds.h"
#include "collector/deliver/step_batch.h"
#include "collector/store/store_impl.h"
#include "common/cleanup.h"
#include "tests/unit/fault.h"

#define STEPS 3

static const struct job_key key = {(char *)"linux", 7, 0};
static char *before, *after; /* the rows of the database without a fault */

static bool keeps; /* what only reads uses the same store again, which is faster */

static void finish(void)
{
    if (keeps)
        return;
    store_close(opened);
    opened = NULL;
    folder_remove(&directory);
}

/* One job with three steps. Rows 1 to 3 are for the history, 4 and 5 for node n2, which has refused
 * the first. */
static void prepare(void)
{
    struct error error;

    if (keeps)
        return;
    folder_make(&directory);
    opened = open_store(&directory);
    store_fill(opened, STEPS);
    store_close(opened);
    store_sql("INSERT INTO outbox (sink, step_id, queued_ns) SELECT 'history', id, 1 FROM step; "
              "INSERT INTO outbox (sink, step_id, queued_ns, refused) "
              "SELECT 'peer:n2', id, 1, iif(id = 1, 'why', NULL) FROM step WHERE id < 3");
    assert_ok(store_open(&opened, &(struct store_options){.path = directory.store}, &error), error);
}

/* --- changes ---------------------------------------------------------------------------------- */

static int put(struct error *error)
{
    const struct step_account step = {
        .het = HET_NONE, .step = 1, .node = (char *)"n1", .tagged_at_ns = NOW};

    return store_outbox_put(opened, &key, &step, "history", error);
}

static int put_job(struct error *error)
{
    return store_outbox_put_job(opened, &key, "other", error);
}

static int put_all(struct error *error)
{
    return store_outbox_put_all(opened, &key, "other", error);
}

static int drop(struct error *error)
{
    return store_outbox_drop(opened, (const int64_t[]){1, 3}, 2, error);
}

static int refuse(struct error *error)
{
    return store_outbox_refuse(opened, 2, "it is bad", error);
}

static int retry(struct error *error)
{
    return store_outbox_retry(opened, "peer:*", error);
}

static int forget(struct error *error)
{
    return store_outbox_forget(opened, "peer:*", error);
}

static int (*change)(struct error *error);

/* The same connection then does what has failed. */
static void check_change(int r, bool hit)
{
    char *rows = store_rows();
    struct error error;

    (void)hit;
    assert_store_rows(rows, r < 0 ? before : after);
    free(rows);
    if (r < 0)
        assert_ok(change(&error), error);
    rows = store_rows();
    assert_store_rows(rows, after);
    free(rows);
    finish();
}

static void record(void)
{
    struct error error;

    prepare();
    before = store_rows();
    assert_ok(change(&error), error);
    after = store_rows();
    assert_string_not_equal(before, after);
    finish();
}

/* Not all of them allocate memory besides that of SQLite. */
static void each_fault(const char *name, int (*run)(struct error *error), bool allocates)
{
    const struct fault_scenario s = {name, prepare, run, check_change};

    change = run;
    record();
    if (allocates)
        fault_each(FAULT_MEMORY, &s, 1);
    fault_each(FAULT_SQLITE_MEMORY, &s, 41);
    fault_each(FAULT_SQLITE_IO, &s, 1);
    fault_each(FAULT_SQLITE_FULL, &s, 1);
    free(before);
    free(after);
}

static void test_changes(void **state)
{
    (void)state;
    each_fault("queue a step", put, false);
    each_fault("queue a step of a job", put_job, false);
    each_fault("queue all steps of a job", put_all, false);
    each_fault("drop rows", drop, false);
    each_fault("refuse a row", refuse, false);
    each_fault("retry the refused rows", retry, true);
    each_fault("forget the rows of a sink", forget, true);
}

/* Each allocation; some of the others, because each needs a store. */
static void each_fault_of_reading(const struct fault_scenario *s)
{
    prepare();
    keeps = true;
    fault_each(FAULT_MEMORY, s, 1);
    keeps = false;
    finish();
    fault_each(FAULT_SQLITE_MEMORY, s, 31);
    fault_each(FAULT_SQLITE_IO, s, 1);
}

/* --- reading ---------------------------------------------------------------------------------- */

static char seen[1024], expected[1024];

static void __attribute__((format(printf, 1, 2))) see(const char *format, ...)
{
    size_t n = strlen(seen);
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(seen + n, sizeof(seen) - n, format, ap);
    va_end(ap);
}

static int see_row(int64_t id, const struct job_account *job, void *arg)
{
    const struct step_account *step = &job->steps[0];

    (void)arg;
    see("%d: %s %u.%u %zu\n", (int)id, job->user, job->key.jobid, step->step, step->mounts.n);
    for (size_t i = 0; i < step->mounts.n; i++)
        see("  %s %d\n", step->mounts.items[i].mount, (int)io_mounts_requests(&step->mounts));
    return 0;
}

static int see_sink(const char *sink, void *arg)
{
    struct outbox_stats stats;
    int r = store_outbox_stats(opened, sink, &stats, arg);

    if (r == 0)
        see("%s %d %d %d\n", sink, (int)stats.waiting, (int)stats.refused, (int)stats.oldest_ns);
    return r;
}

static int read_all(struct error *error)
{
    bool more = false;
    int r;

    seen[0] = '\0';
    r = store_outbox_read(opened, "history", 0, 100, see_row, NULL, error);
    if (r == 0)
        r = store_outbox_more(opened, 2, &more, error);
    if (r == 0)
        see("more %d\n", more);
    return r < 0 ? r : store_outbox_sinks(opened, see_sink, error, error);
}

static void check_read(int r, bool hit)
{
    struct error error;

    (void)hit;
    if (r < 0)
        assert_ok(read_all(&error), error);
    assert_string_equal(seen, expected);
    finish();
}

static void test_read(void **state)
{
    static const struct fault_scenario reading = {"read the outbox", prepare, read_all, check_read};
    struct error error;

    (void)state;
    prepare();
    assert_ok(read_all(&error), error);
    (void)strcpy(expected, seen);
    assert_non_null(strstr(expected, "3: alice 7.2 2\n"));
    assert_non_null(strstr(expected, "history 3 0 1\npeer:n2 1 1 1\n"));
    finish();
    each_fault_of_reading(&reading);
}

/* --- a request to a history database -----------------------------------------------------------
 */

static struct step_batch *batch;
static char *request;

static int read_batch(struct error *error)
{
    static const struct target_options options = {.table = "jobio.io", .action = "index"};
    const struct step_format format = {&bulk_kind, &options};
    const struct step_limits limits = {.rows = 1000, .bytes = 1u << 20};

    batch = NULL;
    return step_batch_read(opened, "history", 0, &limits, &format, &batch, error);
}

/* All steps are in it, or none. */
static void check_batch(int r, bool hit)
{
    struct error error;

    (void)hit;
    if (r < 0) {
        assert_null(batch);
        assert_ok(read_batch(&error), error);
    }
    assert_int_equal(batch->n, STEPS);
    assert_int_equal(batch->size, strlen(request));
    assert_memory_equal(batch->text, request, batch->size);
    step_batch_destroy(batch);
    finish();
}

static void test_batch(void **state)
{
    static const struct fault_scenario batches = {"write the rows of a request", prepare,
                                                  read_batch, check_batch};
    struct error error;

    (void)state;
    prepare();
    assert_ok(read_batch(&error), error);
    request = strndup(batch->text, batch->size);
    assert_int_equal(batch->n, STEPS);
    step_batch_destroy(batch);
    finish();
    each_fault_of_reading(&batches);
    free(request);
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
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_batch),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}

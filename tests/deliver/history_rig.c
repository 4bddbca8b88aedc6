/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/deliver/history_rig.h"

#include "tests/unit/test.h"

#include "common/cleanup.h"

struct clickhouse rig_server;

int rig_start(void **state)
{
    (void)state;
    clickhouse_make(&rig_server);
    clickhouse_start(&rig_server);
    return 0;
}

int rig_remove(void **state)
{
    (void)state;
    clickhouse_remove(&rig_server);
    return 0;
}

int rig_setup(void **state)
{
    if (!rig_server.pid)
        clickhouse_start(&rig_server);
    clickhouse_reset(&rig_server);
    return feed_setup(state);
}

void rig_assert_answer(const char *sql, const char *want)
{
    _free_ char *got = clickhouse_ask(&rig_server, sql);

    assert_string_equal(got, want);
}

void rig_put_odd_jobs(void)
{
    struct job_account *job = job_make(5, NOW);
    struct step_account step;
    struct error error;

    for (unsigned run = 0; run < 3; run++) {
        job->key.restart = run > 1;
        job->start_ns = NOW + run * 100 * SECOND;
        job->ended = false;
        job->unsupported = 1u << IO_CLONE;
        step_make(&step, 0, job->start_ns, run + 1);
        put_rows(job, &step, true);
        assert_ok(store_outbox_put(opened, &job->key, &step, "history", &error), error);
        step_account_clear(&step);
        step_make(&step, STEP_FOLDED, job->start_ns, run + 7);
        step.folded = 12;
        step_add_mpi(&step, run + 2);
        step_add_block(&step, run + 2);
        step.completeness.lost = 3;
        assert_int_equal(completeness_add(&step.completeness, "map-full", 2, 1u << IO_READ), 0);
        assert_ok(store_put_step(opened, &job->key, &step, true, &error), error);
        assert_ok(store_outbox_put(opened, &job->key, &step, "history", &error), error);
        job->ended = true;
        job->end_ns = job->start_ns + 20 * SECOND;
        job->elapsed_ns = 20 * SECOND;
        job->longest_wait_ns = step.longest_wait_ns;
        assert_int_equal(io_mounts_add(&job->mounts, &step.mounts), 0);
        job->mounts.items[0].peaks[IO_READ].bytes_per_s = 7; /* below a step's */
        put_rows(job, NULL, true);
        assert_ok(store_outbox_put_job(opened, &job->key, "history", &error), error);
        io_mounts_clear(&job->mounts);
        job->mounts = (struct io_mounts){0};
        step_account_clear(&step);
    }
    job_account_destroy(job);
}

void rig_put_state(uint32_t jobid, enum slurm_state state)
{
    const struct slurm_end end = {state, state != SLURM_STATE_REQUEUED, jobid, 9};
    struct job_account *job = job_make(jobid, NOW);
    struct error error;

    assert_ok(store_put_slurm_end(opened, &job->key, &end, &error), error);
    assert_ok(store_outbox_put_job(opened, &job->key, "history", &error), error);
    job_account_destroy(job);
}

void rig_make_old_table(void)
{
    _free_ char *text = clickhouse_sql("upgrade.sql");
    static const char before[] = "ADD COLUMN IF NOT EXISTS ";
    char sql[4096] = "ALTER TABLE jobio.io";
    size_t size = strlen(sql);

    for (const char *p = text; (p = strstr(p, before));) {
        p += strlen(before);
        size += (size_t)snprintf(sql + size, sizeof(sql) - size, " DROP COLUMN %.*s,",
                                 (int)strcspn(p, " "), p);
        assert_true(size < sizeof(sql));
    }
    sql[size - 1] = '\0';
    clickhouse_do(&rig_server, "DROP TABLE jobio.v_row");
    clickhouse_do(&rig_server, sql);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* backlog STORE STEPS: make a store with so many finished steps in the outbox: jobs of ten steps
 * with one mount each; step n has n reads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/store/store.h"

#define SECOND 1000000000ull
#define STEPS_PER_JOB 10
#define BATCH 1000

static struct error error;

static void check(int r)
{
    if (r >= 0)
        return;
    (void)fprintf(stderr, "backlog: %s\n", error.text);
    exit(1);
}

static struct io_counter *count(struct io_mount *m, enum io_op op, uint64_t requests,
                                uint64_t bytes)
{
    struct io_counter *c = io_account_op(&m->io, op);

    if (!c)
        exit(1);
    c->requests = requests;
    c->bytes = bytes;
    c->time_ns = requests * 1000;
    c->max_ns = 1500;
    for (unsigned i = 3; i < 12; i++)
        c->latency_log2[i] = requests / 9 + 1;
    c->size_log2[12] = bytes ? requests : 0;
    return c;
}

static void put_step(struct store *store, const struct job_account *job, uint32_t number,
                     uint64_t requests)
{
    struct step_account step = {.het = HET_NONE,
                                .step = number,
                                .node = strdup("node1"),
                                .tagged_at_ns = job->start_ns + number,
                                .elapsed_ns = SECOND,
                                .state = STEP_ENDED};
    struct io_mount *m = io_mounts_get(&step.mounts, "/scratch", "nfs4", "srv:/scratch", false);

    if (!m)
        exit(1);
    (void)count(m, IO_READ, requests, requests * 4096);
    (void)count(m, IO_WRITE, 7, 7 * 4096);
    (void)count(m, IO_OPEN, 3, 0);
    (void)count(m, IO_STAT, 5, 0);
    check(store_put_step(store, &job->key, &step, true, &error));
    check(store_outbox_put(store, &job->key, &step, "history", &error));
    step_account_clear(&step);
}

static void put_job(struct store *store, uint32_t jobid, uint64_t start_ns)
{
    struct job_account *job = job_account_create();

    if (!job)
        exit(1);
    job->key = (struct job_key){.cluster = strdup("c1"), .jobid = jobid};
    job->uid = 1000;
    job->user = strdup("alice");
    job->account = strdup("physics");
    job->partition = strdup("batch");
    job->name = strdup("simulation.sh");
    job->ended = true;
    job->start_ns = start_ns;
    job->end_ns = start_ns + SECOND;
    job->elapsed_ns = SECOND;
    job->nodes_expected = job->nodes_reported = 1;
    check(store_put_job(store, job, &error));
    for (uint32_t i = 0; i < STEPS_PER_JOB; i++)
        put_step(store, job, i, (jobid - 1) * STEPS_PER_JOB + i + 1);
    job_account_destroy(job);
}

int main(int argc, char **argv)
{
    struct store_options options = {.path = argc == 3 ? argv[1] : NULL};
    uint32_t jobs = argc == 3 ? (uint32_t)strtoul(argv[2], NULL, 10) / STEPS_PER_JOB : 0;
    uint64_t now = (uint64_t)time(NULL) * SECOND;
    struct store *store;

    if (!jobs) {
        (void)fputs("usage: backlog STORE STEPS\n", stderr);
        return 2;
    }
    check(store_open(&store, &options, &error));
    for (uint32_t i = 0; i < jobs; i++) {
        if (i % (BATCH / STEPS_PER_JOB) == 0)
            check(store_begin(store, false, &error));
        put_job(store, i + 1, now - 86400 * SECOND + i * SECOND / 10);
        if (i % (BATCH / STEPS_PER_JOB) == BATCH / STEPS_PER_JOB - 1 || i == jobs - 1)
            check(store_commit(store, &error));
    }
    store_close(store);
    return 0;
}

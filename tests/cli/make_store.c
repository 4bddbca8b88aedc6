/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * make_store PATH [TASKS]: a store as jobiod writes it, through the same functions, with the jobs
 * that the tests of the command ask for. It stands in for a jobiod that has seen these jobs. With
 * TASKS: an array 300 of so many, from task 0 on, as task 0 of 140, but that the last but one
 * waited 90 s of its 100 s on /home.
 *
 *   100  alice  ended 30 days ago
 *   123  alice  run twice; the second ended an hour ago: 1,000 MiB read and 10 MiB written on
 *               /scratch, 4 KiB read on /; with MPI-IO, step 0 wrote 12 GiB in 768 collective
 *               calls, and the batch step opened 3 files
 *   124  mallory, running, not complete, with a job name made to hurt terminals and tables
 *   125  root
 *   200  erin, to 219: a job name with a comma in it, 90 days ago and each day from then on; the
 *               last three waited 400 s of 1,300 s instead of 20 s of 1,000 s, because of /home
 *   140  dora, tasks 0, 1 and 2 of an array, 40 days ago, of which the last has the array's
 *               number
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/store/store.h"
#include "common/clock.h"

#define MS 1000000ull
#define WAIT_USUAL (30 * NS_PER_S)
#define MIB (1ull << 20)
#define HOUR (3600 * NS_PER_S)
#define DAY (24 * HOUR)

static struct error error;

static void check(int rc)
{
    if (rc >= 0)
        return;
    (void)fprintf(stderr, "make_store: %s\n", error.text);
    exit(1);
}

/* `requests` calls of `bytes` in all, each of `each_ns`. */
static void put_op(struct io_mount *mount, enum io_op op, uint64_t requests, uint64_t bytes,
                   uint64_t each_ns)
{
    struct io_counter *counter = io_account_op(&mount->io, op);

    counter->requests = requests;
    counter->bytes = bytes;
    counter->time_ns = requests * each_ns;
    counter->max_ns = each_ns;
    counter->latency_log2[io_latency_bucket(each_ns)] = requests;
    if (io_op_is_data(op))
        counter->size_log2[io_size_bucket(bytes / requests)] = requests;
    mount->peaks[op].bytes_per_s = bytes / 2;
    mount->peaks[op].requests_per_s = requests / 2;
}

/* All of it waited 31 s. */
static void fill_mounts(struct io_mounts *mounts)
{
    struct io_mount *scratch = io_mounts_get(mounts, "/scratch", "nfs4", "server:/scratch", false);
    struct io_mount *root;

    put_op(scratch, IO_READ, 1000, 1000 * MIB, MS);
    put_op(scratch, IO_WRITE, 20, 10 * MIB, MS);
    put_op(scratch, IO_OPEN, 5000, 0, 6 * MS);
    io_account_op(&scratch->io, IO_OPEN)->errors = 3;
    check(io_counter_errno(io_account_op(&scratch->io, IO_OPEN), ENOENT, 3));
    root = io_mounts_get(mounts, "/", "ext4", "/dev/vda1", false);
    put_op(root, IO_READ, 1, 4096, MS);
}

/* It read in the first half of the time, wrote in the last tenth, and opened files all the time. */
static void fill_time(struct io_mount *m, uint64_t start_ns, uint64_t elapsed_ns)
{
    const uint64_t end = start_ns + elapsed_ns;
    const uint64_t spans[TIMELINE_KINDS][2] = {
        [TIMELINE_READ] = {start_ns, start_ns + elapsed_ns / 2},
        [TIMELINE_WRITE] = {end - elapsed_ns / 10, end},
        [TIMELINE_META] = {start_ns, end},
        [TIMELINE_WAIT] = {start_ns, end},
    };
    struct timeline_bin all = io_account_now(&m->io);

    for (int k = 0; k < TIMELINE_KINDS; k++) {
        struct timeline_bin part = {0};

        part.of[k] = all.of[k];
        part.longest_ns = k == TIMELINE_WAIT ? all.of[k] / 4 : 0;
        check(timeline_spread(&m->timeline, 1, spans[k][0], spans[k][1], &part));
    }
}

#define STORM 50000

/* So many calls on another mount, which took that long. */
static void fill_storm(struct io_mounts *mounts, uint64_t wait_ns)
{
    put_op(io_mounts_get(mounts, "/home", "nfs4", "server:/home", false), IO_STAT, STORM, 0,
           wait_ns / STORM);
}

static void fill_mpi(struct step_account *step)
{
    struct mpi_account *mpi = step->mpi = calloc(1, sizeof(*mpi));
    struct mpi_counter *c = &mpi->classes[step->step == STEP_BATCH ? MPI_OPEN : MPI_WRITE_ALL];

    c->calls = step->step == STEP_BATCH ? 3 : 768;
    c->time_ns = c->calls * MS;
    c->latency_log2[io_latency_bucket(MS)] = c->calls;
    if (step->step == STEP_BATCH)
        return;
    c->bytes = c->calls * 16 * MIB;
    c->size_log2[io_size_bucket(16 * MIB)] = c->calls;
}

static void fill_block(struct step_account *step)
{
    struct block_account *block = step->block = calloc(1, sizeof(*block));
    struct block_counter *c;

    if (step->step == STEP_BATCH)
        return;
    c = &block_account_get(block, "nvme0n1")->own[BLOCK_WRITE];
    c->requests = 3072;
    c->bytes = c->requests * 4 * MIB;
    c->queued_ns = c->requests * MS;
    c->device_ns = c->requests * 3 * MS;
    c->latency_log2[io_latency_bucket(4 * MS)] = c->requests;
}

static void put_stacks(struct store *store, const struct job_key *key,
                       const struct step_account *step)
{
    struct stack_profile profile = {
        .failed = {2, 40 * MS},
        .least_ns = MS,
        .counts = {.all = {768, 3000 * MS}, .unsampled = {66, 160 * MS}},
    };
    struct stack *stacks = calloc(2, sizeof(*stacks));

    stacks[0] =
        (struct stack){strdup("ior;_start\tior;main\tior;write\tlibc.so.6"), {600, 2700 * MS}};
    stacks[1] = (struct stack){strdup("ior;_start\tior;main\tior;[ior+0x1f0]"), {100, 100 * MS}};
    stack_profile_fill(&profile, stacks, 2);
    check(store_put_stacks(store, key, step, &profile, &error));
    stack_profile_clear(&profile);
}

static void put_step(struct store *store, struct job_account *job, uint32_t id, uint64_t lost)
{
    struct step_account step = {
        .het = HET_NONE,
        .step = id,
        .node = strdup("node1"),
        .tagged_at_ns = job->start_ns + (id == STEP_BATCH ? 0 : NS_PER_S),
        .elapsed_ns = job->elapsed_ns,
        .state = job->ended ? STEP_ENDED : STEP_RUNNING,
        .longest_wait_ns = id == STEP_BATCH ? job->longest_wait_ns : 0,
    };

    if (id == STEP_BATCH)
        fill_mounts(&step.mounts);
    if (id == STEP_BATCH && job->longest_wait_ns > WAIT_USUAL)
        fill_storm(&step.mounts, job->longest_wait_ns);
    for (size_t i = 0; i < step.mounts.n; i++)
        fill_time(&step.mounts.items[i], job->start_ns, job->elapsed_ns);
    if (job->key.jobid == 123 && job->key.restart == 1) {
        fill_mpi(&step);
        fill_block(&step);
    }
    step.completeness.lost = lost;
    if (lost)
        check(completeness_add(&step.completeness, "map-full", lost, 0));
    check(store_put_step(store, &job->key, &step, job->ended, &error));
    if (job->key.jobid == 123 && job->key.restart == 1 && id != STEP_BATCH)
        put_stacks(store, &job->key, &step);
    step_account_clear(&step);
}

struct sample {
    uint32_t jobid, restart, uid;
    const char *user, *name;
    uint64_t ago_ns, elapsed_ns;
    bool ended;
    uint64_t lost;
    uint32_t array_job, array_task;
    uint64_t wait_ns; /* of one thread; 0: WAIT_USUAL */
    enum slurm_state state;
};

static const struct sample samples[] = {
    {100, 0, 4101, "alice", "old", 30 * DAY, HOUR, true, 0, 0, 0, 0, 0},
    {123, 0, 4101, "alice", "simulate", 4 * HOUR, 60 * NS_PER_S, true, 0, 0, 0, 0,
     SLURM_STATE_REQUEUED},
    {123, 1, 4101, "alice", "simulate", 3 * HOUR, 2 * HOUR, true, 0, 0, 0, 0, 0},
    {124, 0, 4102, "mallory", "a|b\033]0;evil\007\033[31mred", HOUR, HOUR, false, 42, 0, 0, 0, 0},
    {125, 0, 0, "root", "backup", 2 * HOUR, 60 * NS_PER_S, true, 0, 0, 0, 0, SLURM_STATE_FAILED},
    {141, 0, 4103, "dora", "sweep", 40 * DAY, 100 * NS_PER_S, true, 0, 140, 0, 0, 0},
    {142, 0, 4103, "dora", "sweep", 40 * DAY, 200 * NS_PER_S, true, 0, 140, 1, 0, 0},
    {140, 0, 4103, "dora", "sweep", 40 * DAY, 300 * NS_PER_S, true, 0, 140, 2, 0, 0},
};

static void put_job(struct store *store, const struct sample *sample, uint64_t now_ns)
{
    struct job_account *job = job_account_create();

    job->key = (struct job_key){strdup("test"), sample->jobid, sample->restart};
    job->uid = sample->uid;
    job->user = strdup(sample->user);
    job->account = strdup("physics");
    job->partition = strdup("batch");
    job->name = strdup(sample->name);
    job->ended = sample->ended;
    job->start_ns = now_ns - sample->ago_ns;
    job->end_ns = sample->ended ? job->start_ns + sample->elapsed_ns : 0;
    job->elapsed_ns = sample->elapsed_ns;
    job->array_job = sample->array_job;
    job->array_task = sample->array_task;
    job->longest_wait_ns = sample->wait_ns ? sample->wait_ns : WAIT_USUAL;
    job->nodes_expected = job->nodes_reported = 1;
    check(store_put_job(store, job, &error));
    put_step(store, job, STEP_BATCH, sample->lost);
    put_step(store, job, 0, 0);
    if (sample->state != SLURM_STATE_UNKNOWN)
        check(store_put_slurm_end(
            store, &job->key,
            &(struct slurm_end){sample->state, sample->state != SLURM_STATE_REQUEUED,
                                sample->state == SLURM_STATE_FAILED ? 3 : 0, 0},
            &error));
    job_account_destroy(job);
}

static void put_array(struct store *store, uint32_t tasks, uint64_t now_ns)
{
    for (uint32_t i = 0; i < tasks; i++) {
        const struct sample sample = {.jobid = 1000 + i,
                                      .uid = 4103,
                                      .user = "dora",
                                      .name = "sweep",
                                      .ago_ns = 40 * DAY,
                                      .elapsed_ns = 100 * NS_PER_S,
                                      .ended = true,
                                      .array_job = 300,
                                      .array_task = i,
                                      .wait_ns = (i + 2 == tasks ? 90 : 30) * NS_PER_S};

        if (i % 1000 == 0)
            check(store_begin(store, false, &error));
        put_job(store, &sample, now_ns);
        if (i % 1000 == 999 || i + 1 == tasks)
            check(store_commit(store, &error));
    }
}

static void put_samples(struct store *store, uint64_t now_ns)
{
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
        put_job(store, &samples[i], now_ns);
    for (uint32_t i = 0; i < 20; i++)
        put_job(store,
                &(struct sample){.jobid = 200 + i,
                                 .uid = 4104,
                                 .user = "erin",
                                 .name = "train, \\ v2",
                                 .ago_ns = (90 - i) * DAY,
                                 .elapsed_ns = (i < 17 ? 1000 : 1300) * NS_PER_S,
                                 .ended = true,
                                 .wait_ns = (i < 17 ? 20 : 400) * NS_PER_S},
                now_ns);
    /* A number that was used more often than an answer lists. */
    for (uint32_t i = 0; i < 120; i++)
        put_job(store,
                &(struct sample){.jobid = 126,
                                 .restart = i,
                                 .user = "root",
                                 .name = "often",
                                 .ago_ns = (200 - i) * DAY,
                                 .elapsed_ns = HOUR,
                                 .ended = true},
                now_ns);
}

int main(int argc, char **argv)
{
    struct store_options options = {.path = argc > 1 ? argv[1] : NULL};
    uint64_t now_ns = (uint64_t)time(NULL) * NS_PER_S;
    struct store *store;

    if (argc != 2 && argc != 3) {
        (void)fputs("usage: make_store PATH [TASKS]\n", stderr);
        return 2;
    }
    check(store_open(&store, &options, &error));
    if (argc == 3)
        put_array(store, (uint32_t)strtoul(argv[2], NULL, 10), now_ns);
    else
        put_samples(store, now_ns);
    store_close(store);
    return 0;
}

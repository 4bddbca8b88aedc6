/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <errno.h>

#include "tests/unit/sample.h"

struct io_mount *sample_mount(struct io_mounts *mounts, const char *mount, const char *fstype,
                              const char *source)
{
    struct io_mount *m = io_mounts_get(mounts, mount, fstype, source, false);

    assert_non_null(m);
    m->labelled = true;
    return m;
}

struct io_counter *sample_calls(struct io_mount *m, enum io_op op, uint64_t requests, uint64_t each,
                                uint64_t time_ns)
{
    struct io_counter *c = io_account_op(&m->io, op);

    assert_non_null(c);
    c->requests += requests;
    c->bytes += requests * each;
    c->time_ns += time_ns;
    if (time_ns / 10 > c->max_ns)
        c->max_ns = time_ns / 10;
    if (io_op_is_data(op))
        c->size_log2[io_size_bucket(each)] += requests;
    if (op != IO_CREATE) /* part of open: requests only */
        c->latency_log2[io_latency_bucket(time_ns / requests)] += requests;
    return c;
}

void sample_errors(struct io_mount *m, enum io_op op, int code, uint64_t count)
{
    struct io_counter *c = io_account_op(&m->io, op);

    c->errors += count;
    assert_int_equal(io_counter_errno(c, code, count), 0);
}

/* On its time line: a tenth in the first minute, three in the fifth, the rest in the last two. */
static void fill_time(struct io_mount *m)
{
    static const struct {
        unsigned from_s, to_s, tenths;
    } spans[] = {{0, 60, 1}, {240, 300, 3}, {480, 600, 6}};
    const uint64_t start = SECONDS(1795168801) + 20;
    struct timeline_bin rest = io_account_now(&m->io), all = rest;

    for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
        struct timeline_bin part = rest;

        for (int k = 0; k < TIMELINE_KINDS && i + 1 < ARRAY_SIZE(spans); k++)
            part.of[k] = all.of[k] / 10 * spans[i].tenths;
        part.longest_ns = part.of[TIMELINE_WAIT] / 2;
        for (int k = 0; k < TIMELINE_KINDS; k++)
            rest.of[k] -= part.of[k];
        assert_int_equal(timeline_spread(&m->timeline, 8, start + SECONDS(spans[i].from_s),
                                         start + SECONDS(spans[i].to_s), &part),
                         0);
    }
}

/* 8,000 reads and 2,000 writes of the job's own, and 600 of kernel threads. */
static void sample_requests(struct io_mount *m)
{
    struct rpc_account *rpc = m->rpc = calloc(1, sizeof(*m->rpc));

    assert_non_null(rpc);
    rpc->known = rpc->shared_at_most = true;
    rpc->own[RPC_READ] = (struct rpc_counter){
        8000, 1, 2, MIB(1), GIB(7), SECONDS(20), SECONDS(150), SECONDS(180),
    };
    rpc->own[RPC_WRITE] = (struct rpc_counter){
        2000, 0, 0, GIB(9), MIB(1), SECONDS(20), SECONDS(130), SECONDS(160),
    };
    rpc->shared[RPC_WRITE] = (struct rpc_counter){
        600, 0, 0, GIB(1), KIB(80), SECONDS(2), SECONDS(6), SECONDS(9),
    };
}

/* Waiting: /scratch 300 s, /home 80 s, /tmp 20 s. */
static void fill_mounts(struct io_mounts *mounts)
{
    struct io_mount *m = sample_mount(mounts, "/scratch", "nfs4", "srv:/scratch");
    struct io_counter *c;

    sample_calls(m, IO_READ, 100000, MIB(1), SECONDS(100));
    sample_calls(m, IO_COPY_READ, 1000, MIB(1), SECONDS(10));
    c = sample_calls(m, IO_WRITE, 2560, MIB(4), SECONDS(90));
    c->sequential_requests = 2000;
    c->random_requests = 60;
    sample_calls(m, IO_OPEN, 20000, 0, SECONDS(70));
    sample_calls(m, IO_CREATE, 5000, 0, 0);
    sample_calls(m, IO_STAT, 4000, 0, SECONDS(30));
    sample_errors(m, IO_WRITE, EINTR, 2);
    sample_errors(m, IO_WRITE, ENOSPC, 5);
    m->peaks[IO_READ] = (struct io_peak){MIB(900), 900};
    m->peaks[IO_WRITE] = (struct io_peak){MIB(200), 50};
    m->cache = (struct io_cache){MIB(3), MIB(2), {MIB(2), KIB(4), MIB(1), 0}};
    m->users[IO_READERS] = (struct io_users){.processes = 64, .threads = 2048};
    m->users[IO_WRITERS] = (struct io_users){.processes = 1, .threads = 1};
    sample_requests(m);

    m = sample_mount(mounts, "/home", "nfs4", "srv:/home");
    sample_calls(m, IO_READ, 1000, KIB(4), SECONDS(10));
    sample_calls(m, IO_OPEN, 100000, 0, SECONDS(70));
    sample_errors(m, IO_OPEN, ENOENT, 88000);

    m = io_mounts_get(mounts, "/tmp", "tmpfs", "tmpfs", true);
    sample_calls(m, IO_WRITE, 512, MIB(1), SECONDS(20))->async_requests = 12;
    m->users[IO_WRITERS] = (struct io_users){.processes = 1024, .threads = 1024, .at_least = true};
    fill_time(&mounts->items[0]);
    fill_time(&mounts->items[2]);
}

static void add_step(struct step_account *s, uint32_t step, const char *node)
{
    *s = (struct step_account){.het = HET_NONE,
                               .step = step,
                               .tagged_at_ns = SECONDS(1795168801) + 20,
                               .elapsed_ns = SECONDS(500),
                               .state = STEP_ENDED,
                               .longest_wait_ns = SECONDS(5)};
    s->node = strdup(node);
}

static struct job_account *sample(void)
{
    struct job_account *job = job_account_create();

    assert_non_null(job);
    job->ended = true;
    job->start_ns = SECONDS(1795168801) + 20;
    job->end_ns = SECONDS(1795169401) + 500000020;
    job->elapsed_ns = SECONDS(600);
    job->longest_wait_ns = SECONDS(300);
    fill_mounts(&job->mounts);
    return job;
}

struct job_account *sample_job(void)
{
    struct job_account *job = sample();
    struct io_mount *m;

    job->key.cluster = strdup("alpha");
    job->key.jobid = 4711;
    job->key.restart = 1;
    job->uid = 1000;
    job->user = strdup("ada");
    job->account = strdup("physics");
    job->partition = strdup("long");
    job->array_job = 4700;
    job->array_task = 12;
    job->name = strdup("sim \033[31m\n\"{}\"");
    job->nodes_expected = job->nodes_reported = 2;
    job->n_steps = 3;
    job->steps = calloc(3, sizeof(*job->steps));
    assert_non_null(job->steps);
    add_step(&job->steps[0], STEP_BATCH, "n1");
    add_step(&job->steps[1], 0, "n1");
    add_step(&job->steps[2], STEP_FOLDED, "n2");
    job->steps[0].het = 1;
    job->steps[1].state = STEP_VANISHED;
    job->steps[2].folded = 17;
    m = sample_mount(&job->steps[0].mounts, "/scratch", "nfs4", "srv:/scratch");
    sample_calls(m, IO_READ, 100000, MIB(1), SECONDS(100));
    m = sample_mount(&job->steps[2].mounts, "/home", "nfs4", "srv:/home");
    sample_calls(m, IO_READ, 1000, KIB(4), SECONDS(10));
    return job;
}

struct job_account *sample_run(void)
{
    struct job_account *job = sample();

    job->command = calloc(3, sizeof(*job->command));
    assert_non_null(job->command);
    job->command[0] = strdup("true");
    job->command[1] = strdup("--x");
    job->exit_status = 3;
    job->nodes_expected = job->nodes_reported = 1;
    return job;
}

struct mpi_account *sample_mpi(void)
{
    struct mpi_account *account = calloc(1, sizeof(*account));

    assert_non_null(account);
    account->classes[MPI_WRITE_ALL] = (struct mpi_counter){
        .calls = 64,
        .time_ns = SECONDS(8),
        .bytes = MIB(64),
        .size_log2 = {[20] = 64},
        .latency_log2 = {[20] = 64},
    };
    account->classes[MPI_READ] = (struct mpi_counter){
        .calls = 16,
        .errors = 1,
        .time_ns = SECONDS(2),
        .bytes = 5 * KIB(4),
        .requested_bytes = 8 * KIB(8),
        .unknown_calls = 2,
        .size_log2 = {[12] = 5, [13] = 8},
        .latency_log2 = {[5] = 1, [20] = 15},
    };
    return account;
}

const struct advice_notes *sample_notes(void)
{
    static struct advice_note items[] = {
        {ADVICE_ERROR, "full", "", "5 calls on /scratch failed because it was full.", 0},
        {ADVICE_HINT, "far", "https://docs.example/io#far",
         "Half of the run time went to reading /scratch from far away in pieces that are too small "
         "to be worth the way: copy it to the node's own disk first.",
         0.5},
        {ADVICE_HINT, "near", "", "Read more at a time.", 0.3},
        {ADVICE_HINT, "long", "",
         "A note of more than two lines, which is what a site that has much to say may write, "
         "because nobody has told it that its users will not read to the end of it anyway, and "
         "that there are only twelve lines for all that a job has to say.",
         0.2},
    };
    static const struct advice_notes notes = {items, ARRAY_SIZE(items)};

    return &notes;
}

static void assert_same_text(const char *a, const char *b)
{
    if (!a || !b)
        assert_ptr_equal(a, b);
    else
        assert_string_equal(a, b);
}

static void assert_same_counter(const struct io_counter *a, const struct io_counter *b)
{
    if (!a || !b) {
        assert_ptr_equal(a, b);
        return;
    }
    /* All of the struct up to the errnos is numbers. */
    assert_memory_equal(a, b, offsetof(struct io_counter, errnos));
    assert_int_equal(a->n_errnos, b->n_errnos);
    for (size_t i = 0; i < a->n_errnos; i++) {
        assert_int_equal(a->errnos[i].code, b->errnos[i].code);
        assert_int_equal(a->errnos[i].count, b->errnos[i].count);
    }
}

static void assert_same_mounts(const struct io_mounts *a, const struct io_mounts *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        const struct io_mount *x = &a->items[i], *y = &b->items[i];

        assert_string_equal(x->mount, y->mount);
        assert_string_equal(x->fstype, y->fstype);
        assert_string_equal(x->source, y->source);
        assert_int_equal(x->private, y->private);
        for (int op = 0; op < IO_OP_COUNT; op++) {
            assert_same_counter(x->io.ops[op], y->io.ops[op]);
            assert_int_equal(x->peaks[op].bytes_per_s, y->peaks[op].bytes_per_s);
            assert_int_equal(x->peaks[op].requests_per_s, y->peaks[op].requests_per_s);
        }
        assert_memory_equal(&x->cache, &y->cache, sizeof(x->cache));
        assert_memory_equal(x->users, y->users, sizeof(x->users));
        assert_int_equal(!x->rpc, !y->rpc);
        if (x->rpc)
            assert_memory_equal(x->rpc, y->rpc, sizeof(*x->rpc));
        assert_int_equal(x->timeline.n, y->timeline.n);
        assert_int_equal(x->timeline.start_s, y->timeline.start_s);
        assert_int_equal(x->timeline.width_s, y->timeline.width_s);
        if (x->timeline.n)
            assert_memory_equal(x->timeline.bins, y->timeline.bins,
                                x->timeline.n * sizeof(*x->timeline.bins));
    }
}

static void assert_same_completeness(const struct completeness *a, const struct completeness *b)
{
    assert_int_equal(a->lost, b->lost);
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        assert_string_equal(a->items[i].cause, b->items[i].cause);
        assert_int_equal(a->items[i].count, b->items[i].count);
        assert_int_equal(a->items[i].ops, b->items[i].ops);
    }
}

static void assert_same_mpi(const struct mpi_account *a, const struct mpi_account *b)
{
    if (!a || !b) {
        assert_ptr_equal(a, b);
        return;
    }
    assert_memory_equal(a->classes, b->classes, sizeof(a->classes));
    assert_same_completeness(&a->completeness, &b->completeness);
}

static void assert_same_step(const struct step_account *a, const struct step_account *b)
{
    assert_int_equal(a->het, b->het);
    assert_int_equal(a->step, b->step);
    assert_same_text(a->node, b->node);
    assert_int_equal(a->tagged_at_ns, b->tagged_at_ns);
    assert_int_equal(a->elapsed_ns, b->elapsed_ns);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->folded, b->folded);
    assert_int_equal(a->longest_wait_ns, b->longest_wait_ns);
    assert_same_completeness(&a->completeness, &b->completeness);
    assert_same_mpi(a->mpi, b->mpi);
    assert_same_mounts(&a->mounts, &b->mounts);
}

static void assert_same_command(char **a, char **b)
{
    if (!a || !b) {
        assert_ptr_equal(a, b);
        return;
    }
    for (; *a && *b; a++, b++)
        assert_string_equal(*a, *b);
    assert_ptr_equal(*a, *b);
}

void assert_same_job(const struct job_account *a, const struct job_account *b)
{
    assert_same_text(a->key.cluster, b->key.cluster);
    assert_int_equal(a->key.jobid, b->key.jobid);
    assert_int_equal(a->key.restart, b->key.restart);
    assert_int_equal(a->uid, b->uid);
    assert_same_text(a->user, b->user);
    assert_same_text(a->account, b->account);
    assert_same_text(a->partition, b->partition);
    assert_same_text(a->name, b->name);
    assert_int_equal(a->array_job, b->array_job);
    assert_int_equal(a->array_task, b->array_task);
    assert_int_equal(a->ended, b->ended);
    assert_int_equal(a->slurm.state, b->slurm.state);
    assert_int_equal(a->slurm.has_exit, b->slurm.has_exit);
    assert_int_equal(a->slurm.exit_code, b->slurm.exit_code);
    assert_int_equal(a->slurm.exit_signal, b->slurm.exit_signal);
    assert_int_equal(a->start_ns, b->start_ns);
    assert_int_equal(a->end_ns, b->end_ns);
    assert_int_equal(a->elapsed_ns, b->elapsed_ns);
    assert_int_equal(a->nodes_expected, b->nodes_expected);
    assert_int_equal(a->nodes_reported, b->nodes_reported);
    assert_int_equal(a->longest_wait_ns, b->longest_wait_ns);
    assert_int_equal(a->exit_status, b->exit_status);
    assert_int_equal(a->unsupported, b->unsupported);
    assert_int_equal(a->ns_per_event, b->ns_per_event);
    assert_same_command(a->command, b->command);
    assert_same_mpi(a->mpi, b->mpi);
    assert_same_completeness(&a->completeness, &b->completeness);
    assert_same_mounts(&a->mounts, &b->mounts);
    assert_int_equal(a->n_steps, b->n_steps);
    for (size_t i = 0; i < a->n_steps; i++)
        assert_same_step(&a->steps[i], &b->steps[i]);
}

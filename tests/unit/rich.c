/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/rich.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

#define START_S UINT64_C(1795168811)
#define ELAPSED_S 4364
#define BIN_S 32
#define NODES 4

/* What a job does there in one second on one node, by phase. */
struct pattern {
    const char *mount, *fstype, *source;
    bool private;
    double read, write, meta, wait; /* bytes, bytes, calls, seconds */
    uint64_t read_size, write_size;
    enum io_op op; /* most of the metadata calls */
    int code;      /* errors of these, and their share */
    double failed;
    /* How much of the above happens now. */
    double (*reads)(uint64_t second, unsigned node);
    double (*writes)(uint64_t second, unsigned node);
    double (*metas)(uint64_t second, unsigned node);
};

/* 0 to 1, always the same. */
static double noise(uint64_t x)
{
    x ^= x >> 33;
    x *= UINT64_C(0xff51afd7ed558ccd);
    x ^= x >> 33;
    x *= UINT64_C(0xc4ceb9fe1a85ec53);
    x ^= x >> 33;
    return (double)(x >> 11) / (double)(UINT64_C(1) << 53);
}

static uint64_t epoch_second(uint64_t s)
{
    return s < 200 ? 0 : (s - 200) % 1380;
}

static double never(uint64_t s, unsigned node)
{
    (void)s;
    (void)node;
    return 0;
}

static double at_start(uint64_t s, unsigned node)
{
    return s < 190 + 25 * node ? 0.5 + noise(s * 7 + node) : noise(s + node) < .02 ? .3 : 0;
}

static double in_epochs(uint64_t s, unsigned node)
{
    uint64_t e = epoch_second(s);

    if (s < 200 || e > 1150)
        return 0;
    return (e < 300 ? 1 : .35 + .1 * noise(s)) * (.8 + .4 * noise(s * 3 + node)) *
           (node == NODES - 1 ? .55 : 1);
}

static double at_checkpoint(uint64_t s, unsigned node)
{
    uint64_t e = epoch_second(s);

    return s >= 200 && e > 1170 && e < 1300 ? .7 + .3 * noise(s + 11 * node) : 0;
}

static double all_along(uint64_t s, unsigned node)
{
    return .4 + .6 * noise(s * 13 + node);
}

#define KB 1024.0
#define MB (1024 * KB)

static const struct pattern patterns[] = {
    {"/scratch", "lustre", "10.1.0.4@o2ib:/scratch", false, 310 * MB, 420 * MB, 260, 2.1, 128 << 10,
     4 << 20, IO_OPEN, EINTR, .0001, in_epochs, at_checkpoint, in_epochs},
    {"/home", "nfs4", "nas:/export/home", false, 1.5 * MB, 2 * KB, 900, 1.1, 4 << 10, 300, IO_OPEN,
     ENOENT, .71, at_start, all_along, at_start},
    {"/tmp", "xfs", "/dev/nvme0n1p3", false, 12 * MB, 18 * MB, 20, .02, 64 << 10, 64 << 10,
     IO_UNLINK, ENOENT, .01, in_epochs, in_epochs, in_epochs},
    {"/", "ext4", "/dev/vda1", false, 300 * KB, 40, 55, .004, 4 << 10, 60, IO_STAT, ENOENT, .4,
     at_start, all_along, at_start},
    {"/dev/shm", "tmpfs", "tmpfs", true, 0, 30 * MB, 2, .003, 1 << 20, 1 << 20, IO_OPEN, 0, 0,
     never, in_epochs, in_epochs},
};
#define N_PATTERNS (sizeof(patterns) / sizeof(patterns[0]))

/* Spread over some buckets around the one of `middle`. */
static void spread(uint64_t buckets[IO_BUCKETS], uint64_t requests, unsigned middle)
{
    static const unsigned weights[] = {2, 6, 14, 30, 25, 12, 6, 3, 1, 1};
    uint64_t left = requests;

    for (size_t i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
        unsigned bucket = middle + (unsigned)i < 4 ? 0 : middle + (unsigned)i - 4;
        uint64_t n = requests * weights[i] / 100;

        buckets[bucket] += n;
        left -= n;
    }
    buckets[middle] += left;
}

static void put_op(struct io_mount *m, enum io_op op, uint64_t requests, uint64_t bytes,
                   uint64_t time_ns)
{
    struct io_counter *c = requests ? io_account_op(&m->io, op) : NULL;

    if (!c)
        return;
    c->requests = requests;
    c->bytes = bytes;
    c->time_ns = time_ns;
    c->max_ns = time_ns / requests * 90;
    spread(c->latency_log2, requests, io_latency_bucket(time_ns / requests));
    if (op == IO_READ || op == IO_WRITE) {
        c->random_requests = op == IO_READ ? requests / 4 : 0;
        c->sequential_requests = requests - c->random_requests;
    }
    if (bytes)
        spread(c->size_log2, requests, io_size_bucket(bytes / requests));
}

static void put_errors(struct io_mount *m, enum io_op op, int code, uint64_t count)
{
    struct io_counter *c = m->io.ops[op];

    if (!c || !count)
        return;
    c->errors += count;
    (void)io_counter_errno(c, code, count);
}

static void fill_counters(struct io_mount *m, const struct pattern *p, struct timeline_bin sum)
{
    uint64_t meta = sum.of[TIMELINE_META], wait = sum.of[TIMELINE_WAIT];
    uint64_t stat = meta / 5, readdir = meta / 50, main = meta - stat - readdir;
    bool writes_wait = sum.of[TIMELINE_WRITE] > MB;

    put_op(m, IO_READ, sum.of[TIMELINE_READ] / p->read_size, sum.of[TIMELINE_READ], wait / 2);
    put_op(m, IO_WRITE, sum.of[TIMELINE_WRITE] / p->write_size, sum.of[TIMELINE_WRITE],
           writes_wait ? wait / 4 : 1000);
    put_op(m, p->op, main, 0, wait / 5);
    put_op(m, p->op == IO_STAT ? IO_OPEN : IO_STAT, stat, 0, wait / 25);
    put_op(m, IO_READDIR, readdir, 0, wait / 100);
    put_errors(m, p->op, p->code, (uint64_t)((double)main * p->failed));
    m->peaks[IO_READ].bytes_per_s = (uint64_t)(p->read * 1.2);
    m->peaks[IO_WRITE].bytes_per_s = (uint64_t)(p->write * 1.1);
    if (p->read)
        m->cache = (struct io_cache){sum.of[TIMELINE_READ] / 3,
                                     sum.of[TIMELINE_READ] - sum.of[TIMELINE_READ] / 3,
                                     {sum.of[TIMELINE_READ] / 4, 0, sum.of[TIMELINE_READ] / 2, 0}};
}

static void fill_mount(struct io_mounts *mounts, const struct pattern *p, unsigned node)
{
    struct io_mount *m = io_mounts_get(mounts, p->mount, p->fstype, p->source, p->private);

    for (uint64_t s = 0; m && s < ELAPSED_S; s += BIN_S) {
        double reads = p->reads(s, node), writes = p->writes(s, node), metas = p->metas(s, node);
        struct timeline_bin what = {
            .of = {[TIMELINE_READ] = (uint64_t)(p->read * reads * BIN_S),
                   [TIMELINE_WRITE] = (uint64_t)(p->write * writes * BIN_S),
                   [TIMELINE_META] = (uint64_t)(p->meta * metas * BIN_S),
                   [TIMELINE_WAIT] = (uint64_t)(p->wait * (reads + writes + metas) / 2 * BIN_S *
                                                1e9 * (node == NODES - 1 ? 2 : 1))}};

        what.longest_ns =
            what.of[TIMELINE_WAIT] < BIN_S * NS_PER_S ? what.of[TIMELINE_WAIT] : BIN_S * NS_PER_S;
        (void)timeline_spread(&m->timeline, BIN_S, (START_S + s) * NS_PER_S,
                              (START_S + s + BIN_S) * NS_PER_S, &what);
    }
    if (m)
        fill_counters(m, p, timeline_sum(&m->timeline));
}

/* Collective writes of 8 MiB in 20 minutes on each of 16 processes, and opens; `cause`: what is
 * missing. */
static void fill_mpi(struct step_account *step, const char *cause)
{
    struct mpi_account *mpi = step->mpi = calloc(1, sizeof(*mpi));

    if (!mpi)
        return;
    mpi->classes[MPI_WRITE_ALL] = (struct mpi_counter){
        .calls = 16 * 50, .time_ns = 16 * 1200 * NS_PER_S, .bytes = 50 * (UINT64_C(128) << 20)};
    spread(mpi->classes[MPI_WRITE_ALL].size_log2, 16 * 50, 23);
    spread(mpi->classes[MPI_WRITE_ALL].latency_log2, 16 * 50, 26);
    mpi->classes[MPI_READ] = (struct mpi_counter){
        .calls = 40, .errors = 1, .time_ns = NS_PER_S, .requested_bytes = 4096, .unknown_calls = 3};
    mpi->classes[MPI_OPEN] = (struct mpi_counter){.calls = 32, .time_ns = 3 * NS_PER_S};
    (void)completeness_add(&mpi->completeness, cause, 2, 0);
}

static struct job_account *job_of(uint32_t jobid, const char *name, uint32_t nodes, size_t n_steps)
{
    struct job_account *job = job_account_create();

    if (!job)
        return NULL;
    job->key = (struct job_key){strdup("alpha"), jobid, 0};
    job->uid = 1000;
    job->user = strdup("ada");
    job->account = strdup("physics");
    job->partition = strdup("gpu");
    job->name = strdup(name);
    job->ended = true;
    job->start_ns = START_S * NS_PER_S;
    job->elapsed_ns = ELAPSED_S * NS_PER_S;
    job->end_ns = job->start_ns + job->elapsed_ns;
    job->nodes_expected = job->nodes_reported = nodes;
    job->ns_per_event = 180;
    job->steps = calloc(n_steps, sizeof(*job->steps));
    return job;
}

static struct step_account *step_of(struct job_account *job, uint32_t id, const char *node)
{
    struct step_account *step = &job->steps[job->n_steps++];

    *step = (struct step_account){.het = HET_NONE,
                                  .step = id,
                                  .node = strdup(node),
                                  .tagged_at_ns = job->start_ns,
                                  .elapsed_ns = job->elapsed_ns,
                                  .state = STEP_ENDED};
    return step;
}

struct job_account *rich_job(void)
{
    struct job_account *job = job_of(4711, "train-resnet50", NODES, NODES + 1);

    if (!job || !job->steps)
        return job;
    for (unsigned node = 0; node < NODES; node++) {
        char name[16];
        struct step_account *step;

        (void)snprintf(name, sizeof(name), "gpu%02u", node + 9);
        if (node == 0)
            fill_mount(&step_of(job, STEP_BATCH, name)->mounts, &patterns[3], 0);
        step = step_of(job, 0, name);
        for (size_t i = 0; i < N_PATTERNS; i++)
            fill_mount(&step->mounts, &patterns[i], node);
        fill_mpi(step, MPI_CAUSE_ENDS);
        step->longest_wait_ns = (node == NODES - 1 ? 1610 : 1120) * NS_PER_S;
    }
    put_errors(&job->steps[1].mounts.items[0], IO_WRITE, ENOSPC, 5);
    for (size_t i = 0; i < job->n_steps; i++)
        (void)job_account_add_step(job, &job->steps[i]);
    return job;
}

struct job_account *rich_old(void)
{
    struct job_account *job = rich_job();

    for (size_t i = 0; job && i < job->mounts.n; i++)
        timeline_clear(&job->mounts.items[i].timeline);
    for (size_t i = 0; job && i < job->n_steps; i++)
        for (size_t j = 0; j < job->steps[i].mounts.n; j++)
            timeline_clear(&job->steps[i].mounts.items[j].timeline);
    return job;
}

static struct advice_note notes[] = {
    {ADVICE_ERROR, "no-space", "https://docs.example/io#no-space",
     (char *)"5 calls on /scratch failed because it was full: what was to be written there is "
             "missing or cut off.",
     0},
    {ADVICE_HINT, "failed-look-ups", "",
     (char *)"57 % of the look-ups on /home found nothing: a search path (Python, modules, "
             "libraries) "
             "that is too long. A container or a squashfs image of the environment needs none.",
     0.06},
};
const struct advice_notes rich_notes = {notes, 2};

struct job_account *rich_large(unsigned nodes, unsigned steps, unsigned mounts)
{
    struct job_account *job = job_of(4712, "large", nodes, steps);

    for (unsigned i = 0; job && job->steps && i < steps; i++) {
        char name[64];
        struct step_account *step;

        (void)snprintf(name, sizeof(name), "a-node-with-a-name-%05u", i % nodes);
        step = step_of(job, i / nodes, name);
        for (unsigned j = 0; j < mounts; j++) {
            struct pattern p = patterns[j % N_PATTERNS];

            (void)snprintf(name, sizeof(name), "/a/long/mount/point/number/%u", j);
            p.mount = name;
            fill_mount(&step->mounts, &p, i % 4);
        }
        step->longest_wait_ns = i * NS_PER_S / 10;
        (void)job_account_add_step(job, step);
    }
    return job;
}

#define EVIL                                                                       \
    "</title></style><script>alert(1)</script><img src=x onerror=\"alert('2')\"/>" \
    "\033]0;evil\007\033[31m \xff\xfe \xef\xbf\xbe & &amp; \xe2\x80\xae "

struct job_account *rich_evil(void)
{
    struct job_account *job = job_of(4713, EVIL, 2, 2);

    if (!job || !job->steps)
        return job;
    free(job->user);
    job->user = strdup(EVIL);
    for (unsigned i = 0; i < 2; i++) {
        struct pattern p = patterns[0];
        struct step_account *step = step_of(job, i, i ? EVIL "2" : EVIL);

        p.mount = p.fstype = p.source = EVIL;
        fill_mount(&step->mounts, &p, i);
        (void)completeness_add(&step->completeness, EVIL, 2, 0);
        fill_mpi(step, EVIL);
        (void)job_account_add_step(job, step);
    }
    return job;
}

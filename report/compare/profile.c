/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/compare/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"

const char *profile_kind_name(enum profile_kind kind)
{
    static const char *const names[] = {[PROFILE_READ] = "read",
                                        [PROFILE_WRITE] = "write",
                                        [PROFILE_MAPPED] = "mapped",
                                        [PROFILE_META] = "meta"};

    return names[kind];
}

/* --- one job ---------------------------------------------------------------------------------- */

static void add_sizes(uint64_t to[IO_BUCKETS], const struct io_account *io, enum io_op op)
{
    if (io->ops[op])
        io_histogram_add(to, io->ops[op]->size_log2);
}

static void use_add(struct profile_use *to, const struct io_sum *sum)
{
    to->calls += (double)sum->requests;
    to->bytes += (double)sum->bytes;
    to->errors += (double)sum->errors;
    to->time_ns += (double)sum->time_ns;
}

/* The mount of that name, made if there is none. */
static struct profile_mount *mount_of(struct profile *p, const char *mount, const char *fstype)
{
    struct profile_mount *grown, *have = (struct profile_mount *)profile_find(p, mount, fstype);

    if (have)
        return have;
    grown = reallocarray(p->mounts, p->n + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    p->mounts = grown;
    grown[p->n] = (struct profile_mount){.mount = strdup(mount), .fstype = strdup(fstype)};
    p->n++; /* profile_clear() frees it even if incomplete */
    return grown[p->n - 1].mount && grown[p->n - 1].fstype ? &grown[p->n - 1] : NULL;
}

/* Mounts of the same name and type share their sizes. */
static double median_size(const struct io_mounts *mounts, const struct profile_mount *m,
                          enum io_op plain, enum io_op copy)
{
    uint64_t sizes[IO_BUCKETS] = {0};

    for (size_t i = 0; i < mounts->n; i++) {
        const struct io_mount *from = &mounts->items[i];

        if (m && (strcmp(from->mount, m->mount) != 0 || strcmp(from->fstype, m->fstype) != 0))
            continue;
        add_sizes(sizes, &from->io, plain);
        add_sizes(sizes, &from->io, copy);
    }
    return (double)io_quantile(sizes, 0.5, io_size_bound);
}

static void set_sizes(const struct io_mounts *mounts, const struct profile_mount *m,
                      struct profile_use uses[PROFILE_KINDS])
{
    uses[PROFILE_READ].size_bytes = median_size(mounts, m, IO_READ, IO_COPY_READ);
    uses[PROFILE_WRITE].size_bytes = median_size(mounts, m, IO_WRITE, IO_COPY_WRITE);
}

/* A clone takes time, but moves no data. */
static struct io_sum mapped_sum(const struct io_account *io)
{
    static const enum io_op ops[] = {IO_CLONE, IO_MMAP_READ, IO_MMAP_WRITE};
    struct io_sum sum = {0};

    for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
        const struct io_counter *c = io->ops[ops[i]];

        if (!c)
            continue;
        sum.requests += c->requests;
        sum.bytes += ops[i] == IO_CLONE ? 0 : c->bytes;
        sum.errors += c->errors;
        sum.time_ns += c->time_ns;
    }
    return sum;
}

static void set_waits(struct profile *p)
{
    double all = 0;

    for (int k = 0; k < PROFILE_KINDS; k++)
        all += p->total[k].time_ns;
    for (int k = 0; all > 0 && k < PROFILE_KINDS; k++) {
        p->total[k].wait = p->wait * p->total[k].time_ns / all;
        for (size_t i = 0; i < p->n; i++)
            p->mounts[i].uses[k].wait = p->wait * p->mounts[i].uses[k].time_ns / all;
    }
}

static int by_wait(const void *pa, const void *pb)
{
    const struct profile_mount *a = pa, *b = pb;
    double x = profile_mount_wait(a), y = profile_mount_wait(b);
    double p = a->uses[PROFILE_READ].bytes + a->uses[PROFILE_WRITE].bytes;
    double q = b->uses[PROFILE_READ].bytes + b->uses[PROFILE_WRITE].bytes;

    if (x != y)
        return x < y ? 1 : -1;
    if (p != q)
        return p < q ? 1 : -1;
    return strcmp(a->mount, b->mount);
}

static void sort_mounts(struct profile *p)
{
    if (p->n > 1)
        qsort(p->mounts, p->n, sizeof(*p->mounts), by_wait);
}

static int take_mount(struct profile *p, const struct io_mount *from)
{
    const struct io_sum sums[PROFILE_KINDS] = {[PROFILE_READ] = io_account_reads(&from->io),
                                               [PROFILE_WRITE] = io_account_writes(&from->io),
                                               [PROFILE_MAPPED] = mapped_sum(&from->io),
                                               [PROFILE_META] = io_account_meta(&from->io)};
    struct profile_mount *m;

    if (!io_account_all(&from->io).requests)
        return 0;
    m = mount_of(p, from->mount, from->fstype);
    if (!m)
        return -ENOMEM;
    for (int k = 0; k < PROFILE_KINDS; k++) {
        use_add(&m->uses[k], &sums[k]);
        use_add(&p->total[k], &sums[k]);
    }
    return 0;
}

int profile_make(const struct job_account *job, struct profile *ret)
{
    CLEANUP(profile_clear) struct profile p = {.runs = 1, .complete = job_is_complete(job)};

    p.elapsed_s = (double)job->elapsed_ns / NS_PER_S;
    p.wait = job->elapsed_ns ? (double)job_wait_ns(job) / (double)job->elapsed_ns : 0;
    for (size_t i = 0; i < job->mounts.n; i++)
        if (take_mount(&p, &job->mounts.items[i]) < 0)
            return -ENOMEM;
    for (size_t i = 0; i < p.n; i++)
        set_sizes(&job->mounts, &p.mounts[i], p.mounts[i].uses);
    set_sizes(&job->mounts, NULL, p.total);
    set_waits(&p);
    sort_mounts(&p);
    *ret = p;
    p = (struct profile){0};
    return 0;
}

void profile_clear(struct profile *profile)
{
    if (!profile)
        return;
    for (size_t i = 0; i < profile->n; i++) {
        free(profile->mounts[i].mount);
        free(profile->mounts[i].fstype);
    }
    free(profile->mounts);
    *profile = (struct profile){0};
}

/* --- several jobs ----------------------------------------------------------------------------- */

static int ascending(const void *pa, const void *pb)
{
    double a = *(const double *)pa, b = *(const double *)pb;

    return a < b ? -1 : a > b;
}

double profile_middle(double *values, size_t n)
{
    if (n == 0)
        return 0;
    qsort(values, n, sizeof(*values), ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The members of struct profile_use; absent: 0 means that there is no value. */
static const struct {
    size_t offset;
    bool absent;
} members[] = {
    {offsetof(struct profile_use, calls), false},
    {offsetof(struct profile_use, bytes), false},
    {offsetof(struct profile_use, errors), false},
    {offsetof(struct profile_use, size_bytes), true},
    {offsetof(struct profile_use, time_ns), false},
    {offsetof(struct profile_use, wait), false},
};

/* uses[i] NULL: that job has none. `values` has room for n. */
static struct profile_use median_use(const struct profile_use *const *uses, size_t n,
                                     double *values)
{
    struct profile_use ret = {0};

    for (size_t m = 0; m < ARRAY_SIZE(members); m++) {
        size_t have = 0;

        for (size_t i = 0; i < n; i++) {
            double value =
                uses[i] ? *(const double *)((const char *)uses[i] + members[m].offset) : 0;

            if (value != 0 || !members[m].absent)
                values[have++] = value;
        }
        *(double *)((char *)&ret + members[m].offset) = profile_middle(values, have);
    }
    return ret;
}

/* All mounts of all profiles. */
static int unite(const struct profile *profiles, size_t n, struct profile *ret)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < profiles[i].n; j++)
            if (!mount_of(ret, profiles[i].mounts[j].mount, profiles[i].mounts[j].fstype))
                return -ENOMEM;
    return 0;
}

static void median_kind(const struct profile *profiles, size_t n, enum profile_kind kind,
                        const struct profile_use **uses, double *values, struct profile *ret)
{
    for (size_t i = 0; i < n; i++)
        uses[i] = &profiles[i].total[kind];
    ret->total[kind] = median_use(uses, n, values);
    for (size_t j = 0; j < ret->n; j++) {
        for (size_t i = 0; i < n; i++) {
            const struct profile_mount *m =
                profile_find(&profiles[i], ret->mounts[j].mount, ret->mounts[j].fstype);

            uses[i] = m ? &m->uses[kind] : NULL;
        }
        ret->mounts[j].uses[kind] = median_use(uses, n, values);
    }
}

int profile_median(const struct profile *profiles, size_t n, struct profile *ret)
{
    CLEANUP(profile_clear) struct profile p = {.runs = n, .complete = true};
    _free_ double *values = calloc(n, sizeof(*values));
    _free_ const struct profile_use **uses = calloc(n, sizeof(*uses));

    if (!values || !uses || unite(profiles, n, &p) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        values[i] = profiles[i].elapsed_s;
        p.complete &= profiles[i].complete;
    }
    p.elapsed_s = profile_middle(values, n);
    for (size_t i = 0; i < n; i++)
        values[i] = profiles[i].wait;
    p.wait = profile_middle(values, n);
    for (int k = 0; k < PROFILE_KINDS; k++)
        median_kind(profiles, n, (enum profile_kind)k, uses, values, &p);
    sort_mounts(&p);
    *ret = p;
    p = (struct profile){0};
    return 0;
}

/* --- parts ------------------------------------------------------------------------------------ */

const struct profile_mount *profile_find(const struct profile *profile, const char *mount,
                                         const char *fstype)
{
    for (size_t i = 0; i < profile->n; i++)
        if (!strcmp(profile->mounts[i].mount, mount) && !strcmp(profile->mounts[i].fstype, fstype))
            return &profile->mounts[i];
    return NULL;
}

const char *profile_kind_words(enum profile_kind kind)
{
    static const char *const words[] = {[PROFILE_READ] = "reading",
                                        [PROFILE_WRITE] = "writing",
                                        [PROFILE_MAPPED] = "mapped files on",
                                        [PROFILE_META] = "metadata on"};

    return words[kind];
}

bool profile_longest(const struct profile *profile, const char **mount, enum profile_kind *kind)
{
    double longest = 0;

    for (size_t i = 0; i < profile->n; i++)
        for (int k = 0; k < PROFILE_KINDS; k++)
            if (profile->mounts[i].uses[k].wait > longest) {
                longest = profile->mounts[i].uses[k].wait;
                *mount = profile->mounts[i].mount;
                *kind = (enum profile_kind)k;
            }
    return longest > 0;
}

double profile_mount_wait(const struct profile_mount *m)
{
    double sum = 0;

    for (int k = 0; k < PROFILE_KINDS; k++)
        sum += m->uses[k].wait;
    return sum;
}

double profile_mount_errors(const struct profile_mount *m)
{
    double sum = 0;

    for (int k = 0; k < PROFILE_KINDS; k++)
        sum += m->uses[k].errors;
    return sum;
}

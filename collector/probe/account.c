/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/probe/probe_impl.h"

#include <search.h>
#include <string.h>

#include "bpf/rpc_records.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"

/* The counters of an operation as 64-bit totals. Some of the kernel's counters are u32 and wrap, so
 * each reading adds the wrapping difference to `before`, the sums over the shards at the previous
 * reading. In a process that adopts the maps, `before` starts at 0: its first totals are too low by
 * 2^32 for each wrap until then. collector/sample/wraps.c corrects that from the totals that the
 * earlier process read. */
struct tally_op {
    struct io_counter counter;
    struct wrapping {
        uint32_t async_requests, errors, sequential, random;
        uint32_t latency[IO_BUCKETS], size[IO_BUCKETS];
    } before;
    uint32_t sums; /* 1 + the index in pass.sums of its sums over the shards; 0: this pass has not
                    * found any counters */
};

/* The totals of a step on a super block. */
struct tally {
    uint64_t dev; /* as in probe.h */
    struct tally_op *ops[IO_OP_COUNT];
    struct io_account io;
    struct io_cache cache;
    struct io_users users[IO_USER_KINDS];
    struct rpc_account *rpc; /* NULL: not NFS */
    uint64_t slices[SLICES]; /* as in struct account_value */
};

/* The totals of a step. */
struct step_tallies {
    uint32_t step;
    void *tallies; /* tsearch tree, by dev */
    /* At the last reading: */
    uint64_t longest_wait_ns, events;
};

static int tally_compare(const void *a, const void *b)
{
    const struct tally *x = a, *y = b;

    return (x->dev > y->dev) - (x->dev < y->dev);
}

static int step_compare(const void *a, const void *b)
{
    const struct step_tallies *x = a, *y = b;

    return (x->step > y->step) - (x->step < y->step);
}

static void tally_destroy(void *arg)
{
    struct tally *tally = arg;

    for (int op = 0; op < IO_OP_COUNT; op++) {
        if (tally->ops[op])
            free(tally->ops[op]->counter.errnos);
        free(tally->ops[op]);
    }
    free(tally->rpc);
    free(tally);
}

static void step_tallies_destroy(void *arg)
{
    struct step_tallies *step = arg;

    tdestroy(step->tallies, tally_destroy);
    free(step);
}

_Static_assert(SLICES == PROBE_SLICES && 1ull << SLICE_LOG2 == PROBE_SLICE_NS, "see probe.h");

/* A pass over the maps. */
struct pass {
    struct probe *probe;
    const uint32_t *steps; /* ascending; NULL: all */
    size_t n_steps;
    probe_account_f each;
    void *arg;
    int result;
    struct step_tallies *step; /* the one that is being visited */
    uint64_t unsupported;      /* probe_unsupported() */
    /* Not in struct tally_op: this memory is only needed during a pass. */
    struct account_value *sums;
    size_t n_sums, room;
};

static bool pass_has(const struct pass *pass, uint32_t step)
{
    return !pass->steps || number_is_in(pass->steps, pass->n_steps, step);
}

static struct step_tallies *find_step(const struct probe *probe, uint32_t step)
{
    const struct step_tallies wanted = {.step = step};
    struct step_tallies **found = tfind(&wanted, &probe->accounts, step_compare);

    return found ? *found : NULL;
}

static struct step_tallies *get_step(struct probe *probe, uint32_t step)
{
    struct step_tallies *found = find_step(probe, step);

    if (found)
        return found;
    found = calloc(1, sizeof(*found));
    if (!found)
        return NULL;
    found->step = step;
    if (!tsearch(found, &probe->accounts, step_compare)) {
        free(found);
        return NULL;
    }
    return found;
}

static struct tally *tally_get(struct probe *probe, uint32_t step, uint64_t dev)
{
    struct step_tallies *of = get_step(probe, step);
    const struct tally wanted = {.dev = dev};
    struct tally **found = of ? tfind(&wanted, &of->tallies, tally_compare) : NULL, *made;

    if (found || !of)
        return found ? *found : NULL;
    made = calloc(1, sizeof(*made));
    if (!made)
        return NULL;
    made->dev = dev;
    if (!tsearch(made, &of->tallies, tally_compare)) {
        free(made);
        return NULL;
    }
    return made;
}

/* For struct account_key, and other keys with the same members. */
#define DEV_OF(key) ((uint64_t)(key)->generation << 32 | (key)->dev)

static struct tally_op *tally_op_get(struct probe *probe, uint32_t step, uint64_t dev, uint16_t op)
{
    struct tally *tally = op < IO_OP_COUNT ? tally_get(probe, step, dev) : NULL;

    if (tally && !tally->ops[op])
        tally->ops[op] = calloc(1, sizeof(*tally->ops[op]));
    return tally ? tally->ops[op] : NULL;
}

/* Returns the sums of an operation, NULL if this pass has not found any of its counters. */
static struct account_value *sums_of(const struct pass *pass, const struct tally_op *op)
{
    return op->sums ? &pass->sums[op->sums - 1] : NULL;
}

/* The same, but creates them, with zeros, if there are none. Returns NULL on out-of-memory. May
 * move the sums of other operations. */
static struct account_value *sums_get(struct pass *pass, struct tally_op *op)
{
    if (op->sums)
        return sums_of(pass, op);
    if (pass->n_sums == pass->room) {
        size_t room = pass->room ? pass->room * 2 : 64;
        struct account_value *grown = reallocarray(pass->sums, room, sizeof(*grown));

        if (!grown)
            return NULL;
        pass->sums = grown;
        pass->room = room;
    }
    op->sums = (uint32_t)++pass->n_sums;
    *sums_of(pass, op) = (struct account_value){0};
    return sums_of(pass, op);
}

static int add_errno(const void *key, const void *value, void *arg)
{
    const struct errno_key *at = key;
    struct pass *pass = arg;
    struct tally_op *op;
    uint64_t count;

    if (!pass_has(pass, at->step) || at->op >= IO_OP_COUNT) /* of a newer jobio (layouts.c) */
        return 0;
    memcpy(&count, value, sizeof(count));
    op = tally_op_get(pass->probe, at->step, DEV_OF(at), at->op);
    return op ? io_counter_errno(&op->counter, at->code, count) : -ENOMEM;
}

/* An operation has several sets of counters if its step has several shards. 0 or -ENOMEM. */
static int add_common_errnos(struct tally_op *to, const struct account_value *from)
{
#define CODE(code) code,
    static const uint16_t codes[COMMON_ERRNO_COUNT] = {COMMON_ERRNOS(CODE)};
#undef CODE
    int r = 0;

    for (int i = 0; i < COMMON_ERRNO_COUNT && r == 0; i++) {
        uint64_t count = __atomic_load_n(&from->errnos[i], __ATOMIC_ACQUIRE);

        if (count)
            r = io_counter_errno(&to->counter, codes[i], count);
    }
    return r;
}

/* Errnos and sizes have the same place. */
static int add_errnos_or_sizes(struct tally_op *op, enum io_op number, struct account_value *to,
                               const struct account_value *from)
{
    if (number >= IO_OP_FIRST_META)
        return add_common_errnos(op, from);
    for (int i = 0; i < IO_BUCKETS; i++)
        to->size[i] += from->size[i];
    return 0;
}

static int add_value(const void *key, const void *value, void *arg)
{
    const struct account_key *at = key;
    const struct account_value *from;
    struct pass *pass = arg;
    uint32_t slot;
    struct tally_op *op;
    struct account_value *to;

    if (!pass_has(pass, at->step) || at->op >= IO_OP_COUNT)
        return 0;
    memcpy(&slot, value, sizeof(slot));
    if (!slots_have(pass->probe, slot))
        return 0;
    from = slots_value(pass->probe, slot);
    op = tally_op_get(pass->probe, at->step, DEV_OF(at), at->op);
    to = op && from ? sums_get(pass, op) : NULL;
    /* Read the errnos before the errors, and both and these before the requests, which include
     * them. */
    if (!to || add_errnos_or_sizes(op, at->op, to, from) < 0)
        return -ENOMEM;
    to->sequential += __atomic_load_n(&from->sequential, __ATOMIC_ACQUIRE);
    to->random += __atomic_load_n(&from->random, __ATOMIC_ACQUIRE);
    to->async_requests += __atomic_load_n(&from->async_requests, __ATOMIC_ACQUIRE);
    to->errors += __atomic_load_n(&from->errors, __ATOMIC_ACQUIRE);
    to->requests += from->requests;
    to->bytes += from->bytes;
    to->time_ns += from->time_ns;
    if (at->op == IO_READ)
        to->uncached_bytes += from->uncached_bytes;
    else
        to->throttled_ns += from->throttled_ns;
    to->max_ns = from->max_ns > to->max_ns ? from->max_ns : to->max_ns;
    if (from->longest_wait_ns > to->longest_wait_ns)
        to->longest_wait_ns = from->longest_wait_ns;
    for (int i = 0; i < IO_BUCKETS; i++)
        to->latency[i] += from->latency[i];
    for (int i = 0; i < SLICES; i++)
        if (from->slices[i] > to->slices[i])
            to->slices[i] = from->slices[i];
    return 0;
}

/* *ret is NULL if the pass leaves the step out. 0 or -ENOMEM. */
static int pass_tally(struct pass *pass, uint32_t step, uint64_t dev, struct tally **ret)
{
    *ret = NULL;
    if (!pass_has(pass, step))
        return 0;
    *ret = tally_get(pass->probe, step, dev);
    return *ret ? 0 : -ENOMEM;
}

static int add_cache(const void *key, const void *value, void *arg)
{
    const struct cache_key *at = key;
    const struct cache_value *from = value;
    struct tally *tally;
    int r = pass_tally(arg, at->step, DEV_OF(at), &tally);

    if (r < 0 || !tally)
        return r;
    tally->cache.miss_bytes += from->miss_bytes;
    for (int fill = 0; fill < IO_FILL_COUNT; fill++)
        tally->cache.fill_bytes[fill] += from->fill_bytes[fill];
    return 0;
}

static int add_user(const void *key, const void *value, void *arg)
{
    const struct user_key *at = key;
    const struct user_value *from = value;
    struct tally *tally;
    int r = pass_tally(arg, at->step, DEV_OF(at), &tally);

    if (r < 0 || !tally)
        return r;
    for (int kind = 0; kind < IO_USER_KINDS; kind++) {
        tally->users[kind].threads += from->thread[kind];
        tally->users[kind].processes += from->process[kind];
    }
    return 0;
}

static int add_missed_users(const void *key, const void *value, void *arg)
{
    const struct mount_key *at = key;
    const struct mount_record *from = value;
    struct tally *tally;
    int r = pass_tally(arg, at->step, DEV_OF(at), &tally);

    if (r < 0 || !tally)
        return r;
    for (int kind = 0; kind < IO_USER_KINDS; kind++)
        tally->users[kind].at_least = from->missed[kind];
    return 0;
}

static int add_requests(const void *key, const void *value, void *arg)
{
    const struct rpc_counter_key *at = key;
    struct rpc_counter_value counters;
    struct pass *pass = arg;
    struct tally *tally;
    uint64_t dev;
    int r;

    if (!pass_has(pass, at->step) || rpc_find(pass->probe, key, value, &counters, &dev) < 0)
        return 0;
    r = pass_tally(pass, at->step, dev, &tally);
    return r == 0 ? rpc_add(&tally->rpc, &counters) : r;
}

static void widen(uint64_t *total, uint32_t *before, uint32_t now)
{
    *total += (uint32_t)(now - *before);
    *before = now;
}

/* A call that still runs has been throttled, but has not taken any time yet. */
static uint64_t throttled_of(enum io_op op, const struct account_value *now)
{
    if (op == IO_READ)
        return 0;
    return now->throttled_ns < now->time_ns ? now->throttled_ns : now->time_ns;
}

static void tally_op_finish(struct tally_op *op, enum io_op number, const struct account_value *now)
{
    struct io_counter *counter = &op->counter;
    struct wrapping *before = &op->before;

    counter->requests = now->requests;
    counter->bytes = now->bytes;
    counter->time_ns = now->time_ns;
    counter->throttled_ns = throttled_of(number, now);
    counter->max_ns = now->max_ns;
    widen(&counter->async_requests, &before->async_requests, now->async_requests);
    widen(&counter->errors, &before->errors, now->errors);
    widen(&counter->sequential_requests, &before->sequential, now->sequential);
    widen(&counter->random_requests, &before->random, now->random);
    for (int i = 0; i < IO_BUCKETS; i++) {
        widen(&counter->latency_log2[i], &before->latency[i], now->latency[i]);
        widen(&counter->size_log2[i], &before->size[i], now->size[i]);
    }
}

/* Cache hits have no counter: they are the bytes read minus the uncached bytes. */
static void finish_cache(const struct pass *pass, struct tally *tally)
{
    const struct account_value *read =
        tally->ops[IO_READ] ? sums_of(pass, tally->ops[IO_READ]) : NULL;

    if (pass->unsupported & IO_CACHE)
        tally->cache = (struct io_cache){0};
    else if (read && read->bytes > read->uncached_bytes)
        tally->cache.hit_bytes = read->bytes - read->uncached_bytes;
}

static void begin_tally(const void *node, VISIT visit, void *arg)
{
    struct tally *tally = *(struct tally *const *)node;

    (void)arg;
    if (visit != preorder && visit != leaf)
        return;
    for (int op = 0; op < IO_OP_COUNT; op++) {
        if (!tally->ops[op])
            continue;
        tally->ops[op]->sums = 0;
        tally->ops[op]->counter.n_errnos = 0;
    }
    tally->cache = (struct io_cache){0};
    memset(tally->users, 0, sizeof(tally->users));
    if (tally->rpc)
        *tally->rpc = (struct rpc_account){0};
    memset(tally->slices, 0, sizeof(tally->slices));
}

/* The longest wait is that of any operation. */
static void add_slices(struct tally *to, const struct account_value *from)
{
    for (int i = 0; i < SLICES; i++)
        raise_to(&to->slices[i], from->slices[i]);
}

static void add_to_step(struct step_tallies *step, int op, const struct account_value *now)
{
    raise_to(&step->longest_wait_ns, now->longest_wait_ns);
    if (op != IO_CREATE) /* a part of an open */
        step->events += now->requests;
}

static int report_tally(const struct pass *pass, const struct tally *tally)
{
    struct probe_slice slices[PROBE_SLICES];

    for (int i = 0; i < SLICES; i++)
        slices[i] = (struct probe_slice){tally->slices[i] >> 32, (tally->slices[i] & UINT32_MAX)
                                                                     << SLICE_UNIT_LOG2};
    return pass->each(&(struct probe_account){.step = pass->step->step,
                                              .dev = tally->dev,
                                              .io = &tally->io,
                                              .cache = &tally->cache,
                                              .users = tally->users,
                                              .rpc = tally->rpc,
                                              .slices = slices},
                      pass->arg);
}

static void end_tally(const void *node, VISIT visit, void *arg)
{
    struct tally *tally = *(struct tally *const *)node;
    struct pass *pass = arg;
    bool any = false;

    if ((visit != postorder && visit != leaf) || pass->result)
        return;
    for (int op = 0; op < IO_OP_COUNT; op++) {
        const struct account_value *now = tally->ops[op] ? sums_of(pass, tally->ops[op]) : NULL;

        tally->io.ops[op] = NULL;
        if (!now || !now->requests)
            continue;
        add_to_step(pass->step, op, now);
        add_slices(tally, now);
        tally_op_finish(tally->ops[op], (enum io_op)op, now);
        tally->io.ops[op] = &tally->ops[op]->counter;
        any = true;
    }
    finish_cache(pass, tally);
    pass->result = rpc_finish(pass->probe, pass->step->step, tally->dev, &tally->rpc);
    if (pass->result)
        return;
    if (any || !io_cache_is_empty(&tally->cache))
        pass->result = report_tally(pass, tally);
}

static void begin_step(const void *node, VISIT visit, void *arg)
{
    const struct step_tallies *step = *(struct step_tallies *const *)node;

    if ((visit == postorder || visit == leaf) && pass_has(arg, step->step))
        twalk_r(step->tallies, begin_tally, arg);
}

static void end_step(const void *node, VISIT visit, void *arg)
{
    struct step_tallies *step = *(struct step_tallies *const *)node;
    struct pass *pass = arg;

    if ((visit != postorder && visit != leaf) || pass->result || !pass_has(pass, step->step))
        return;
    pass->step = step;
    step->longest_wait_ns = step->events = 0;
    twalk_r(step->tallies, end_tally, pass);
}

static int read_maps(struct pass *pass, struct error *error)
{
    struct probe *probe = pass->probe;
    /* Read errnos before counters: an error is counted before its errno, so the errnos never sum up
     * to more than the errors. */
    int r = map_each(probe, probe->skel->maps.errnos, add_errno, pass, error);

    if (r == 0)
        r = map_each(probe, probe->skel->maps.places, add_value, pass, error);
    if (r == 0)
        r = map_each(probe, probe->skel->maps.caches, add_cache, pass, error);
    /* Read users after counters: the user of a request is noted before the request is counted. */
    if (r == 0)
        r = map_each(probe, probe->skel->maps.users, add_user, pass, error);
    if (r == 0)
        r = map_each(probe, probe->skel->maps.mounts, add_missed_users, pass, error);
    if (r == 0)
        r = rpc_read(probe, error);
    if (r == 0 && rpc_counters(probe))
        r = map_each(probe, rpc_counters(probe), add_requests, pass, error);
    return r;
}

static int read_layout(struct probe *probe, const uint32_t *steps, size_t n, probe_account_f each,
                       void *arg, struct error *error)
{
    struct pass pass = {.probe = probe,
                        .steps = steps,
                        .n_steps = n,
                        .each = each,
                        .arg = arg,
                        .unsupported = probe_unsupported(probe)};
    int r;

    twalk_r(probe->accounts, begin_step, &pass);
    r = read_maps(&pass, error);
    if (r == 0) {
        twalk_r(probe->accounts, end_step, &pass);
        (void)slots_grow(probe);
        r = pass.result;
    }
    free(pass.sums);
    return r;
}

int probe_read(struct probe *probe, const uint32_t *steps, size_t n, probe_account_f each,
               void *arg, struct error *error)
{
    int r = 0;

    rpc_poll(probe);
    for (struct probe *p = probe->blind ? NULL : probe; p && r == 0; p = p->others)
        r = read_layout(p, steps, n, each, arg, error);
    return r;
}

uint64_t probe_slice_start_ns(uint64_t slice)
{
    return (slice << SLICE_LOG2) + clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
}

static int compare_numbers(const void *a, const void *b)
{
    const struct probe_step *x = a, *y = b;

    return (x->step > y->step) - (x->step < y->step);
}

void accounts_sum(const struct probe *probe, struct probe_step *steps, size_t n)
{
    if (n)
        qsort(steps, n, sizeof(*steps), compare_numbers);
    for (size_t i = 0; i < n; i++) {
        const struct step_tallies *step = find_step(probe, steps[i].step);

        if (!step)
            continue;
        steps[i].longest_wait_ns = step->longest_wait_ns;
        steps[i].events = step->events;
    }
}

void accounts_forget(struct probe *probe, const uint32_t *steps, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct step_tallies *step = find_step(probe, steps[i]);

        if (!step)
            continue;
        (void)tdelete(step, &probe->accounts, step_compare);
        step_tallies_destroy(step);
    }
}

void accounts_close(struct probe *probe)
{
    tdestroy(probe->accounts, step_tallies_destroy);
    probe->accounts = NULL;
}

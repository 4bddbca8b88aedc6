/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "common/account.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"

struct io_counter *io_account_op(struct io_account *account, enum io_op op)
{
    if (!account->ops[op])
        account->ops[op] = calloc(1, sizeof(*account->ops[op]));
    return account->ops[op];
}

/* The entry of `code`; creates one with a count of 0 if there is none. */
static struct io_errno *errno_get(struct io_counter *counter, int code)
{
    struct io_errno *grown;
    size_t at = 0;

    while (at < counter->n_errnos && counter->errnos[at].code < code)
        at++;
    if (at < counter->n_errnos && counter->errnos[at].code == code)
        return &counter->errnos[at];
    grown = reallocarray(counter->errnos, counter->n_errnos + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    counter->errnos = grown;
    memmove(&grown[at + 1], &grown[at], (counter->n_errnos - at) * sizeof(*grown));
    grown[at] = (struct io_errno){.code = code};
    counter->n_errnos++;
    return &grown[at];
}

int io_counter_errno(struct io_counter *counter, int code, uint64_t count)
{
    struct io_errno *e = errno_get(counter, code);

    if (!e)
        return -ENOMEM;
    add_saturating(&e->count, count);
    return 0;
}

/* Allocate what `from` needs, so that the addition cannot fail halfway. */
static int account_reserve(struct io_account *to, const struct io_account *from)
{
    for (int op = 0; op < IO_OP_COUNT; op++) {
        const struct io_counter *f = from->ops[op];

        if (!f)
            continue;
        if (!io_account_op(to, op))
            return -ENOMEM;
        for (size_t i = 0; i < f->n_errnos; i++)
            if (!errno_get(to->ops[op], f->errnos[i].code))
                return -ENOMEM;
    }
    return 0;
}

static void counter_add(struct io_counter *to, const struct io_counter *from)
{
    for (size_t i = 0; i < IO_FIELD_COUNT; i++) {
        const struct io_field *field = &io_fields[i];

        switch (field->kind) {
        case IO_FIELD_SUM:
            add_saturating(io_field_in(field, to), *io_field_of(field, from));
            break;
        case IO_FIELD_MAX:
            raise_to(io_field_in(field, to), *io_field_of(field, from));
            break;
        case IO_FIELD_HISTOGRAM:
            io_histogram_add(io_field_in(field, to), io_field_of(field, from));
            break;
        case IO_FIELD_ERRNOS:
            for (size_t e = 0; e < from->n_errnos; e++)
                (void)io_counter_errno(to, from->errnos[e].code, from->errnos[e].count);
            break;
        }
    }
}

static void account_add_reserved(struct io_account *to, const struct io_account *from)
{
    for (int op = 0; op < IO_OP_COUNT; op++)
        if (from->ops[op])
            counter_add(to->ops[op], from->ops[op]);
}

uint64_t io_counter_ordered(const struct io_counter *counter)
{
    uint64_t ordered = counter->sequential_requests;

    add_saturating(&ordered, counter->random_requests);
    return ordered;
}

int io_account_add(struct io_account *to, const struct io_account *from)
{
    int r = account_reserve(to, from);

    if (r < 0)
        return r;
    account_add_reserved(to, from);
    return 0;
}

/* ret = now - before, number by number. */
static int subtract(const uint64_t *now, const uint64_t *before, size_t n, uint64_t *ret)
{
    for (size_t i = 0; i < n; i++) {
        if (now[i] < before[i])
            return -ERANGE;
        ret[i] = now[i] - before[i];
    }
    return 0;
}

static uint64_t errno_count(const struct io_counter *counter, int code)
{
    for (size_t i = 0; i < counter->n_errnos; i++)
        if (counter->errnos[i].code == code)
            return counter->errnos[i].count;
    return 0;
}

static int errnos_diff(const struct io_counter *now, const struct io_counter *before,
                       struct io_counter *ret)
{
    for (size_t i = 0; i < before->n_errnos; i++)
        if (errno_count(now, before->errnos[i].code) < before->errnos[i].count)
            return -ERANGE;
    for (size_t i = 0; i < now->n_errnos; i++) {
        uint64_t d = now->errnos[i].count - errno_count(before, now->errnos[i].code);

        if (d && io_counter_errno(ret, now->errnos[i].code, d) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int field_diff(const struct io_field *field, const struct io_counter *now,
                      const struct io_counter *before, struct io_counter *ret)
{
    switch (field->kind) {
    case IO_FIELD_SUM:
        return subtract(io_field_of(field, now), io_field_of(field, before), 1,
                        io_field_in(field, ret));
    case IO_FIELD_HISTOGRAM:
        return subtract(io_field_of(field, now), io_field_of(field, before), IO_BUCKETS,
                        io_field_in(field, ret));
    case IO_FIELD_MAX:
        *io_field_in(field, ret) = *io_field_of(field, now);
        return 0;
    case IO_FIELD_ERRNOS:
        break;
    }
    return errnos_diff(now, before, ret);
}

static int counter_diff(const struct io_counter *now, const struct io_counter *before,
                        struct io_counter *ret)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < IO_FIELD_COUNT; i++)
        r = field_diff(&io_fields[i], now, before, ret);
    return r;
}

static bool histogram_is_empty(const uint64_t buckets[IO_BUCKETS])
{
    for (unsigned i = 0; i < IO_BUCKETS; i++)
        if (buckets[i])
            return false;
    return true;
}

static bool errnos_are_empty(const struct io_counter *c)
{
    for (size_t i = 0; i < c->n_errnos; i++)
        if (c->errnos[i].count)
            return false;
    return true;
}

static bool field_is_empty(const struct io_field *field, const struct io_counter *c)
{
    switch (field->kind) {
    case IO_FIELD_SUM:
        return *io_field_of(field, c) == 0;
    case IO_FIELD_HISTOGRAM:
        return histogram_is_empty(io_field_of(field, c));
    case IO_FIELD_ERRNOS:
        return errnos_are_empty(c);
    case IO_FIELD_MAX: /* counts nothing */
        break;
    }
    return true;
}

bool io_counter_is_empty(const struct io_counter *c)
{
    for (size_t i = 0; i < IO_FIELD_COUNT; i++)
        if (!field_is_empty(&io_fields[i], c))
            return false;
    return true;
}

static void counter_destroy(struct io_counter *counter)
{
    if (counter)
        free(counter->errnos);
    free(counter);
}

static int op_diff(const struct io_counter *now, const struct io_counter *before,
                   struct io_account *ret, enum io_op op)
{
    static const struct io_counter none;
    struct io_counter *d;
    int r;

    if (!now)
        return before && !io_counter_is_empty(before) ? -ERANGE : 0;
    d = io_account_op(ret, op);
    if (!d)
        return -ENOMEM;
    r = counter_diff(now, before ? before : &none, d);
    if (r < 0)
        return r;
    if (io_counter_is_empty(d)) {
        counter_destroy(d);
        ret->ops[op] = NULL;
    }
    return 0;
}

int io_account_diff(const struct io_account *now, const struct io_account *before,
                    struct io_account *ret)
{
    CLEANUP(io_account_clear) struct io_account diff = {0};

    for (int op = 0; op < IO_OP_COUNT; op++) {
        int r = op_diff(now->ops[op], before->ops[op], &diff, op);

        if (r < 0)
            return r;
    }
    *ret = diff;
    diff = (struct io_account){0};
    return 0;
}

int io_account_copy(const struct io_account *from, struct io_account *ret)
{
    CLEANUP(io_account_clear) struct io_account copy = {0};
    int r = io_account_add(&copy, from);

    if (r < 0)
        return r;
    *ret = copy;
    copy = (struct io_account){0};
    return 0;
}

void io_account_clear(struct io_account *account)
{
    if (!account)
        return;
    for (int op = 0; op < IO_OP_COUNT; op++)
        counter_destroy(account->ops[op]);
    *account = (struct io_account){0};
}

bool io_account_is_empty(const struct io_account *account)
{
    for (int op = 0; op < IO_OP_COUNT; op++)
        if (account->ops[op] && !io_counter_is_empty(account->ops[op]))
            return false;
    return true;
}

uint64_t io_account_ops(const struct io_account *account)
{
    uint64_t ops = 0;

    for (int op = 0; op < IO_OP_COUNT; op++)
        if (account->ops[op] && account->ops[op]->requests)
            ops |= UINT64_C(1) << op;
    return ops;
}

void io_sum_add(struct io_sum *to, struct io_sum from)
{
    for (size_t i = 0; i < IO_FIELD_COUNT; i++) {
        const struct io_field *field = &io_fields[i];

        if (field->kind == IO_FIELD_SUM)
            add_saturating(io_sum_in(field, to), io_sum_of(field, &from));
        else if (field->kind == IO_FIELD_MAX)
            raise_to(io_sum_in(field, to), io_sum_of(field, &from));
    }
}

struct io_sum io_counter_sum(const struct io_counter *counter)
{
    struct io_sum sum = {0};

    for (size_t i = 0; counter && i < IO_FIELD_COUNT; i++)
        if (io_field_is_number(&io_fields[i]))
            *io_sum_in(&io_fields[i], &sum) = *io_field_of(&io_fields[i], counter);
    return sum;
}

static void sum_op(struct io_sum *sum, const struct io_account *account, enum io_op op)
{
    if (account->ops[op])
        io_sum_add(sum, io_counter_sum(account->ops[op]));
}

struct io_sum io_account_reads(const struct io_account *account)
{
    struct io_sum sum = {0};

    sum_op(&sum, account, IO_READ);
    sum_op(&sum, account, IO_COPY_READ);
    return sum;
}

struct io_sum io_account_writes(const struct io_account *account)
{
    struct io_sum sum = {0};

    sum_op(&sum, account, IO_WRITE);
    sum_op(&sum, account, IO_COPY_WRITE);
    return sum;
}

struct io_sum io_account_meta(const struct io_account *account)
{
    struct io_sum sum = {0};

    for (int op = IO_OP_FIRST_META; op < IO_OP_COUNT; op++)
        if (op != IO_CREATE && io_op_is_meta((enum io_op)op))
            sum_op(&sum, account, op);
    return sum;
}

struct io_sum io_account_all(const struct io_account *account)
{
    struct io_sum sum = {0};

    for (int op = 0; op < IO_OP_COUNT; op++)
        if (op != IO_CREATE)
            sum_op(&sum, account, op);
    sum.bytes = io_account_reads(account).bytes;
    add_saturating(&sum.bytes, io_account_writes(account).bytes);
    return sum;
}

struct io_sums io_account_sums(const struct io_account *account)
{
    return (struct io_sums){
        .reads = io_account_reads(account),
        .writes = io_account_writes(account),
        .meta = io_account_meta(account),
        .all = io_account_all(account),
    };
}

void io_sums_add(struct io_sums *to, const struct io_sums *from)
{
    io_sum_add(&to->reads, from->reads);
    io_sum_add(&to->writes, from->writes);
    io_sum_add(&to->meta, from->meta);
    io_sum_add(&to->all, from->all);
}

struct timeline_bin io_account_now(const struct io_account *account)
{
    struct timeline_bin bin = {0};

    bin.of[TIMELINE_READ] = io_account_reads(account).bytes;
    bin.of[TIMELINE_WRITE] = io_account_writes(account).bytes;
    bin.of[TIMELINE_META] = io_account_meta(account).requests;
    bin.of[TIMELINE_WAIT] = io_account_all(account).time_ns;
    return bin;
}

static void mount_clear(struct io_mount *m)
{
    free(m->mount);
    free(m->fstype);
    free(m->source);
    io_account_clear(&m->io);
    free(m->rpc);
    timeline_clear(&m->timeline);
}

/* Up to this length, a list needs no index. */
#define SHORT_LIST 16

static struct mount_identity key_of(const void *array, size_t i)
{
    const struct io_mount *m = &((const struct io_mount *)array)[i];

    return (struct mount_identity){m->mount, m->fstype, m->source, m->private};
}

/* Make room for one more. A short list grows by one: there are many, and an item is large. */
static int mounts_grow(struct io_mounts *mounts)
{
    size_t room = mounts->n + 1 + (mounts->n > SHORT_LIST ? mounts->n / 2 : 0);
    struct io_mount *grown;

    if (mounts->n < mounts->room)
        return 0;
    grown = reallocarray(mounts->items, room, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    mounts->items = grown;
    mounts->room = room;
    return 0;
}

static struct io_mount *mounts_append(struct io_mounts *mounts, struct io_mount *m)
{
    if (!m->mount || !m->fstype || !m->source || mounts_grow(mounts) < 0)
        return NULL;
    mounts->items[mounts->n++] = *m;
    /* Without memory, the list is searched without an index. */
    if (mounts->n > SHORT_LIST)
        (void)mount_index_extend(&mounts->index, mounts->items, mounts->n, key_of);
    return &mounts->items[mounts->n - 1];
}

struct io_mount *io_mounts_find(const struct io_mounts *mounts, const char *mount,
                                const char *fstype, const char *source, bool is_private)
{
    const struct mount_identity wanted = {mount, fstype, source, is_private};
    size_t at;

    if (mounts->n > SHORT_LIST && mounts->index.n == mounts->n) {
        at = mount_index_find(&mounts->index, mounts->items, key_of, &wanted);
        return at == SIZE_MAX ? NULL : &mounts->items[at];
    }
    for (size_t i = 0; i < mounts->n; i++) {
        struct mount_identity have = key_of(mounts->items, i);

        if (mount_identity_is_equal(&have, &wanted))
            return &mounts->items[i];
    }
    return NULL;
}

void io_mounts_forget_index(struct io_mounts *mounts)
{
    mount_index_clear(&mounts->index);
}

struct io_mount *io_mounts_get(struct io_mounts *mounts, const char *mount, const char *fstype,
                               const char *source, bool is_private)
{
    struct io_mount *have = io_mounts_find(mounts, mount, fstype, source, is_private);
    struct io_mount m = {.private = is_private}, *appended;

    if (have)
        return have;
    m.mount = strdup(mount);
    m.fstype = strdup(fstype);
    m.source = strdup(source);
    appended = mounts_append(mounts, &m);
    if (!appended)
        mount_clear(&m);
    return appended;
}

/* The mount of `to` with the key of `m`, with room for the account of `m`. */
static struct io_mount *mount_reserve(struct io_mounts *to, const struct io_mount *m)
{
    size_t before = to->n;
    struct io_mount *mine = io_mounts_get(to, m->mount, m->fstype, m->source, m->private);

    if (!mine)
        return NULL;
    if (to->n > before) {
        mine->dev = m->dev;
        mine->labelled = m->labelled;
    }
    if (timeline_reserve(&mine->timeline, &m->timeline) < 0 ||
        rpc_account_reserve(&mine->rpc, m->rpc) < 0)
        return NULL;
    return account_reserve(&mine->io, &m->io) < 0 ? NULL : mine;
}

bool mount_baseline_is_known(const struct mount_baseline *baseline)
{
    return baseline->read.jobs || baseline->write.jobs || baseline->open.jobs;
}

bool io_cache_is_empty(const struct io_cache *cache)
{
    static const struct io_cache none;

    return !memcmp(cache, &none, sizeof(none));
}

void io_cache_add(struct io_cache *to, const struct io_cache *from)
{
    add_saturating(&to->hit_bytes, from->hit_bytes);
    add_saturating(&to->miss_bytes, from->miss_bytes);
    for (int fill = 0; fill < IO_FILL_COUNT; fill++)
        add_saturating(&to->fill_bytes[fill], from->fill_bytes[fill]);
}

static void mount_add_reserved(struct io_mount *to, const struct io_mount *from)
{
    if (strcmp(to->mount, IO_OTHER_MOUNTS) != 0) /* a process may use several of them */
        io_users_add(to->users, io_account_ops(&to->io), from->users, io_account_ops(&from->io));
    rpc_account_add(to->rpc, io_account_ops(&to->io), from->rpc, io_account_ops(&from->io));
    account_add_reserved(&to->io, &from->io);
    /* Every node must accept the name as a label. */
    to->labelled = to->labelled && from->labelled;
    for (int op = 0; op < IO_OP_COUNT; op++) {
        raise_to(&to->peaks[op].bytes_per_s, from->peaks[op].bytes_per_s);
        raise_to(&to->peaks[op].requests_per_s, from->peaks[op].requests_per_s);
    }
    io_cache_add(&to->cache, &from->cache);
    if (mount_baseline_is_known(&from->baseline))
        to->baseline = from->baseline;
    (void)timeline_add(&to->timeline, &from->timeline);
}

int io_mounts_add(struct io_mounts *to, const struct io_mounts *from)
{
    for (size_t i = 0; i < from->n; i++)
        if (!mount_reserve(to, &from->items[i]))
            return -ENOMEM;
    for (size_t i = 0; i < from->n; i++) {
        const struct io_mount *m = &from->items[i];

        mount_add_reserved(io_mounts_get(to, m->mount, m->fstype, m->source, m->private), m);
    }
    return 0;
}

int io_mounts_copy(const struct io_mounts *from, struct io_mounts *ret)
{
    struct io_mounts copy = {0};
    int r = io_mounts_add(&copy, from);

    if (r < 0) {
        io_mounts_clear(&copy);
        return r;
    }
    *ret = copy;
    return 0;
}

uint64_t io_mounts_requests(const struct io_mounts *mounts)
{
    uint64_t requests = 0;

    for (size_t i = 0; i < mounts->n; i++)
        add_saturating(&requests, io_account_all(&mounts->items[i].io).requests);
    return requests;
}

void io_mounts_clear(struct io_mounts *mounts)
{
    if (!mounts)
        return;
    for (size_t i = 0; i < mounts->n; i++)
        mount_clear(&mounts->items[i]);
    free(mounts->items);
    mount_index_clear(&mounts->index);
    *mounts = (struct io_mounts){0};
}

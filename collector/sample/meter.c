/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/sample/meter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct amount {
    uint64_t bytes, requests;
    uint64_t time_ns, long_calls; /* calls that may have taken longer than an interval */
    uint64_t max_ns;              /* the longest call so far */
};

/* An operation on a mount. */
struct flow {
    struct amount start; /* at the start of the open interval */
    struct amount mark;  /* at its last tick */
    struct amount now;
    struct io_peak best; /* of the closed intervals */
};

/* Identified by its names. Most jobs use few operations on a mount. */
struct channel {
    char *mount, *fstype, *source;
    bool private;
    bool unnamed;
    uint64_t dev;
    struct flow *flows[IO_OP_COUNT]; /* owned; NULL: no request so far */
};

struct meter {
    uint64_t interval_ns;
    uint64_t start_ns, mark_ns, now_ns;
    struct channel *channels;
    size_t n, n_unnamed;
    size_t room;              /* of `channels` */
    struct mount_index index; /* of all channels */
};

static void channel_clear(struct channel *c)
{
    free(c->mount);
    free(c->fstype);
    free(c->source);
    for (int op = 0; op < IO_OP_COUNT; op++)
        free(c->flows[op]);
}

static void raise_to(uint64_t *best, uint64_t value)
{
    if (value > *best)
        *best = value;
}

struct meter *meter_create(uint64_t interval_ns, uint64_t start_ns)
{
    struct meter *meter = calloc(1, sizeof(*meter));

    if (meter) {
        meter->interval_ns = interval_ns;
        meter->start_ns = meter->mark_ns = meter->now_ns = start_ns;
    }
    return meter;
}

void meter_destroy(struct meter *meter)
{
    if (!meter)
        return;
    for (size_t i = 0; i < meter->n; i++)
        channel_clear(&meter->channels[i]);
    free(meter->channels);
    mount_index_clear(&meter->index);
    free(meter);
}

static struct mount_identity key_of(const void *array, size_t i)
{
    const struct channel *c = &((const struct channel *)array)[i];

    return (struct mount_identity){c->mount, c->fstype, c->source, c->private};
}

static struct channel *channel_find(const struct meter *meter, const struct io_mount *m)
{
    const struct mount_identity key = {m->mount, m->fstype, m->source, m->private};
    size_t at = mount_index_find(&meter->index, meter->channels, key_of, &key);

    return at == SIZE_MAX ? NULL : &meter->channels[at];
}

/* Make room for one more. A short list grows by one: most jobs use few mounts. */
static int channels_grow(struct meter *meter)
{
    size_t room = meter->n + 1 + (meter->n > 16 ? meter->n / 2 : 0);
    struct channel *grown;

    if (meter->n < meter->room)
        return 0;
    grown = reallocarray(meter->channels, room, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    meter->channels = grown;
    meter->room = room;
    return 0;
}

static struct channel *channel_get(struct meter *meter, const struct io_mount *m)
{
    struct channel *c = channel_find(meter, m);

    if (c)
        return c;
    if (channels_grow(meter) < 0)
        return NULL;
    c = memset(&meter->channels[meter->n], 0, sizeof(*c));
    c->mount = strdup(m->mount);
    c->fstype = strdup(m->fstype);
    c->source = strdup(m->source);
    c->private = m->private;
    c->unnamed = !strcmp(m->mount, "(unknown)");
    if (!c->mount || !c->fstype || !c->source ||
        mount_index_extend(&meter->index, meter->channels, meter->n + 1, key_of) < 0) {
        channel_clear(c);
        return NULL;
    }
    meter->n++;
    meter->n_unnamed += c->unnamed;
    return c;
}

/* Returns NULL on out-of-memory. */
static struct flow *flow_get(struct channel *c, int op)
{
    if (!c->flows[op])
        c->flows[op] = calloc(1, sizeof(*c->flows[op]));
    return c->flows[op];
}

static void amount_add(struct amount *to, const struct amount *from)
{
    to->bytes += from->bytes;
    to->requests += from->requests;
    to->time_ns += from->time_ns;
    to->long_calls += from->long_calls;
    raise_to(&to->max_ns, from->max_ns);
}

static void peak_raise(struct io_peak *peak, const struct io_peak *other)
{
    raise_to(&peak->bytes_per_s, other->bytes_per_s);
    raise_to(&peak->requests_per_s, other->requests_per_s);
}

/* A channel without a name, by its super block. */
struct unnamed {
    uint64_t dev;
    size_t at;
};

static int compare_unnamed(const void *a, const void *b)
{
    const struct unnamed *x = a, *y = b;

    if (x->dev != y->dev)
        return x->dev < y->dev ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* The channels without a name, sorted, to be freed by the caller. 0 or -ENOMEM. */
static int list_unnamed(const struct meter *meter, struct unnamed **ret, size_t *n)
{
    struct unnamed *list;

    *ret = NULL;
    *n = 0;
    if (!meter->n_unnamed)
        return 0;
    list = calloc(meter->n_unnamed, sizeof(*list));
    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < meter->n; i++)
        if (meter->channels[i].unnamed && meter->channels[i].dev)
            list[(*n)++] = (struct unnamed){meter->channels[i].dev, i};
    qsort(list, *n, sizeof(*list), compare_unnamed);
    *ret = list;
    return 0;
}

/* The mount got its name in this interval: its earlier I/O is not a burst of this interval. 0 or
 * -ENOMEM. */
static int merge_unnamed(struct channel *c, struct channel *from)
{
    for (int op = 0; op < IO_OP_COUNT; op++) {
        struct flow *flow = from->flows[op], *to = flow ? flow_get(c, op) : NULL;

        if (!flow)
            continue;
        if (!to)
            return -ENOMEM;
        amount_add(&to->start, &flow->start);
        amount_add(&to->mark, &flow->mark);
        peak_raise(&to->best, &flow->best);
        flow->start = flow->mark = (struct amount){0};
    }
    from->dev = 0;
    return 0;
}

static int take_unnamed(struct meter *meter, struct channel *c, const struct unnamed *list,
                        size_t n)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (list[middle].dev < c->dev)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < n && list[low].dev == c->dev; low++)
        if (meter->channels[list[low].at].dev == c->dev)
            return merge_unnamed(c, &meter->channels[list[low].at]);
    return 0;
}

static uint64_t long_calls(const struct io_counter *counter, uint64_t interval_ns)
{
    uint64_t n = 0;

    for (unsigned b = 0; b < IO_BUCKETS; b++)
        n += io_latency_bound(b) > interval_ns ? counter->latency_log2[b] : 0;
    return n;
}

/* Returns 0 or -ENOMEM. */
static int channel_add(struct channel *c, const struct io_mount *m, uint64_t interval_ns)
{
    for (int op = 0; op < IO_OP_COUNT; op++) {
        const struct io_counter *counter = m->io.ops[op];
        struct flow *flow = counter ? flow_get(c, op) : NULL;

        if (!counter)
            continue;
        if (!flow)
            return -ENOMEM;
        amount_add(&flow->now, &(struct amount){.bytes = counter->bytes,
                                                .requests = counter->requests,
                                                .time_ns = counter->time_ns,
                                                .long_calls = long_calls(counter, interval_ns),
                                                .max_ns = counter->max_ns});
    }
    return 0;
}

/* Returns 0 or -ENOMEM. */
static int channel_resume(struct channel *c, const struct io_mount *m, uint64_t interval_ns)
{
    int r = channel_add(c, m, interval_ns);

    for (int op = 0; op < IO_OP_COUNT && !r; op++) {
        struct flow *flow = c->flows[op];

        if (!flow)
            continue;
        flow->start = flow->mark = flow->now;
        flow->best = m->peaks[op];
    }
    return r;
}

int meter_resume(struct meter *meter, const struct io_mounts *mounts, uint64_t at_ns)
{
    for (size_t i = 0; i < mounts->n; i++) {
        struct channel *c = channel_get(meter, &mounts->items[i]);

        if (!c || channel_resume(c, &mounts->items[i], meter->interval_ns) < 0)
            return -ENOMEM;
    }
    meter->start_ns = meter->mark_ns = meter->now_ns = at_ns;
    return 0;
}

/* The next flow after *at in the order of channels and operations; NULL: there is none. */
struct place {
    size_t channel;
    int op;
};

static struct flow *next_flow(const struct meter *meter, struct place *at)
{
    for (; at->channel < meter->n; at->channel++, at->op = 0)
        while (at->op < IO_OP_COUNT) {
            struct flow *flow = meter->channels[at->channel].flows[at->op++];

            if (flow)
                return flow;
        }
    return NULL;
}

void meter_start(struct meter *meter)
{
    struct place at = {0};

    for (struct flow *flow; (flow = next_flow(meter, &at));)
        flow->now = (struct amount){0};
}

int meter_add(struct meter *meter, const struct io_mounts *mounts)
{
    struct unnamed *unnamed;
    size_t n;
    int r = list_unnamed(meter, &unnamed, &n);

    for (size_t i = 0; i < mounts->n && !r; i++) {
        struct channel *c = channel_get(meter, &mounts->items[i]);

        if (!c) {
            r = -ENOMEM;
            continue;
        }
        c->dev = mounts->items[i].dev;
        if (!c->unnamed && c->dev)
            r = take_unnamed(meter, c, unnamed, n);
        if (!r)
            r = channel_add(c, &mounts->items[i], meter->interval_ns);
    }
    free(unnamed);
    return r;
}

static uint64_t rate(uint64_t from, uint64_t to, uint64_t span_ns)
{
    /* Rounded as the mean, so that a peak is never below it. */
    return to <= from ? 0 : io_per_second(to - from, span_ns);
}

/* The part of the time in calls that returned in an interval which lies in it. The bytes of a call
 * are counted when it returns; those of a call that took longer than the interval moved before it,
 * too. */
static double part_inside(struct amount from, struct amount to, uint64_t span_ns)
{
    double time = to.time_ns > from.time_ns ? (double)(to.time_ns - from.time_ns) : 0;
    double calls = to.long_calls > from.long_calls ? (double)(to.long_calls - from.long_calls) : 0;
    double in_long = calls * (double)to.max_ns;

    if (time <= 0 || in_long <= 0 || to.max_ns <= span_ns)
        return 1;
    in_long = in_long < time ? in_long : time;
    return 1 - in_long / time * (1 - (double)span_ns / (double)to.max_ns);
}

static void raise_peak(struct io_peak *peak, struct amount from, struct amount to, uint64_t span_ns)
{
    double inside = part_inside(from, to, span_ns);
    uint64_t bytes = to.bytes > from.bytes ? to.bytes - from.bytes : 0;

    if (inside < 1)
        bytes = (uint64_t)((double)bytes * inside);
    raise_to(&peak->bytes_per_s, rate(0, bytes, span_ns));
    raise_to(&peak->requests_per_s, rate(from.requests, to.requests, span_ns));
}

static void close_interval(struct meter *meter)
{
    struct place at = {0};

    for (struct flow *flow; (flow = next_flow(meter, &at));) {
        raise_peak(&flow->best, flow->start, flow->mark, meter->mark_ns - meter->start_ns);
        flow->start = flow->mark;
    }
    meter->start_ns = meter->mark_ns;
}

/* Close the open interval [start, mark] only if it and the next one, from mark to now, are both
 * long enough: a short one is joined with its neighbour. */
static bool is_long(const struct meter *meter, uint64_t from, uint64_t to)
{
    return to > from && to - from >= meter->interval_ns / 2;
}

void meter_end(struct meter *meter, uint64_t now_ns, bool tick)
{
    struct place at = {0};

    meter->now_ns = now_ns;
    if (!tick)
        return;
    if (is_long(meter, meter->start_ns, meter->mark_ns) && is_long(meter, meter->mark_ns, now_ns))
        close_interval(meter);
    for (struct flow *flow; (flow = next_flow(meter, &at));)
        flow->mark = flow->now;
    meter->mark_ns = now_ns;
}

/* The open interval as it would be closed by a tick at the last reading. */
static void add_open(const struct meter *meter, const struct flow *flow, struct io_peak *peak)
{
    bool first = is_long(meter, meter->start_ns, meter->mark_ns);
    bool second = is_long(meter, meter->mark_ns, meter->now_ns);

    if (first && second) {
        raise_peak(peak, flow->start, flow->mark, meter->mark_ns - meter->start_ns);
        raise_peak(peak, flow->mark, flow->now, meter->now_ns - meter->mark_ns);
    } else if (is_long(meter, meter->start_ns, meter->now_ns)) {
        raise_peak(peak, flow->start, flow->now, meter->now_ns - meter->start_ns);
    }
}

void meter_fill(const struct meter *meter, struct io_mounts *mounts, uint64_t elapsed_ns)
{
    static const struct amount nothing;

    for (size_t i = 0; i < mounts->n; i++) {
        struct io_mount *m = &mounts->items[i];
        const struct channel *c = channel_find(meter, m);

        for (int op = 0; op < IO_OP_COUNT; op++) {
            const struct io_counter *counter = m->io.ops[op];
            struct io_peak *peak = &m->peaks[op];

            memset(peak, 0, sizeof(*peak));
            if (!counter)
                continue;
            if (c && c->flows[op]) {
                *peak = c->flows[op]->best;
                add_open(meter, c->flows[op], peak);
            }
            raise_peak(peak, nothing,
                       (struct amount){.bytes = counter->bytes, .requests = counter->requests},
                       elapsed_ns);
        }
    }
}

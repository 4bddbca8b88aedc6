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

/* Identified by its names. */
struct channel {
    char *mount, *fstype, *source;
    bool private;
    bool unnamed;
    uint64_t dev;
    struct amount start[IO_OP_COUNT]; /* at the start of the open interval */
    struct amount mark[IO_OP_COUNT];  /* at its last tick */
    struct amount now[IO_OP_COUNT];
    struct io_peak best[IO_OP_COUNT]; /* of the closed intervals */
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

/* Make room for one more. A short list grows by one: a channel is large. */
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

static void amounts_add(struct amount *to, const struct amount *from)
{
    for (int op = 0; op < IO_OP_COUNT; op++) {
        to[op].bytes += from[op].bytes;
        to[op].requests += from[op].requests;
        to[op].time_ns += from[op].time_ns;
        to[op].long_calls += from[op].long_calls;
        raise_to(&to[op].max_ns, from[op].max_ns);
    }
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

/* The mount got its name in this interval: its earlier I/O is not a burst of this interval. */
static void merge_unnamed(struct channel *c, struct channel *from)
{
    amounts_add(c->start, from->start);
    amounts_add(c->mark, from->mark);
    for (int op = 0; op < IO_OP_COUNT; op++) {
        raise_to(&c->best[op].bytes_per_s, from->best[op].bytes_per_s);
        raise_to(&c->best[op].requests_per_s, from->best[op].requests_per_s);
    }
    memset(from->start, 0, sizeof(from->start));
    memset(from->mark, 0, sizeof(from->mark));
    from->dev = 0;
}

static void take_unnamed(struct meter *meter, struct channel *c, const struct unnamed *list,
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
        if (meter->channels[list[low].at].dev == c->dev) {
            merge_unnamed(c, &meter->channels[list[low].at]);
            return;
        }
}

static uint64_t long_calls(const struct io_counter *counter, uint64_t interval_ns)
{
    uint64_t n = 0;

    for (unsigned b = 0; b < IO_BUCKETS; b++)
        n += io_latency_bound(b) > interval_ns ? counter->latency_log2[b] : 0;
    return n;
}

static void channel_add(struct channel *c, const struct io_mount *m, uint64_t interval_ns)
{
    for (int op = 0; op < IO_OP_COUNT; op++) {
        const struct io_counter *counter = m->io.ops[op];

        if (counter) {
            c->now[op].bytes += counter->bytes;
            c->now[op].requests += counter->requests;
            c->now[op].time_ns += counter->time_ns;
            c->now[op].long_calls += long_calls(counter, interval_ns);
            raise_to(&c->now[op].max_ns, counter->max_ns);
        }
    }
}

int meter_resume(struct meter *meter, const struct io_mounts *mounts, uint64_t at_ns)
{
    for (size_t i = 0; i < mounts->n; i++) {
        struct channel *c = channel_get(meter, &mounts->items[i]);

        if (!c)
            return -ENOMEM;
        channel_add(c, &mounts->items[i], meter->interval_ns);
        memcpy(c->start, c->now, sizeof(c->start));
        memcpy(c->mark, c->now, sizeof(c->mark));
        memcpy(c->best, mounts->items[i].peaks, sizeof(c->best));
    }
    meter->start_ns = meter->mark_ns = meter->now_ns = at_ns;
    return 0;
}

void meter_start(struct meter *meter)
{
    for (size_t i = 0; i < meter->n; i++)
        memset(meter->channels[i].now, 0, sizeof(meter->channels[i].now));
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
            take_unnamed(meter, c, unnamed, n);
        channel_add(c, &mounts->items[i], meter->interval_ns);
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
    for (size_t i = 0; i < meter->n; i++) {
        struct channel *c = &meter->channels[i];

        for (int op = 0; op < IO_OP_COUNT; op++)
            raise_peak(&c->best[op], c->start[op], c->mark[op], meter->mark_ns - meter->start_ns);
        memcpy(c->start, c->mark, sizeof(c->start));
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
    meter->now_ns = now_ns;
    if (!tick)
        return;
    if (is_long(meter, meter->start_ns, meter->mark_ns) && is_long(meter, meter->mark_ns, now_ns))
        close_interval(meter);
    for (size_t i = 0; i < meter->n; i++)
        memcpy(meter->channels[i].mark, meter->channels[i].now, sizeof(meter->channels[i].mark));
    meter->mark_ns = now_ns;
}

/* The open interval as it would be closed by a tick at the last reading. */
static void add_open(const struct meter *meter, const struct channel *c, int op,
                     struct io_peak *peak)
{
    bool first = is_long(meter, meter->start_ns, meter->mark_ns);
    bool second = is_long(meter, meter->mark_ns, meter->now_ns);

    if (first && second) {
        raise_peak(peak, c->start[op], c->mark[op], meter->mark_ns - meter->start_ns);
        raise_peak(peak, c->mark[op], c->now[op], meter->now_ns - meter->mark_ns);
    } else if (is_long(meter, meter->start_ns, meter->now_ns)) {
        raise_peak(peak, c->start[op], c->now[op], meter->now_ns - meter->start_ns);
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
            if (c) {
                *peak = c->best[op];
                add_open(meter, c, op, peak);
            }
            raise_peak(peak, nothing,
                       (struct amount){.bytes = counter->bytes, .requests = counter->requests},
                       elapsed_ns);
        }
    }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/units.h"
#include "report/json_impl.h"
#include "report/nodes.h"

#define DOCUMENT_VERSION 1

/* A tree that grows. One failed allocation spoils it, and is asked for once at the end. */
struct writer {
    bool failed;
    unsigned flags, bins;
};

static struct json_object *new_object(struct writer *w)
{
    struct json_object *o = json_object_new_object();

    w->failed = w->failed || !o;
    return o;
}

static struct json_object *new_array(struct writer *w)
{
    struct json_object *o = json_object_new_array();

    w->failed = w->failed || !o;
    return o;
}

static void put(struct writer *w, struct json_object *to, const char *key,
                struct json_object *child)
{
    if (to && child && json_object_object_add(to, key, child) == 0)
        return;
    json_object_put(child);
    w->failed = true;
}

static void append(struct writer *w, struct json_object *to, struct json_object *child)
{
    if (to && child && json_object_array_add(to, child) == 0)
        return;
    json_object_put(child);
    w->failed = true;
}

static void put_u64(struct writer *w, struct json_object *to, const char *key, uint64_t value)
{
    put(w, to, key, json_object_new_uint64(value));
}

static void put_bool(struct writer *w, struct json_object *to, const char *key, bool value)
{
    put(w, to, key, json_object_new_boolean(value));
}

/* Names come from users: what is not UTF-8 would make the document invalid, and C1 controls would
 * reach the terminal. json-c escapes C0. */
static struct json_object *new_string(const char *text)
{
    _free_ char *clean = units_utf8(text);

    return clean ? json_object_new_string(clean) : NULL;
}

static void put_string(struct writer *w, struct json_object *to, const char *key, const char *text)
{
    if (text)
        put(w, to, key, new_string(text));
}

/* A double would lose the nanoseconds of a date: the text is what counts. */
static void put_seconds(struct writer *w, struct json_object *to, const char *key, uint64_t ns)
{
    char buf[UNITS_SIZE];

    put(w, to, key, json_object_new_double_s((double)ns / 1e9, units_seconds(ns, buf)));
}

static struct json_object *op_names(struct writer *w, uint64_t ops)
{
    struct json_object *names = new_array(w);

    for (unsigned bit = 0; bit < IO_SET_BITS; bit++)
        if (ops & UINT64_C(1) << bit)
            append(w, names, json_object_new_string(io_bit_name(bit)));
    return names;
}

static struct json_object *histogram(struct writer *w, const uint64_t buckets[IO_BUCKETS])
{
    struct json_object *list = new_array(w);
    unsigned n = IO_BUCKETS;

    while (n && !buckets[n - 1])
        n--;
    for (unsigned i = 0; i < n; i++)
        append(w, list, json_object_new_uint64(buckets[i]));
    return list;
}

static struct json_object *errnos(struct writer *w, const struct io_counter *c)
{
    struct json_object *split = new_object(w);

    for (size_t i = 0; i < c->n_errnos; i++) {
        char buf[16];

        if (c->errnos[i].count)
            put_u64(w, split, io_errno_name(c->errnos[i].code, buf), c->errnos[i].count);
    }
    return split;
}

static struct json_object *counter(struct writer *w, enum io_op op, const struct io_counter *c,
                                   const struct io_peak *peak, uint64_t elapsed_ns)
{
    struct json_object *o = new_object(w);

    put_u64(w, o, "requests", c->requests);
    put_u64(w, o, "async_requests", c->async_requests);
    if (op == IO_READ || op == IO_WRITE) {
        put_u64(w, o, "sequential_requests", c->sequential_requests);
        put_u64(w, o, "random_requests", c->random_requests);
    }
    put_u64(w, o, "bytes", c->bytes);
    put_u64(w, o, "errors", c->errors);
    put(w, o, "errno", errnos(w, c));
    put_u64(w, o, "time_ns", c->time_ns);
    put_u64(w, o, "max_ns", c->max_ns);
    put(w, o, "size_log2", histogram(w, c->size_log2));
    put(w, o, "latency_log2", histogram(w, c->latency_log2));
    put_u64(w, o, "mean_bytes_per_s", io_per_second(c->bytes, elapsed_ns));
    put_u64(w, o, "peak_bytes_per_s", peak->bytes_per_s);
    put_u64(w, o, "mean_requests_per_s", io_per_second(c->requests, elapsed_ns));
    put_u64(w, o, "peak_requests_per_s", peak->requests_per_s);
    return o;
}

static struct json_object *ops(struct writer *w, const struct io_mount *m, uint64_t elapsed_ns)
{
    struct json_object *o = new_object(w);

    for (int op = 0; op < IO_OP_COUNT; op++)
        if (m->io.ops[op] && !io_counter_is_empty(m->io.ops[op]))
            put(w, o, io_op_name(op), counter(w, op, m->io.ops[op], &m->peaks[op], elapsed_ns));
    return o;
}

static struct json_object *cache(struct writer *w, const struct io_cache *c)
{
    struct json_object *o = new_object(w), *fill = new_object(w);

    put_u64(w, o, "hit_bytes", c->hit_bytes);
    put_u64(w, o, "miss_bytes", c->miss_bytes);
    for (int i = 0; i < IO_FILL_COUNT; i++)
        put_u64(w, fill, io_fill_name(i), c->fill_bytes[i]);
    put(w, o, "fill_bytes", fill);
    return o;
}

static void put_latency(struct writer *w, struct json_object *to, const char *name,
                        const struct latency_normal *normal)
{
    struct json_object *o;

    if (!normal->jobs)
        return;
    o = new_object(w);
    put_u64(w, o, "jobs", normal->jobs);
    put_u64(w, o, "q50_ns", normal->q50_ns);
    put_u64(w, o, "q99_ns", normal->q99_ns);
    put(w, to, name, o);
}

static struct json_object *normal(struct writer *w, const struct mount_normal *n)
{
    struct json_object *o = new_object(w);

    put_latency(w, o, "read", &n->read);
    put_latency(w, o, "write", &n->write);
    put_latency(w, o, "open", &n->open);
    return o;
}

static struct json_object *mounts(struct writer *w, const struct io_mounts *list,
                                  uint64_t elapsed_ns, uint64_t unsupported)
{
    struct json_object *array = new_array(w);

    for (size_t i = 0; i < list->n; i++) {
        const struct io_mount *m = &list->items[i];
        struct json_object *o = new_object(w);

        put_string(w, o, "mount", m->mount);
        put_string(w, o, "fstype", m->fstype);
        put_string(w, o, "source", m->source);
        put_bool(w, o, "private", m->private);
        if (w->flags & REPORT_WIRE)
            put_bool(w, o, "labelled", m->labelled);
        put(w, o, "ops", ops(w, m, elapsed_ns));
        /* All zero means that nobody counted, not that there was no miss. */
        if (!io_cache_is_empty(&m->cache))
            put(w, o, "cache", cache(w, &m->cache));
        if (mount_normal_is_known(&m->normal))
            put(w, o, "normal", normal(w, &m->normal));
        if (w->flags & REPORT_TIMELINE && !timeline_is_empty(&m->timeline))
            put(w, o, "timeline", json_timeline(&m->timeline, w->bins));
        put(w, o, "unsupported", op_names(w, unsupported | io_unsupported_on(m->fstype)));
        append(w, array, o);
    }
    return array;
}

static void put_completeness(struct writer *w, struct json_object *to, const struct completeness *c)
{
    struct json_object *causes = new_array(w);

    for (size_t i = 0; i < c->n; i++) {
        const struct incomplete *item = &c->items[i];
        struct json_object *o = new_object(w);

        put_string(w, o, "cause", item->cause);
        put_u64(w, o, "count", item->count);
        put(w, o, "ops", op_names(w, item->ops ? item->ops : UINT64_MAX));
        append(w, causes, o);
    }
    put(w, to, "incomplete", causes);
    put_u64(w, to, "lost", c->lost);
}

static void put_wait(struct writer *w, struct json_object *to, uint64_t longest_ns,
                     const struct io_mounts *list)
{
    struct json_object *wait = new_object(w);
    uint64_t total = 0;

    for (size_t i = 0; i < list->n; i++)
        if (__builtin_add_overflow(total, io_account_all(&list->items[i].io).time_ns, &total))
            total = UINT64_MAX;
    put_u64(w, wait, "longest_thread_ns", longest_ns);
    put_u64(w, wait, "total_ns", total);
    put(w, to, "wait", wait);
}

static struct json_object *steps(struct writer *w, const struct job_account *job)
{
    struct json_object *array = new_array(w);

    for (size_t i = 0; i < job->n_steps; i++) {
        const struct step_account *s = &job->steps[i];
        struct json_object *o = new_object(w);
        char buf[16];

        if (s->het != HET_NONE)
            put_u64(w, o, "het", s->het);
        put_string(w, o, "step", step_format(s->step, buf));
        put_string(w, o, "node", s->node);
        put_string(w, o, "state", step_state_name(s->state));
        put_seconds(w, o, "tagged_at_s", s->tagged_at_ns);
        put_seconds(w, o, "elapsed_s", s->elapsed_ns);
        if (s->folded)
            put_u64(w, o, "folded", s->folded);
        put_completeness(w, o, &s->completeness);
        put_wait(w, o, s->longest_wait_ns, &s->mounts);
        put(w, o, "mounts", mounts(w, &s->mounts, s->elapsed_ns, job->unsupported));
        append(w, array, o);
    }
    return array;
}

static struct json_object *node_sums(struct writer *w, const struct io_sum *sum)
{
    struct json_object *o = new_object(w);

    put_u64(w, o, "requests", sum->requests);
    put_u64(w, o, "bytes", sum->bytes);
    put_u64(w, o, "errors", sum->errors);
    put_u64(w, o, "time_ns", sum->time_ns);
    return o;
}

static struct json_object *by_node(struct writer *w, const struct node_sum *nodes, size_t n)
{
    struct json_object *array = new_array(w);

    for (size_t i = 0; i < n; i++) {
        struct json_object *o = new_object(w);

        put_string(w, o, "node", nodes[i].node);
        put(w, o, "read", node_sums(w, &nodes[i].reads));
        put(w, o, "write", node_sums(w, &nodes[i].writes));
        put(w, o, "meta", node_sums(w, &nodes[i].meta));
        put_u64(w, o, "longest_wait_ns", nodes[i].longest_wait_ns);
        append(w, array, o);
    }
    return array;
}

static void put_imbalance(struct writer *w, struct json_object *to, const struct node_sum *nodes,
                          size_t n, size_t total)
{
    struct json_object *o = new_object(w);

    for (unsigned i = 0; i < NODE_MEASURES; i++) {
        double value = nodes_imbalance(nodes, n, total, i);
        char text[32];

        (void)snprintf(text, sizeof(text), "%.3f", value);
        if (value > 0)
            put(w, o, node_measure_name(i), json_object_new_double_s(value, text));
    }
    put(w, to, "imbalance", o);
}

/* What needs to know the steps. */
static void put_nodes(struct writer *w, struct json_object *to, const struct job_account *job)
{
    _free_ struct node_sum *nodes = NULL;
    size_t n = 0;

    if (nodes_sum(job, &nodes, &n) < 0)
        w->failed = true;
    else if (n > 1 || (n && job->nodes_reported > 1))
        put_imbalance(w, to, nodes, n, n > job->nodes_reported ? n : job->nodes_reported);
    if (w->flags & (REPORT_STEPS | REPORT_NODES) && !(w->flags & REPORT_WIRE))
        put(w, to, "by_node", by_node(w, nodes, n));
}

static void put_command(struct writer *w, struct json_object *to, const struct job_account *job)
{
    struct json_object *words = new_array(w);

    for (char **word = job->command; *word; word++)
        append(w, words, new_string(*word));
    put(w, to, "command", words);
    put(w, to, "exit_status", json_object_new_int(job->exit_status));
}

static void put_slurm(struct writer *w, struct json_object *to, const struct job_account *job)
{
    put_string(w, to, "cluster", job->key.cluster);
    put_u64(w, to, "jobid", job->key.jobid);
    put_u64(w, to, "restart", job->key.restart);
    put_u64(w, to, "uid", job->uid);
    put_string(w, to, "user", job->user);
    put_string(w, to, "account", job->account);
    put_string(w, to, "partition", job->partition);
    put_string(w, to, "name", job->name);
    if (job->array_job) {
        put_u64(w, to, "array_jobid", job->array_job);
        put_u64(w, to, "array_task", job->array_task);
    }
    if (w->flags & REPORT_WIRE)
        put_string(w, to, "first_node", job->first_node);
}

static struct json_object *identity(struct writer *w, const struct job_account *job)
{
    struct json_object *o = new_object(w);

    if (job->command)
        put_command(w, o, job);
    else
        put_slurm(w, o, job);
    put_string(w, o, "state", job->ended ? "ended" : "running");
    if (job->start_ns)
        put_seconds(w, o, "start_s", job->start_ns);
    if (job->end_ns)
        put_seconds(w, o, "end_s", job->end_ns);
    return o;
}

/* Computed, beside what one event costs. */
static void put_accounting(struct writer *w, struct json_object *to, const struct job_account *job)
{
    struct json_object *o = new_object(w);
    uint64_t events = job_events(job);

    put_u64(w, o, "events", events);
    put_u64(w, o, "ns_per_event", job->ns_per_event);
    put_seconds(w, o, "seconds", events * job->ns_per_event);
    put(w, to, "accounting", o);
}

struct json_object *report_json(const struct job_account *job, unsigned flags)
{
    return report_json_bins(job, flags, TIMELINE_BINS);
}

struct json_object *report_json_bins(const struct job_account *job, unsigned flags, unsigned bins)
{
    struct writer w = {.flags = flags, .bins = bins};
    struct json_object *document = new_object(&w), *nodes = new_object(&w);

    put_u64(&w, document, "version", DOCUMENT_VERSION);
    put(&w, document, "job", identity(&w, job));
    put_bool(&w, document, "complete", job_is_complete(job));
    put_completeness(&w, document, &job->completeness);
    put_u64(&w, nodes, "expected", job->nodes_expected);
    put_u64(&w, nodes, "reported", job->nodes_reported);
    put(&w, document, "nodes", nodes);
    put_seconds(&w, document, "elapsed_s", job->elapsed_ns);
    put_wait(&w, document, job->longest_wait_ns, &job->mounts);
    if (job->ns_per_event)
        put_accounting(&w, document, job);
    put(&w, document, "unsupported", op_names(&w, job->unsupported));
    put(&w, document, "mounts", mounts(&w, &job->mounts, job->elapsed_ns, job->unsupported));
    put_nodes(&w, document, job);
    if (flags & (REPORT_STEPS | REPORT_NODES))
        put(&w, document, "steps", steps(&w, job));
    if (w.failed) {
        json_object_put(document);
        return NULL;
    }
    return document;
}

char *report_json_text(const struct job_account *job, unsigned flags)
{
    struct json_object *document = report_json(job, flags);
    const char *text = NULL;
    char *copy;

    if (document)
        text = json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN |
                                                            JSON_C_TO_STRING_NOSLASHESCAPE);
    copy = text ? strdup(text) : NULL;
    json_object_put(document);
    return copy;
}

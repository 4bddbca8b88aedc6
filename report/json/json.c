/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json/json.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/numbers.h"
#include "common/own_cost.h"
#include "common/tree.h"
#include "report/bursts.h"
#include "report/json/json_impl.h"
#include "report/nodes.h"

#define DOCUMENT_VERSION 1

/* Flags (REPORT_*), and the limit of bins of a time line. */
struct style {
    unsigned flags, bins;
};

static struct json_object *op_names(struct tree *t, uint64_t ops)
{
    struct json_object *names = tree_array(t);

    for (unsigned bit = 0; bit < IO_SET_BITS; bit++)
        if (ops & UINT64_C(1) << bit)
            tree_add_text(t, names, io_bit_name(bit));
    return names;
}

static struct json_object *errnos(struct tree *t, const struct io_counter *c)
{
    struct json_object *split = tree_object(t);

    for (size_t i = 0; i < c->n_errnos; i++) {
        char buf[16];

        if (c->errnos[i].count)
            tree_put_u64(t, split, io_errno_name(c->errnos[i].code, buf), c->errnos[i].count);
    }
    return split;
}

static void put_field(struct tree *t, struct json_object *to, const struct io_field *field,
                      const struct io_counter *c)
{
    switch (field->kind) {
    case IO_FIELD_SUM:
    case IO_FIELD_MAX:
        tree_put_u64(t, to, field->name, *io_field_of(field, c));
        break;
    case IO_FIELD_ERRNOS:
        tree_put(t, to, field->name, errnos(t, c));
        break;
    case IO_FIELD_HISTOGRAM:
        tree_put(t, to, field->name, json_histogram(t, io_field_of(field, c)));
        break;
    }
}

static bool has_field(const struct io_field *field, enum io_op op, const struct io_counter *c)
{
    if (field->flags & IO_FIELD_RARE)
        return *io_field_of(field, c);
    return !(field->flags & IO_FIELD_ORDER) || op == IO_READ || op == IO_WRITE;
}

static struct json_object *counter(struct tree *t, enum io_op op, const struct io_counter *c,
                                   const struct io_peak *peak, uint64_t elapsed_ns)
{
    struct json_object *o = tree_object(t);

    for (size_t i = 0; i < IO_FIELD_COUNT; i++)
        if (has_field(&io_fields[i], op, c))
            put_field(t, o, &io_fields[i], c);
    tree_put_u64(t, o, "mean_bytes_per_s", io_per_second(c->bytes, elapsed_ns));
    tree_put_u64(t, o, "peak_bytes_per_s", peak->bytes_per_s);
    tree_put_u64(t, o, "mean_requests_per_s", io_per_second(c->requests, elapsed_ns));
    tree_put_u64(t, o, "peak_requests_per_s", peak->requests_per_s);
    return o;
}

static struct json_object *ops(struct tree *t, const struct io_mount *m, uint64_t elapsed_ns)
{
    struct json_object *o = tree_object(t);

    for (int op = 0; op < IO_OP_COUNT; op++)
        if (m->io.ops[op] && !io_counter_is_empty(m->io.ops[op]))
            tree_put(t, o, io_op_name(op),
                     counter(t, op, m->io.ops[op], &m->peaks[op], elapsed_ns));
    return o;
}

static struct json_object *cache(struct tree *t, const struct io_cache *c)
{
    struct json_object *o = tree_object(t), *fill = tree_object(t);

    tree_put_u64(t, o, "hit_bytes", c->hit_bytes);
    tree_put_u64(t, o, "miss_bytes", c->miss_bytes);
    for (int i = 0; i < IO_FILL_COUNT; i++)
        tree_put_u64(t, fill, io_fill_name(i), c->fill_bytes[i]);
    tree_put(t, o, "fill_bytes", fill);
    return o;
}

static struct json_object *users(struct tree *t, const struct io_users *u)
{
    struct json_object *o = tree_object(t);

    tree_put_u64(t, o, "processes", u->processes);
    tree_put_u64(t, o, "threads", u->threads);
    tree_put_bool(t, o, "at_least", u->at_least);
    return o;
}

static void put_latency(struct tree *t, struct json_object *to, const char *name,
                        const struct latency_baseline *baseline)
{
    struct json_object *o;

    if (!baseline->jobs)
        return;
    o = tree_object(t);
    tree_put_u64(t, o, "jobs", baseline->jobs);
    tree_put_u64(t, o, "q50_ns", baseline->q50_ns);
    tree_put_u64(t, o, "q99_ns", baseline->q99_ns);
    tree_put(t, to, name, o);
}

static struct json_object *baseline(struct tree *t, const struct mount_baseline *n)
{
    struct json_object *o = tree_object(t);

    put_latency(t, o, "read", &n->read);
    put_latency(t, o, "write", &n->write);
    put_latency(t, o, "open", &n->open);
    return o;
}

static uint64_t total_wait(const struct io_mounts *list)
{
    uint64_t total = 0;

    for (size_t i = 0; i < list->n; i++)
        add_saturating(&total, io_account_all(&list->items[i].io).time_ns);
    return total;
}

static struct json_object *write_bursts(struct tree *t, const struct bursts *bursts)
{
    struct json_object *o = tree_object(t);

    tree_put_u64(t, o, "count", bursts->n);
    tree_put_u64(t, o, "every_s", bursts->every_s);
    tree_put_u64(t, o, "longest_s", bursts->longest_s);
    tree_put_u64(t, o, "bytes", bursts->bytes);
    tree_put_u64(t, o, "wait_ns", bursts->wait_ns);
    if (bursts->stall_ns != TIMELINE_UNKNOWN)
        tree_put_u64(t, o, "stall_ns", bursts->stall_ns);
    return o;
}

static void put_timeline(struct tree *t, const struct style *style, struct json_object *to,
                         const struct io_mounts *list, const struct io_mount *m)
{
    struct bursts bursts = bursts_of_mount(list, m);

    tree_put(t, to, "timeline", json_timeline(&m->timeline, style->bins));
    if (bursts.n && !(style->flags & REPORT_WIRE))
        tree_put(t, to, "write_bursts", write_bursts(t, &bursts));
}

static struct json_object *mounts(struct tree *t, const struct style *style,
                                  const struct io_mounts *list, uint64_t elapsed_ns,
                                  uint64_t unsupported)
{
    struct json_object *array = tree_array(t);

    for (size_t i = 0; i < list->n; i++) {
        const struct io_mount *m = &list->items[i];
        struct json_object *o = tree_object(t);

        tree_put_text(t, o, "mount", m->mount);
        tree_put_text(t, o, "fstype", m->fstype);
        tree_put_text(t, o, "source", m->source);
        tree_put_bool(t, o, "private", m->private);
        if (style->flags & REPORT_WIRE)
            tree_put_bool(t, o, "labelled", m->labelled);
        tree_put(t, o, "ops", ops(t, m, elapsed_ns));
        /* All zero means not counted, rather than no miss. */
        if (!io_cache_is_empty(&m->cache))
            tree_put(t, o, "cache", cache(t, &m->cache));
        for (enum io_user_kind kind = 0; kind < IO_USER_KINDS; kind++)
            if (m->users[kind].processes)
                tree_put(t, o, io_user_kind_name(kind), users(t, &m->users[kind]));
        if (m->rpc)
            tree_put(t, o, "rpc", json_rpc(t, m->rpc));
        if (mount_baseline_is_known(&m->baseline))
            tree_put(t, o, "normal", baseline(t, &m->baseline));
        if (style->flags & REPORT_TIMELINE && !timeline_is_empty(&m->timeline))
            put_timeline(t, style, o, list, m);
        tree_put(t, o, "unsupported", op_names(t, unsupported | io_unsupported_on(m->fstype)));
        tree_add(t, array, o);
    }
    return array;
}

static void put_completeness(struct tree *t, struct json_object *to, const struct completeness *c)
{
    struct json_object *causes = tree_array(t);

    for (size_t i = 0; i < c->n; i++) {
        const struct incomplete *item = &c->items[i];
        struct json_object *o = tree_object(t);

        tree_put_text(t, o, "cause", item->cause);
        tree_put_u64(t, o, "count", item->count);
        tree_put(t, o, "ops", op_names(t, item->ops ? item->ops : UINT64_MAX));
        tree_add(t, causes, o);
    }
    tree_put(t, to, "incomplete", causes);
    tree_put_u64(t, to, "lost", c->lost);
}

static void put_wait(struct tree *t, struct json_object *to, uint64_t longest_ns,
                     const struct io_mounts *list)
{
    struct json_object *wait = tree_object(t);

    tree_put_u64(t, wait, "longest_thread_ns", longest_ns);
    tree_put_u64(t, wait, "total_ns", total_wait(list));
    tree_put(t, to, "wait", wait);
}

static struct json_object *steps(struct tree *t, const struct style *style,
                                 const struct job_account *job)
{
    struct json_object *array = tree_array(t);

    for (size_t i = 0; i < job->n_steps; i++) {
        const struct step_account *s = &job->steps[i];
        struct json_object *o = tree_object(t);
        char buf[16];

        if (s->het != HET_NONE)
            tree_put_u64(t, o, "het", s->het);
        tree_put_text(t, o, "step", step_format(s->step, buf));
        tree_put_text(t, o, "node", s->node);
        tree_put_text(t, o, "state", step_state_name(s->state));
        tree_put_seconds(t, o, "tagged_at_s", s->tagged_at_ns);
        tree_put_seconds(t, o, "elapsed_s", s->elapsed_ns);
        if (s->folded)
            tree_put_u64(t, o, "folded", s->folded);
        put_completeness(t, o, &s->completeness);
        put_wait(t, o, s->longest_wait_ns, &s->mounts);
        tree_put(t, o, "mounts", mounts(t, style, &s->mounts, s->elapsed_ns, job->unsupported));
        if (s->mpi)
            tree_put(t, o, "mpi", json_mpi(t, s->mpi, !s->mpi->completeness.n));
        if (s->block)
            tree_put(t, o, "block", json_block(t, s->block));
        if (s->stacks && style->flags & REPORT_STACKS)
            tree_put(t, o, "waiting_code", json_stacks(t, s->stacks));
        tree_add(t, array, o);
    }
    return array;
}

static struct json_object *node_sums(struct tree *t, const struct io_sum *sum)
{
    struct json_object *o = tree_object(t);

    tree_put_u64(t, o, "requests", sum->requests);
    tree_put_u64(t, o, "bytes", sum->bytes);
    tree_put_u64(t, o, "errors", sum->errors);
    tree_put_u64(t, o, "time_ns", sum->time_ns);
    return o;
}

static struct json_object *by_node(struct tree *t, const struct node_sum *nodes, size_t n)
{
    struct json_object *array = tree_array(t);

    for (size_t i = 0; i < n; i++) {
        struct json_object *o = tree_object(t);

        tree_put_text(t, o, "node", nodes[i].node);
        tree_put(t, o, "read", node_sums(t, &nodes[i].sums.reads));
        tree_put(t, o, "write", node_sums(t, &nodes[i].sums.writes));
        tree_put(t, o, "meta", node_sums(t, &nodes[i].sums.meta));
        tree_put_u64(t, o, "longest_wait_ns", nodes[i].longest_wait_ns);
        tree_add(t, array, o);
    }
    return array;
}

static void put_imbalance(struct tree *t, struct json_object *to, const struct node_sum *nodes,
                          size_t n, size_t total)
{
    struct json_object *o = tree_object(t);

    for (unsigned i = 0; i < NODE_MEASURES; i++) {
        double value = nodes_imbalance(nodes, n, total, i);

        if (value > 0)
            tree_put_number(t, o, node_measure_name(i), value, 3);
    }
    tree_put(t, to, "imbalance", o);
}

/* Comparison of the nodes; needs the steps. */
static void put_nodes(struct tree *t, const struct style *style, struct json_object *to,
                      const struct job_account *job)
{
    _free_ struct node_sum *nodes = NULL;
    size_t n = 0;

    if (nodes_sum(job, &nodes, &n) < 0)
        t->failed = true;
    else if (n > 1 || (n && job->nodes_reported > 1))
        put_imbalance(t, to, nodes, n, n > job->nodes_reported ? n : job->nodes_reported);
    if (style->flags & (REPORT_STEPS | REPORT_NODES) && !(style->flags & REPORT_WIRE))
        tree_put(t, to, "by_node", by_node(t, nodes, n));
}

static void put_command(struct tree *t, struct json_object *to, const struct job_account *job)
{
    struct json_object *words = tree_array(t);

    for (char **word = job->command; *word; word++)
        tree_add_text(t, words, *word);
    tree_put(t, to, "command", words);
    tree_put(t, to, "exit_status", json_object_new_int(job->exit_status));
}

static void put_slurm(struct tree *t, struct json_object *to, const struct job_account *job,
                      bool wire)
{
    tree_put_text(t, to, "cluster", job->key.cluster);
    tree_put_u64(t, to, "jobid", job->key.jobid);
    tree_put_u64(t, to, "restart", job->key.restart);
    tree_put_u64(t, to, "uid", job->uid);
    tree_put_text(t, to, "user", job->user);
    tree_put_text(t, to, "account", job->account);
    tree_put_text(t, to, "partition", job->partition);
    tree_put_text(t, to, "name", job->name);
    if (job->array_job) {
        tree_put_u64(t, to, "array_jobid", job->array_job);
        tree_put_u64(t, to, "array_task", job->array_task);
    }
    if (wire)
        tree_put_text(t, to, "first_node", job->first_node);
}

/* Beside "state", whose words older readers know. */
static void put_slurm_end(struct tree *t, struct json_object *to, const struct slurm_end *end)
{
    tree_put_text(t, to, "slurm_state", slurm_state_name(end->state));
    if (end->has_exit) {
        tree_put_u64(t, to, "exit_code", end->exit_code);
        tree_put_u64(t, to, "exit_signal", end->exit_signal);
    }
}

static struct json_object *identity(struct tree *t, const struct job_account *job, bool wire)
{
    struct json_object *o = tree_object(t);

    if (job->command)
        put_command(t, o, job);
    else
        put_slurm(t, o, job, wire);
    tree_put_text(t, o, "state", job->ended ? "ended" : "running");
    put_slurm_end(t, o, &job->slurm);
    if (job->start_ns)
        tree_put_seconds(t, o, "start_s", job->start_ns);
    if (job->end_ns)
        tree_put_seconds(t, o, "end_s", job->end_ns);
    return o;
}

/* The cost of the accounting. */
static void put_accounting(struct tree *t, struct json_object *to, const struct job_account *job)
{
    struct json_object *o = tree_object(t);
    const struct own_cost cost = own_cost_of(job);
    uint64_t events = job_events(job);

    tree_put_u64(t, o, "events", events);
    tree_put_u64(t, o, "ns_per_event", job->ns_per_event);
    tree_put_seconds(t, o, "seconds", events * job->ns_per_event);
    tree_put_seconds(t, o, "low_s", cost.low_ns);
    tree_put_seconds(t, o, "high_s", cost.high_ns);
    tree_put(t, to, "accounting", o);
}

struct json_object *report_json(const struct job_account *job, unsigned flags)
{
    return report_json_bins(job, flags, TIMELINE_BINS);
}

struct json_object *report_json_bins(const struct job_account *job, unsigned flags, unsigned bins)
{
    const struct style style = {.flags = flags, .bins = bins};
    struct tree tree = {false}, *t = &tree;
    struct json_object *document = tree_object(t), *nodes = tree_object(t);

    tree_put_u64(t, document, "version", DOCUMENT_VERSION);
    tree_put(t, document, "job", identity(t, job, flags & REPORT_WIRE));
    tree_put_bool(t, document, "complete", job_is_complete(job));
    put_completeness(t, document, &job->completeness);
    tree_put_u64(t, nodes, "expected", job->nodes_expected);
    tree_put_u64(t, nodes, "reported", job->nodes_reported);
    tree_put(t, document, "nodes", nodes);
    tree_put_seconds(t, document, "elapsed_s", job->elapsed_ns);
    put_wait(t, document, job->longest_wait_ns, &job->mounts);
    if (job->ns_per_event)
        put_accounting(t, document, job);
    tree_put(t, document, "unsupported", op_names(t, job->unsupported));
    tree_put(t, document, "mounts",
             mounts(t, &style, &job->mounts, job->elapsed_ns, job->unsupported));
    if (job->mpi)
        tree_put(t, document, "mpi", json_mpi(t, job->mpi, job_mpi_is_complete(job)));
    if (job->block)
        tree_put(t, document, "block", json_block(t, job->block));
    if (job->stacks && flags & REPORT_STACKS)
        tree_put(t, document, "waiting_code", json_stacks(t, job->stacks));
    put_nodes(t, &style, document, job);
    if (flags & (REPORT_STEPS | REPORT_NODES))
        tree_put(t, document, "steps", steps(t, &style, job));
    return tree_end(t, document);
}

char *report_json_text(const struct job_account *job, unsigned flags)
{
    return tree_text(report_json(job, flags));
}

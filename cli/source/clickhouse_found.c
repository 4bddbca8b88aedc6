/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* tdestroy, twalk_r */
#include "cli/source/clickhouse_found.h"

#include <json-c/json.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "report/rows/rows.h"
#include "common/account_text.h"
#include "common/cleanup.h"
#include "common/numbers.h"

/* A large job has 100,000 rows: nodes and steps are looked up in trees of tsearch(). */
struct found_node {
    char *node;
    uint64_t version;
    bool ended;
    struct completeness own; /* completeness of the job, as the node last reported it */
};

struct found_step {
    uint64_t tagged_at_ns;
    uint32_t het, step;
    const char *node; /* the step's */
    size_t at;        /* in the job's steps */
};

static void node_free(void *p)
{
    struct found_node *node = p;

    if (!node)
        return;
    free(node->node);
    completeness_clear(&node->own);
    free(node);
}

void found_job_clear(struct found_job *f)
{
    tdestroy(f->nodes, node_free);
    tdestroy(f->steps, free);
    io_mounts_clear(&f->peaks);
    job_account_destroy(f->job);
}

void found_clear(struct found_jobs *found)
{
    for (size_t i = 0; i < found->n; i++)
        found_job_clear(&found->items[i]);
    free(found->items);
}

static bool same(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Rows are in the order of (cluster, jobid, restart, start): another job of the same number starts
 * after the end of the last one. */
static struct found_job *find_job(struct found_jobs *found, const struct sink_row *row)
{
    struct found_job *last = found->n ? &found->items[found->n - 1] : NULL, *grown;

    if (last && same(last->job->key.cluster, row->cluster) && last->job->key.jobid == row->jobid &&
        last->job->key.restart == row->restart && !(last->ended && row->start_ns > last->seen_ns))
        return last;
    grown = reallocarray(found->items, found->n + 1, sizeof(*grown));
    if (!grown)
        return NULL;
    found->items = grown;
    grown[found->n] = (struct found_job){.job = job_account_create()};
    if (!grown[found->n].job)
        return NULL;
    last = &grown[found->n++];
    last->job->key = (struct job_key){strdup(row->cluster), row->jobid, row->restart};
    last->job->start_ns = row->start_ns;
    return last->job->key.cluster ? last : NULL;
}

static int keep_text(char **to, const char *text)
{
    if (*to || !*text)
        return 0;
    *to = strdup(text);
    return *to ? 0 : -ENOMEM;
}

static int merge_job(struct found_job *f, const struct sink_row *row)
{
    struct job_account *job = f->job;
    uint64_t unsupported = 0;

    if (*row->unsupported && io_ops_parse(row->unsupported, &unsupported) < 0)
        return -EBADMSG;
    job->unsupported |= unsupported;
    job->uid = row->uid;
    if (keep_text(&job->user, row->user) < 0 || keep_text(&job->account, row->account) < 0 ||
        keep_text(&job->partition, row->partition) < 0 || keep_text(&job->name, row->name) < 0)
        return -ENOMEM;
    if (row->array_job) { /* not all of its steps have it */
        job->array_job = row->array_job;
        job->array_task = row->array_task;
    }
    if (row->start_ns < job->start_ns)
        job->start_ns = row->start_ns;
    raise_to(&job->end_ns, row->end_ns);
    raise_to(&job->elapsed_ns, row->job_elapsed_ns);
    raise_to(&job->longest_wait_ns, row->job_longest_wait_ns);
    raise_to(&job->ns_per_event, row->ns_per_event);
    if (row->nodes_expected > job->nodes_expected)
        job->nodes_expected = row->nodes_expected;
    f->ended |= row->job_ended;
    if (row->slurm_state && *row->slurm_state) /* one of its rows has it */
        job->slurm = (struct slurm_end){slurm_state_parse(row->slurm_state), row->exit_known,
                                        row->exit_code, row->exit_signal};
    raise_to(&f->seen_ns, row->end_ns);
    raise_to(&f->seen_ns, row->tagged_at_ns + row->elapsed_ns);
    return 0;
}

static int compare_nodes(const void *a, const void *b)
{
    return strcmp(((const struct found_node *)a)->node, ((const struct found_node *)b)->node);
}

static struct found_node *find_node(struct found_job *f, const struct sink_row *row)
{
    const struct found_node key = {.node = (char *)row->node};
    struct found_node **found = tfind(&key, &f->nodes, compare_nodes), *node;

    if (found)
        return *found;
    node = calloc(1, sizeof(*node));
    if (node)
        node->node = strdup(row->node);
    if (!node || !node->node || !tsearch(node, &f->nodes, compare_nodes)) {
        node_free(node);
        return NULL;
    }
    f->n_nodes++;
    return node;
}

static int merge_node(struct found_job *f, const struct sink_row *row)
{
    struct found_node *node = find_node(f, row);

    if (!node)
        return -ENOMEM;
    node->ended |= row->job_ended;
    if (row->version < node->version)
        return 0;
    node->version = row->version;
    completeness_clear(&node->own);
    node->own.lost = row->job_lost;
    return completeness_parse(*row->job_incomplete ? row->job_incomplete : NULL, &node->own);
}

static int set_step(struct step_account *step, const struct sink_row *row)
{
    int state = step_state_parse(row->state);

    if (state < 0)
        return -EBADMSG;
    step->elapsed_ns = row->elapsed_ns;
    step->state = (enum step_state)state;
    step->folded = row->folded;
    step->longest_wait_ns = row->longest_wait_ns;
    completeness_clear(&step->completeness);
    step->completeness = (struct completeness){.lost = row->lost};
    return completeness_parse(*row->incomplete ? row->incomplete : NULL, &step->completeness);
}

static int compare_steps(const void *a, const void *b)
{
    const struct found_step *x = a, *y = b;

    if (x->het != y->het)
        return x->het < y->het ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->tagged_at_ns != y->tagged_at_ns)
        return x->tagged_at_ns < y->tagged_at_ns ? -1 : 1;
    return strcmp(x->node, y->node);
}

static struct step_account *add_step(struct job_account *job, const struct found_step *key)
{
    struct step_account *grown = reallocarray(job->steps, job->n_steps + 1, sizeof(*grown));

    if (!grown)
        return NULL;
    job->steps = grown;
    grown[job->n_steps] = (struct step_account){
        .het = key->het, .step = key->step, .tagged_at_ns = key->tagged_at_ns};
    grown[job->n_steps].node = strdup(key->node);
    return grown[job->n_steps].node ? &grown[job->n_steps++] : NULL;
}

/* Rows of a start are sorted by version: the last one of a step is the newest. */
static struct step_account *find_step(struct found_job *f, const struct sink_row *row)
{
    const struct found_step key = {row->tagged_at_ns, row->het, row->step, row->node, 0};
    struct found_step **found = tfind(&key, &f->steps, compare_steps), *entry;
    struct step_account *step;

    if (found)
        return &f->job->steps[(*found)->at];
    step = add_step(f->job, &key);
    entry = step ? malloc(sizeof(*entry)) : NULL;
    if (!entry)
        return NULL;
    *entry = key;
    entry->node = step->node;
    entry->at = f->job->n_steps - 1;
    if (!tsearch(entry, &f->steps, compare_steps)) {
        free(entry);
        return NULL;
    }
    return step;
}

static int merge_step(struct found_job *f, const struct sink_row *row, struct sink_io *io)
{
    struct step_account *step = find_step(f, row);
    struct io_mount *m, *whole;
    int r = step ? set_step(step, row) : -ENOMEM;

    if (r < 0)
        return r;
    mpi_account_destroy(step->mpi);
    step->mpi = TAKE_PTR(io->mpi);
    block_account_destroy(step->block);
    step->block = TAKE_PTR(io->block);
    if (!*row->mount)
        return 0;
    m = io_mounts_get(&step->mounts, row->mount, row->fstype, row->source, row->private);
    whole = io_mounts_get(&f->peaks, row->mount, row->fstype, row->source, row->private);
    if (!m || !whole)
        return -ENOMEM;
    m->labelled = row->labelled;
    m->cache = row->cache;
    memcpy(m->users, row->users, sizeof(m->users));
    free(m->rpc);
    m->rpc = TAKE_PTR(io->rpc);
    io_account_clear(&m->io);
    m->io = io->io;
    io->io = (struct io_account){0};
    timeline_clear(&m->timeline);
    m->timeline = io->timeline;
    io->timeline = (struct timeline){0};
    memcpy(m->peaks, io->step_peaks, sizeof(m->peaks));
    for (int op = 0; op < IO_OP_COUNT; op++) {
        raise_to(&whole->peaks[op].bytes_per_s, io->job_peaks[op].bytes_per_s);
        raise_to(&whole->peaks[op].requests_per_s, io->job_peaks[op].requests_per_s);
    }
    return 0;
}

int found_take(struct found_jobs *found, struct json_object *document, struct error *error)
{
    struct sink_io io CLEANUP(sink_io_clear) = {0};
    struct found_job *f;
    struct sink_row row;
    int r = sink_row_parse(document, &row, &io, error);

    if (r < 0)
        return r;
    f = find_job(found, &row);
    r = f ? merge_job(f, &row) : -ENOMEM;
    if (r == 0)
        r = merge_node(f, &row);
    if (r == 0)
        r = merge_step(f, &row, &io);
    return r < 0 ? error_errno(error, r, "a row of ClickHouse") : 0;
}

/* In the order of the store. */
static int by_key(const void *a, const void *b)
{
    const struct step_account *x = a, *y = b;

    if (x->het != y->het)
        return x->het < y->het ? -1 : 1;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (strcmp(x->node, y->node))
        return strcmp(x->node, y->node);
    return x->tagged_at_ns < y->tagged_at_ns ? -1 : x->tagged_at_ns > y->tagged_at_ns;
}

/* Call it after adding the steps: their sum has only the busiest interval of a single step. */
static int set_peaks(struct job_account *job, const struct io_mounts *peaks)
{
    for (size_t i = 0; i < peaks->n; i++) {
        const struct io_mount *from = &peaks->items[i];
        struct io_mount *to =
            io_mounts_get(&job->mounts, from->mount, from->fstype, from->source, from->private);

        if (!to)
            return -ENOMEM;
        for (int op = 0; op < IO_OP_COUNT; op++)
            if (from->peaks[op].bytes_per_s || from->peaks[op].requests_per_s)
                to->peaks[op] = from->peaks[op];
    }
    return 0;
}

struct nodes_sum {
    struct completeness *to;
    bool ended;
    int result;
};

static void sum_node(const void *at, VISIT visit, void *arg)
{
    const struct found_node *node = *(struct found_node *const *)at;
    struct nodes_sum *sum = arg;

    if ((visit != postorder && visit != leaf) || sum->result < 0)
        return;
    sum->ended = sum->ended && node->ended;
    sum->result = completeness_merge(sum->to, &node->own);
}

/* The sums of the steps, as the store makes them when it reads a job. */
int found_finish(struct found_job *f)
{
    struct job_account *job = f->job;
    struct nodes_sum sum = {&job->completeness, f->n_nodes > 0, 0};
    int r;

    twalk_r(f->nodes, sum_node, &sum);
    r = sum.result;
    if (job->n_steps)
        qsort(job->steps, job->n_steps, sizeof(*job->steps), by_key);
    for (size_t i = 0; i < job->n_steps && r == 0; i++)
        r = job_account_add_step(job, &job->steps[i]);
    if (r == 0)
        r = set_peaks(job, &f->peaks);
    if (r == 0)
        r = job_account_check_mpi(job);
    job->ended = sum.ended;
    if (!sum.ended)
        job->end_ns = 0;
    job->nodes_reported = f->n_nodes;
    return r;
}

/* --- as a stream ------------------------------------------------------------------------------ */

static int give_first(struct found_stream *stream, struct error *error)
{
    struct found_job *f = &stream->found.items[0];
    int r = stream->each(f, stream->arg, error);

    found_job_clear(f);
    stream->found.n--;
    memmove(f, f + 1, stream->found.n * sizeof(*f));
    return r;
}

void found_stream_clear(struct found_stream *stream)
{
    found_clear(&stream->found);
}

int found_stream_take(struct json_object *row, void *arg, struct error *error)
{
    struct found_stream *stream = arg;
    int r = found_take(&stream->found, row, error);

    return r == 0 && stream->found.n > 1 ? give_first(stream, error) : r;
}

int found_stream_end(struct found_stream *stream, struct error *error)
{
    return stream->found.n ? give_first(stream, error) : 0;
}

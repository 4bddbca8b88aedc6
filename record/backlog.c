/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "record/backlog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "record/node_query.h"

/* A node that missed the end of a step detects it after some time: the pauses get longer. */
#define PAUSE_DOUBLES 5

struct backlog {
    const struct backlog_options *options;
    struct accounting *accounting;
    void (*print_line)(const char *line);
    struct ended_rules rules;
    struct backlog_counts *counts;
    size_t soon; /* number of left jobs that may get a record soon */
};

static bool is_wanted(const struct ended_job *job, void *arg)
{
    struct backlog *b = arg;

    return ended_wants_record(job, &b->rules);
}

struct listing {
    struct backlog *backlog;
    struct ended_seen seen;
};

/* A requeued job may keep the comment with the record of the run before, or get it during the next
 * one. */
static bool may_be_wanted(const struct ended_job *job, void *arg)
{
    struct listing *listing = arg;
    bool is_later_run = ended_seen_add(&listing->seen, job);

    return is_later_run || is_wanted(job, listing->backlog);
}

/* A window of time may lack the earlier runs of a job, which are needed to count its restarts: look
 * the jobs up again by their numbers. */
static int find_again(struct backlog *b, const struct ended_jobs *found, struct ended_jobs *ret,
                      struct error *error)
{
    _free_ struct accounting_id *ids = calloc(found->n + 1, sizeof(*ids));

    if (!ids)
        return error_set(error, -ENOMEM, "no memory");
    for (size_t i = 0; i < found->n; i++)
        ids[i] = accounting_id_of(&found->items[i]);
    return accounting_find(b->accounting, ids, found->n, ret, error);
}

static int find_listed(struct backlog *b, struct ended_jobs *ret, struct error *error)
{
    struct listing listing = {b, {.since = b->rules.now - b->options->since_s}};
    struct ended_jobs found = {0};
    int r = accounting_list(b->accounting, listing.seen.since, b->rules.now, may_be_wanted,
                            &listing, &found, error);

    if (!r)
        r = find_again(b, &found, ret, error);
    ended_seen_clear(&listing.seen);
    ended_jobs_clear(&found);
    return r;
}

/* For jobs given by number: the accounting may show their start or end with a delay. */
static size_t count_unfinished(const struct backlog *b, const struct ended_jobs *jobs)
{
    size_t n = 0;

    if (!b->options->n_ids)
        return 0;
    for (size_t i = 0; i < jobs->n; i++)
        n += jobs->items[i].start && !jobs->items[i].end;
    return jobs->n ? n : b->options->n_ids;
}

static bool is_same_run(const struct ended_job *a, const struct ended_job *b)
{
    return a->jobid == b->jobid && a->submit == b->submit && a->start == b->start;
}

/* Keep only jobs that want a record, each once, even if two IDs selected it. */
static void keep_wanted(struct backlog *b, struct ended_jobs *jobs)
{
    size_t n = 0;

    for (size_t i = 0; i < jobs->n; i++) {
        struct ended_job *job = &jobs->items[i];

        if (is_wanted(job, b) && !(n && is_same_run(job, &jobs->items[n - 1])))
            jobs->items[n++] = *job;
        else
            ended_job_clear(job);
    }
    jobs->n = n;
}

static int find_jobs(struct backlog *b, struct ended_jobs *jobs, struct error *error)
{
    const struct backlog_options *o = b->options;
    int r = o->n_ids ? accounting_find(b->accounting, o->ids, o->n_ids, jobs, error)
                     : find_listed(b, jobs, error);

    if (r < 0)
        return r;
    ended_jobs_sort(jobs);
    b->counts->left = b->soon = count_unfinished(b, jobs);
    keep_wanted(b, jobs);
    return 0;
}

static int query_nodes(struct backlog *b, struct ended_jobs *jobs, struct error *error)
{
    const struct node_query_options options = {
        .url = b->options->url,
        .cluster = b->options->cluster,
        .timeout_ns = b->options->host_timeout_ns,
        .parallel = b->options->parallel,
    };
    _free_ struct node_query *queries = calloc(jobs->n + 1, sizeof(*queries));
    int r;

    if (!queries)
        return error_set(error, -ENOMEM, "no memory");
    for (size_t i = 0; i < jobs->n; i++)
        queries[i] = (struct node_query){.host = jobs->items[i].host,
                                         .jobid = jobs->items[i].jobid,
                                         .restart = jobs->items[i].restart};
    r = node_query_all(&options, queries, jobs->n, b->print_line, error);
    for (size_t i = 0; !r && i < jobs->n; i++)
        if (ended_judge(&jobs->items[i], queries[i].answer, queries[i].record, &b->rules) < 0)
            r = error_set(error, -ENOMEM, "no memory");
    for (size_t i = 0; i < jobs->n; i++)
        free(queries[i].record);
    return r;
}

/* Call it after accounting_write(), which drops the records that it could not write. */
static void count_results(struct backlog *b, const struct ended_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++) {
        const struct ended_job *job = &jobs->items[i];

        if (job->verdict == VERDICT_LATER || (job->verdict != VERDICT_KEEP && !job->record)) {
            b->counts->left++;
            b->soon += b->rules.now - job->end < b->rules.unknown;
        } else if (job->verdict == VERDICT_WRITE) {
            b->counts->written++;
        } else if (job->verdict == VERDICT_MARK) {
            b->counts->marked++;
        }
    }
}

static int run_pass(struct backlog *b, bool first, struct error *error)
{
    struct ended_jobs jobs = {0};
    int r;

    b->rules.now = time(NULL);
    r = find_jobs(b, &jobs, error);
    if (!r && first)
        b->counts->wanted = jobs.n;
    if (!r)
        r = query_nodes(b, &jobs, error);
    if (!r && !b->options->dry_run)
        r = accounting_write(b->accounting, &jobs, b->print_line, error);
    if (!r)
        count_results(b, &jobs);
    ended_jobs_clear(&jobs);
    return r;
}

static void sleep_ns(uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

int backlog_run(const struct backlog_options *options, struct backlog_counts *ret,
                void (*print_line)(const char *line), struct error *error)
{
    struct backlog b = {
        .options = options,
        .print_line = print_line,
        .rules = {.unknown = options->unknown_s, .give_up = options->give_up_s},
        .counts = ret,
    };
    int r;

    *ret = (struct backlog_counts){0};
    r = accounting_open(&b.accounting, options->cluster, error);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < options->passes && !r; i++) {
        if (i > 0)
            sleep_ns(options->pause_ns << (i < PAUSE_DOUBLES ? i - 1 : PAUSE_DOUBLES - 1));
        r = run_pass(&b, i == 0, error);
        /* Another pass helps only if a job has just ended. */
        if (!b.soon || options->dry_run)
            break;
    }
    accounting_close(b.accounting);
    return r;
}

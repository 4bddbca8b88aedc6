/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/explain/context.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain/figures.h"
#include "cli/base/jobid.h"
#include "cli/base/labels.h"
#include "cli/base/notes.h"
#include "collector/store/history.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "report/explain/context.h"

#define LOOK_BACK_NS (365 * NS_PER_DAY)
#define CANDIDATES 500 /* rows of the user's history that are considered */
#define NAMESAKES 100  /* and of the same name */
#define FETCHED 16     /* accounts that are read of these */

/* A row of the history, and how far its sums are from the job's. */
struct candidate {
    uint32_t jobid, restart;
    uint64_t start_ns;
    bool same_name;
    double distance;
};

struct candidates {
    struct candidate *items; /* owned */
    size_t n;
};

struct past {
    struct job_account *jobs[FETCHED]; /* owned */
    struct context_similar similar[FETCHED];
    size_t n;
};

static void past_clear(struct past *past)
{
    for (size_t i = 0; i < past->n; i++)
        job_account_destroy(past->jobs[i]);
    past->n = 0;
}

/* --- which jobs ------------------------------------------------------------------------------- */

static double apart(uint64_t a, uint64_t b)
{
    double d = log1p((double)a) - log1p((double)b);

    return d * d;
}

static double distance(const struct job_account *job, const struct history_row *row)
{
    CLEANUP(io_account_clear) struct io_account all = {0};

    for (size_t i = 0; i < job->mounts.n; i++)
        (void)io_account_add(&all, &job->mounts.items[i].io);
    return apart(io_account_reads(&all).bytes, row->reads.bytes) +
           apart(io_account_writes(&all).bytes, row->writes.bytes) +
           apart(io_account_meta(&all).requests, row->meta.requests);
}

static bool is_itself(const struct job_account *job, const struct history_row *row)
{
    return row->jobid == job->key.jobid && row->restart == job->key.restart &&
           row->start_ns / NS_PER_DAY == job->start_ns / NS_PER_DAY;
}

static int compare_candidates(const void *pa, const void *pb)
{
    const struct candidate *a = pa, *b = pb;

    if (a->same_name != b->same_name)
        return b->same_name - a->same_name;
    return (a->distance > b->distance) - (a->distance < b->distance);
}

static bool is_known(const struct candidates *candidates, const struct history_row *row)
{
    for (size_t i = 0; i < candidates->n; i++) {
        const struct candidate *c = &candidates->items[i];

        if (c->jobid == row->jobid && c->restart == row->restart && c->start_ns == row->start_ns)
            return true;
    }
    return false;
}

/* Candidates while the history is read. */
struct search {
    const struct job_account *job;
    struct candidates *found;
};

static int take_row(const struct history_row *row, void *arg)
{
    const struct search *search = arg;
    const struct job_account *job = search->job;
    struct candidates *found = search->found;
    struct candidate *grown;

    if (is_itself(job, row) || is_known(found, row))
        return 0;
    grown = reallocarray(found->items, found->n + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    found->items = grown;
    grown[found->n++] = (struct candidate){
        .jobid = row->jobid,
        .restart = row->restart,
        .start_ns = row->start_ns,
        .same_name = job->name && row->name && strcmp(job->name, row->name) == 0,
        .distance = distance(job, row),
    };
    return 0;
}

static int ask(struct source *source, const struct job_account *job,
               const struct history_filter *filter, struct candidates *ret, struct error *error)
{
    struct search search = {job, ret};
    int rc = source_history(source, filter, take_row, &search, error);

    return rc == -ENOMEM ? error_errno(error, rc, "look for similar jobs") : rc;
}

/* The last jobs of the same user, those that look most alike by their sums first. */
static int find(struct source *source, const struct job_account *job, struct candidates *ret,
                struct error *error)
{
    char uid[16];
    _free_ char *name = job->name ? history_word_quote(job->name) : NULL;
    struct history_filter filter = {
        .uid = UINT32_MAX,
        .user = uid,
        .name = name,
        .since_ns = job->start_ns > LOOK_BACK_NS ? job->start_ns - LOOK_BACK_NS : 0,
        .limit = NAMESAKES,
    };
    int rc = 0;

    (void)snprintf(uid, sizeof(uid), "%" PRIu32, job->uid);
    if (name && *name)
        rc = ask(source, job, &filter, ret, error);
    filter.name = NULL;
    filter.limit = CANDIDATES;
    if (rc == 0)
        rc = ask(source, job, &filter, ret, error);
    if (ret->n)
        qsort(ret->items, ret->n, sizeof(*ret->items), compare_candidates);
    return rc;
}

/* --- their accounts --------------------------------------------------------------------------- */

static bool is_meant(const struct job_account *job, const struct candidate *candidate)
{
    return job->key.restart == candidate->restart && job->start_ns == candidate->start_ns;
}

/* *ret stays NULL if the run was deleted meanwhile. */
static int fetch(struct source *source, const struct candidate *candidate, struct job_account **ret,
                 struct error *error)
{
    const struct jobid id = {.job = candidate->jobid};
    struct job_account **jobs = NULL;
    int rc = source_jobs(source, &id, true, 0, &jobs, error);

    for (size_t i = 0; rc == 0 && jobs[i]; i++) {
        if (!*ret && is_meant(jobs[i], candidate))
            *ret = jobs[i];
        else
            job_account_destroy(jobs[i]);
    }
    if (rc == 0)
        free(jobs);
    return rc;
}

static int compare_similar(const void *pa, const void *pb)
{
    const struct context_similar *a = pa, *b = pb;
    int r = similarity_compare(&a->similarity, &b->similarity);

    if (r == 0) /* newest first */
        r = (a->job->start_ns < b->job->start_ns) - (a->job->start_ns > b->job->start_ns);
    return r;
}

static int read_past(struct source *source, const struct job_account *job, struct past *ret,
                     struct error *error)
{
    struct candidates candidates = {.n = 0};
    int rc = find(source, job, &candidates, error);

    for (size_t i = 0; rc == 0 && i < candidates.n && ret->n < FETCHED; i++) {
        struct job_account *other = NULL;

        rc = fetch(source, &candidates.items[i], &other, error);
        if (rc < 0 || !other)
            continue;
        ret->similar[ret->n] = (struct context_similar){other, similarity_of(job, other)};
        ret->jobs[ret->n++] = other;
    }
    free(candidates.items);
    qsort(ret->similar, ret->n, sizeof(ret->similar[0]), compare_similar);
    return rc;
}

/* --- the document ----------------------------------------------------------------------------- */

/* What the document is made of. */
struct known {
    struct job_account *job;
    struct advice_notes notes;
    struct past past;
    struct figures figures;
    struct labels *labels;
};

static void known_clear(struct known *known)
{
    advice_notes_clear(&known->notes);
    past_clear(&known->past);
    figures_clear(&known->figures);
    labels_destroy(known->labels);
}

/* In the order of the document. */
static int hide_past(struct known *known)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < known->past.n; i++) {
        struct job_account **job = known->past.jobs;

        while (*job != known->past.similar[i].job)
            job++;
        rc = labels_job(known->labels, *job);
    }
    return rc;
}

/* Error messages of programs may name machines. */
static int hide_figures(struct known *known)
{
    for (size_t i = 0; i < known->figures.n; i++) {
        struct explain_figure *figure = &known->figures.items[i];

        if (figure->missing)
            known->figures.missing[i][strcspn(figure->missing, ":")] = '\0';
        if (figure->mount && !(figure->mount = labels_mount(known->labels, figure->mount)))
            return -ENOMEM;
    }
    return 0;
}

/* Times are relative to the first start. */
static uint64_t first_start(const struct known *known)
{
    uint64_t first = known->job->start_ns;

    for (size_t i = 0; i < known->past.n; i++)
        if (known->past.jobs[i]->start_ns && known->past.jobs[i]->start_ns < first)
            first = known->past.jobs[i]->start_ns;
    return first;
}

/* After the rules and the search have used the names. */
static int hide(struct known *known, struct error *error)
{
    known->labels = labels_create(first_start(known));
    if (!known->labels || labels_job(known->labels, known->job) < 0 || hide_past(known) < 0 ||
        hide_figures(known) < 0 || labels_notes(known->labels, &known->notes) < 0)
        return error_errno(error, -ENOMEM, "replace names by labels");
    return 0;
}

int context_make(struct source *source, struct job_account *job, bool anonymous, char **ret,
                 struct error *error)
{
    CLEANUP(known_clear) struct known known = {.job = job};
    struct context context = {.anonymous = anonymous};
    struct error why;

    notes_for_job(job, SIZE_MAX, &known.notes);
    if (read_past(source, job, &known.past, &why) < 0) {
        (void)error_prefix(&why, 0, "similar jobs");
        context.note = anonymous ? "similar jobs" : why.text;
    }
    if (figures_read(job, &known.figures) < 0)
        return error_errno(error, -ENOMEM, "read other counters");
    if (anonymous && hide(&known, error) < 0)
        return -ENOMEM;
    context.job = known.job;
    context.notes = &known.notes;
    context.figures = known.figures.items;
    context.n_figures = known.figures.n;
    context.similar = known.past.similar;
    context.n_similar = known.past.n;
    return report_context(&context, CONTEXT_MAX, ret, error);
}

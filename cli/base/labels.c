/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* asprintf, tdestroy */
#include "cli/base/labels_impl.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text.h"
#include "common/utf8.h"
#include "report/nodes.h"

#define FROM_NS (315532800ull * NS_PER_S) /* 1980-01-01 */

static const char *const kind_names[KINDS] = {
    [KIND_USER] = "user",   [KIND_ACCOUNT] = "account", [KIND_PARTITION] = "partition",
    [KIND_NAME] = "name",   [KIND_CLUSTER] = "cluster", [KIND_NODE] = "node",
    [KIND_MOUNT] = "mount", [KIND_SOURCE] = "source",   [KIND_PATH] = "path",
};

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct label *)a)->text, ((const struct label *)b)->text);
}

static void label_free(void *arg)
{
    struct label *label = arg;

    free(label->text);
    free(label->shown);
    free(label->name);
    free(label);
}

static void set_start(struct labels *a, uint64_t ns)
{
    uint64_t back = ns > FROM_NS ? ns - FROM_NS : 0;

    a->back_ns = back - back % a->grain_ns;
    a->known = true;
}

struct labels *labels_create(uint64_t from_ns)
{
    struct labels *anonymous = calloc(1, sizeof(*anonymous));

    if (!anonymous)
        return NULL;
    anonymous->grain_ns = NS_PER_S; /* whole seconds stay whole */
    if (from_ns)
        set_start(anonymous, from_ns);
    return anonymous;
}

void labels_destroy(struct labels *anonymous)
{
    if (!anonymous)
        return;
    for (size_t i = 0; i < KINDS; i++)
        tdestroy(anonymous->trees[i], label_free);
    free(anonymous);
}

static struct label *label_make(struct labels *a, enum kind kind, const char *text)
{
    struct label *label = calloc(1, sizeof(*label));
    const char *name = kind_names[kind] ? kind_names[kind] : "";

    if (!label)
        return NULL;
    label->text = strdup(text);
    label->shown = utf8_sanitize(text);
    label->number = a->n[kind] + 1;
    label->name = text_format("%s%u", name, label->number);
    if (!label->text || !label->shown || !label->name ||
        !tsearch(label, &a->trees[kind], compare)) {
        label_free(label);
        return NULL;
    }
    a->n[kind]++;
    return label;
}

const struct label *labels_find(struct labels *a, enum kind kind, const char *text)
{
    const struct label wanted = {.text = (char *)text};
    struct label *const *found = tfind(&wanted, &a->trees[kind], compare);

    return found ? *found : label_make(a, kind, text);
}

static int rename_text(struct labels *a, enum kind kind, const char **text)
{
    const struct label *label = *text ? labels_find(a, kind, *text) : NULL;

    if (*text && !label)
        return -ENOMEM;
    *text = label ? label->name : NULL;
    return 0;
}

static int renumber(struct labels *a, enum kind kind, uint32_t *number)
{
    char text[16];
    const struct label *label;

    (void)snprintf(text, sizeof(text), "%u", *number);
    label = labels_find(a, kind, text);
    if (!label)
        return -ENOMEM;
    *number = label->number;
    return 0;
}

/* 0 means "not yet". */
static uint64_t move_time(struct labels *a, uint64_t ns)
{
    if (!ns)
        return 0;
    if (!a->known)
        set_start(a, ns);
    return ns > a->back_ns ? ns - a->back_ns : 1;
}

/* Each mount of a list like "/scratch,/home". */
static int rename_mounts(struct labels *a, const char **list)
{
    _free_ char *copy = *list ? strdup(*list) : NULL;
    char *save = NULL, *text = NULL;

    for (char *word = copy ? strtok_r(copy, ",", &save) : NULL; word;
         word = strtok_r(NULL, ",", &save)) {
        const struct label *label = labels_find(a, KIND_MOUNT, word);
        char *longer = NULL;

        if (!label ||
            asprintf(&longer, "%s%s%s", text ? text : "", text ? "," : "", label->name) < 0)
            longer = NULL;
        free(text);
        text = longer;
        if (!text)
            return -ENOMEM;
    }
    if (text) { /* stored as a label, which owns it */
        const struct label *label = labels_find(a, KIND_LIST, text);

        free(text);
        *list = label ? label->text : NULL;
        return label ? 0 : -ENOMEM;
    }
    return *list ? -ENOMEM : 0;
}

int labels_row(struct labels *a, struct history_row *row)
{
    if (rename_text(a, KIND_USER, &row->user) < 0 ||
        rename_text(a, KIND_ACCOUNT, &row->account) < 0 ||
        rename_text(a, KIND_PARTITION, &row->partition) < 0 ||
        rename_text(a, KIND_NAME, &row->name) < 0 ||
        rename_text(a, KIND_CLUSTER, &row->cluster) < 0 || rename_mounts(a, &row->mount) < 0)
        return -ENOMEM;
    if (row->jobs) /* a group has no number and no owner, only its name */
        row->day = NULL;
    else if (renumber(a, KIND_UID, &row->uid) < 0 || renumber(a, KIND_JOB, &row->jobid) < 0)
        return -ENOMEM;
    if (row->array_job && renumber(a, KIND_JOB, &row->array_job) < 0)
        return -ENOMEM;
    row->start_ns = move_time(a, row->start_ns);
    row->end_ns = move_time(a, row->end_ns);
    return 0;
}

/* --- accounts --------------------------------------------------------------------------------- */

static int rename_owned(struct labels *a, enum kind kind, char **text)
{
    const struct label *label = *text ? labels_find(a, kind, *text) : NULL;
    char *name = label ? strdup(label->name) : NULL;

    if (*text && !name)
        return -ENOMEM;
    free(*text);
    *text = name;
    return 0;
}

/* The text after the first ':' of a cause may be a name. */
static int cut_causes(struct completeness *c)
{
    struct completeness cut = {.lost = c->lost};
    int r = 0;

    for (size_t i = 0; r == 0 && i < c->n; i++) {
        char *cause = c->items[i].cause;

        cause[strcspn(cause, ":")] = '\0';
        r = completeness_add(&cut, cause, c->items[i].count, c->items[i].ops);
    }
    completeness_clear(c);
    *c = cut;
    return r;
}

static int cut_mpi(struct mpi_account *mpi)
{
    return mpi ? cut_causes(&mpi->completeness) : 0;
}

static int hide_mounts(struct labels *a, struct io_mounts *mounts)
{
    io_mounts_forget_index(mounts);
    for (size_t i = 0; i < mounts->n; i++) {
        struct io_mount *m = &mounts->items[i];

        if (rename_owned(a, KIND_MOUNT, &m->mount) < 0 ||
            rename_owned(a, KIND_SOURCE, &m->source) < 0)
            return -ENOMEM;
        if (!timeline_is_empty(&m->timeline))
            m->timeline.start_s = move_time(a, m->timeline.start_s * NS_PER_S) / NS_PER_S;
    }
    return 0;
}

/* Nodes are numbered in the order of their names. */
static int number_nodes(struct labels *a, const struct job_account *job)
{
    _free_ struct node_sum *nodes = NULL;
    size_t n = 0;

    if (nodes_sum(job, &nodes, &n) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        if (!labels_find(a, KIND_NODE, nodes[i].node))
            return -ENOMEM;
    return 0;
}

static int hide_step(struct labels *a, struct step_account *step)
{
    if (rename_owned(a, KIND_NODE, &step->node) < 0 || cut_causes(&step->completeness) < 0 ||
        cut_mpi(step->mpi) < 0)
        return -ENOMEM;
    step->tagged_at_ns = move_time(a, step->tagged_at_ns);
    return hide_mounts(a, &step->mounts);
}

static int hide_identity(struct labels *a, struct job_account *job)
{
    if (rename_owned(a, KIND_CLUSTER, &job->key.cluster) < 0 ||
        renumber(a, KIND_JOB, &job->key.jobid) < 0 || renumber(a, KIND_UID, &job->uid) < 0 ||
        rename_owned(a, KIND_USER, &job->user) < 0 ||
        rename_owned(a, KIND_ACCOUNT, &job->account) < 0 ||
        rename_owned(a, KIND_PARTITION, &job->partition) < 0 ||
        rename_owned(a, KIND_NAME, &job->name) < 0 ||
        (job->array_job && renumber(a, KIND_JOB, &job->array_job) < 0))
        return -ENOMEM;
    job->start_ns = move_time(a, job->start_ns);
    job->end_ns = move_time(a, job->end_ns);
    /* No report of a Slurm job shows these. */
    free(TAKE_PTR(job->first_node));
    for (char **word = job->command; word && *word; word++)
        (*word)[0] = '\0';
    return 0;
}

int labels_job(struct labels *a, struct job_account *job)
{
    if (hide_identity(a, job) < 0 || cut_causes(&job->completeness) < 0 || cut_mpi(job->mpi) < 0 ||
        hide_mounts(a, &job->mounts) < 0 || number_nodes(a, job) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < job->n_steps; i++)
        if (hide_step(a, &job->steps[i]) < 0)
            return -ENOMEM;
    for (size_t i = 0; i < job->n_nodes; i++)
        if (rename_owned(a, KIND_NODE, &job->nodes[i].node) < 0)
            return -ENOMEM;
    return 0;
}

static uint64_t widest_bin(const struct io_mounts *mounts)
{
    uint64_t widest = 1;

    for (size_t i = 0; i < mounts->n; i++)
        if (mounts->items[i].timeline.width_s > widest)
            widest = mounts->items[i].timeline.width_s;
    return widest;
}

/* Time lines of jobs and steps start at multiples of their bin width, a power of two. */
static uint64_t widest_of(struct job_account *const *jobs, size_t n)
{
    uint64_t widest = 1, width;

    for (size_t i = 0; i < n; i++) {
        width = widest_bin(&jobs[i]->mounts);
        widest = width > widest ? width : widest;
        for (size_t k = 0; k < jobs[i]->n_steps; k++) {
            width = widest_bin(&jobs[i]->steps[k].mounts);
            widest = width > widest ? width : widest;
        }
    }
    return widest;
}

int labels_jobs(struct labels *a, struct job_account *const *jobs, size_t n)
{
    int r = 0;

    if (!a->known)
        a->grain_ns *= widest_of(jobs, n);
    /* The oldest run is the last one; the times start with it. */
    while (r == 0 && n-- > 0)
        r = labels_job(a, jobs[n]);
    return r;
}

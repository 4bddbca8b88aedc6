/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/history.h"
#include "common/cleanup.h"

char *runs_label(uint32_t jobid, uint32_t array_job, uint32_t array_task, uint32_t restart,
                 char buf[JOBID_TEXT])
{
    const struct jobid id = {
        .job = array_job ? array_job : jobid, .has_task = array_job != 0, .task = array_task};

    (void)jobid_format(&id, buf);
    if (restart)
        (void)snprintf(buf + strlen(buf), JOBID_TEXT - strlen(buf), " r%u", restart);
    return buf;
}

/* A number may have been used more than once, or requeued. */
static bool is_same(const struct job_account *job, const struct history_row *row)
{
    return job->start_ns == row->start_ns && job->key.restart == row->restart;
}

/* 1: found. */
static int find_profile(struct source *source, const struct history_row *row, bool all,
                        struct profile *ret, struct error *error)
{
    const struct jobid id = {.job = row->jobid};
    struct job_account **jobs = NULL;
    int rc = source_jobs(source, &id, all, 0, &jobs, error);
    size_t i = 0;

    while (rc == 0 && jobs[i] && !is_same(jobs[i], row))
        i++;
    if (rc == 0 && jobs[i])
        rc = profile_make(jobs[i], ret) < 0 ? error_errno(error, -ENOMEM, "read a job") : 1;
    store_jobs_free(jobs);
    return rc;
}

static bool is_wanted(const struct history_row *row, const struct runs_wanted *wanted)
{
    return row->name && strcmp(row->name, wanted->name) == 0 && row->ended &&
           (!wanted->before_ns || row->start_ns < wanted->before_ns);
}

/* The runs while they are read. */
struct reading {
    const struct runs_wanted *wanted;
    struct runs runs; /* newest first */
};

static int take_row(const struct history_row *row, void *arg)
{
    struct reading *reading = arg;
    struct runs *runs = &reading->runs;
    struct run *grown;

    if (!is_wanted(row, reading->wanted))
        return 0;
    grown = reallocarray(runs->items, runs->n + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    runs->items = grown;
    grown += runs->n++;
    *grown = (struct run){.texts = NULL};
    return history_row_copy(row, &grown->row, &grown->texts);
}

static void run_clear(struct run *run)
{
    profile_clear(&run->profile);
    free(run->texts);
}

static void reverse(struct runs *runs)
{
    for (size_t i = 0; i < runs->n / 2; i++) {
        struct run *a = &runs->items[i], *b = &runs->items[runs->n - 1 - i], run = *a;

        *a = *b;
        *b = run;
    }
}

/* Drops runs that have been deleted meanwhile. */
static int take_profiles(struct source *source, struct runs *runs, struct error *error)
{
    size_t kept = 0;
    int rc = 0;

    for (size_t i = 0; i < runs->n; i++) {
        struct run run = runs->items[i];

        if (rc >= 0)
            rc = find_profile(source, &run.row, false, &run.profile, error);
        if (rc == 0)
            rc = find_profile(source, &run.row, true, &run.profile, error);
        if (rc > 0)
            runs->items[kept++] = run;
        else
            run_clear(&run);
    }
    runs->n = kept;
    return rc < 0 ? rc : 0;
}

int runs_get(struct source *source, const struct runs_wanted *wanted, struct runs *ret,
             struct error *error)
{
    struct reading reading = {.wanted = wanted};
    _free_ char *name = history_word_quote(wanted->name);
    const struct history_filter filter = {
        .uid = UINT32_MAX,
        .user = wanted->user,
        .name = name,
        .since_ns = wanted->since_ns,
        .until_ns = wanted->before_ns,
        .state = HISTORY_ENDED,
        .limit = wanted->limit,
    };
    int rc = name ? source_history(source, &filter, take_row, &reading, error) : -ENOMEM;

    if (rc == -ENOMEM)
        (void)error_errno(error, rc, "read the history");
    reverse(&reading.runs);
    if (rc == 0)
        rc = take_profiles(source, &reading.runs, error);
    if (rc == 0)
        *ret = reading.runs;
    else
        runs_clear(&reading.runs);
    return rc;
}

void runs_clear(struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        run_clear(&runs->items[i]);
    free(runs->items);
    *runs = (struct runs){NULL, 0};
}

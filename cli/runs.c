/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/runs.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/source/source.h"
#include "collector/store/history.h"
#include "collector/store/history_json.h"
#include "common/cleanup.h"
#include "report/json/json.h"

DEFINE_CLEANUP(struct job_account, job_account_destroy)

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

int runs_job(const struct cli *cli, const struct jobid *id, struct json_object **document,
             struct job_account **job, struct error *error)
{
    struct json_object *jobs = NULL;
    int rc = source_jobs(cli, id, false, false, &jobs, error);

    if (rc == 0 && json_object_array_length(jobs) == 0)
        rc = jobid_unknown(id, error);
    if (rc == 0)
        rc = report_json_parse(json_object_array_get_idx(jobs, 0), job, error);
    if (rc == 0)
        *document = json_object_get(json_object_array_get_idx(jobs, 0));
    json_object_put(jobs);
    return rc;
}

/* Of a number that was used more than once, or requeued, the one that is meant. */
static int find_run(struct json_object *jobs, const struct history_row *row, struct profile *ret,
                    struct error *error)
{
    for (size_t i = 0; i < json_object_array_length(jobs); i++) {
        CLEANUP(job_account_destroyp) struct job_account *job = NULL;
        int rc = report_json_parse(json_object_array_get_idx(jobs, i), &job, error);

        if (rc < 0)
            return rc;
        if (job->start_ns != row->start_ns || job->key.restart != row->restart)
            continue;
        return profile_make(job, ret) < 0 ? error_errno(error, -ENOMEM, "read a job") : 1;
    }
    return 0;
}

/* 1: found. */
static int take_profile(const struct cli *cli, const struct history_row *row, struct profile *ret,
                        struct error *error)
{
    const struct jobid id = {.job = row->jobid};
    int found = 0;

    for (int all = 0; all < 2 && found == 0; all++) {
        struct json_object *jobs = NULL;

        found = source_jobs(cli, &id, all, false, &jobs, error);
        if (found == 0)
            found = find_run(jobs, row, ret, error);
        json_object_put(jobs);
    }
    return found;
}

static bool is_wanted(const struct history_row *row, const struct runs_wanted *wanted)
{
    return row->name && strcmp(row->name, wanted->name) == 0 && row->ended &&
           (!wanted->before_ns || row->start_ns < wanted->before_ns);
}

static int take_rows(const struct cli *cli, const struct runs_wanted *wanted, struct runs *runs,
                     struct error *error)
{
    size_t n = json_object_array_length(runs->rows);

    runs->items = calloc(n + 1, sizeof(*runs->items));
    if (!runs->items)
        return error_errno(error, -ENOMEM, "read the history");
    for (size_t i = n; i-- > 0;) { /* newest first */
        struct run run = {.row = {0}};
        int rc = history_row_parse(json_object_array_get_idx(runs->rows, i), &run.row, error);

        if (rc == 0 && is_wanted(&run.row, wanted))
            rc = take_profile(cli, &run.row, &run.profile, error);
        if (rc < 0)
            return rc;
        if (rc > 0)
            runs->items[runs->n++] = run;
    }
    return 0;
}

int runs_get(const struct cli *cli, const struct runs_wanted *wanted, struct runs *ret,
             struct error *error)
{
    CLEANUP(runs_clear) struct runs runs = {NULL, 0, NULL};
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
    int rc = name ? source_history(cli, &filter, &runs.rows, error)
                  : error_errno(error, -ENOMEM, "ask the history");

    if (rc == 0)
        rc = take_rows(cli, wanted, &runs, error);
    if (rc < 0)
        return rc;
    *ret = runs;
    runs = (struct runs){NULL, 0, NULL};
    return 0;
}

void runs_clear(struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        profile_clear(&runs->items[i].profile);
    free(runs->items);
    json_object_put(runs->rows);
    *runs = (struct runs){NULL, 0, NULL};
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* asprintf */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/base/jobid.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/pager.h"
#include "cli/runs.h"
#include "cli/source/open.h"
#include "cli/base/terminal.h"
#include "common/cleanup.h"
#include "common/tree.h"
#include "common/utf8.h"
#include "report/compare/compare.h"
#include "report/json/json.h"

#define RUNS 20

static const char help[] =
    "usage: jobio compare ID [ID] [--json] [--from WHERE]\n"
    "Compare two jobs and explain the differences. A single job is compared with the median of\n"
    "the last 20 earlier runs of the same name and user.\n"
    "\n"
    "      --json            one JSON document\n" OPTIONS_HELP_HISTORY "\n"
    "Examples:\n"
    "  jobio compare 123 130\n"
    "  jobio compare 130\n"
    "  jobio compare 120_3 120_4 --json | jq .text\n"
    "\n"
    "Exit status: 0 shown, 1 no such job, nothing to compare it with, or failed, 2 usage.\n";

/* A job or the median of several. */
struct side {
    struct profile profile;
    struct job_account *job; /* owned; NULL: several */
    uint32_t *jobids;        /* owned; of several */
    size_t n;
    char head[JOBID_TEXT], words[JOBID_TEXT + 32];
};

static void side_clear(struct side *side)
{
    profile_clear(&side->profile);
    job_account_destroy(side->job);
    free(side->jobids);
}

/* All runs of a requeued job have the same number. */
static void side_name(struct side *side, const struct job_account *job)
{
    char label[JOBID_TEXT], restart[24] = "";

    (void)runs_label(job->key.jobid, job->array_job, job->array_task, job->key.restart, side->head);
    (void)runs_label(job->key.jobid, job->array_job, job->array_task, 0, label);
    if (job->key.restart)
        (void)snprintf(restart, sizeof(restart), " (restart %u)", job->key.restart);
    (void)snprintf(side->words, sizeof(side->words), "job %s%s", label, restart);
}

static int side_job(struct source *source, const char *text, struct side *side, struct error *error)
{
    struct jobid id;
    int rc = jobid_parse(text, &id, error);

    if (rc == 0)
        rc = source_job(source, &id, 0, &side->job, error);
    if (rc < 0)
        return rc;
    side_name(side, side->job);
    return profile_make(side->job, &side->profile) < 0 ? error_errno(error, -ENOMEM, "read a job")
                                                       : 0;
}

static int side_of_runs(const struct runs *runs, struct side *side)
{
    _free_ struct profile *profiles = calloc(runs->n, sizeof(*profiles));
    const struct history_row *only = &runs->items[0].row;

    side->jobids = calloc(runs->n, sizeof(*side->jobids));
    if (!profiles || !side->jobids)
        return -ENOMEM;
    for (size_t i = 0; i < runs->n; i++) {
        profiles[i] = runs->items[i].profile;
        side->jobids[side->n++] = runs->items[i].row.jobid;
    }
    if (runs->n > 1)
        (void)snprintf(side->head, sizeof(side->head), "median of %zu", runs->n);
    else
        (void)runs_label(only->jobid, only->array_job, only->array_task, only->restart, side->head);
    (void)snprintf(side->words, sizeof(side->words), "%s",
                   runs->n > 1 ? "the usual run" : "the run before");
    return profile_median(profiles, runs->n, &side->profile);
}

/* The median of the runs before `job`. */
static int side_usual(struct source *source, const struct job_account *job, struct side *side,
                      struct error *error)
{
    CLEANUP(runs_clear) struct runs runs = {NULL, 0};
    char user[16];
    const struct runs_wanted wanted = {
        .name = job->name, .user = user, .before_ns = job->start_ns, .limit = RUNS};
    _free_ char *name = utf8_sanitize(job->name ? job->name : "");
    int rc;

    if (!job->name)
        return error_set(error, -ENOENT,
                         "the name of the job is not known: give the job to compare it with");
    (void)snprintf(user, sizeof(user), "%u", job->uid);
    rc = runs_get(source, &wanted, &runs, error);
    if (rc == 0 && runs.n == 0)
        rc = error_set(error, -ENOENT,
                       "no earlier run of \"%s\" by this user is known here: give the job to "
                       "compare it with",
                       name ? name : "?");
    if (rc == 0 && side_of_runs(&runs, side) < 0)
        rc = error_errno(error, -ENOMEM, "read the history");
    return rc;
}

/* "job" as in the document of the job. */
static struct json_object *identity(struct tree *t, const struct job_account *job)
{
    struct json_object *document = report_json(job, 0), *found = NULL;

    t->failed |= !document || !json_object_object_get_ex(document, "job", &found);
    found = json_object_get(found);
    json_object_put(document);
    return found;
}

static struct json_object *side_json(struct tree *t, const struct side *side)
{
    struct json_object *o = profile_json(&side->profile), *jobs;

    if (side->job) {
        tree_put(t, o, "job", identity(t, side->job));
        return o;
    }
    jobs = tree_array(t);
    for (size_t i = 0; i < side->n; i++)
        tree_add_u64(t, jobs, side->jobids[i]);
    tree_put(t, o, "jobs", jobs);
    return o;
}

static int print_json(const struct side sides[2], const char *sentence)
{
    struct tree tree = {false}, *t = &tree;
    struct json_object *document = tree_object(t);

    tree_put_u64(t, document, "version", 1);
    tree_put(t, document, "a", side_json(t, &sides[0]));
    tree_put(t, document, "b", side_json(t, &sides[1]));
    tree_put_text(t, document, "text", sentence);
    return output_tree(t, document);
}

static int print_sides(const struct side sides[2], bool json, struct error *error)
{
    const struct compare_side a = {&sides[0].profile, sides[0].head, sides[0].words},
                              b = {&sides[1].profile, sides[1].head, sides[1].words};
    _free_ char *text = NULL;
    int rc;

    output_is_document(json);
    text = json ? compare_sentence(&a, &b) : compare_text(&a, &b, terminal_columns());
    rc = text ? 0 : -ENOMEM;
    if (rc == 0 && json)
        rc = print_json(sides, text);
    else if (rc == 0)
        output_text(text);
    return rc < 0 ? error_errno(error, rc, "write the answer") : 0;
}

/* With one job, that is b, and the usual run is a. */
static int compare_show(const struct cli *cli, char **ids, int n, bool json, struct error *error)
{
    CLEANUP(source_closep) struct source *source = NULL;
    CLEANUP(side_clear) struct side a = {.head = ""};
    CLEANUP(side_clear) struct side b = {.head = ""};
    struct side sides[2];
    int rc = source_open(cli, &source, error);

    if (rc == 0)
        rc = side_job(source, ids[n - 1], &b, error);
    if (rc == 0)
        rc = n > 1 ? side_job(source, ids[0], &a, error) : side_usual(source, b.job, &a, error);
    if (rc < 0)
        return rc;
    sides[0] = a;
    sides[1] = b;
    pager_start(cli);
    return print_sides(sides, json, error);
}

static int compare_run(struct cli *cli, int argc, char **argv)
{
    bool json = false;
    const struct option_spec specs[] = {{"json", 0, OPTION_FLAG, &json}};
    int first, status;
    struct error error;
    struct jobid id;

    if (!options_start(cli, &cli_compare, specs, ARRAY_SIZE(specs), OPTIONS_HISTORY, argc, argv,
                       &first, &status))
        return status;
    if (argc - first < 1 || argc - first > 2) {
        output_error("compare: give one or two job IDs, for example 'jobio compare 123 130'");
        return CLI_USAGE;
    }
    for (int i = first; i < argc; i++)
        if (jobid_parse(argv[i], &id, &error) < 0) {
            output_error("compare: %s", error.text);
            return CLI_USAGE;
        }
    if (compare_show(cli, argv + first, argc - first, json, &error) < 0) {
        output_error("%s", error.text);
        return CLI_FAILED;
    }
    return CLI_OK;
}

const struct subcommand cli_compare = {"compare", "compare two jobs, or a job with its usual run",
                                       help, compare_run};

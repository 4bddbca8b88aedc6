/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/pager.h"
#include "cli/runs.h"
#include "cli/source/open.h"
#include "cli/base/terminal.h"
#include "common/cleanup.h"
#include "common/tree.h"
#include "common/units.h"
#include "report/compare/compare.h"
#include "report/compare/trend.h"

#define RUNS 20
#define RUNS_MAX 200

static const char help[] =
    "usage: jobio trend -n NAME [-u USER] [-S TIME] [-N COUNT] [--json] [--from WHERE]\n"
    "Show how a recurring job develops: its last runs, and what changed.\n"
    "\n"
    "  -n, --name NAME       the name of the job (sbatch --job-name)\n"
    "  -u, --user USER       runs of this user (name or UID; default: of the user of the last "
    "run)\n"
    "  -S, --starttime TIME  jobs that ran after this time (as in 'jobio history')\n"
    "  -N, --limit COUNT     maximum number of runs (default: 20, at most 200)\n"
    "      --json            one JSON document\n" OPTIONS_HELP_HISTORY "\n"
    "Examples:\n"
    "  jobio trend -n simulate\n"
    "  jobio trend -n train -u alice -S now-30days -N 50\n"
    "\n"
    "Exit status: 0 shown, 1 no such run or failed, 2 usage.\n";

struct trend_options {
    const char *name, *user, *since;
    uint32_t limit;
    bool json;
};

/* The runs as the report needs them. */
struct view {
    struct trend_run *runs;     /* owned */
    char (*labels)[JOBID_TEXT]; /* owned */
    size_t n;
};

static void view_clear(struct view *view)
{
    free(view->runs);
    free(view->labels);
}

static int view_make(const struct runs *runs, struct view *view)
{
    view->runs = calloc(runs->n + 1, sizeof(*view->runs));
    view->labels = calloc(runs->n + 1, sizeof(*view->labels));
    if (!view->runs || !view->labels)
        return -ENOMEM;
    for (view->n = 0; view->n < runs->n; view->n++) {
        const struct run *run = &runs->items[view->n];

        view->runs[view->n] =
            (struct trend_run){runs_label(run->row.jobid, run->row.array_job, run->row.array_task,
                                          run->row.restart, view->labels[view->n]),
                               run->row.start_ns, &run->profile};
    }
    return 0;
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static struct json_object *run_json(struct tree *t, const struct run *run, const struct view *view,
                                    size_t i)
{
    struct json_object *o = profile_json(&run->profile);

    tree_put_u64(t, o, "jobid", run->row.jobid);
    tree_put_u64(t, o, "restart", run->row.restart);
    tree_put_seconds(t, o, "start_s", run->row.start_ns);
    if (run->row.array_job) {
        tree_put_u64(t, o, "array_jobid", run->row.array_job);
        tree_put_u64(t, o, "array_task", run->row.array_task);
    }
    trend_json(view->runs, view->n, i, t, o);
    return o;
}

static int print_json(const struct runs *runs, const struct view *view, const char *name,
                      const char *sentence)
{
    struct tree tree = {false}, *t = &tree;
    struct json_object *document = tree_object(t), *array = tree_array(t);

    tree_put_u64(t, document, "version", 1);
    tree_put_text(t, document, "name", name);
    for (size_t i = 0; i < runs->n; i++)
        tree_add(t, array, run_json(t, &runs->items[i], view, i));
    tree_put(t, document, "runs", array);
    tree_put_text(t, document, "text", sentence);
    return output_tree(t, document);
}

/* --- the command ------------------------------------------------------------------------------ */

static int print_runs(const struct runs *runs, const struct trend_options *options,
                      struct error *error)
{
    const struct trend_style style = {terminal_columns(), terminal_utf8()};
    CLEANUP(view_clear) struct view view = {NULL, NULL, 0};
    _free_ char *text = NULL;
    int rc = view_make(runs, &view);

    output_is_document(options->json);
    if (rc == 0)
        text = options->json ? trend_sentence(view.runs, view.n)
                             : trend_text(view.runs, view.n, &style);
    if (!text)
        rc = -ENOMEM;
    if (rc == 0 && options->json)
        rc = print_json(runs, &view, options->name, text);
    else if (rc == 0)
        output_text(text);
    return rc < 0 ? error_errno(error, rc, "write the answer") : 0;
}

/* Runs of several users have no trend: restricts them to the user of the newest. */
static int get_runs(struct source *source, const struct trend_options *options,
                    struct runs_wanted *wanted, struct runs *runs, struct error *error)
{
    char uid[16];
    int rc = runs_get(source, wanted, runs, error);
    bool mixed = false;

    for (size_t i = 1; rc == 0 && i < runs->n; i++)
        mixed |= runs->items[i].row.uid != runs->items[0].row.uid;
    if (!mixed || options->user)
        return rc;
    (void)snprintf(uid, sizeof(uid), "%u", runs->items[runs->n - 1].row.uid);
    runs_clear(runs);
    wanted->user = uid;
    return runs_get(source, wanted, runs, error);
}

static int trend_show(const struct cli *cli, const struct trend_options *options,
                      struct runs_wanted *wanted)
{
    CLEANUP(source_closep) struct source *source = NULL;
    CLEANUP(runs_clear) struct runs runs = {NULL, 0};
    struct error error;
    int rc = source_open(cli, &source, &error);

    if (rc == 0)
        rc = get_runs(source, options, wanted, &runs, &error);
    if (rc == 0 && runs.n == 0)
        rc = error_set(&error, -ENOENT,
                       "no finished run of \"%s\" is known here ('jobio history --group "
                       "name' lists names)",
                       options->name);
    if (rc == 0) {
        pager_start(cli);
        rc = print_runs(&runs, options, &error);
    }
    if (rc < 0)
        output_error("%s", error.text);
    return rc < 0 ? CLI_FAILED : CLI_OK;
}

static int parse_wanted(const struct trend_options *options, struct runs_wanted *ret,
                        struct error *error)
{
    uint64_t since_ns;

    if (!options->name || !*options->name)
        return error_set(error, -EINVAL,
                         "give the name of a job, for example 'jobio trend -n NAME'");
    if (options->limit > RUNS_MAX)
        return error_set(error, -EINVAL, "-N %u: the maximum is %d", options->limit, RUNS_MAX);
    if (options_time("-S", options->since, &since_ns, error) < 0)
        return -EINVAL;
    *ret = (struct runs_wanted){.name = options->name,
                                .user = options->user,
                                .since_ns = since_ns,
                                .limit = options->limit};
    return 0;
}

static int trend_run(struct cli *cli, int argc, char **argv)
{
    struct trend_options options = {.limit = RUNS};
    const struct option_spec specs[] = {
        {"name", 'n', OPTION_TEXT, &options.name},       {"user", 'u', OPTION_TEXT, &options.user},
        {"starttime", 'S', OPTION_TEXT, &options.since}, {"limit", 'N', OPTION_U32, &options.limit},
        {"json", 0, OPTION_FLAG, &options.json},
    };
    struct runs_wanted wanted;
    struct error error;
    int first, status;

    if (!options_start(cli, &cli_trend, specs, ARRAY_SIZE(specs), OPTIONS_HISTORY, argc, argv,
                       &first, &status))
        return status;
    if (first < argc)
        (void)error_set(&error, -EINVAL, "\"%s\": give the name with -n", argv[first]);
    else if (parse_wanted(&options, &wanted, &error) == 0)
        return trend_show(cli, &options, &wanted);
    output_error("trend: %s", error.text);
    return CLI_USAGE;
}

const struct subcommand cli_trend = {"trend", "how a recurring job develops", help, trend_run};

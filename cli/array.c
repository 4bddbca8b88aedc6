/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/base/jobid.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/pager.h"
#include "cli/source/open.h"
#include "cli/source/source.h"
#include "cli/base/terminal.h"
#include "collector/store/array.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text.h"
#include "report/compare/array.h"

static const char help[] =
    "usage: jobio array ID [--json | --csv] [--from WHERE]\n"
    "Summarize the tasks of a job array: total, minimum, median and maximum, and the task that\n"
    "differs most and why. For a requeued task the newest run is used.\n"
    "\n"
    "      --csv             one line per task\n"
    "      --json            one JSON document\n" OPTIONS_HELP_HISTORY "\n"
    "ID is the ID of the array: 120 for a task 120_3. A node knows the tasks that started there,\n"
    "ClickHouse the tasks of all nodes.\n"
    "\n"
    "Examples:\n"
    "  jobio array 120\n"
    "  jobio array 120 --csv | sort -t, -k6 -n\n"
    "  jobio array 120 --json | jq .slowest_task\n"
    "\n"
    "Exit status: 0 shown, 1 no such array or failed, 2 usage.\n";

struct array_options {
    bool json, csv;
};

/* The tasks of the array, and their sum. */
struct gathered {
    uint32_t jobid;
    struct array_task *tasks; /* owned */
    size_t n, room;
    struct array_sum sum;
    char *cluster, *name, *user; /* owned; of the first task */
    uint32_t uid;
};

static void gathered_clear(struct gathered *g)
{
    free(g->tasks);
    array_sum_clear(&g->sum);
    free(g->cluster);
    free(g->name);
    free(g->user);
}

static int no_memory(struct error *error)
{
    return error_errno(error, -ENOMEM, "read the answer");
}

static int make_room(struct gathered *g)
{
    size_t room = g->room ? 2 * g->room : 64;
    struct array_task *grown;

    if (g->n < g->room)
        return 0;
    grown = reallocarray(g->tasks, room, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    g->tasks = grown;
    g->room = room;
    return 0;
}

static int take_first(struct gathered *g, const struct history_row *row, struct error *error)
{
    g->uid = row->uid;
    return text_copy(&g->cluster, row->cluster) < 0 || text_copy(&g->name, row->name) < 0 ||
                   text_copy(&g->user, row->user) < 0
               ? no_memory(error)
               : 0;
}

static void add_task(struct gathered *g, const struct history_row *row)
{
    double wait = row->elapsed_ns ? (double)row->longest_wait_ns / (double)row->elapsed_ns : 0;

    g->tasks[g->n++] = (struct array_task){
        .task = row->array_task,
        .jobid = row->jobid,
        .ended = row->ended,
        .slurm_state = row->slurm.state,
        .complete = row->complete,
        .values = {[ARRAY_ELAPSED] = (double)row->elapsed_ns / NS_PER_S,
                   [ARRAY_WAITING] = wait < 1 ? wait : 1,
                   [ARRAY_READ] = (double)row->reads.bytes,
                   [ARRAY_WRITTEN] = (double)row->writes.bytes,
                   [ARRAY_META] = (double)row->meta.requests,
                   [ARRAY_ERRORS] = (double)row->errors},
    };
}

/* The source may need several queries; the number may be reused for a new array in between. */
static int take_task(const struct history_row *row, void *arg, struct error *error)
{
    struct gathered *g = arg;

    if (make_room(g) < 0)
        return no_memory(error);
    if (g->n == 0 && take_first(g, row, error) < 0)
        return -ENOMEM;
    if (row->uid != g->uid || strcmp(row->cluster ?: "", g->cluster ?: "") != 0)
        return error_set(error, -EAGAIN, "array ID %u was reused while it was read: try again",
                         g->jobid);
    add_task(g, row);
    return 0;
}

static int take_sum(const struct job_account *sum, void *arg, struct error *error)
{
    struct gathered *g = arg;

    return array_sum_add(&g->sum, sum) < 0 ? no_memory(error) : 0;
}

/* Find where the slowest task waited; left out if that is not known. */
static void ask_why(struct source *source, struct array *array, struct profile *profile)
{
    struct job_account *job = NULL;
    const struct array_task *task = array_slowest(array);
    const struct jobid id = {.job = array->jobid, .has_task = true, .task = task ? task->task : 0};
    struct error error;

    if (task && source_job(source, &id, 0, &job, &error) == 0 && profile_make(job, profile) == 0)
        (void)profile_longest(profile, &array->worst_mount, &array->worst_kind);
    job_account_destroy(job);
}

static int print_array(const struct array *array, const struct array_options *options)
{
    _free_ char *text = NULL;

    output_is_document(options->json);
    if (options->json)
        return output_json_and_release(array_json(array));
    if (options->csv) {
        array_csv(array, stdout);
        return 0;
    }
    text = array_text(array, terminal_columns());
    if (text)
        output_text(text);
    return text ? 0 : -ENOMEM;
}

static int show_gathered(const struct cli *cli, struct source *source, const struct gathered *g,
                         const struct array_options *options, struct error *error)
{
    CLEANUP(profile_clear) struct profile sum = {0};
    CLEANUP(profile_clear) struct profile worst = {0};
    struct array array = {.jobid = g->jobid,
                          .name = g->name,
                          .user = g->user,
                          .tasks = g->tasks,
                          .n = g->n,
                          .sum = &sum};

    if (profile_make(g->sum.job, &sum) < 0 || array_sum_up(&array) < 0)
        return error_errno(error, -ENOMEM, "write the answer");
    if (!options->csv)
        ask_why(source, &array, &worst);
    pager_start(cli);
    return print_array(&array, options) < 0 ? error_errno(error, -ENOMEM, "write the answer") : 0;
}

static int array_show(const struct cli *cli, uint32_t jobid, const struct array_options *options)
{
    CLEANUP(source_closep) struct source *source = NULL;
    CLEANUP(gathered_clear) struct gathered g = {.jobid = jobid};
    const struct array_reader reader = {take_task, take_sum, &g};
    struct error error;
    int rc = source_open(cli, &source, &error);

    if (rc == 0 && array_sum_create(&g.sum) < 0)
        rc = no_memory(&error);
    if (rc == 0)
        rc = source_array(source, jobid, &reader, &error);
    if (rc == 0 && g.n == 0)
        rc =
            error_set(&error, -ENOENT, "no such array: %u (one job: 'jobio job %u')", jobid, jobid);
    if (rc == 0)
        rc = show_gathered(cli, source, &g, options, &error);
    if (rc < 0)
        output_error("%s", error.text);
    return rc < 0 ? CLI_FAILED : CLI_OK;
}

static int array_run(struct cli *cli, int argc, char **argv)
{
    struct array_options options = {false, false};
    const struct option_spec specs[] = {{"csv", 0, OPTION_FLAG, &options.csv},
                                        {"json", 0, OPTION_FLAG, &options.json}};
    int first, status;
    uint32_t jobid;

    if (!options_start(cli, &cli_array, specs, ARRAY_SIZE(specs), OPTIONS_HISTORY, argc, argv,
                       &first, &status))
        return status;
    if (argc - first != 1) {
        output_error("array: give the ID of one array, for example 'jobio array 120'");
        return CLI_USAGE;
    }
    if (options_number(argv[first], &jobid) < 0) {
        output_error("array: \"%s\" is not an array ID: use 120 for the tasks 120_0, 120_1..."
                     "",
                     argv[first]);
        return CLI_USAGE;
    }
    if (options.json && options.csv) {
        output_error("array: use either --json or --csv");
        return CLI_USAGE;
    }
    return array_show(cli, jobid, &options);
}

const struct subcommand cli_array = {"array", "a summary of the tasks of a job array", help,
                                     array_run};

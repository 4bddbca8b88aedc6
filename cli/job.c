/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cli/base/labels.h"
#include "cli/base/cli.h"
#include "cli/job_part.h"
#include "cli/base/jobid.h"
#include "cli/base/notes.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/page.h"
#include "cli/base/pager.h"
#include "cli/source/source.h"
#include "cli/base/terminal.h"
#include "common/cleanup.h"
#include "report/json/json.h"
#include "report/text/text.h"
#include "report/text/timeline.h"

static const char help[] =
    "usage: jobio job ID[_TASK][.STEP] [--all] [--full] [--nodes] [--steps] [--json | --csv]\n"
    "       jobio job ID[_TASK][.STEP] --html FILE [--from WHERE]\n"
    "What a job did: its I/O by mount. Of a requeued job the newest run.\n"
    "\n"
    "      --all             earlier runs of that number too, newest first\n"
    "      --full            every mount and every operation\n"
    "      --ops             the same\n"
    "      --html FILE       all of it as one page for a browser, with charts (- is stdout)\n"
    "      --json            one JSON document; with --all an array of them\n"
    "      --csv             exact numbers, a line a mount and operation; with --steps each step\n"
    "      --anonymous       labels in place of names, for others to read (see jobio(1))\n"
    "      --nodes           each node too, and how evenly they share the work\n"
    "      --steps           each step on each node too; in JSON with its whole account\n"
    "      --timeline        when it did that: a curve a mount; in JSON the "
    "numbers\n" OPTIONS_HELP_HISTORY "\n"
    "Columns. read, write: bytes in all, a second on average (mean/s) and in the busiest time\n"
    "(peak/s; >=peak: at least that, of a job on several nodes); calls: reads and writes; ~size:\n"
    "half of them were of at most that (powers of two); meta: metadata calls (open, stat,\n"
    "unlink...); errs: calls that failed; wait: share of the run time. KiB, MiB, GiB are powers\n"
    "of 1024; k, M of counts powers of 1000.\n"
    "\n"
    "Examples:\n"
    "  jobio job 123\n"
    "  jobio job 123_4\n"
    "  jobio job 123.0\n"
    "  jobio job 123.batch\n"
    "  jobio job 123 --full\n"
    "  jobio job 123 --nodes\n"
    "  jobio job 123 --timeline\n"
    "  jobio job 123 --all\n"
    "  jobio job 123 --html job123.html\n"
    "  jobio job 123 --json | jq .mounts\n"
    "\n"
    "Exit status: 0 shown, 1 no such job or failed, 2 usage.\n";

struct job_options {
    bool all, full, json, csv, anonymous, nodes, steps, timeline;
    const char *html;
};

/* The runs that are shown, and what the rules of advice say of each. */
struct answer {
    struct json_object *jobs;
    struct advice_notes *notes; /* n of them; of programs' formats: none */
    size_t n;
};

static void answer_clear(struct answer *answer)
{
    for (size_t i = 0; i < answer->n; i++)
        advice_notes_clear(&answer->notes[i]);
    free(answer->notes);
    json_object_put(answer->jobs);
}

/* Takes the text over. */
static int put_text(char *text, struct error *error)
{
    if (!text)
        return error_errno(error, -ENOMEM, "write the summary");
    output_text(text);
    free(text);
    return 0;
}

/* The summary says of which job it is, not of which step. */
static void print_step(struct json_object *document)
{
    const char *step = job_step_name(document);

    if (step)
        (void)printf("Step %s only, on all its nodes\n", step);
}

static int print_text(struct json_object *document, const struct advice_notes *notes,
                      const struct job_options *options, struct error *error)
{
    enum summary summary = options->full ? SUMMARY_FULL : SUMMARY_SHORT;
    unsigned columns = terminal_columns();
    const struct text_style style = {
        .notes = notes,
        .colour = terminal_colour(),
        .columns = columns < TERMINAL_COLUMNS_DEFAULT ? columns : TERMINAL_COLUMNS_DEFAULT,
    };
    struct job_account *job = NULL;
    int rc = report_json_parse(document, &job, error);

    if (rc == 0)
        print_step(document);
    if (rc == 0)
        rc = put_text(report_text(job, summary, &style), error);
    if (rc == 0 && options->timeline)
        rc = put_text(report_timeline_text(job, columns, terminal_utf8()), error);
    if (rc == 0 && options->nodes && !options->full)
        rc = put_text(report_nodes_text(job, style.columns), error);
    if (rc == 0 && options->steps && !options->full)
        rc = put_text(report_steps_text(job, style.columns), error);
    job_account_destroy(job);
    return rc;
}

static int write_page(struct json_object *document, const struct advice_notes *notes,
                      const struct job_options *options, struct error *error)
{
    struct page page = {
        .notes = notes, .step = job_step_name(document), .undated = options->anonymous};
    struct job_account *job = NULL;
    int rc = report_json_parse(document, &job, error);

    page.job = job;
    if (rc == 0)
        rc = page_write(&page, options->html, error);
    job_account_destroy(job);
    return rc;
}

static int print_csv(struct json_object *jobs, bool steps, struct error *error)
{
    int rc = 0;

    job_csv_header(stdout);
    for (size_t i = 0; rc == 0 && i < json_object_array_length(jobs); i++)
        rc = job_csv(json_object_array_get_idx(jobs, i), steps, stdout, error);
    return rc;
}

static int print_jobs(const struct answer *answer, const struct job_options *options,
                      struct error *error)
{
    struct json_object *jobs = answer->jobs;
    int rc = 0;

    if (options->html)
        return write_page(json_object_array_get_idx(jobs, 0), &answer->notes[0], options, error);
    if (options->csv)
        return print_csv(jobs, options->steps, error);
    if (options->json) {
        output_json(options->all ? jobs : json_object_array_get_idx(jobs, 0));
        return 0;
    }
    for (size_t i = 0; rc == 0 && i < answer->n; i++) {
        if (i > 0)
            output_text("\n");
        rc = print_text(json_object_array_get_idx(jobs, i), &answer->notes[i], options, error);
    }
    return rc;
}

/* What the answer must have for that. */
static unsigned wanted(const struct job_options *options)
{
    bool full = options->html || (options->full && !options->json);

    return (options->steps || options->nodes || full ? REPORT_STEPS : 0) |
           (options->timeline || full ? REPORT_TIMELINE : 0);
}

/* The documents of all runs to those of one step. */
static int keep_step(struct json_object **jobs, const struct jobid *id, unsigned flags,
                     struct error *error)
{
    struct json_object *steps = json_object_new_array();
    int rc = steps ? 0 : error_errno(error, -ENOMEM, "sum the step up");

    for (size_t i = 0; rc == 0 && i < json_object_array_length(*jobs); i++) {
        struct json_object *document = NULL;

        rc = job_step(json_object_array_get_idx(*jobs, i), id, flags, &document, error);
        if (rc == 0 && json_object_array_add(steps, document) < 0)
            rc = error_errno(error, -ENOMEM, "sum the step up");
        else if (rc == -ENOENT && json_object_array_length(*jobs) > 1)
            rc = 0; /* another run has it, or none */
    }
    if (rc == 0 && json_object_array_length(steps) == 0)
        rc = error_set(error, -ENOENT, "no such step in any run of job %u", id->job);
    json_object_put(*jobs);
    *jobs = steps;
    return rc;
}

/* By the account with all its names: rules look at them. */
static int take_notes(const struct job_options *options, struct answer *answer, struct error *error)
{
    size_t n = json_object_array_length(answer->jobs);

    if (options->json || options->csv)
        return 0;
    output_is_document(options->html);
    answer->notes = calloc(n + 1, sizeof(*answer->notes));
    if (!answer->notes)
        return error_errno(error, -ENOMEM, "write the notes");
    while (answer->n < n) {
        struct job_account *job = NULL;
        int rc = report_json_parse(json_object_array_get_idx(answer->jobs, answer->n), &job, error);

        if (rc < 0)
            return rc;
        notes_of(job, options->html ? PAGE_NOTES : NOTES_MAX, &answer->notes[answer->n++]);
        job_account_destroy(job);
    }
    return 0;
}

static int hide_names(struct answer *answer, struct error *error)
{
    struct labels *labels = labels_create(0);
    int rc = labels ? labels_documents(labels, answer->jobs) : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < answer->n; i++)
        rc = labels_notes(labels, &answer->notes[i]);
    (void)setenv("TZ", "UTC", 1);
    tzset();
    labels_destroy(labels);
    return rc < 0 ? error_errno(error, rc, "find other names") : 0;
}

static bool is_spread(struct json_object *jobs)
{
    for (size_t i = 0; i < json_object_array_length(jobs); i++) {
        struct json_object *job = json_object_array_get_idx(jobs, i), *nodes, *reported;

        if (json_object_object_get_ex(job, "nodes", &nodes) &&
            json_object_object_get_ex(nodes, "reported", &reported) &&
            json_object_get_int64(reported) > 1)
            return true;
    }
    return false;
}

/* The rules that compare nodes need what each of them did, which is asked of few jobs: most have
 * one node. */
static int ask_again(const struct cli *cli, const struct jobid *id,
                     const struct job_options *options, struct json_object **jobs,
                     struct error *error)
{
    unsigned flags = wanted(options);
    struct json_object *whole = NULL;
    int rc;

    if (options->json || options->csv || flags & REPORT_STEPS || id->has_step || !is_spread(*jobs))
        return 0;
    rc = source_jobs(cli, id, options->all, flags | REPORT_STEPS, &whole, error);
    if (rc < 0)
        return rc;
    json_object_put(*jobs);
    *jobs = whole;
    return 0;
}

static int job_get(const struct cli *cli, const struct jobid *id, const struct job_options *options,
                   struct answer *ret, struct error *error)
{
    unsigned flags = wanted(options) | (id->has_step ? REPORT_STEPS : 0);
    struct jobid job = *id;
    int rc = source_jobs(cli, id, options->all, flags, &ret->jobs, error);

    if (rc == 0)
        rc = ask_again(cli, id, options, &ret->jobs, error);
    job.has_step = false;
    if (rc == 0 && json_object_array_length(ret->jobs) == 0)
        rc = jobid_unknown(&job, error);
    if (rc == 0 && id->has_step)
        rc = keep_step(&ret->jobs, id, wanted(options), error);
    if (rc == 0)
        rc = take_notes(options, ret, error);
    if (rc == 0 && options->anonymous)
        rc = hide_names(ret, error);
    return rc;
}

static int job_show(const struct cli *cli, const struct jobid *id,
                    const struct job_options *options)
{
    CLEANUP(answer_clear) struct answer answer = {NULL, NULL, 0};
    struct error error;
    int rc = job_get(cli, id, options, &answer, &error);

    if (rc == 0) {
        if (!options->html)
            pager_start(cli);
        rc = print_jobs(&answer, options, &error);
    }
    if (rc < 0)
        output_error("%s", error.text);
    return rc < 0 ? CLI_FAILED : CLI_OK;
}

static int job_run(struct cli *cli, int argc, char **argv)
{
    struct job_options options = {0};
    const struct option_spec specs[] = {
        {"all", 0, OPTION_FLAG, &options.all},
        {"full", 0, OPTION_FLAG, &options.full},
        {"ops", 0, OPTION_FLAG, &options.full},
        {"html", 0, OPTION_TEXT, &options.html},
        {"json", 0, OPTION_FLAG, &options.json},
        {"csv", 0, OPTION_FLAG, &options.csv},
        {"anonymous", 0, OPTION_FLAG, &options.anonymous},
        {"nodes", 0, OPTION_FLAG, &options.nodes},
        {"steps", 0, OPTION_FLAG, &options.steps},
        {"timeline", 0, OPTION_FLAG, &options.timeline},
    };
    int first, status;
    struct error error;
    struct jobid id;

    if (!options_start(cli, &cli_job, specs, ARRAY_SIZE(specs), OPTIONS_HISTORY, argc, argv, &first,
                       &status))
        return status;
    if (argc - first != 1) {
        output_error("job: give one job number, as in 'jobio job 123'");
        return CLI_USAGE;
    }
    if (options.html && (options.all || options.json || options.csv)) {
        output_error("job: --html makes a page of one run: not with --all, --json or --csv");
        return CLI_USAGE;
    }
    if (options.json && options.csv) {
        output_error("job: --json or --csv, not both");
        return CLI_USAGE;
    }
    if (jobid_parse(argv[first], &id, &error) == 0)
        return job_show(cli, &id, &options);
    output_error("job: %s", error.text);
    return CLI_USAGE;
}

const struct subcommand cli_job = {"job", "the account of one job", help, job_run};

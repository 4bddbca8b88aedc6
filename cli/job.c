/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/labels.h"
#include "cli/cli.h"
#include "cli/job_part.h"
#include "cli/base/jobid.h"
#include "cli/base/notes.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/page.h"
#include "cli/base/pager.h"
#include "cli/slurm_record.h"
#include "cli/source/jobiod.h"
#include "cli/source/open.h"
#include "cli/source/parts.h"
#include "cli/source/source.h"
#include "cli/base/terminal.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/tree.h"
#include "report/json/json.h"
#include "report/text/block.h"
#include "report/text/stacks.h"
#include "report/text/mpi.h"
#include "report/text/text.h"
#include "report/text/timeline.h"

static const char help[] =
    "usage: jobio job ID[_TASK][.STEP] [--all] [--full] [--mpi] [--block] [--nodes] [--steps]\n"
    "       [--stacks] [--json | --csv]\n"
    "       jobio job ID[_TASK][.STEP] --stacks=folded\n"
    "       jobio job ID[_TASK][.STEP] --html FILE [--from WHERE]\n"
    "Show the I/O of a job by mount. For a requeued job, the newest run is shown.\n"
    "\n"
    "      --all             also earlier runs of that number, newest first\n"
    "      --full            every mount and every operation\n"
    "      --ops             the same as --full\n"
    "      --html FILE       write everything as one HTML page with charts (-: stdout)\n"
    "      --json            one JSON document; with --all an array of them\n"
    "      --csv             exact numbers, one line per mount and operation; with --steps\n"
    "                        also per step and node\n"
    "      --anonymous       replace names by labels, to share the output (see jobio(1))\n"
    "      --mpi             also the calls of MPI-IO, by class of function, if they were counted\n"
    "      --block           also the requests to disks, by device, if they were counted\n"
    "      --stacks          also which code waited: the functions of the calls that took long,\n"
    "                        if they were recorded; =folded: only that, for flame graphs\n"
    "      --nodes           also each node, and how evenly the I/O is distributed\n"
    "      --steps           also each step on each node; in JSON with its full account\n"
    "      --timeline        I/O over time: a curve per mount; in JSON the "
    "numbers\n" OPTIONS_HELP_HISTORY "\n"
    "Columns: read, write: bytes in total, per second on average (mean/s) and in the busiest "
    "interval\n"
    "(peak/s; >=peak: at least that, for a job on several nodes); calls: reads and writes; ~size:\n"
    "their median size, rounded up to a power of two; meta: metadata calls (open, stat,\n"
    "unlink...); errs: failed calls, without look-ups that found nothing; wait: share of the run\n"
    "time. KiB, MiB, GiB are powers of 1024; k, M of counts powers of 1000.\n"
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
    bool all, full, json, csv, anonymous, mpi, block, nodes, steps, timeline;
    const char *stacks; /* NULL: without them; "": as text; "folded" */
    const char *html;
};

/* The runs that are shown. */
struct answer {
    struct job_account **jobs; /* owned; NULL-terminated, newest first */
    size_t n;
    struct advice_notes *notes; /* owned; of each run; not for JSON and CSV */
    size_t n_notes;
    bool elsewhere; /* as in struct source */
    char step_name[16];
    const char *step; /* the accounts are of this step; NULL: of the whole job */
};

static void answer_clear(struct answer *answer)
{
    for (size_t i = 0; i < answer->n_notes; i++)
        advice_notes_clear(&answer->notes[i]);
    free(answer->notes);
    store_jobs_free(answer->jobs);
}

/* --- output ----------------------------------------------------------------------------------- */

/* Takes ownership of the text. */
static int put_text(char *text, struct error *error)
{
    if (!text)
        return error_errno(error, -ENOMEM, "write the summary");
    output_text(text);
    free(text);
    return 0;
}

/* One of several runs with the same number: which one. */
static void print_run(const struct job_account *job, bool undated)
{
    time_t seconds = (time_t)(job->start_ns / NS_PER_S);
    char when[48] = "";
    struct tm tm;

    if (!undated && localtime_r(&seconds, &tm))
        (void)strftime(when, sizeof(when), ", started %FT%T", &tm);
    if (job->key.restart)
        (void)printf("Restart %u%s:\n", job->key.restart, when);
    else
        (void)printf("First run%s:\n", when);
}

static int print_text(const struct answer *answer, size_t i, const struct job_options *options,
                      struct error *error)
{
    const struct job_account *job = answer->jobs[i];
    enum summary summary = options->full ? SUMMARY_FULL : SUMMARY_SHORT;
    unsigned columns = terminal_columns();
    const struct text_style style = {
        .notes = &answer->notes[i],
        .colour = terminal_colour(),
        .columns = columns < TERMINAL_COLUMNS_DEFAULT ? columns : TERMINAL_COLUMNS_DEFAULT,
    };
    int rc;

    if (i > 0)
        output_text("\n");
    if (answer->n > 1)
        print_run(job, options->anonymous);
    if (answer->step) /* the summary names the job only */
        (void)printf("Step %s only, on all its nodes\n", answer->step);
    rc = put_text(report_text(job, summary, &style), error);
    if (rc == 0 && options->mpi && !(options->full && job_has_mpi(job)))
        rc = put_text(report_mpi_text(job, style.columns), error);
    if (rc == 0 && options->block && !(options->full && job->block))
        rc = put_text(report_block_text(job, style.columns), error);
    if (rc == 0 && options->stacks)
        rc = put_text(report_stacks_of_job(job), error);
    if (rc == 0 && options->timeline)
        rc = put_text(report_timeline_text(job, columns, terminal_utf8()), error);
    if (rc == 0 && options->nodes && !options->full)
        rc = put_text(report_nodes_text(job, style.columns), error);
    if (rc == 0 && options->steps && !options->full)
        rc = put_text(report_steps_text(job, style.columns), error);
    return rc;
}

static int write_page(const struct answer *answer, const struct job_options *options,
                      struct error *error)
{
    const struct page page = {
        .job = answer->jobs[0],
        .notes = &answer->notes[0],
        .step = answer->step,
        .undated = options->anonymous,
    };

    return page_write(&page, options->html, error);
}

static int print_csv(const struct answer *answer, bool steps)
{
    int rc = 0;

    job_csv_header(stdout);
    for (size_t i = 0; rc == 0 && i < answer->n; i++)
        rc = job_csv(answer->jobs[i], answer->step, steps, stdout);
    return rc;
}

static int print_json(const struct answer *answer, const struct job_options *options)
{
    unsigned flags = (options->steps || options->nodes ? REPORT_STEPS : 0) |
                     (options->timeline ? REPORT_TIMELINE : 0) |
                     (options->stacks ? REPORT_STACKS : 0);
    struct tree tree = {false};
    struct json_object *array;

    if (!options->all)
        return output_json_and_release(job_json(answer->jobs[0], flags, answer->step));
    array = tree_array(&tree);
    for (size_t i = 0; i < answer->n; i++)
        tree_add(&tree, array, job_json(answer->jobs[i], flags, answer->step));
    return output_tree(&tree, array);
}

static bool is_folded(const struct job_options *options)
{
    return options->stacks && !strcmp(options->stacks, "folded");
}

static int print_folded(const struct job_account *job, struct error *error)
{
    int rc = job->stacks ? report_stacks_folded(job->stacks, stdout) : -ENODATA;

    if (rc == -ENODATA)
        return error_set(error, rc, STACKS_NOT_RECORDED);
    return rc < 0 ? error_errno(error, rc, "write the stacks") : 0;
}

static int print_jobs(const struct answer *answer, const struct job_options *options,
                      struct error *error)
{
    int rc = 0;

    if (options->html)
        return write_page(answer, options, error);
    if (options->csv || options->json) {
        rc = options->csv ? print_csv(answer, options->steps) : print_json(answer, options);
        return rc < 0 ? error_errno(error, rc, "write the account") : 0;
    }
    if (is_folded(options))
        return print_folded(answer->jobs[0], error);
    for (size_t i = 0; rc == 0 && i < answer->n; i++)
        rc = print_text(answer, i, options, error);
    return rc;
}

/* --- the accounts ----------------------------------------------------------------------------- */

/* The parts of the accounts that the output needs. */
static unsigned wanted(const struct job_options *options)
{
    bool full = options->html || (options->full && !options->json);

    return (options->steps || options->nodes || full ? SOURCE_STEPS : 0) |
           (options->timeline || full ? SOURCE_TIMELINES : 0) |
           (options->stacks || (options->html && !options->anonymous) ? SOURCE_STACKS : 0);
}

/* Reduce all runs to one step; runs without that step are dropped. */
static int keep_step(struct answer *answer, const struct jobid *id, struct error *error)
{
    size_t n = answer->n;
    int rc = 0;

    answer->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct job_account *job = TAKE_PTR(answer->jobs[i]);

        rc = rc < 0 ? rc : job_keep_step(job, id, error);
        if (rc == 0)
            answer->jobs[answer->n++] = job;
        else
            job_account_destroy(job);
        if (rc == -ENOENT && n > 1)
            rc = 0;
    }
    if (rc == 0 && answer->n == 0)
        rc = error_set(error, -ENOENT, "no such step in any run of job %u", id->job);
    answer->step = step_format(id->step, answer->step_name);
    return rc;
}

/* Called before names become labels: the rules may test names. */
static int take_notes(const struct job_options *options, struct answer *answer, struct error *error)
{
    if (options->json || options->csv)
        return 0;
    output_is_document(options->html);
    answer->notes = calloc(answer->n + 1, sizeof(*answer->notes));
    if (!answer->notes)
        return error_errno(error, -ENOMEM, "write the notes");
    for (; answer->n_notes < answer->n; answer->n_notes++)
        notes_for_job(answer->jobs[answer->n_notes], options->html ? PAGE_NOTES : NOTES_MAX,
                      &answer->notes[answer->n_notes]);
    return 0;
}

static int hide_names(struct answer *answer, struct error *error)
{
    struct labels *labels = labels_create(0);
    int rc = labels ? labels_jobs(labels, answer->jobs, answer->n) : -ENOMEM;

    for (size_t i = 0; rc == 0 && i < answer->n_notes; i++)
        rc = labels_notes(labels, &answer->notes[i]);
    (void)setenv("TZ", "UTC", 1);
    tzset();
    labels_destroy(labels);
    return rc < 0 ? error_errno(error, rc, "replace names by labels") : 0;
}

static size_t count(struct job_account **jobs)
{
    size_t n = 0;

    while (jobs[n])
        n++;
    return n;
}

static bool has_nodes(const struct answer *answer)
{
    for (size_t i = 0; i < answer->n; i++)
        if (answer->jobs[i]->nodes_reported > 1)
            return true;
    return false;
}

/* Nodes are compared by the steps. Most jobs have one node, so steps are only requested for the
 * others. */
static int ask(struct source *source, const struct jobid *id, const struct job_options *options,
               struct answer *ret, struct error *error)
{
    unsigned parts = wanted(options) | (id->has_step ? SOURCE_STEPS : 0);
    int rc = source_jobs(source, id, options->all, parts, &ret->jobs, error);

    ret->n = rc == 0 ? count(ret->jobs) : 0;
    if (rc < 0 || options->csv || parts & SOURCE_STEPS || !has_nodes(ret))
        return rc;
    store_jobs_free(TAKE_PTR(ret->jobs));
    rc = source_jobs(source, id, options->all, parts | SOURCE_STEPS, &ret->jobs, error);
    ret->n = rc == 0 ? count(ret->jobs) : 0;
    return rc;
}

static int job_get(const struct cli *cli, const struct jobid *id, const struct job_options *options,
                   struct answer *ret, struct error *error)
{
    CLEANUP(source_closep) struct source *source = NULL;
    struct jobid job = *id;
    int rc = source_open(cli, &source, error);

    if (rc == 0)
        rc = ask(source, id, options, ret, error);
    ret->elsewhere = source && source->elsewhere;
    job.has_step = false;
    if (rc == 0 && ret->n == 0)
        rc = jobid_unknown(&job, error);
    if (rc == 0 && id->has_step)
        rc = keep_step(ret, id, error);
    for (size_t i = 0; rc == 0 && id->has_step && !options->json && i < ret->n; i++)
        job_drop_parts(ret->jobs[i], wanted(options));
    if (rc == 0)
        rc = take_notes(options, ret, error);
    if (rc == 0 && options->anonymous)
        rc = hide_names(ret, error);
    return rc;
}

/* There is no jobiod here: print what Slurm knows of the job. The error of jobiod stays if there is
 * nothing. elsewhere: as in struct source. */
static bool show_record(const struct cli *cli, const struct jobid *id, bool elsewhere,
                        const struct job_options *options)
{
    _free_ char *text = NULL;

    if (options->json || options->csv || options->html || options->anonymous || id->has_step ||
        slurm_record_read(cli, id, &text, NULL) < 0)
        return false;
    if (elsewhere)
        output_error("no other host has the job: this is its record in Slurm");
    else
        output_error(
            "jobiod is not running here (no answer on %s): this is the job's record in Slurm",
            cli->socket);
    output_text(text);
    return true;
}

/* No jobiod has the job, or none answers. */
static bool is_missing(const struct answer *answer, int rc)
{
    return answer->n == 0 && (answer->elsewhere ? rc < 0 : jobiod_is_absent(rc) && !answer->jobs);
}

static int job_show(const struct cli *cli, const struct jobid *id,
                    const struct job_options *options)
{
    CLEANUP(answer_clear) struct answer answer = {.jobs = NULL};
    struct error error;
    int rc = job_get(cli, id, options, &answer, &error);

    if (rc == 0) {
        if (!options->html)
            pager_start(cli);
        rc = print_jobs(&answer, options, &error);
    }
    if (is_missing(&answer, rc) && show_record(cli, id, answer.elsewhere, options))
        return CLI_OK;
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
        {"mpi", 0, OPTION_FLAG, &options.mpi},
        {"block", 0, OPTION_FLAG, &options.block},
        {"stacks", 0, OPTION_FORM, &options.stacks},
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
        output_error("job: give one job ID, for example 'jobio job 123'");
        return CLI_USAGE;
    }
    if (options.html && (options.all || options.json || options.csv)) {
        output_error(
            "job: --html writes a page about one run: do not use it with --all, --json or --csv");
        return CLI_USAGE;
    }
    if (options.stacks && *options.stacks && !is_folded(&options)) {
        output_error("job: --stacks is --stacks or --stacks=folded, not \"%.100s\"",
                     options.stacks);
        return CLI_USAGE;
    }
    if (options.stacks && options.anonymous) {
        output_error("job: --stacks shows names: do not use it with --anonymous");
        return CLI_USAGE;
    }
    if (is_folded(&options) && (options.all || options.json || options.csv || options.html)) {
        output_error("job: do not use --stacks=folded with --all, --json, --csv or --html");
        return CLI_USAGE;
    }
    if (options.json && options.csv) {
        output_error("job: use --json or --csv, not both");
        return CLI_USAGE;
    }
    if (jobid_parse(argv[first], &id, &error) == 0)
        return job_show(cli, &id, &options);
    output_error("job: %s", error.text);
    return CLI_USAGE;
}

const struct subcommand cli_job = {"job", "the I/O of one job", help, job_run};

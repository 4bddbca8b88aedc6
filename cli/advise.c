/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/base/jobid.h"
#include "cli/base/notes.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/pager.h"
#include "cli/source/open.h"
#include "cli/source/source.h"
#include "cli/base/terminal.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/tree.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/advice/fields.h"
#include "report/layout.h"
#include "report/table.h"

static const char help[] =
    "usage: jobio advise ID [--fields] [--rules PATH]\n"
    "       jobio advise --dry-run [-S TIME] [-E TIME] [-u USER] [--rules PATH] [--json]\n"
    "Show the advice for a job; or count the past jobs that would have had advice, to test rules\n"
    "before they are used. Rules: /etc/jobio/advice.d (JOBIO_ADVICE); doc/advice.md says\n"
    "how to write one.\n"
    "\n"
    "      --fields          the fields of the job that rules can use\n"
    "      --dry-run         apply the rules to the history\n"
    "  -S, --starttime TIME  jobs that ran after this (default: now-30days)\n"
    "  -E, --endtime TIME    jobs that ran before this (default: now)\n"
    "  -u, --user USER       only jobs of this user (name or number)\n"
    "      --rules PATH      use this file or directory instead of the rules of this machine\n"
    "      --json            one JSON document\n" OPTIONS_HELP_HISTORY "\n"
    "TIME: as in 'jobio history'.\n"
    "\n"
    "Examples:\n"
    "  jobio advise 123\n"
    "  jobio advise 123 --fields | grep read_\n"
    "  jobio advise --dry-run -S now-30days\n"
    "  jobio advise --dry-run --rules ./new.conf -S now-7days\n"
    "\n"
    "Exit status: 0 shown, 1 no such job, an invalid rule, or failed, 2 usage.\n";

struct advise_options {
    const char *since, *until, *rules;
    bool dry_run, fields, json;
};

/* How often one rule matched, and the cost. */
struct tally {
    uint64_t jobs;
    double lost_s, worst_s; /* of the run time of the jobs; of the job that lost most */
    uint32_t worst;         /* that job */
};

/* Limits of one query. */
#define NUMBERS_MAX 100
#define STEPS_MAX 1000

/* A run in the history. */
struct run {
    uint32_t jobid, restart, steps;
    uint64_t start_ns;
};

struct dry_run {
    struct advice *advice;
    struct tally *tallies; /* owned; a rule each */
    struct run *runs;      /* owned; in order */
    size_t n_runs, room;
    uint64_t jobs, told;
    bool rule_failed; /* which has been reported */
};

/* --- one job ---------------------------------------------------------------------------------- */

static void print_note(const struct advice_note *note)
{
    static const char *const words[ADVICE_LEVELS] = {"error", "note", "note"};
    _free_ char *line = NULL;

    if (asprintf(&line, "%s: %s%s%s (rule %s)", words[note->level], note->text,
                 *note->link ? " " : "", note->link, note->rule) < 0) {
        line = NULL;
        return;
    }
    layout_wrap(stdout, line, terminal_columns(), 2, SIZE_MAX);
}

static void print_silence(const struct job_account *job)
{
    _free_ char *why = advice_silence(job), *line = NULL;

    if (asprintf(&line, "no advice: %s", why ? why : "?") < 0)
        line = NULL;
    layout_wrap(stdout, line ? line : "no advice", terminal_columns(), 2, SIZE_MAX);
}

static int print_notes(const struct job_account *job, struct advice *advice, struct error *error)
{
    CLEANUP(advice_notes_clear) struct advice_notes notes = {0};
    int rc = advice_give(advice, job, SIZE_MAX, &notes, error);

    if (rc > 0)
        output_error("%s", error->text);
    for (size_t i = 0; rc >= 0 && i < notes.n; i++)
        print_note(&notes.items[i]);
    if (rc >= 0 && notes.n == 0)
        print_silence(job);
    return rc < 0 ? rc : 0;
}

/* Of one mount, or of the job if `mount` is NULL. */
static int print_fields_of(const struct job_account *job, const struct io_mount *mount,
                           struct error *error)
{
    CLEANUP(advice_fields_clear) struct advice_fields fields = {0};

    if (advice_fields_of(job, mount, &fields) < 0)
        return error_errno(error, -ENOMEM, "list the fields");
    (void)printf("# of = %s\n", mount ? "mount" : "job");
    for (size_t i = 0; i < fields.n; i++) {
        const struct advice_field *f = &fields.items[i];
        _free_ char *text = f->text ? utf8_sanitize(f->text) : NULL;

        if (f->text)
            (void)printf("%s = '%s'\n", f->name, text ? text : "?");
        else
            (void)printf("%s = %.15g\n", f->name, f->number);
    }
    return 0;
}

static int print_fields(const struct job_account *job, struct error *error)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < job->mounts.n; i++)
        rc = print_fields_of(job, &job->mounts.items[i], error);
    return rc < 0 ? rc : print_fields_of(job, NULL, error);
}

static int advise_job(const struct cli *cli, struct source *source, const struct jobid *id,
                      bool fields, struct advice *advice, struct error *error)
{
    struct job_account *job = NULL;
    int rc = source_job(source, id, SOURCE_STEPS, &job, error);

    if (rc < 0)
        return rc;
    pager_start(cli);
    rc = fields ? print_fields(job, error) : print_notes(job, advice, error);
    job_account_destroy(job);
    return rc;
}

/* --- many jobs -------------------------------------------------------------------------------- */

static void count_note(struct dry_run *d, const struct job_account *job,
                       const struct advice_note *note)
{
    bool counts = note->level != ADVICE_ERROR; /* failed calls do not cost time */
    double lost_s = counts ? note->lost * (double)job->elapsed_ns / (double)NS_PER_S : 0;

    for (size_t i = 0; i < advice_count(d->advice); i++) {
        struct tally *tally = &d->tallies[i];

        if (strcmp(advice_rule_name(d->advice, i), note->rule) != 0)
            continue;
        if (!tally->jobs++ || lost_s > tally->worst_s) {
            tally->worst_s = lost_s;
            tally->worst = job->key.jobid;
        }
        tally->lost_s += lost_s;
    }
}

static int compare_runs(const void *a, const void *b)
{
    const struct run *x = a, *y = b;

    if (x->jobid != y->jobid)
        return x->jobid < y->jobid ? -1 : 1;
    if (x->restart != y->restart)
        return x->restart < y->restart ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The number may have other runs, and may have been another user's. */
static bool is_meant(const struct dry_run *d, const struct job_account *job)
{
    const struct run run = {
        .jobid = job->key.jobid, .restart = job->key.restart, .start_ns = job->start_ns};

    return job->ended && bsearch(&run, d->runs, d->n_runs, sizeof(run), compare_runs);
}

static int count_job(const struct job_account *job, void *arg, struct error *error)
{
    CLEANUP(advice_notes_clear) struct advice_notes notes = {0};
    struct dry_run *d = arg;
    int rc;

    if (!is_meant(d, job))
        return 0;
    rc = advice_give(d->advice, job, NOTES_MAX, &notes, error);
    if (rc > 0 && !d->rule_failed)
        output_error("job %u: %s", job->key.jobid, error->text);
    d->rule_failed |= rc > 0;
    d->jobs++;
    d->told += notes.n > 0;
    for (size_t i = 0; i < notes.n; i++)
        count_note(d, job, &notes.items[i]);
    return rc < 0 ? rc : 0;
}

static int take_run(const struct history_row *row, void *arg)
{
    struct dry_run *d = arg;

    if (d->n_runs == d->room) {
        size_t room = d->room ? 2 * d->room : 64;
        struct run *grown = reallocarray(d->runs, room, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        d->runs = grown;
        d->room = room;
    }
    d->runs[d->n_runs++] = (struct run){row->jobid, row->restart, row->steps, row->start_ns};
    return 0;
}

/* The job numbers of the next runs from *at on, without duplicates, as many as one query may
 * have. */
static size_t next_numbers(const struct dry_run *d, size_t *at, uint32_t numbers[NUMBERS_MAX])
{
    uint64_t steps = 0;
    size_t n = 0;

    for (; *at < d->n_runs; ++*at) {
        const struct run *run = &d->runs[*at];
        bool is_new = n == 0 || numbers[n - 1] != run->jobid;

        steps += run->steps;
        if (is_new && n && (n == NUMBERS_MAX || steps > STEPS_MAX))
            break;
        if (is_new)
            numbers[n++] = run->jobid;
    }
    return n;
}

static int count_jobs(struct source *source, const struct history_filter *filter, struct dry_run *d,
                      struct error *error)
{
    int rc = source_history(source, filter, take_run, d, error);

    if (rc == -ENOMEM)
        return error_errno(error, rc, "read the history");
    if (rc == 0 && d->n_runs)
        qsort(d->runs, d->n_runs, sizeof(*d->runs), compare_runs);
    for (size_t at = 0; rc == 0 && at < d->n_runs;) {
        uint32_t numbers[NUMBERS_MAX];
        size_t n = next_numbers(d, &at, numbers);

        rc = source_numbers(source, numbers, n, count_job, d, error);
    }
    return rc;
}

static const struct table_column tally_columns[] = {{"rule", 17, 0, true, 0},
                                                    {"jobs", 8, 0, false, 0},
                                                    {"of all", 9, 65, false, 0},
                                                    {"time lost", 14, 0, false, 0},
                                                    {"most by job", 14, 65, false, 0}};

static void print_tally(struct table *table, const struct dry_run *d, size_t i)
{
    const struct tally *t = &d->tallies[i];
    _free_ char *name = layout_cut(advice_rule_name(d->advice, i), tally_columns[0].width);
    char text[UNITS_SIZE];

    table_cell(table, name ? name : "?");
    table_count(table, t->jobs);
    table_cell(table, units_percent(t->jobs, d->jobs, text));
    table_cell(table, t->lost_s > 0 ? units_elapsed((uint64_t)(t->lost_s * 1e9), text) : "-");
    (void)snprintf(text, sizeof(text), "%u", t->worst);
    table_cell(table, t->lost_s > 0 ? text : "");
    table_end(table);
}

/* "no job: quota, stale", the rules that matched no job. */
static void print_silent(const struct dry_run *d, size_t columns)
{
    const char *between = "no matches: ";
    _free_ char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    for (size_t i = 0; out && i < advice_count(d->advice); i++) {
        _free_ char *name = layout_cut(advice_rule_name(d->advice, i), 60);

        if (d->tallies[i].jobs)
            continue;
        (void)fprintf(out, "%s%s", between, name ? name : "?");
        between = ", ";
    }
    if (out && fclose(out) == 0)
        layout_wrap(stdout, text, columns, 2, SIZE_MAX);
}

static void print_table(const struct dry_run *d)
{
    size_t columns = terminal_columns();
    struct table table = table_make(stdout, tally_columns, ARRAY_SIZE(tally_columns), columns);
    char line[96], told[UNITS_SIZE], jobs[UNITS_SIZE];

    table_titles(&table);
    for (size_t i = 0; i < advice_count(d->advice); i++)
        if (d->tallies[i].jobs)
            print_tally(&table, d, i);
    print_silent(d, columns);
    (void)snprintf(line, sizeof(line),
                   "%s of %s finished jobs would have advice, at most %d notes each",
                   units_count(d->told, told), units_count(d->jobs, jobs), NOTES_MAX);
    layout_wrap(stdout, line, columns, 2, 3);
}

static struct json_object *tally_json(struct tree *t, const char *rule, const struct tally *tally)
{
    struct json_object *o = tree_object(t);

    tree_put_text(t, o, "rule", rule);
    tree_put_u64(t, o, "jobs", tally->jobs);
    tree_put(t, o, "lost_s", json_object_new_double(tally->lost_s));
    if (tally->lost_s > 0)
        tree_put_u64(t, o, "worst_jobid", tally->worst);
    return o;
}

static int print_json(const struct dry_run *d)
{
    struct tree tree = {false}, *t = &tree;
    struct json_object *o = tree_object(t), *rules = tree_array(t);

    tree_put_u64(t, o, "jobs", d->jobs);
    tree_put_u64(t, o, "told", d->told);
    for (size_t i = 0; i < advice_count(d->advice); i++)
        tree_add(t, rules, tally_json(t, advice_rule_name(d->advice, i), &d->tallies[i]));
    tree_put(t, o, "rules", rules);
    return output_tree(t, o);
}

static int dry_run(const struct cli *cli, struct source *source,
                   const struct history_filter *filter, bool json, struct advice *advice,
                   struct error *error)
{
    struct dry_run d = {.advice = advice};
    int rc;

    d.tallies = calloc(advice_count(advice) + 1, sizeof(*d.tallies));
    rc = d.tallies ? count_jobs(source, filter, &d, error)
                   : error_errno(error, -ENOMEM, "count the jobs");
    if (rc == 0)
        pager_start(cli);
    if (rc == 0 && !json)
        print_table(&d);
    else if (rc == 0 && print_json(&d) < 0)
        rc = error_errno(error, -ENOMEM, "write the answer");
    free(d.tallies);
    free(d.runs);
    return rc;
}

/* --- the command ------------------------------------------------------------------------------ */

static int advise(const struct cli *cli, const struct advise_options *options,
                  const struct jobid *id, const struct history_filter *filter)
{
    CLEANUP(source_closep) struct source *source = NULL;
    struct advice *advice = NULL;
    struct error error;
    int mistakes = 0, rc = notes_rules(&advice, options->rules, &mistakes, &error);

    if (rc == 0)
        rc = source_open(cli, &source, &error);
    if (rc == 0)
        rc = options->dry_run ? dry_run(cli, source, filter, options->json, advice, &error)
                              : advise_job(cli, source, id, options->fields, advice, &error);
    advice_destroy(advice);
    if (rc < 0)
        output_error("%s", error.text);
    return rc < 0 || mistakes ? CLI_FAILED : CLI_OK;
}

static int advise_run(struct cli *cli, int argc, char **argv)
{
    struct advise_options options = {.since = "now-30days"};
    struct history_filter filter = {.uid = UINT32_MAX};
    const struct option_spec specs[] = {
        {"fields", 0, OPTION_FLAG, &options.fields},
        {"dry-run", 0, OPTION_FLAG, &options.dry_run},
        {"starttime", 'S', OPTION_TEXT, &options.since},
        {"endtime", 'E', OPTION_TEXT, &options.until},
        {"user", 'u', OPTION_TEXT, &filter.user},
        {"rules", 0, OPTION_TEXT, &options.rules},
        {"json", 0, OPTION_FLAG, &options.json},
    };
    struct error error;
    int first, status;
    struct jobid id = {0};

    if (!options_start(cli, &cli_advise, specs, ARRAY_SIZE(specs), OPTIONS_HISTORY, argc, argv,
                       &first, &status))
        return status;
    if (argc - first != !options.dry_run) {
        output_error("advise: give one job ID, for example 'jobio advise 123', or --dry-run");
        return CLI_USAGE;
    }
    if ((!options.dry_run && jobid_parse(argv[first], &id, &error) < 0) ||
        options_period(options.since, options.until, &filter.since_ns, &filter.until_ns, &error) <
            0) {
        output_error("advise: %s", error.text);
        return CLI_USAGE;
    }
    return advise(cli, &options, &id, &filter);
}

const struct subcommand cli_advise = {"advise", "advice for a job, and tests of the rules", help,
                                      advise_run};

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/labels.h"
#include "cli/cli.h"
#include "cli/base/fields.h"
#include "cli/base/lists.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/pager.h"
#include "cli/source/open.h"
#include "cli/base/terminal.h"
#include "collector/store/history.h"
#include "collector/store/history_json.h"
#include "common/cleanup.h"
#include "common/utf8.h"
#include "report/layout.h"

static const char help[] =
    "usage: jobio history [OPTION]...\n"
    "List the jobs of a period like sacct, one line per job, or sums over groups of jobs. Newest "
    "first.\n"
    "\n"
    "Which jobs (LIST is separated by commas):\n"
    "  -u, --user LIST       of these users (names or UIDs)\n"
    "  -A, --accounts LIST   of these accounts\n"
    "  -r, --partition LIST  of these partitions\n"
    "      --name LIST       with these names\n"
    "  -j, --jobs LIST       these jobs, regardless of time: 123, also for all tasks of an array;\n"
    "                        123_4, 123_[1-4,7]. May be repeated\n"
    "  -N, --nodelist LIST   with a step on one of these nodes: n1, n[1-4]\n"
    "      --mount LIST      that used these mounts; values are for these mounts only\n"
    "  -s, --state LIST      R (running), ended, unknown, or how Slurm ended them, as in sacct:\n"
    "                        CD, F, CA, TO, OOM, NF, ...\n"
    "  -S, --starttime TIME  that ran after this time (default: now-7days)\n"
    "  -E, --endtime TIME    that ran before this time (default: now)\n"
    "\n"
    "Output:\n"
    "      --group WHAT      add up by user, account, partition, name, mount or day\n"
    "      --sort WHAT       read, write (bytes), meta (calls), wait, errors, elapsed, time;\n"
    "                        for groups also jobs. Largest first; -WHAT: smallest first\n"
    "      --limit N         at most N lines (-n N is the same)\n"
    "  -o, --format FIELDS   columns: NAME, NAME%WIDTH or NAME%-WIDTH (left-aligned),...\n"
    "  -l, --long            all columns\n"
    "  -e, --helpformat      list the columns\n"
    "  -n, --noheader        without the line of titles\n"
    "  -p, --parsable        as -P, with a '|' at the end of each line\n"
    "  -P, --parsable2       columns separated by '|', not truncated, exact numbers\n"
    "      --csv             the same as CSV\n"
    "      --json            a JSON array\n"
    "      --anonymous       replace names by labels, to share the output (see jobio(1))\n"
    "  -X, --allocations     for the habits of sacct: there is always one line per job\n"
    "  -a, --allusers        for the habits of sacct: the jobs of all users that you may see are "
    "listed\n"
    "\n"
    "Source:\n" OPTIONS_HELP_HISTORY "\n"
    "TIME: HH:MM[:SS], MMDD[YY], MM/DD[/YY], YYYY-MM-DD[THH:MM[:SS]], now, today, midnight, noon,\n"
    "now-7days, now-2hours, @SECONDS.\n"
    "\n"
    "Examples:\n"
    "  jobio history\n"
    "  jobio history -S now-1days --sort wait --limit 10\n"
    "  jobio history -S now-30days --group user\n"
    "  jobio history --mount /scratch --group user --sort write\n"
    "  jobio history -u alice -S 2026-11-01 -o JobID,JobName%20,Elapsed,Read,Write,Errors\n"
    "  jobio history -j 120_[0-9] -o JobID,Elapsed,Read,Write\n"
    "  jobio history -s F,TO,OOM -o JobID,JobName,State,ExitCode,Elapsed,Write\n"
    "  jobio history -nP -o JobID,User,Read,Write | sort -t'|' -k3 -n\n"
    "\n"
    "Exit status: 0 shown (even if no job matches), 1 failed, 2 usage.\n";

struct history_options {
    const char *since, *until, *format, *sort, *group, *state;
    char *jobs, *nodes; /* owned; the arguments of -j and -N, then the lists of the filter */
    bool parsable, bars, csv, json, list, anonymous, no_header, all_columns, ignored;
};

static void options_clear(struct history_options *options)
{
    free(options->jobs);
    free(options->nodes);
}

/* --- the filter ------------------------------------------------------------------------------- */

static int filter_times(const struct history_options *options, struct history_filter *filter,
                        struct error *error)
{
    const char *from = options->since ? options->since : filter->jobs ? "@0" : "now-7days";

    return options_period(from, options->until, &filter->since_ns, &filter->until_ns, error);
}

static int filter_sort(const char *text, struct history_filter *filter, struct error *error)
{
    int sort = text ? history_sort_parse(text) : (int)(filter->group ? HISTORY_WAIT : HISTORY_TIME);

    if (!text && filter->group == HISTORY_BY_DAY)
        sort = HISTORY_TIME;
    if (text && sort < 0 && (*text == '-' || *text == 'r')) {
        sort = history_sort_parse(text + 1);
        filter->reverse = true;
    }
    if (sort < 0 || (sort == HISTORY_JOBS && !filter->group))
        return error_set(error, -EINVAL,
                         "--sort \"%s\": use read, write, meta, wait, errors, elapsed or time%s",
                         text, filter->group ? ", or jobs" : "");
    filter->sort = (enum history_sort)sort;
    return 0;
}

/* An empty list is a mistake, and jobiod would refuse it as well. */
static int filter_lists(const struct history_filter *filter, struct error *error)
{
    const struct {
        const char *text, *option;
    } lists[] = {
        {filter->user, "--user"},           {filter->account, "--accounts"},
        {filter->partition, "--partition"}, {filter->name, "--name"},
        {filter->mount, "--mount"},         {filter->jobs, "--jobs"},
        {filter->nodes, "--nodelist"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        char **words = NULL;

        if (lists[i].text && history_words(lists[i].text, lists[i].option, &words, error) < 0)
            return -EINVAL;
        history_words_free(words);
    }
    return 0;
}

/* Replace an argument by the list that it describes. */
static int expand(char **text, const char *option,
                  int (*list)(const char *text, char **ret, struct error *error),
                  struct error *error)
{
    char *expanded = NULL;
    int rc = *text ? list(*text, &expanded, error) : 0;

    if (rc < 0)
        return error_prefix(error, rc, "%s", option);
    free(*text);
    *text = expanded;
    return 0;
}

static int filter_make(struct history_options *options, struct history_filter *filter,
                       struct error *error)
{
    int group = options->group ? history_group_parse(options->group) : (int)HISTORY_NO_GROUP;

    if (group < 0)
        return error_set(error, -EINVAL,
                         "--group \"%s\": use user, account, partition, name, mount or day",
                         options->group);
    if (options->state && history_states_parse(options->state, filter, error) < 0)
        return -EINVAL;
    if (expand(&options->jobs, "--jobs", list_of_jobs, error) < 0 ||
        expand(&options->nodes, "--nodelist", list_of_nodes, error) < 0)
        return -EINVAL;
    filter->jobs = options->jobs;
    filter->nodes = options->nodes;
    filter->group = (enum history_group)group;
    if (filter_sort(options->sort, filter, error) < 0 || filter_lists(filter, error) < 0)
        return -EINVAL;
    return filter_times(options, filter, error);
}

/* --- the columns ------------------------------------------------------------------------------ */

static const char *default_format(const struct history_filter *filter, enum table_form form)
{
#define GROUP_SUMS ",Jobs,Elapsed%12,Read,Write,Meta,Errors%7,WaitTime"
    static const char *const groups[] = {
        [HISTORY_BY_USER] = "User%-15" GROUP_SUMS,
        [HISTORY_BY_ACCOUNT] = "Account%-15" GROUP_SUMS,
        [HISTORY_BY_PARTITION] = "Partition%-15" GROUP_SUMS,
        [HISTORY_BY_NAME] = "JobName%-15" GROUP_SUMS,
        [HISTORY_BY_MOUNT] = "Mount%-15" GROUP_SUMS,
        [HISTORY_BY_DAY] = "Day%-15" GROUP_SUMS,
    };

    if (filter->group)
        return groups[filter->group];
    if (form == TABLE_ALIGNED && filter->sort == HISTORY_WAIT)
        return FIELDS_WITH("WaitTime");
    if (form == TABLE_ALIGNED && filter->sort == HISTORY_ERRORS)
        return FIELDS_WITH("Errors");
    return filter->mount && form != TABLE_ALIGNED ? FIELDS_DEFAULT ",Mount" : FIELDS_DEFAULT;
}

/* The column that shows the sort key. */
static const char *const sorted[] = {
    [HISTORY_TIME] = "Start",      [HISTORY_READ] = "Read",     [HISTORY_WRITE] = "Write",
    [HISTORY_META] = "Meta",       [HISTORY_WAIT] = "WaitTime", [HISTORY_ERRORS] = "Errors",
    [HISTORY_ELAPSED] = "Elapsed", [HISTORY_JOBS] = "Jobs",
};

static int make_columns(const struct history_options *options, const struct history_filter *filter,
                        enum table_form form, struct columns *ret, struct error *error)
{
    const char *format = options->format ? options->format : default_format(filter, form);
    unsigned bound = form == TABLE_ALIGNED ? terminal_bound() : 0;
    int rc = 0;

    if (options->all_columns && !options->format)
        columns_all(filter->group, ret);
    else
        rc = columns_parse(format, filter->group, ret, error);
    if (rc < 0 || !bound)
        return rc;
    if (options->format || options->all_columns)
        ret->bound = bound;
    else
        columns_fit(ret, bound, options->sort || filter->group ? sorted[filter->sort] : NULL);
    return 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

struct writer {
    const struct cli *cli;
    const struct history_filter *filter;
    struct columns columns;
    enum table_form form;
    bool json, no_header, head_printed;
    uint64_t rows, incomplete;
    uint64_t unknown; /* ended jobs that --state left out because their state is not known */
    struct labels *anonymous; /* NULL: names are shown */
};

static int write_json(struct writer *w, const struct history_row *row)
{
    _free_ char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return -ENOMEM;
    history_row_write(row, out);
    if (fclose(out) != 0)
        return -ENOMEM;
    output_text(w->rows ? ",\n" : "[");
    output_json_raw(text);
    return 0;
}

/* Also says so if the values are not of complete jobs. */
static void write_head(struct writer *w)
{
    _free_ char *clean = NULL;

    if (w->json)
        return;
    if (w->form == TABLE_ALIGNED && w->filter->mount && w->filter->group != HISTORY_BY_MOUNT) {
        clean = utf8_sanitize(w->anonymous ? "the selected mounts" : w->filter->mount);
        (void)printf("I/O on %s only\n", clean ? clean : "?");
    }
    if (!w->no_header)
        columns_header(&w->columns, w->form, stdout);
}

/* Only with the first row, or at the end: a query that fails prints nothing. */
static void print_head_once(struct writer *w)
{
    if (w->head_printed)
        return;
    w->head_printed = true;
    pager_start(w->cli);
    write_head(w);
}

static int write_row(const struct history_row *found, void *arg)
{
    struct writer *w = arg;
    struct history_row row = *found;
    int rc;

    print_head_once(w);
    rc = w->anonymous ? labels_row(w->anonymous, &row) : 0;

    if (rc == 0)
        rc = w->json ? write_json(w, &row) : columns_row(&w->columns, &row, w->form, stdout);
    w->rows++;
    w->incomplete += !row.complete;
    if (rc == 0 && ferror(stdout))
        return 1; /* the reader has exited */
    return rc;
}

static void write_foot(struct writer *w)
{
    if (w->json)
        output_text(w->rows ? "]\n" : "[]\n");
    else if (w->columns.dropped && w->incomplete)
        (void)printf("%llu of these are incomplete\n", (unsigned long long)w->incomplete);
}

static int add_jobs(const struct history_row *row, void *arg)
{
    *(uint64_t *)arg += row->jobs;
    return 0;
}

/* Jobs whose state is not known may be among those that were asked for: say how many. */
static int count_unknown(struct source *source, struct writer *w, struct error *error)
{
    const uint32_t unknown = 1u << SLURM_STATE_UNKNOWN;
    struct history_filter filter = *w->filter;

    if (!filter.slurm_states || (filter.slurm_states & unknown))
        return 0;
    filter.slurm_states = unknown;
    filter.state = HISTORY_ENDED;
    filter.group = HISTORY_BY_DAY;
    filter.sort = HISTORY_TIME;
    filter.reverse = false;
    filter.limit = 0;
    return source_history(source, &filter, add_jobs, &w->unknown, error);
}

static int write_history(struct writer *w, struct error *error)
{
    CLEANUP(source_closep) struct source *source = NULL;
    int rc = source_open(w->cli, &source, error);

    if (rc == 0)
        rc = source_history(source, w->filter, write_row, w, error);
    if (rc >= 0 && !ferror(stdout))
        rc = count_unknown(source, w, error);
    if (rc == -ENOMEM)
        return error_errno(error, rc, "write the history");
    if (rc < 0)
        return rc;
    print_head_once(w);
    write_foot(w);
    if (w->rows == 0 && w->form == TABLE_ALIGNED && !w->json)
        output_error("history: no matching jobs in this period that you may see; use -S to look "
                     "further back "
                     "than 7 days");
    if (w->unknown)
        output_error("history: how Slurm ended %llu more job%s is not known: -s unknown lists %s",
                     (unsigned long long)w->unknown, w->unknown == 1 ? "" : "s",
                     w->unknown == 1 ? "it" : "them");
    return 0;
}

static int history_show(const struct history_options *options, struct writer *w)
{
    struct error error;
    int rc = 0;

    if (options->anonymous) {
        w->anonymous = labels_create(0); /* -S may be midnight, from which the times of day could be
                                          * computed */
        if (!w->anonymous)
            rc = error_errno(&error, -ENOMEM, "write the history");
        (void)setenv("TZ", "UTC", 1);
        tzset();
    }
    if (rc == 0)
        rc = write_history(w, &error);
    labels_destroy(w->anonymous);
    if (rc < 0)
        output_error("%s", error.text);
    return rc < 0 ? CLI_FAILED : CLI_OK;
}

/* -n was the letter of --limit, and still is before a number: sacct's -n has no argument. */
#define LIMIT_LETTER '#'

static void find_limit(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *number = argv[i];

        if (strncmp(argv[i], "-n", 2) != 0)
            continue;
        if (argv[i][2])
            number += 2;
        else if (i + 1 < argc)
            number = argv[i + 1];
        if (number[strspn(number, "-0123456789")] == '\0' && strpbrk(number, "0123456789"))
            argv[i][1] = LIMIT_LETTER;
    }
}

static enum table_form form_of(const struct history_options *options)
{
    return options->csv        ? TABLE_CSV
           : options->bars     ? TABLE_BARS
           : options->parsable ? TABLE_PARSABLE
                               : TABLE_ALIGNED;
}

/* Otherwise prints why not. argument: one that is not an option; NULL: there is none. */
static bool is_usable(const struct history_options *options, const char *argument)
{
    if (argument)
        output_error("history: unexpected argument \"%s\": 'jobio job ID' shows one job", argument);
    else if (options->json + options->csv + (options->parsable || options->bars) > 1)
        output_error("history: use only one of --json, --csv, -p and -P");
    else
        return true;
    return false;
}

static int history_run(struct cli *cli, int argc, char **argv)
{
    CLEANUP(options_clear) struct history_options options = {.since = NULL};
    struct history_filter filter = {.uid = UINT32_MAX};
    const struct option_spec specs[] = {
        {"user", 'u', OPTION_TEXT, &filter.user},
        {"accounts", 'A', OPTION_TEXT, &filter.account},
        {"partition", 'r', OPTION_TEXT, &filter.partition},
        {"name", 0, OPTION_TEXT, &filter.name},
        {"jobs", 'j', OPTION_LIST, &options.jobs},
        {"nodelist", 'N', OPTION_LIST, &options.nodes},
        {"mount", 0, OPTION_TEXT, &filter.mount},
        {"state", 's', OPTION_TEXT, &options.state},
        {"starttime", 'S', OPTION_TEXT, &options.since},
        {"endtime", 'E', OPTION_TEXT, &options.until},
        {"group", 0, OPTION_TEXT, &options.group},
        {"sort", 0, OPTION_TEXT, &options.sort},
        {"limit", LIMIT_LETTER, OPTION_U32, &filter.limit},
        {"noheader", 'n', OPTION_FLAG, &options.no_header},
        {"long", 'l', OPTION_FLAG, &options.all_columns},
        {"allocations", 'X', OPTION_FLAG, &options.ignored},
        {"allusers", 'a', OPTION_FLAG, &options.ignored},
        {"parsable", 'p', OPTION_FLAG, &options.bars},
        {"format", 'o', OPTION_TEXT, &options.format},
        {"helpformat", 'e', OPTION_FLAG, &options.list},
        {"parsable2", 'P', OPTION_FLAG, &options.parsable},
        {"csv", 0, OPTION_FLAG, &options.csv},
        {"json", 0, OPTION_FLAG, &options.json},
        {"anonymous", 0, OPTION_FLAG, &options.anonymous},
    };
    struct writer writer = {.cli = cli, .filter = &filter};
    struct error error;
    int first, status;

    find_limit(argc, argv);
    if (!options_start(cli, &cli_history, specs, ARRAY_SIZE(specs), OPTIONS_HISTORY, argc, argv,
                       &first, &status))
        return status;
    if (options.list) {
        fields_list(stdout);
        return CLI_OK;
    }
    if (!is_usable(&options, first < argc ? argv[first] : NULL))
        return CLI_USAGE;
    writer.json = options.json;
    writer.form = form_of(&options);
    writer.no_header = options.no_header;
    if (filter_make(&options, &filter, &error) < 0 ||
        make_columns(&options, &filter, writer.form, &writer.columns, &error) < 0) {
        output_error("history: %s", error.text);
        return CLI_USAGE;
    }
    return history_show(&options, &writer);
}

const struct subcommand cli_history = {"history", "jobs and their I/O, like sacct", help,
                                       history_run};

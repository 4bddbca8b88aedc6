/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/fields.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/source.h"
#include "collector/rows.h"
#include "common/cleanup.h"
#include "common/units.h"

#define NS_PER_S 1000000000ull

static const char help[] =
    "usage: jobio history [-u USER] [-S TIME] [-E TIME] [-o FIELDS] [-P] [-n N]\n"
    "                     [--sort read|write|meta|wait] [--json] [--from WHERE]\n"
    "The jobs of a time, one line each, as sacct shows them. Newest first.\n"
    "\n"
    "  -u, --user USER       only jobs of this user (name or number)\n"
    "  -S, --starttime TIME  jobs that ran after this (default: now-7days)\n"
    "  -E, --endtime TIME    jobs that ran before this (default: now)\n"
    "  -o, --format FIELDS   columns: NAME, NAME%WIDTH or NAME%-WIDTH (to the left),...\n"
    "  -e, --helpformat      list the columns\n"
    "  -P, --parsable2       '|' between the columns, nothing cut, exact numbers\n"
    "  -n, --limit N         at most N lines\n"
    "      --sort WHAT       read, write (bytes), meta (requests) or wait, largest first\n"
    "      --json            a JSON array\n"
    "      --socket PATH     jobiod's socket (JOBIO_SOCKET, else /run/jobio/jobiod.sock)\n"
    "      --store PATH      read this store; do not ask jobiod\n"
    "      --from WHERE      store (of this node) or clickhouse (of all; see jobio.conf(5))\n"
    "      --cluster NAME    with clickhouse: of this cluster, or all (default: jobio.conf's)\n"
    "      --url URL         with clickhouse: ask this one\n"
    "      --credentials FILE  with clickhouse: user:password\n"
    "      --config FILE     jobio.conf\n"
    "\n"
    "TIME: HH:MM[:SS], MMDD[YY], MM/DD[/YY], YYYY-MM-DD[THH:MM[:SS]], now, today, midnight, noon,\n"
    "now-7days, now-2hours, @SECONDS.\n"
    "\n"
    "Examples:\n"
    "  jobio history\n"
    "  jobio history -S now-1days --sort wait -n 10\n"
    "  jobio history -u alice -S 2026-11-01 -o JobID,JobName%20,Elapsed,Read,Write,Errors\n"
    "  jobio history -P -o JobID,User,Read,Write | sort -t'|' -k3 -n\n"
    "\n"
    "Exit status: 0 shown (also when no job ran), 1 failed, 2 usage.\n";

struct history_options {
    const char *user, *since, *until, *format, *sort;
    uint32_t limit;
    bool parsable, json, list;
};

static int filter_times(const struct history_options *options, struct history_filter *filter,
                        struct error *error)
{
    int64_t now = (int64_t)time(NULL), since, until = now;

    if (units_parse_time(options->since, now, &since, error) < 0)
        return error_prefix(error, -EINVAL, "-S");
    if (options->until && units_parse_time(options->until, now, &until, error) < 0)
        return error_prefix(error, -EINVAL, "-E");
    if (options->until && until <= since)
        return error_set(error, -EINVAL, "-E \"%s\" is not after -S \"%s\"", options->until,
                         options->since);
    filter->since_ns = since > 0 ? (uint64_t)since * NS_PER_S : 0;
    filter->until_ns = options->until && until > 0 ? (uint64_t)until * NS_PER_S : 0;
    return 0;
}

static int filter_make(const struct history_options *options, struct history_filter *ret,
                       struct error *error)
{
    struct history_filter filter = {
        .uid = UINT32_MAX, .user = options->user, .limit = options->limit};
    int sort = options->sort ? history_sort_parse(options->sort) : HISTORY_TIME;

    if (sort < 0)
        return error_set(error, -EINVAL, "--sort \"%s\": give read, write, meta or wait",
                         options->sort);
    filter.sort = (enum history_sort)sort;
    if (filter_times(options, &filter, error) < 0)
        return -EINVAL;
    *ret = filter;
    return 0;
}

static int print_table(struct json_object *rows, const struct columns *columns, bool parsable,
                       struct error *error)
{
    columns_header(columns, parsable, stdout);
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        struct history_row row;
        int rc = history_row_parse(json_object_array_get_idx(rows, i), &row, error);

        if (rc < 0)
            return rc;
        if (columns_row(columns, &row, parsable, stdout) < 0)
            return error_errno(error, -ENOMEM, "write the table");
    }
    return 0;
}

static int history_show(const struct cli *cli, const struct history_options *options,
                        const struct history_filter *filter, const struct columns *columns)
{
    struct json_object *rows = NULL;
    struct error error;
    int rc = source_history(cli, filter, &rows, &error);

    if (rc == 0 && options->json)
        output_json(rows);
    else if (rc == 0)
        rc = print_table(rows, columns, options->parsable, &error);
    json_object_put(rows);
    if (rc < 0)
        output_error("%s", error.text);
    return rc < 0 ? CLI_FAILED : CLI_OK;
}

static int history_run(struct cli *cli, int argc, char **argv)
{
    struct history_options options = {.since = "now-7days", .format = FIELDS_DEFAULT};
    const struct option_spec specs[] = {
        {"user", 'u', OPTION_TEXT, &options.user},
        {"starttime", 'S', OPTION_TEXT, &options.since},
        {"endtime", 'E', OPTION_TEXT, &options.until},
        {"format", 'o', OPTION_TEXT, &options.format},
        {"helpformat", 'e', OPTION_FLAG, &options.list},
        {"parsable2", 'P', OPTION_FLAG, &options.parsable},
        {"limit", 'n', OPTION_U32, &options.limit},
        {"sort", 0, OPTION_TEXT, &options.sort},
        {"json", 0, OPTION_FLAG, &options.json},
        CLI_HISTORY_OPTIONS(cli),
    };
    struct history_filter filter;
    struct columns columns;
    struct error error;
    int first, status;

    if (!options_start(cli, &cli_history, specs, ARRAY_SIZE(specs), 0, argc, argv, &first, &status))
        return status;
    if (options.list) {
        fields_list(stdout);
        return CLI_OK;
    }
    if (first < argc) {
        output_error("history: \"%s\" is not understood: 'jobio job ID' shows one job",
                     argv[first]);
        return CLI_USAGE;
    }
    if (filter_make(&options, &filter, &error) < 0 ||
        columns_parse(options.format, &columns, &error) < 0) {
        output_error("history: %s", error.text);
        return CLI_USAGE;
    }
    return history_show(cli, &options, &filter, &columns);
}

const struct subcommand cli_history = {"history", "jobs and their I/O, as sacct shows them", help,
                                       history_run};

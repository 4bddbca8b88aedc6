/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/source.h"
#include "common/cleanup.h"
#include "report/json.h"
#include "report/text.h"

static const char help[] =
    "usage: jobio job ID [--all] [--full] [--nodes] [--steps] [--json] [--from WHERE]\n"
    "What a job did: its I/O by mount. Of a requeued job the newest run.\n"
    "\n"
    "      --all          earlier runs of that number too, newest first\n"
    "      --full         every mount and every operation\n"
    "      --json         one JSON document; with --all an array of them\n"
    "      --nodes        each node too, and how evenly they share the work\n"
    "      --steps        each step on each node too; in JSON with its whole account\n"
    "      --socket PATH  jobiod's socket (JOBIO_SOCKET, else /run/jobio/jobiod.sock)\n"
    "      --store PATH   read this store; do not ask jobiod\n"
    "      --from WHERE   store (of this node) or clickhouse (of all nodes; see jobio.conf(5))\n"
    "      --cluster NAME with clickhouse: of this cluster, or all (default: jobio.conf's)\n"
    "      --url URL      with clickhouse: ask this one\n"
    "      --credentials FILE  with clickhouse: user:password\n"
    "      --config FILE  jobio.conf\n"
    "\n"
    "Examples:\n"
    "  jobio job 123\n"
    "  jobio job 123 --full\n"
    "  jobio job 123 --nodes\n"
    "  jobio job 123 --all\n"
    "  jobio job 123 --json | jq .mounts\n"
    "\n"
    "Exit status: 0 shown, 1 no such job or failed, 2 usage.\n";

struct job_options {
    bool all, full, json, nodes, steps;
};

/* Takes the text over. */
static int put_text(char *text, struct error *error)
{
    if (!text)
        return error_errno(error, -ENOMEM, "write the summary");
    output_text(text);
    free(text);
    return 0;
}

static int print_text(struct json_object *document, const struct job_options *options,
                      struct error *error)
{
    enum summary summary = options->full ? SUMMARY_FULL : SUMMARY_SHORT;
    struct job_account *job = NULL;
    int rc = report_json_parse(document, &job, error);

    if (rc == 0)
        rc = put_text(report_text(job, summary), error);
    if (rc == 0 && options->nodes)
        rc = put_text(report_nodes_text(job), error);
    if (rc == 0 && options->steps && !options->full)
        rc = put_text(report_steps_text(job), error);
    job_account_destroy(job);
    return rc;
}

static int print_jobs(struct json_object *jobs, const struct job_options *options,
                      struct error *error)
{
    int rc = 0;

    if (options->json) {
        output_json(options->all ? jobs : json_object_array_get_idx(jobs, 0));
        return 0;
    }
    for (size_t i = 0; rc == 0 && i < json_object_array_length(jobs); i++) {
        if (i > 0)
            output_text("\n");
        rc = print_text(json_object_array_get_idx(jobs, i), options, error);
    }
    return rc;
}

static int job_show(const struct cli *cli, uint32_t jobid, const struct job_options *options)
{
    struct json_object *jobs = NULL;
    struct error error;
    int rc = source_jobs(cli, jobid, options->all, options->steps || options->nodes, &jobs, &error);

    if (rc == 0 && json_object_array_length(jobs) == 0)
        rc = error_set(&error, -ENOENT, "no such job: %u", jobid);
    if (rc == 0)
        rc = print_jobs(jobs, options, &error);
    json_object_put(jobs);
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
        {"json", 0, OPTION_FLAG, &options.json},
        {"nodes", 0, OPTION_FLAG, &options.nodes},
        {"steps", 0, OPTION_FLAG, &options.steps},
        CLI_HISTORY_OPTIONS(cli),
    };
    int first, status;
    uint32_t jobid;

    if (!options_start(cli, &cli_job, specs, ARRAY_SIZE(specs), 0, argc, argv, &first, &status))
        return status;
    if (argc - first != 1) {
        output_error("job: give one job number, as in 'jobio job 123'");
        return CLI_USAGE;
    }
    if (options_number(argv[first], &jobid) < 0) {
        output_error("job: \"%s\" is no job number: give the plain number, as in 'jobio job 123' "
                     "(sacct -o JobIDRaw shows it for array tasks)",
                     argv[first]);
        return CLI_USAGE;
    }
    return job_show(cli, jobid, &options);
}

const struct subcommand cli_job = {"job", "the account of one job", help, job_run};

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/explain/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/explain/context.h"
#include "cli/explain/figures.h"
#include "cli/base/jobid.h"
#include "cli/explain/llm.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/pager.h"
#include "cli/source/open.h"
#include "cli/source/source.h"
#include "cli/base/terminal.h"
#include "common/cleanup.h"
#include "common/utf8.h"

static const char help[] =
    "usage: jobio explain ID\n"
    "       jobio explain ID --context [--anonymous]\n"
    "       jobio explain ID --llm URL [--model NAME] [--key-file FILE] [--show] [--anonymous]\n"
    "Explain why other tools show other numbers for a job: compare its account with sacct and, "
    "while\n"
    "it runs on this node, with /proc, its cgroup and the statistics of NFS and Lustre. Or print "
    "all\n"
    "that is known about the job as one document; or let a language model interpret it.\n"
    "\n"
    "      --context         the job, its findings and similar past jobs: JSON of up to 32 kB\n"
    "      --anonymous       replace names by labels, to share the output (see jobio(1))\n"
    "      --llm URL         send it to an endpoint for OpenAI chat completions, and print the\n"
    "                        answer; 'site': the endpoint of jobio.conf. Without this option\n"
    "                        nothing is sent.\n"
    "      --show            print what --llm would send, without sending it\n"
    "      --model NAME      the model to use\n"
    "      --key-file FILE   the key: first line of a file that others cannot read\n"
    "      --insecure        allow unencrypted connections to other machines\n"
    "      --timeout S       seconds to wait for the answer (default 120)\n" OPTIONS_HELP_HISTORY
    "\n"
    "Examples:\n"
    "  jobio explain 123\n"
    "  jobio explain 123 --context | jq .similar_jobs\n"
    "  jobio explain 123 --llm http://localhost:8080 --model any --show --anonymous\n"
    "\n"
    "Exit status: 0 shown, 1 no such job or failed, 2 usage.\n";

struct explain_options {
    bool context, anonymous, show;
    struct llm_options llm;
};

DEFINE_CLEANUP(struct llm, llm_close)

static int explain_figures(const struct cli *cli, const struct job_account *job,
                           struct error *error)
{
    struct figures figures = {.n = 0};
    _free_ char *text = NULL;

    if (figures_read(job, &figures) == 0)
        text = report_explain_text(job, figures.items, figures.n, terminal_columns());
    figures_clear(&figures);
    if (!text)
        return error_errno(error, -ENOMEM, "write the table");
    pager_start(cli);
    output_text(text);
    return 0;
}

static int explain_context(const struct cli *cli, struct source *source, struct job_account *job,
                           const struct explain_options *options, struct error *error)
{
    _free_ char *text = NULL;
    int rc;

    output_is_document(true);
    rc = context_make(source, job, options->anonymous, &text, error);
    if (rc < 0)
        return rc;
    pager_start(cli);
    output_json_raw(text);
    output_text("\n");
    return 0;
}

static int explain_ask(const struct cli *cli, struct source *source, struct job_account *job,
                       const struct explain_options *options, struct error *error)
{
    CLEANUP(llm_closep) struct llm *llm = NULL;
    _free_ char *context = NULL, *text = NULL, *model = NULL;
    int rc = llm_open(&options->llm, &llm, error);

    output_is_document(true);
    if (rc == 0)
        rc = context_make(source, job, options->anonymous, &context, error);
    output_is_document(false);
    if (rc == 0 && options->show) {
        text = llm_show(llm, context);
        rc = text ? 0 : error_errno(error, -ENOMEM, "show the request");
    } else if (rc == 0) {
        rc = llm_ask(llm, context, &text, error);
    }
    if (rc < 0)
        return rc;
    pager_start(cli);
    output_text(text);
    model = options->show ? NULL : utf8_sanitize(llm_model(llm));
    if (model && options->anonymous)
        (void)printf("\n(answer of %s, which may be wrong)\n", model);
    else if (model)
        (void)printf("\n(answer of %s, which may be wrong; 'jobio job %" PRIu32
                     "' has the numbers)\n",
                     model, job->key.jobid);
    return 0;
}

static int explain(const struct cli *cli, struct source *source, struct job_account *job,
                   const struct explain_options *options, struct error *error)
{
    if (options->llm.url)
        return explain_ask(cli, source, job, options, error);
    if (options->context)
        return explain_context(cli, source, job, options, error);
    return explain_figures(cli, job, error);
}

static int explain_show(const struct cli *cli, const struct jobid *id,
                        const struct explain_options *options)
{
    CLEANUP(source_closep) struct source *source = NULL;
    struct job_account *job = NULL;
    struct error error;
    int rc = source_open(cli, &source, &error);

    if (rc == 0)
        rc = source_job(source, id, SOURCE_STEPS, &job, &error);
    if (rc == 0)
        rc = explain(cli, source, job, options, &error);
    job_account_destroy(job);
    if (rc < 0)
        output_error("%s", error.text);
    return rc < 0 ? CLI_FAILED : CLI_OK;
}

/* The mistake in a combination of options, or NULL. */
static const char *wrong(const struct explain_options *options)
{
    if (options->show && !options->llm.url)
        return "--show requires --llm";
    if (!options->llm.url && (options->llm.model || options->llm.key_file || options->llm.insecure))
        return "--model, --key-file and --insecure require --llm";
    if (options->anonymous && !options->context && !options->llm.url)
        return "--anonymous requires --context or --llm";
    return NULL;
}

static int explain_run(struct cli *cli, int argc, char **argv)
{
    struct explain_options options = {.llm.timeout_ns = 120000000000ull};
    const struct option_spec specs[] = {
        {"context", 0, OPTION_FLAG, &options.context},
        {"anonymous", 0, OPTION_FLAG, &options.anonymous},
        {"llm", 0, OPTION_TEXT, &options.llm.url},
        {"show", 0, OPTION_FLAG, &options.show},
        {"model", 0, OPTION_TEXT, &options.llm.model},
        {"key-file", 0, OPTION_TEXT, &options.llm.key_file},
        {"insecure", 0, OPTION_FLAG, &options.llm.insecure},
        {"timeout", 0, OPTION_SPAN, &options.llm.timeout_ns},
    };
    int first, status;
    struct error error;
    struct jobid id;

    if (!options_start(cli, &cli_explain, specs, ARRAY_SIZE(specs), OPTIONS_HISTORY, argc, argv,
                       &first, &status))
        return status;
    if (argc - first != 1) {
        output_error("explain: give one job ID, for example 'jobio explain 123'");
        return CLI_USAGE;
    }
    if (wrong(&options)) {
        output_error("explain: %s", wrong(&options));
        return CLI_USAGE;
    }
    if (jobid_parse(argv[first], &id, &error) < 0) {
        output_error("explain: %s", error.text);
        return CLI_USAGE;
    }
    if (id.has_step) {
        output_error("explain: \"%s\" is a step: give the ID of the job", argv[first]);
        return CLI_USAGE;
    }
    options.llm.config = cli->history.config;
    return explain_show(cli, &id, &options);
}

const struct subcommand cli_explain = {"explain", "why other tools show other numbers", help,
                                       explain_run};

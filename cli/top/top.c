/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/top/top.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/terminal.h"
#include "cli/top/export.h"
#include "cli/top/screen.h"
#include "cli/top/watch.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define INTERVAL_DEFAULT (2 * NS_PER_S)
#define ANSWER_MS 10000

static const char help_text[] =
    "usage: jobio top [OPTION]...\n"
    "Show which jobs read, write or use metadata on which mount of this node now. Users see their\n"
    "own jobs and the sum of all others; root and the group jobio see everything.\n"
    "\n"
    "  -i, --interval TIME  time between readings, in seconds (2) or with a unit: 500ms, 1m\n"
    "  -d, --delay TIME     the same\n"
    "  -b, --by WHAT        rows by job-mount, job, mount or user (job-mount)\n"
    "      --sort WHAT      read, write, meta, wait or errors, largest first (wait)\n"
    "  -u, --user USER      only jobs of this user\n"
    "      --idle           also rows without I/O\n"
    "      --services       also I/O outside of jobs (for root and the group jobio)\n"
    "  -n, --limit N        at most N rows\n"
    "  -c, --count N        exit after N readings\n"
    "      --once           print one table about one interval, and exit\n"
    "      --json           one line of JSON per reading\n"
    "      --csv            rows as CSV, with plain numbers\n"
    "      --socket PATH    jobiod's socket (JOBIO_SOCKET, else /run/jobio/jobiod.sock)\n"
    "\n"
    "Keys: r w m W e sort by read, write, meta, wait, errors; b group; u user; i idle; space\n"
    "pause; + - d interval; h help; q quit. If stdout is not a terminal, print a table per "
    "reading.\n"
    "wait: average number of threads inside I/O calls; size: median of reads and writes.\n"
    "\n"
    "Examples:\n"
    "  jobio top --once\n"
    "  jobio top --once --by mount --sort meta\n"
    "  jobio top -i 500ms -c 3 --csv > /tmp/top.csv\n"
    "\n"
    "Exit status: 0 shown, 1 jobiod is not running or failed, 2 usage.\n";

struct request {
    struct top_view view;
    uint64_t delay_ns;
    uint32_t count; /* 0: no end */
    bool once, json, csv;
};

/* --- without keys ----------------------------------------------------------------------------- */

static void pause_for(uint64_t ns)
{
    struct timespec left = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};

    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

static void print_table(const struct top_frame *frame, const struct top_view *view, bool first)
{
    struct top_text text = {.out = stdout};
    struct top_paper paper = top_paper_text(&text, terminal_columns());

    if (!first)
        output_text("\n");
    top_draw_head(&paper, frame);
    if (top_draw_table(&paper, frame, view, NULL) == 0)
        output_text("(no I/O)\n");
}

static int print(const struct top_frame *frame, const struct request *request, bool first)
{
    if (request->json)
        return output_json_and_release(top_export_json(frame, &request->view));
    if (!request->csv) {
        print_table(frame, &request->view, first);
        return 0;
    }
    if (first)
        top_export_csv_names(stdout);
    top_export_csv(stdout, frame, &request->view);
    return 0;
}

static int run_plain(struct top_watch *watch, const struct request *request)
{
    struct error error;
    uint32_t shown = 0;

    for (;;) {
        int r = top_watch_read(watch, ANSWER_MS, &error);

        if (r > 0)
            r = print(&watch->frame, request, shown++ == 0) < 0
                    ? error_set(&error, -ENOMEM, "out of memory for the answer")
                    : 0;
        if (r < 0) {
            output_error("top: %s", error.text);
            return CLI_FAILED;
        }
        /* Stops when the reader has exited; output_finish() reports an error. */
        if ((request->count && shown >= request->count) || fflush(stdout) != 0)
            return CLI_OK;
        pause_for(request->delay_ns);
    }
}

/* --- options ---------------------------------------------------------------------------------- */

struct words {
    const char *by, *sort;
};

static int usage(const char *option, const char *word)
{
    output_error("top: %s \"%s\" is not valid (try 'jobio top --help')", option, word);
    return CLI_USAGE;
}

static int check(struct cli *cli, struct request *request, const struct words *words)
{
    int by = words->by ? top_by_parse(words->by) : TOP_BY_JOB_MOUNT;
    int key = words->sort ? top_key_parse(words->sort) : TOP_WAIT;

    if (by < 0)
        return usage("--by", words->by);
    if (key < 0)
        return usage("--sort", words->sort);
    if (cli->store) {
        output_error("top: a store does not have current activity: omit --store");
        return CLI_USAGE;
    }
    if (request->json && request->csv) {
        output_error("top: use either --json or --csv");
        return CLI_USAGE;
    }
    request->view.by = (enum top_by)by;
    request->view.key = (enum top_key)key;
    if (request->once)
        request->count = 1;
    return CLI_OK;
}

static int top_run(struct cli *cli, int argc, char **argv)
{
    struct request request = {.delay_ns = INTERVAL_DEFAULT};
    struct top_watch watch = {.cli = cli};
    struct words words = {NULL, NULL};
    uint32_t limit = 0;
    const struct option_spec specs[] = {
        {"interval", 'i', OPTION_SPAN, &request.delay_ns},
        {"delay", 'd', OPTION_SPAN, &request.delay_ns},
        {"by", 'b', OPTION_TEXT, &words.by},
        {"sort", 0, OPTION_TEXT, &words.sort},
        {"user", 'u', OPTION_TEXT, &request.view.user},
        {"idle", 0, OPTION_FLAG, &request.view.idle},
        {"services", 0, OPTION_FLAG, &watch.services},
        {"limit", 'n', OPTION_U32, &limit},
        {"count", 'c', OPTION_U32, &request.count},
        {"once", 0, OPTION_FLAG, &request.once},
        {"json", 0, OPTION_FLAG, &request.json},
        {"csv", 0, OPTION_FLAG, &request.csv},
    };
    int first, status;

    if (!options_start(cli, &cli_top, specs, ARRAY_SIZE(specs), 0, argc, argv, &first, &status))
        return status;
    if (first < argc) {
        output_error("top: unexpected argument \"%s\" (try 'jobio top --help')", argv[first]);
        return CLI_USAGE;
    }
    status = check(cli, &request, &words);
    if (status != CLI_OK)
        return status;
    request.view.rows = limit;
    if (request.once || request.json || request.csv || !terminal_is() || terminal_is_dumb() ||
        !isatty(STDIN_FILENO))
        status = run_plain(&watch, &request);
    else
        status = top_screen_run(&watch, &request.view, request.delay_ns, request.count);
    top_watch_clear(&watch);
    return status;
}

const struct subcommand cli_top = {"top", "the jobs that do I/O on this node now", help_text,
                                   top_run};

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/child.h"
#include "cli/run/stacks.h"
#include "cli/run/trace.h"
#include "cli/base/notes.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/page.h"
#include "cli/source/jobiod.h"
#include "cli/base/terminal.h"
#include "collector/watch/watch.h"
#include "common/call.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/job.h"
#include "report/json/json.h"
#include "report/text/block.h"
#include "report/text/mpi.h"
#include "report/text/stacks.h"
#include "report/text/text.h"
#include "report/text/timeline.h"

static const char help[] =
    "usage: jobio run [--full] [--timeline] [--mpi] [--block] [--json] [--output FILE]\n"
    "       [--html FILE] [--interval S] [--no-jobiod]\n"
    "       [--trace FILE [--trace-of WHAT] [--trace-paths] [--trace-format FORMAT]\n"
    "       [--trace-rate N] [--trace-max N]]\n"
    "       [--stacks[=folded] [--stacks-min SPAN] [--stacks-rate N]] -- COMMAND...\n"
    "Run a command and show its I/O by mount, including its children, without Slurm. jobiod "
    "counts\n"
    "it if it is running. Without jobiod only root can count, and the command starts after "
    "seconds.\n"
    "As root, --html, --timeline, --interval and what is only for root do not use jobiod.\n"
    "\n"
    "      --full         every mount and every operation\n"
    "      --html FILE    a page for a browser too, with charts\n"
    "      --json         one JSON document instead of the text\n"
    "      --timeline     when it did that: a curve a mount; in JSON the numbers\n"
    "      --mpi          the calls of MPI-IO, too, by class of function; only as root\n"
    "      --block        the requests to disks, too, by device; only as root\n"
    "      --trace FILE   write each request, and with --mpi each call of MPI-IO, as a span to "
    "FILE;\n"
    "                     only as root\n"
    "      --trace-of     ops (the default) or mpi: only calls of MPI-IO, and count them as --mpi "
    "does\n"
    "      --trace-paths  and the paths of the files that are opened\n"
    "      --trace-format otlp (JSON, the default) or chrome (for Chrome and Perfetto)\n"
    "      --trace-rate N the slowest N of each second are kept (default 20000)\n"
    "      --trace-max N  and of these the slowest N (default 100000)\n"
    "      --stacks[=folded] which code waited: the functions of the calls that took long;\n"
    "                     folded: for flame graphs, in place of the report; only as root\n"
    "      --stacks-min SPAN a call is long from this time on (default 1ms)\n"
    "      --stacks-rate N the stacks of at most N calls per second (default 100)\n"
    "      --output FILE  write the report to FILE instead of stderr\n"
    "      --interval S   between the readings that find the peaks (default 1; 500ms, 10s, ...);\n"
    "                     only as root\n"
    "      --no-jobiod    count without jobiod; only as root\n"
    "      --socket PATH  jobiod's socket (JOBIO_SOCKET, else /run/jobio/jobiod.sock)\n"
    "\n"
    "Examples:\n"
    "  jobio run -- tar -czf /tmp/default.tgz /etc/default\n"
    "  jobio run --full -- sh -c 'cp -r /etc/default /tmp/copy && rm -r /tmp/copy'\n"
    "  jobio run --json --output /tmp/io.json -- ls -lR /etc/default\n"
    "  jobio run --trace /tmp/trace.json --trace-format chrome -- ls -lR /etc/default\n"
    "  jobio run --stacks=folded --output /tmp/folded -- sync /etc/hostname\n"
    "\n"
    "Exit status: that of the command (128 + n when signal n ended it), 125 jobio itself failed,\n"
    "126 the command cannot be executed, 127 there is no such command, 2 usage.\n";

/* How long to wait until the kernel has detached the programs of earlier runs. */
#define DETACH_NS (60 * NS_PER_S)
#define DETACH_CHECK_MS 20
#define DETACH_TELL_AFTER 50 /* checks */
/* How long to wait for a jobiod that is being restarted, and between two requests, at most. */
#define RESTART_NS (30 * NS_PER_S)
#define RESTART_CHECK_MS 1000u

struct run_options {
    bool full, json, timeline, mpi, block, no_jobiod;
    const char *output, *html;
    uint64_t interval_ns; /* 0: not given */
    struct run_trace trace;
    struct run_stacks stacks;
};

struct run;

/* Who counts: jobiod, or this process. */
struct counting {
    int (*start)(struct run *run, struct error *error);
    int (*end)(struct run *run, struct error *error);
};

struct run {
    const struct cli *cli;
    struct run_options *options;
    char **command;
    char *program;
    FILE *output; /* --output, else NULL */
    const struct counting *counting;
    struct child *child;
    struct watch *watch; /* NULL: jobiod counts */
    uint64_t start_ns;
    uint64_t number; /* jobiod's, from run-begin */
    struct job_account *job;
    struct trace trace;          /* if the options ask for one */
    struct stack_profile stacks; /* the same */
};

static void run_clear(struct run *run)
{
    struct error error;

    child_destroy(run->child);
    if (run->watch && watch_leave(run->watch, &error) < 0)
        output_error("run: %s", error.text);
    watch_destroy(run->watch);
    job_account_destroy(run->job);
    trace_clear(&run->trace);
    run_trace_clear(&run->options->trace);
    stack_profile_clear(&run->stacks);
    if (run->output)
        (void)fclose(run->output);
    free(run->program);
}

static bool is_root(void)
{
    return geteuid() == 0;
}

/* --- counted by this process ------------------------------------------------------------------ */

/* Each program that is detached from a function hides the returns of the calls that are in it. For
 * requests, which are short, this is rare, and reported. */
static int wait_for_earlier_runs(const struct run *run, struct error *error)
{
    uint64_t start_ns = clock_ns(CLOCK_MONOTONIC);
    unsigned waits = 0;

    while (watch_is_detaching(start_ns) && clock_ns(CLOCK_MONOTONIC) - start_ns < DETACH_NS) {
        if (child_wait_interrupt(run->child, DETACH_CHECK_MS))
            return error_set(error, -EINTR, "a signal ended the wait for the end of earlier runs");
        if (++waits == DETACH_TELL_AFTER)
            output_error("run: waiting at most 60 s until an earlier run is detached");
    }
    return 0;
}

static int own_start(struct run *run, struct error *error)
{
    const struct run_trace *trace = &run->options->trace;
    const struct run_stacks *stacks = &run->options->stacks;
    uint64_t interval_ns = run->options->interval_ns;
    const struct watch_options options = {.interval_ns = interval_ns ? interval_ns : NS_PER_S,
                                          .limits = trace->path ? &trace->limits : NULL,
                                          .trace_of = trace->of,
                                          .trace_paths = trace->paths,
                                          .stacks = stacks->form ? &stacks->limits : NULL};
    int rc = watch_create(&run->watch, &options, error);

    if (rc == 0)
        rc = child_create(&run->child, run->program, run->command, NULL, NULL, error);
    if (rc == 0 && run->options->mpi)
        rc = watch_add_mpi(run->watch, error);
    if (rc == 0 && run->options->block)
        rc = watch_add_block(run->watch, error);
    if (rc == 0 && run->options->mpi)
        rc = wait_for_earlier_runs(run, error);
    if (rc == 0)
        rc = watch_start(run->watch, child_pid(run->child), error);
    return rc;
}

static int own_end(struct run *run, struct error *error)
{
    int rc;

    run->job->uid = getuid();
    run->job->nodes_expected = run->job->nodes_reported = 1;
    rc = watch_end(run->watch, run->job, error);
    if (rc == 0 && run->options->trace.path)
        rc = watch_trace(run->watch, &run->trace, error);
    if (rc == 0 && run->options->stacks.form)
        rc = watch_stacks(run->watch, &run->stacks, error);
    run->job->spans_taken = trace_spans(&run->trace);
    run->job->stacks_taken = run->stacks.counts.all.calls - run->stacks.counts.unsampled.calls;
    return rc;
}

/* --- counted by jobiod ------------------------------------------------------------------------ */

static char *command_line(char *const *command)
{
    char *ret = NULL;
    size_t size;
    FILE *out = open_memstream(&ret, &size);

    for (size_t i = 0; out && command[i]; i++)
        (void)fprintf(out, "%s%s", i ? " " : "", command[i]);
    if (!out || fclose(out) != 0)
        return NULL;
    /* Used for the log only. */
    if (size > 1024)
        ret[1024] = '\0';
    return ret;
}

/* Called in the process of the command: jobiod uses the cgroup of its caller. */
static int ask_begin(void *arg, uint64_t *ret, struct error *error)
{
    const struct run *run = arg;
    _free_ char *line = command_line(run->command);
    int rc = jobiod_run_start(run->cli, line, is_root(), ret, error);

    if (jobiod_is_absent(rc))
        return error_set(error, rc,
                         "only root can count without jobiod, and jobiod is not running "
                         "(no answer on %s): start jobiod, or run this as root",
                         run->cli->socket);
    return rc;
}

static int ask_start(struct run *run, struct error *error)
{
    return child_create(&run->child, run->program, run->command, ask_begin, run, error);
}

/* The answers of a jobiod that is being restarted, or will be because it hangs. */
static bool may_come_back(int rc)
{
    return jobiod_is_absent(rc) || rc == -ECONNRESET || rc == -ETIMEDOUT;
}

/* The next jobiod knows the account, too. */
static int ask_until_answer(const struct run *run, struct job_account **ret, struct error *error)
{
    uint64_t end_ns = clock_ns(CLOCK_BOOTTIME), ago_ns;
    unsigned wait_ms = 0;
    int rc;

    for (;;) {
        ago_ns = clock_ns(CLOCK_BOOTTIME) - end_ns;
        rc = jobiod_run_end(run->cli, run->number, ago_ns, ret, error);
        if (!may_come_back(rc) || ago_ns >= RESTART_NS)
            return rc;
        if (!wait_ms)
            output_error("run: jobiod does not answer, but has the counters: waiting at most 30 "
                         "seconds for it (Ctrl-C: no report)");
        wait_ms = !wait_ms ? 50 : wait_ms < RESTART_CHECK_MS ? 2 * wait_ms : wait_ms;
        if (child_wait_interrupt(run->child, wait_ms))
            return error_set(error, -EINTR, "no report: a signal ended the wait for jobiod");
    }
}

static int ask_end(struct run *run, struct error *error)
{
    struct job_account *job = NULL;
    int rc = ask_until_answer(run, &job, error);

    if (rc < 0)
        return rc;
    job_account_destroy(run->job);
    run->job = job;
    return 0;
}

static const struct counting own = {own_start, own_end}, asked = {ask_start, ask_end};

/* --- the report ------------------------------------------------------------------------------- */

static char **words_copy(char *const *words)
{
    size_t n = 0;
    char **copy;

    while (words[n])
        n++;
    copy = calloc(n + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = strdup(words[i]);
    return copy;
}

static char *report_make(const struct run *run)
{
    const struct run_options *options = run->options;
    CLEANUP(advice_notes_clear) struct advice_notes notes = {0};
    const struct text_style style = {.notes = &notes};
    struct json_object *document;
    char *text;

    if (!options->json) {
        notes_for_job(run->job, NOTES_MAX, &notes);
        return report_text(run->job, options->full ? SUMMARY_FULL : SUMMARY_SHORT, &style);
    }
    document = report_json(run->job, options->timeline ? REPORT_TIMELINE : 0);
    text = document ? output_json_text(document) : NULL;
    json_object_put(document);
    return text;
}

static int write_page(const struct run *run, struct error *error)
{
    CLEANUP(advice_notes_clear) struct advice_notes notes = {0};

    output_is_document(true);
    notes_for_job(run->job, PAGE_NOTES, &notes);
    return page_write(&(struct page){.job = run->job, .notes = &notes}, run->options->html, error);
}

/* For people: what is in the trace, and what is not. */
static int print_trace(const struct run *run, FILE *out)
{
    const struct trace *trace = &run->trace;
    uint64_t unseen = trace->left_out.overflow[SPAN_REQUEST] + trace->left_out.overflow[SPAN_MPI];
    uint64_t dropped = trace_dropped(trace, SPAN_REQUEST) + trace_dropped(trace, SPAN_MPI);
    int rc = fprintf(out, "trace: %zu spans in %s", trace->n_spans, run->options->trace.path);

    if (rc >= 0 && dropped > unseen)
        rc = fprintf(out, ", without %" PRIu64 " shorter ones", dropped - unseen);
    if (rc >= 0 && unseen)
        rc = fprintf(out, ", and %" PRIu64 " were lost because they came too fast", unseen);
    return rc < 0 || fputc('\n', out) == EOF || fflush(out) != 0 ? -errno : 0;
}

static int trace_write(struct run *run, FILE *out, struct error *error)
{
    int rc = run_trace_write(&run->options->trace, &run->trace, run->job, error);

    if (rc < 0 || run->options->json || run_stacks_are_folded(&run->options->stacks))
        return rc;
    rc = print_trace(run, out);
    return rc < 0 && rc != -EPIPE ? error_errno(error, rc, "write the report") : 0;
}

/* Print a part of the report and free it. -ENOMEM: it is NULL. */
static int print_part(char *text, FILE *out)
{
    int rc = !text ? -ENOMEM : fputs(text, out) < 0 ? -errno : 0;

    free(text);
    return rc;
}

/* What is for people only. */
static int print_lists(const struct run *run, FILE *out)
{
    const struct run_options *options = run->options;
    int rc = 0;

    if (options->mpi && !(options->full && job_has_mpi(run->job)))
        rc = print_part(report_mpi_text(run->job, 0), out);
    if (rc == 0 && options->block && !options->full)
        rc = print_part(report_block_text(run->job, 0), out);
    if (rc == 0 && options->timeline)
        rc = print_part(report_timeline_text(run->job, TERMINAL_COLUMNS_DEFAULT, terminal_utf8()),
                        out);
    if (rc == 0 && options->stacks.form)
        rc = print_part(report_stacks_text(&run->stacks), out);
    return rc;
}

static int print_report(const struct run *run, FILE *out)
{
    int rc;

    if (run_stacks_are_folded(&run->options->stacks))
        return report_stacks_folded(&run->stacks, out);
    rc = print_part(report_make(run), out);
    if (rc == 0 && !run->options->json)
        rc = print_lists(run, out);
    return rc == 0 && fflush(out) != 0 ? -errno : rc;
}

static int report_write(struct run *run, struct error *error)
{
    FILE *out = run->output ? run->output : stderr;
    int rc;

    run->job->exit_status = child_status(run->child);
    if (!run->job->command)
        run->job->command = words_copy(run->command);
    output_set_stream(out);
    rc = print_report(run, out);
    if (rc < 0 && rc != -EPIPE)
        return error_errno(error, rc, "write the report to \"%s\"",
                           run->output ? run->options->output : "stderr");
    if (run->options->html && (rc = write_page(run, error)) < 0)
        return rc;
    return run->options->trace.path ? trace_write(run, out, error) : 0;
}

/* --- the run ---------------------------------------------------------------------------------- */

/* Wait until the command has ended. A failed reading is reported once and does not delay the
 * command. */
static void run_wait(struct run *run)
{
    struct error error;
    int rc = 0;

    while (!child_handle(run->child)) {
        if (run->watch && rc == 0) {
            rc = watch_wait(run->watch, child_fd(run->child), &error);
            if (rc < 0)
                output_error("run: %s", error.text);
        } else {
            child_wait(run->child);
        }
    }
}

/* What jobiod does not count or, with its interval, only at low resolution. */
static bool needs_own_programs(const struct run_options *options)
{
    return options->no_jobiod || options->mpi || options->block || options->trace.path ||
           options->stacks.form || options->timeline || options->html || options->interval_ns;
}

static int command_start(struct run *run, const struct counting *counting, struct error *error)
{
    int rc = counting->start(run, error);

    run->counting = counting;
    run->start_ns = clock_ns(CLOCK_REALTIME);
    return rc < 0 ? rc : child_start(run->child, &run->number, error);
}

static bool execve_failed(const struct run *run)
{
    return run->child && child_failure(run->child);
}

/* What jobiod does not count for root, whatever the reason, this process does. */
static int run_start(struct run *run, struct error *error)
{
    struct error refusal;
    int refused, rc;

    if (is_root() && needs_own_programs(run->options))
        return command_start(run, &own, error);
    refused = command_start(run, &asked, error);
    if (refused == 0 || !is_root() || execve_failed(run))
        return refused;
    refusal = *error;
    child_cancel(TAKE_PTR(run->child));
    rc = command_start(run, &own, error);
    if (rc == 0 || execve_failed(run) || jobiod_is_absent(refused))
        return rc;
    return error_prefix(error, rc, "jobiod: %.100s; without it", refusal.text);
}

/* jobiod would wait a minute for a request for the account. Best effort: ignore failure. */
static void end_failed_start(const struct run *run)
{
    struct job_account *job = NULL;
    struct error ignored;

    if (run->counting == &asked && execve_failed(run) &&
        jobiod_run_end(run->cli, run->number, 0, &job, &ignored) == 0)
        job_account_destroy(job);
}

static int start_status(const struct run *run, int rc)
{
    if (execve_failed(run))
        return rc == -ENOENT ? CLI_NOT_FOUND : CLI_NOT_EXECUTABLE;
    return CLI_RUN_FAILED;
}

static int run_open(struct run *run, struct error *error)
{
    run->job = job_account_create();
    if (!run->job)
        return error_errno(error, -ENOMEM, "count the command");
    if (run->options->html && output_file_check(run->options->html, error) < 0)
        return -EIO;
    if (run->options->trace.path && run_trace_open(&run->options->trace, error) < 0)
        return -EIO;
    if (!run->options->output)
        return 0;
    run->output = fopen(run->options->output, "we");
    if (!run->output)
        return error_errno(error, -errno, "open \"%s\"", run->options->output);
    return 0;
}

static int run_command(struct run *run)
{
    struct error error;
    uint64_t end_ns;
    int rc = run_open(run, &error);

    if (rc == 0)
        rc = run_start(run, &error);
    if (rc < 0) {
        output_error("run: %s", error.text);
        end_failed_start(run);
        return start_status(run, rc);
    }
    run_wait(run);
    end_ns = clock_ns(CLOCK_REALTIME);
    rc = run->counting->end(run, &error);
    if (rc == 0) {
        run->job->ended = true;
        run->job->start_ns = run->start_ns;
        run->job->end_ns = end_ns;
        rc = report_write(run, &error);
    }
    if (rc < 0)
        output_error("run: %s", error.text);
    return child_status(run->child);
}

/* Users other than root. */
static int check_user(const struct run_options *options, struct error *error)
{
    const struct {
        bool is_given;
        const char *refusal;
    } root_only[] = {
        {options->mpi, "--mpi: only root can count MPI-IO"},
        {options->block, "--block: only root can count block requests"},
        {options->trace.path, "--trace: only root can trace"},
        {options->stacks.form, "--stacks: only root can record stacks"},
        {options->no_jobiod, "--no-jobiod: only root can count without jobiod"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(root_only); i++)
        if (root_only[i].is_given)
            return error_set(error, -EPERM, "%s", root_only[i].refusal);
    return 0;
}

static int run_run(struct cli *cli, int argc, char **argv)
{
    struct run_options options = {0};
    const struct option_spec specs[] = {
        {"full", 0, OPTION_FLAG, &options.full},
        {"html", 0, OPTION_TEXT, &options.html},
        {"json", 0, OPTION_FLAG, &options.json},
        {"timeline", 0, OPTION_FLAG, &options.timeline},
        {"mpi", 0, OPTION_FLAG, &options.mpi},
        {"block", 0, OPTION_FLAG, &options.block},
        {"trace", 0, OPTION_TEXT, &options.trace.path},
        {"trace-of", 0, OPTION_TEXT, &options.trace.of_word},
        {"trace-paths", 0, OPTION_FLAG, &options.trace.paths},
        {"trace-format", 0, OPTION_TEXT, &options.trace.format},
        {"trace-rate", 0, OPTION_U32, &options.trace.limits.per_second},
        {"trace-max", 0, OPTION_U32, &options.trace.limits.in_all},
        {"stacks", 0, OPTION_FORM, &options.stacks.form},
        {"stacks-min", 0, OPTION_SPAN, &options.stacks.limits.least_ns},
        {"stacks-rate", 0, OPTION_U32, &options.stacks.limits.per_second},
        {"output", 0, OPTION_TEXT, &options.output},
        {"interval", 0, OPTION_SPAN, &options.interval_ns},
        {"no-jobiod", 0, OPTION_FLAG, &options.no_jobiod},
    };
    CLEANUP(run_clear) struct run run = {.cli = cli, .options = &options};
    struct error error;
    int first, status, rc;

    if (!options_start(cli, &cli_run, specs, ARRAY_SIZE(specs), OPTIONS_IN_ORDER, argc, argv,
                       &first, &status))
        return status;
    if (first == argc) {
        output_error("run: give a command, as in 'jobio run -- ls -l'");
        return CLI_USAGE;
    }
    run.command = argv + first;
    if (run_trace_check(&options.trace, &error) < 0 ||
        run_stacks_check(&options.stacks, options.json, &error) < 0) {
        output_error("run: %s", error.text);
        return CLI_USAGE;
    }
    options.mpi |= options.trace.of == TRACE_OF_MPI;
    rc = child_resolve(argv[first], &run.program, &error);
    if (rc < 0) {
        output_error("run: %s", error.text);
        return rc == -ENOENT ? CLI_NOT_FOUND : rc == -ENOMEM ? CLI_RUN_FAILED : CLI_NOT_EXECUTABLE;
    }
    if (!is_root() && check_user(&options, &error) < 0) {
        output_error("run: %s", error.text);
        return CLI_RUN_FAILED;
    }
    return run_command(&run);
}

const struct subcommand cli_run = {"run", "run a command and show its I/O", help, run_run};

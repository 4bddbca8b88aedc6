/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frame of the page, and its first part: the facts, the verdict, the notes. */
#include "report/html/html_impl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text_buffer.h"
#include "report/layout.h"
#include "report/html/page.h"

#define TITLE_COLUMNS 120
#define COMMAND_COLUMNS 400
#define OPEN_MISSING 4 /* a longer list is collapsed */

static char *date(uint64_t ns, char buf[64])
{
    time_t seconds = (time_t)(ns / NS_PER_S);
    struct tm tm;

    if (!ns || !localtime_r(&seconds, &tm) || !strftime(buf, 64, "%Y-%m-%d %H:%M:%S %Z", &tm))
        strcpy(buf, "?");
    return buf;
}

/* "Job 4711", or the command of `jobio run`. */
static void put_name(const struct html *h, size_t columns)
{
    _free_ char *command = NULL, *fitted = NULL;

    if (!h->job->command) {
        if (h->job->array_job)
            (void)fprintf(h->out, "Job %u_%u", h->job->array_job, h->job->array_task);
        else
            (void)fprintf(h->out, "Job %u", h->job->key.jobid);
        if (h->options->step) {
            (void)fputs(", step ", h->out);
            html_text(h->out, h->options->step);
        }
        return;
    }
    command = summary_command(h->job->command);
    fitted = command ? layout_cut(command, columns) : NULL;
    html_text(h->out, fitted ? fitted : "?");
}

static void put_job_name(const struct html *h)
{
    _free_ char *fitted = h->job->name ? layout_cut(h->job->name, TITLE_COLUMNS) : NULL;

    if (!fitted || !*fitted)
        return;
    (void)fputs(" <span class=\"name\">", h->out);
    html_text(h->out, fitted);
    (void)fputs("</span>", h->out);
}

/* --- who and when ----------------------------------------------------------------------------- */

static void fact(FILE *out, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    (void)fprintf(out, "<div><dt>%s</dt><dd>", name);
    html_text(out, value);
    (void)fputs("</dd></div>\n", out);
}

static void put_facts(const struct html *h)
{
    const struct job_account *job = h->job;
    char start[64], end[64], elapsed[UNITS_SIZE], text[64];

    (void)fputs("<dl class=\"facts\">\n", h->out);
    fact(h->out, "User", job->user);
    fact(h->out, "Account", job->account);
    fact(h->out, "Partition", job->partition);
    fact(h->out, "Cluster", job->key.cluster);
    if (job->nodes_expected > 1 || job->nodes_reported > 1) {
        (void)snprintf(text, sizeof(text), "%u",
                       job->nodes_expected ? job->nodes_expected : job->nodes_reported);
        fact(h->out, "Nodes", text);
    }
    if (job->key.restart) {
        (void)snprintf(text, sizeof(text), "%u", job->key.restart);
        fact(h->out, "Restart", text);
    }
    fact(h->out, job->ended ? "Run time" : "Run time so far",
         units_elapsed(job->elapsed_ns, elapsed));
    fact(h->out, "Start", job->start_ns ? date(job->start_ns, start) : NULL);
    fact(h->out, "End", job->ended ? date(job->end_ns, end) : "still running");
    if (job->slurm.state != SLURM_STATE_UNKNOWN)
        fact(h->out, "State", summary_state(job, text));
    if (job->command) {
        (void)snprintf(text, sizeof(text), "%d", job->exit_status);
        fact(h->out, "Exit status", text);
    }
    (void)fputs("</dl>\n", h->out);
}

/* --- the verdict and the notes ---------------------------------------------------------------- */

/* The colour of the verdict. */
static const char *verdict_colour(const struct html *h)
{
    double percent = summary_waiting(&h->s, h->s.total.sums.all.time_ns);

    return job_not_counted(h->job)      ? "grey"
           : summary_is_harmless(&h->s) ? "good"
           : percent < 30               ? "fair"
                                        : "poor";
}

static void put_verdict(const struct html *h)
{
    _free_ char *line = summary_verdict(&h->s);

    (void)fprintf(h->out, "<p class=\"verdict %s\">", verdict_colour(h));
    html_sentence(h->out, line                      ? line
                          : job_not_counted(h->job) ? SUMMARY_NOT_COUNTED
                                                    : "no I/O was counted");
    (void)fputs("</p>\n", h->out);
}

static void figure(FILE *out, const char *name, const char *value, const char *more)
{
    (void)fprintf(out, "<div><dt>%s</dt><dd>", name);
    html_text(out, value);
    (void)fputs("</dd><dd class=\"more\">", out);
    html_text(out, more);
    (void)fputs("</dd></div>\n", out);
}

static void put_figures(const struct html *h)
{
    const struct summary_row *sum = &h->s.total;
    uint64_t elapsed = h->job->elapsed_ns;
    char value[UNITS_SIZE], buf[UNITS_SIZE], more[2 * UNITS_SIZE + 32];

    if (!h->s.n)
        return;
    (void)fputs("<dl class=\"figures\">\n", h->out);
    (void)snprintf(more, sizeof(more), "of the run time: %s", html_time(h->s.wait_ns, buf));
    figure(h->out, "Waiting for I/O", units_percent(h->s.wait_ns, elapsed, value), more);
    (void)snprintf(more, sizeof(more), "%s on average",
                   units_rate(io_per_second(sum->sums.reads.bytes, elapsed), buf));
    figure(h->out, "Read", units_bytes(sum->sums.reads.bytes, value), more);
    (void)snprintf(more, sizeof(more), "%s on average",
                   units_rate(io_per_second(sum->sums.writes.bytes, elapsed), buf));
    figure(h->out, "Written", units_bytes(sum->sums.writes.bytes, value), more);
    (void)snprintf(more, sizeof(more), "%s a second on average",
                   units_count(io_per_second(sum->shown.meta.requests, elapsed), buf));
    figure(h->out, "Metadata calls", units_count(sum->shown.meta.requests, value), more);
    (void)snprintf(more, sizeof(more), "of %s calls of all kinds",
                   units_count(sum->sums.all.requests, buf));
    figure(h->out, "Failed calls", units_count(sum->shown.all.errors, value), more);
    (void)fputs("</dl>\n", h->out);
}

static void put_link(FILE *out, const char *link)
{
    bool is_url = !strncmp(link, "https://", 8) || !strncmp(link, "http://", 7);

    if (!is_url)
        return;
    (void)fputs(" <a rel=\"noreferrer\" href=\"", out);
    html_text(out, link);
    (void)fputs("\">Read more</a>", out);
}

static void put_note(const struct html *h, const struct advice_note *note)
{
    static const char *const levels[][2] = {
        [ADVICE_ERROR] = {"poor", "Failed"},
        [ADVICE_HINT] = {"fair", "Hint"},
        [ADVICE_GOOD] = {"good", "Good"},
    };

    (void)fprintf(h->out, "<li class=\"%s\"><strong>%s</strong> ", levels[note->level][0],
                  levels[note->level][1]);
    html_sentence(h->out, note->text);
    put_link(h->out, note->link ? note->link : "");
    (void)fputs("</li>\n", h->out);
}

/* The notes about errors, which come first on the page, or all others. */
static void put_notes(const struct html *h, bool errors)
{
    const struct advice_notes *notes = h->options->notes;
    size_t first = 0, end;

    while (notes && first < notes->n && notes->items[first].level == ADVICE_ERROR)
        first++;
    end = errors ? first : notes ? notes->n : 0;
    first = errors ? 0 : first;
    if (first == end)
        return;
    html_section(h->out, errors ? "failures" : "notes",
                 errors                                     ? "Failed calls"
                 : notes->items[first].level == ADVICE_GOOD ? "Notes"
                                                            : "What to do");
    (void)fputs("<ul class=\"notes\">\n", h->out);
    for (size_t i = first; i < end; i++)
        put_note(h, &notes->items[i]);
    (void)fputs("</ul>\n", h->out);
    html_section_end(h->out);
}

/* A list of what is missing. */
static void put_missing(FILE *out, const struct completeness *c)
{
    (void)fprintf(out,
                  "<details%s>\n<summary>What is missing (%zu)</summary>\n<ul class=\"small\">\n",
                  c->n <= OPEN_MISSING ? " open=\"open\"" : "", c->n);
    for (size_t i = 0; i < c->n; i++) {
        _free_ char *cause = summary_cause(&c->items[i]);

        (void)fputs("<li>", out);
        html_sentence(out, cause ? cause : "?");
        (void)fputs("</li>\n", out);
    }
    (void)fputs("</ul>\n</details>\n", out);
}

static void put_completeness(const struct html *h)
{
    _free_ char *line = summary_completeness(h->job), *ops = summary_ops(h->job->unsupported);

    (void)fprintf(h->out, "<p class=\"complete %s\">", job_is_complete(h->job) ? "good" : "poor");
    html_sentence(h->out, line ? line : "NOT complete: out of memory");
    (void)fputs("</p>\n", h->out);
    if (h->job->completeness.n)
        put_missing(h->out, &h->job->completeness);
    if (ops && *ops)
        (void)fprintf(h->out, "<p class=\"small\">Not counted on this node: %s.</p>\n", ops);
}

/* --- the frame -------------------------------------------------------------------------------- */

/* The policy forbids loading, sending and running anything, even if text of a user were not
 * escaped. */
static void put_head(const struct html *h)
{
    (void)fputs("<!DOCTYPE html>\n"
                "<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
                "<meta charset=\"utf-8\"/>\n"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"/>\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
                "<meta name=\"referrer\" content=\"no-referrer\"/>\n<title>",
                h->out);
    put_name(h, 60);
    (void)fputs(": I/O</title>\n<style>\n", h->out);
    (void)fputs(page_css, h->out);
    (void)fputs("</style>\n</head>\n<body>\n<header>\n<h1>", h->out);
    put_name(h, COMMAND_COLUMNS);
    put_job_name(h);
    (void)fputs("</h1>\n", h->out);
    put_facts(h);
    (void)fputs("</header>\n<main>\n", h->out);
}

static void put_foot(const struct html *h)
{
    char made[64];

    (void)fputs("</main>\n<footer>\n<p>", h->out);
    (void)fputs(
        "Sizes and times of calls are counted in powers of two: a median or a percentile is "
        "at most the number shown; the longest call took at least that. Waiting is the time "
        "inside calls of the thread that waited longest (threads that ran one after the other "
        "count as one), as a part of the run time, shared out by the time of all threads. KiB, "
        "MiB, GiB and TiB are powers of 1024.</p>\n<p>Made by jobio ",
        h->out);
    html_text(h->out, h->options->version);
    if (h->options->made_ns)
        (void)fprintf(h->out, ", %s", date(h->options->made_ns, made));
    (void)fputs(".</p>\n</footer>\n</body>\n</html>\n", h->out);
}

static void put_page(const struct html *h)
{
    put_head(h);
    put_notes(h, true);
    put_verdict(h);
    put_figures(h);
    put_notes(h, false);
    put_completeness(h);
    html_mounts(h);
    html_times(h);
    html_histograms(h);
    html_operations(h);
    html_mpi(h);
    html_block(h);
    html_stacks(h);
    html_nodes(h);
    html_steps(h);
    put_foot(h);
}

char *report_html(const struct job_account *job, const struct html_options *options)
{
    struct html h = {.job = job, .options = options};
    struct text_buffer text;
    char *ret;

    if (summary_make(job, options->notes, &h.s) < 0)
        return NULL;
    h.out = text_buffer_open(&text);
    if (h.out)
        put_page(&h);
    ret = text_buffer_take(&text);
    summary_clear(&h.s);
    return ret;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sentences of the summary, in lines: title, verdict, completeness. */
#include "config.h"

#include "report/text/text_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/text_buffer.h"
#include "common/utf8.h"
#include "report/layout.h"

size_t text_columns(const struct text *t)
{
    return !t->style.columns ? TEXT_COLUMNS : t->style.columns < 30 ? 30 : t->style.columns;
}

bool text_is_narrow(const struct text *t)
{
    return text_columns(t) < TEXT_COLUMNS;
}

void text_lines(FILE *out, const struct text *t, enum text_paint paint, const char *text,
                size_t lines)
{
    static const char *const paints[] = {
        [TEXT_PLAIN] = "",        [TEXT_TITLE] = "\033[1m",  [TEXT_GOOD] = "\033[32m",
        [TEXT_HINT] = "\033[33m", [TEXT_BAD] = "\033[1;31m",
    };
    bool painted = t->style.colour && paint != TEXT_PLAIN;
    _free_ char *wrapped = NULL;
    struct text_buffer line;

    if (!text_buffer_open(&line))
        return;
    layout_wrap(line.out, text, text_columns(t), 2, lines);
    wrapped = text_buffer_take(&line);
    /* Each line on its own: a pager may show any of them first. */
    for (char *at = wrapped, *end; at && (end = strchr(at, '\n')); at = end + 1)
        (void)fprintf(out, "%s%.*s%s\n", painted ? paints[paint] : "", (int)(end - at), at,
                      painted ? "\033[0m" : "");
}

size_t text_count_lines(const char *text)
{
    size_t n = 0;

    for (; text && (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

/* --- title ------------------------------------------------------------------------------------ */

#define TITLE "I/O summary: "
#define USER_COLUMNS 20

char *text_who(const struct job_account *job)
{
    _free_ char *safe = utf8_sanitize(job->user ? job->user : "");
    _free_ char *user = safe ? layout_cut(safe, USER_COLUMNS) : NULL;
    char number[SUMMARY_NUMBER], state[SUMMARY_STATE];

    if (!user)
        return NULL;
    return text_format("%s%s%s, %s", summary_job_number(job, number), *user ? " of " : "", user,
                       summary_state(job, state));
}

void text_title(FILE *out, const struct text *t)
{
    const struct job_account *job = t->s.job;
    char end[UNITS_SIZE + 4], elapsed[UNITS_SIZE];
    _free_ char *command = NULL, *fitted = NULL, *line = NULL, *who = NULL;
    uint32_t nodes = job->nodes_expected ? job->nodes_expected : job->nodes_reported;

    (void)snprintf(end, sizeof(end), ", %s", units_elapsed(job->elapsed_ns, elapsed));
    if (job->command) {
        command = summary_command(job->command);
        fitted =
            command ? layout_cut(command, text_columns(t) - strlen(TITLE) - strlen(end)) : NULL;
        line = text_format(TITLE "%s%s", fitted ? fitted : "?", end);
    } else {
        who = text_who(job);
        line = text_format(TITLE "job %s, %u node%s%s", who ? who : "?", nodes,
                           nodes == 1 ? "" : "s", end);
    }
    text_lines(out, t, TEXT_TITLE, line ? line : TITLE "?", text_is_narrow(t) ? 2 : 1);
}

#define VERDICT_LINES 2

void text_verdict(FILE *to, const struct text *t)
{
    _free_ char *line = summary_verdict(&t->s);

    if (line)
        text_lines(to, t, summary_is_harmless(&t->s) ? TEXT_GOOD : TEXT_TITLE, line,
                   text_is_narrow(t) ? 2 * VERDICT_LINES : VERDICT_LINES);
}

/* All in one line, malloc'd; NULL: out of memory. */
static char *completeness_line(const struct job_account *job)
{
    _free_ char *head = summary_completeness(job);
    struct text_buffer text;

    if (!head || !text_buffer_open(&text))
        return NULL;
    fputs(head, text.out);
    for (size_t i = 0; i < job->completeness.n; i++) {
        _free_ char *cause = summary_cause(&job->completeness.items[i]);

        fprintf(text.out, "; %s", cause ? cause : "?");
    }
    return text_buffer_take(&text);
}

void text_completeness(FILE *out, const struct text *t, size_t lines)
{
    _free_ char *line = completeness_line(t->s.job);

    text_lines(out, t, job_is_complete(t->s.job) ? TEXT_PLAIN : TEXT_HINT,
               line ? line : "NOT complete: out of memory", lines);
}

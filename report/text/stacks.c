/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text_buffer.h"
#include "common/units.h"
#include "report/layout.h"

/* Stacks in the text, and lines of functions of each. Those of Python are far out, because each has
 * several functions of the interpreter between it and the next one. */
#define TOP_STACKS 10
#define TOP_FUNCTIONS 8
#define MORE_PYTHON 8

/* The column of the thread; its functions follow two columns later. */
#define THREAD_COLUMN 28

#define COLUMNS 80

/* What has no line of its own in the profile. */
struct rest {
    const char *name; /* in folded stacks */
    const char *why;  /* in the text; NULL: a line in the table */
    const struct stack_weight *weight;
};

#define RESTS 4

static void list_rests(const struct stack_profile *profile, struct rest rests[RESTS])
{
    rests[0] = (struct rest){"[other stacks]", NULL, &profile->other};
    rests[1] = (struct rest){"[not sampled]", "no stack, because of the limit per second",
                             &profile->counts.unsampled};
    rests[2] =
        (struct rest){"[lost]", "no stack, because they came too fast", &profile->counts.lost};
    rests[3] = (struct rest){
        "[not unwound]",
        "no stack, because their process is of another user, or the process that unwinds "
        "them failed, was too slow or used up its CPU time",
        &profile->failed};
}

/* --- folded ----------------------------------------------------------------------------------- */

/* Write the stack without the files. */
static void write_folded(FILE *out, const struct stack *stack)
{
    for (const char *text = stack->text; *text; text += strcspn(text, ";")) {
        text += *text == ';';
        (void)fprintf(out, "%s%.*s", text == stack->text ? "" : ";", (int)strcspn(text, "\t;"),
                      text);
    }
    (void)fprintf(out, " %" PRIu64 "\n", stack->weight.time_ns);
}

int report_stacks_folded(const struct stack_profile *profile, FILE *out)
{
    struct rest rests[RESTS];

    list_rests(profile, rests);
    for (size_t i = 0; i < profile->n; i++)
        write_folded(out, &profile->stacks[i]);
    for (size_t i = 0; i < RESTS; i++)
        if (rests[i].weight->calls)
            (void)fprintf(out, "%s %" PRIu64 "\n", rests[i].name, rests[i].weight->time_ns);
    return fflush(out) != 0 ? -errno : ferror(out) ? -EIO : 0;
}

/* --- text ------------------------------------------------------------------------------------- */

static void write_function(FILE *out, const char *text, int n)
{
    int name = (int)strcspn(text, "\t;");

    name = name < n ? name : n;
    (void)fprintf(out, "%*s%.*s", THREAD_COLUMN + 2, "", name, text);
    if (name < n)
        (void)fprintf(out, " (%.*s)", n - name - 1, text + name + 1);
    (void)fputc('\n', out);
}

static bool is_python(const char *text, const char *end)
{
    const char *tab = memchr(text, '\t', (size_t)(end - text));

    return tab && end - tab > 3 && !strncmp(end - 3, ".py", 3);
}

static void write_gap(FILE *out, bool gap)
{
    if (gap)
        (void)fprintf(out, "%*s...\n", THREAD_COLUMN + 2, "");
}

/* Write the functions, the innermost one first: behind the first gap, only those of Python. */
static void write_functions(FILE *out, const char *text)
{
    const char *first = strchr(text, ';'), *end = text + strlen(text);
    bool gap = false;
    int n = 0;

    while (first && end > first) {
        const char *from = end;

        do
            from--;
        while (*from != ';');
        if (n < TOP_FUNCTIONS || (n < TOP_FUNCTIONS + MORE_PYTHON && is_python(from + 1, end))) {
            write_gap(out, gap && n == TOP_FUNCTIONS);
            write_function(out, from + 1, (int)(end - from - 1));
            gap = false;
            n++;
        } else {
            gap = true;
        }
        end = from;
    }
    write_gap(out, gap);
}

static void write_stack(FILE *out, const struct stack_weight *weight, uint64_t total_ns,
                        const char *text)
{
    char time[UNITS_SIZE], share[UNITS_SIZE], calls[UNITS_SIZE];

    if (!weight->calls)
        return;
    (void)fprintf(out, "%9s %7s %8s  %.*s\n", units_time(weight->time_ns, time),
                  units_percent(weight->time_ns, total_ns, share),
                  units_count(weight->calls, calls), (int)strcspn(text, ";"), text);
    write_functions(out, text);
}

static const char *calls_word(const struct stack_weight *weight)
{
    return weight->calls == 1 ? "call" : "calls";
}

static void write_note(FILE *out, const struct stack_weight *weight, const char *text)
{
    char time[UNITS_SIZE], calls[UNITS_SIZE], note[160];

    if (!weight->calls)
        return;
    (void)snprintf(note, sizeof(note), "(%s: %s %s, %s)", text, units_count(weight->calls, calls),
                   calls_word(weight), units_time(weight->time_ns, time));
    layout_wrap(out, note, COLUMNS, 1, 4);
}

static void write_profile(FILE *out, const struct stack_profile *profile)
{
    const struct stack_counts *counts = &profile->counts;
    uint64_t with_stack = stack_profile_sum(profile).time_ns;
    char calls[UNITS_SIZE], least[UNITS_SIZE], time[UNITS_SIZE];
    struct stack_weight further = profile->other;
    struct rest rests[RESTS];

    list_rests(profile, rests);
    (void)fprintf(out, "\nwaiting code: %s %s of at least %s took %s\n",
                  units_count(counts->all.calls, calls), calls_word(&counts->all),
                  units_time(profile->least_ns, least), units_time(counts->all.time_ns, time));
    if (profile->n)
        (void)fprintf(out, "%9s %7s %8s  %s\n", "time", "share", "calls",
                      "thread, and its functions from the innermost one on");
    for (size_t i = 0; i < profile->n; i++) {
        const struct stack_weight *weight = &profile->stacks[i].weight;

        if (i < TOP_STACKS) {
            write_stack(out, weight, with_stack, profile->stacks[i].text);
        } else {
            further.calls += weight->calls;
            further.time_ns += weight->time_ns;
        }
    }
    write_stack(out, &further, with_stack, rests[0].name);
    for (size_t i = 0; i < RESTS; i++)
        if (rests[i].why)
            write_note(out, rests[i].weight, rests[i].why);
    write_note(out, &profile->truncated, "truncated, without the outer functions");
    write_note(out, &profile->unread, "the process ended before its stack was read");
}

char *report_stacks_text(const struct stack_profile *profile)
{
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    write_profile(text.out, profile);
    return text_buffer_take(&text);
}

char *report_stacks_of_job(const struct job_account *job)
{
    struct text_buffer text;

    if (job->stacks)
        return report_stacks_text(job->stacks);
    if (!text_buffer_open(&text))
        return NULL;
    (void)fputc('\n', text.out);
    layout_wrap(text.out, STACKS_NOT_RECORDED, COLUMNS, 0, 2);
    return text_buffer_take(&text);
}

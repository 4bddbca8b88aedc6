/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The notes: errors first, then hints. */
#define _GNU_SOURCE
#include "report/text/text_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/text_buffer.h"
#include "report/advice/advice.h"

/* The most lines of a note. */
#define NOTE_LINES 3

static const struct {
    const char *word;
    enum text_paint paint;
} levels[ADVICE_LEVELS] = {
    [ADVICE_ERROR] = {"error", TEXT_BAD},
    [ADVICE_HINT] = {"note", TEXT_HINT},
    [ADVICE_GOOD] = {"note", TEXT_GOOD},
};

/* The lines of a note, malloc'd; NULL: out of memory. */
static char *note_lines(const struct text *t, const struct advice_note *note)
{
    _free_ char *line = NULL;
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    line = text_format("%s: %s%s%s", levels[note->level].word, note->text, *note->link ? " " : "",
                       note->link);
    text_lines(text.out, t, levels[note->level].paint, line ? line : "?", NOTE_LINES);
    return text_buffer_take(&text);
}

/* A last line with the number of errors that do not fit. */
static void write_rest(FILE *out, const struct text *t, bool errors, size_t rest)
{
    char line[64];

    (void)snprintf(line, sizeof(line), "error: %zu more, see 'jobio advise %u'", rest,
                   t->s.job->key.jobid);
    if (errors && rest)
        text_lines(out, t, TEXT_BAD, line, 1);
}

static void write_notes(FILE *out, const struct text *t, bool errors, size_t lines)
{
    const struct advice_notes *notes = t->s.notes;
    size_t rest = 0;

    for (size_t i = 0; notes && i < notes->n; i++)
        rest += (notes->items[i].level == ADVICE_ERROR) == errors;
    for (size_t i = 0; notes && i < notes->n && rest; i++) {
        _free_ char *text = NULL;

        if ((notes->items[i].level == ADVICE_ERROR) != errors)
            continue;
        text = note_lines(t, &notes->items[i]);
        if (!text || text_count_lines(text) + (errors && rest > 1) > lines)
            break;
        lines -= text_count_lines(text);
        fputs(text, out);
        rest--;
    }
    write_rest(out, t, errors, rest);
}

void text_errors(FILE *out, const struct text *t, size_t lines)
{
    write_notes(out, t, true, lines);
}

void text_notes(FILE *out, const struct text *t, size_t lines)
{
    write_notes(out, t, false, lines);
}

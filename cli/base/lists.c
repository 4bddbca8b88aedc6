/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/base/lists.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/jobid.h"
#include "common/cleanup.h"
#include "common/numbers.h"
#include "common/text_buffer.h"

#define NAMES_MAX 1000 /* as many as history_words() accepts */

/* --- the parts of a list ---------------------------------------------------------------------- */

/* Length of the word at p: up to the next comma outside brackets. */
static size_t word_bytes(const char *p)
{
    bool inside = false;
    size_t n = 0;

    for (; p[n] && (inside || p[n] != ','); n++)
        inside = p[n] == '[' || (inside && p[n] != ']');
    return n;
}

/* Writes the items of one word; `first`: no item precedes them. */
typedef int (*write_word_f)(const char *word, FILE *out, bool first, struct error *error);

static int each_word(const char *text, write_word_f write, char **ret, struct error *error)
{
    struct text_buffer list;
    int rc = text_buffer_open(&list) ? 0 : error_errno(error, -ENOMEM, "read the list");

    if (rc < 0)
        return rc;
    for (const char *p = text; rc == 0 && p; p = *p ? p + 1 : NULL) {
        size_t n = word_bytes(p);
        _free_ char *word = strndup(p, n);

        rc = word ? write(word, list.out, p == text, error)
                  : error_errno(error, -ENOMEM, "read the list");
        p += n;
    }
    *ret = text_buffer_take(&list);
    if (rc == 0 && !*ret)
        rc = error_errno(error, -ENOMEM, "read the list");
    if (rc < 0)
        free(TAKE_PTR(*ret));
    return rc;
}

/* One item between brackets. */
struct range {
    uint64_t first, last;
    int digits; /* of the first number as it is written */
};

/* Parse the range at *p, and advance *p past it and its comma. False: there is none. */
static bool take_range(const char **p, struct range *ret)
{
    const char *at = *p;

    if (number_parse_prefix(p, &ret->first) < 0)
        return false;
    ret->digits = (int)(*p - at);
    ret->last = ret->first;
    if (**p == '-') {
        (*p)++;
        if (number_parse_prefix(p, &ret->last) < 0)
            return false;
    }
    if (ret->last < ret->first || ret->last > UINT32_MAX)
        return false;
    if (**p != ',')
        return **p == ']';
    (*p)++;
    return **p != ']';
}

/* --- jobs ------------------------------------------------------------------------------------- */

static int refuse_job(const char *word, struct error *error)
{
    return error_set(error, -EINVAL,
                     "\"%s\" is not a job: use, for example, 123, 123_4, 123_[1-4,7] or 123.batch",
                     word);
}

/* The tasks 12_[1-3,7]; `bracket` is in `word`. */
static int write_tasks(const char *word, const char *bracket, FILE *out, bool first,
                       struct error *error)
{
    const char *p = bracket + 1, *end = strchr(bracket, ']');
    char probe[JOBID_TEXT];
    struct jobid id;

    /* The rest must be that of one task. */
    if (!end || bracket == word || bracket[-1] != '_' ||
        snprintf(probe, sizeof(probe), "%.*s0%s", (int)(bracket - word), word, end + 1) >=
            (int)sizeof(probe) ||
        jobid_parse(probe, &id, error) < 0)
        return refuse_job(word, error);
    do {
        struct range range;

        if (!take_range(&p, &range))
            return refuse_job(word, error);
        fprintf(out, "%s%u_%" PRIu64, first ? "" : ",", id.job, range.first);
        if (range.last > range.first)
            fprintf(out, "-%" PRIu64, range.last);
        first = false;
    } while (p < end);
    return 0;
}

static int write_job(const char *word, FILE *out, bool first, struct error *error)
{
    const char *bracket = strchr(word, '[');
    char text[JOBID_TEXT];
    struct jobid id;

    if (bracket)
        return write_tasks(word, bracket, out, first, error);
    if (jobid_parse(word, &id, error) < 0)
        return refuse_job(word, error);
    id.has_step = false;
    fprintf(out, "%s%s", first ? "" : ",", jobid_format(&id, text));
    return 0;
}

int list_of_jobs(const char *text, char **ret, struct error *error)
{
    return each_word(text, write_job, ret, error);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static int refuse_node(const char *word, struct error *error)
{
    return error_set(error, -EINVAL, "\"%s\" is not a node: use, for example, n1 or n[1-4,7]",
                     word);
}

static int write_nodes(const char *word, const char *bracket, FILE *out, bool first,
                       struct error *error)
{
    const char *p = bracket + 1, *end = strchr(bracket, ']');
    unsigned names = 0;

    if (!end || strchr(end, '['))
        return refuse_node(word, error);
    do {
        struct range range;

        if (!take_range(&p, &range))
            return refuse_node(word, error);
        for (uint64_t i = range.first; i <= range.last; i++) {
            if (++names > NAMES_MAX)
                return error_set(error, -E2BIG, "\"%s\" is more than %d nodes", word, NAMES_MAX);
            fprintf(out, "%s%.*s%0*" PRIu64 "%s", first ? "" : ",", (int)(bracket - word), word,
                    range.digits, i, end + 1);
            first = false;
        }
    } while (p < end);
    return 0;
}

static int write_node(const char *word, FILE *out, bool first, struct error *error)
{
    const char *bracket = strchr(word, '[');

    if (bracket)
        return write_nodes(word, bracket, out, first, error);
    if (!*word || strpbrk(word, "]\\"))
        return refuse_node(word, error);
    fprintf(out, "%s%s", first ? "" : ",", word);
    return 0;
}

int list_of_nodes(const char *text, char **ret, struct error *error)
{
    return each_word(text, write_node, ret, error);
}

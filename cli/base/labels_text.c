/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces names in texts that a site wrote. */
#define _GNU_SOURCE /* twalk_r */
#include <ctype.h>
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/labels_impl.h"
#include "common/cleanup.h"

#define WORD_MIN 2 /* shorter names are not searched for in texts */

static const enum kind kinds_in_texts[] = {
    KIND_USER, KIND_ACCOUNT, KIND_PARTITION, KIND_NAME, KIND_CLUSTER, KIND_NODE, KIND_SOURCE,
};

/* Looks for the longest name at a position. */
struct search {
    const char *text;
    size_t at;
    bool path; /* a longer path may start with the name */
    const struct label *found;
    size_t length;
};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool ends_path(const char *p)
{
    if (*p == '.')
        return !p[1] || isspace((unsigned char)p[1]);
    return !*p || isspace((unsigned char)*p) || strchr(",;:()\"'<>|", *p);
}

/* A name matches a whole word, a path matches a whole path or its start. */
static bool matches(const struct search *s, const char *name, size_t n)
{
    const char *p = s->text + s->at;

    if (strncmp(p, name, n) != 0)
        return false;
    if (s->path)
        return ends_path(p + n) || (p[n] == '/' && n > 1);
    return n >= WORD_MIN && !(s->at > 0 && is_word(p[-1]) && is_word(p[0])) &&
           !(is_word(p[n - 1]) && is_word(p[n]));
}

static void consider(const void *node, VISIT visit, void *arg)
{
    const struct label *label = *(struct label *const *)node;
    struct search *s = arg;
    size_t n = strlen(label->shown);

    if ((visit != preorder && visit != leaf) || n <= s->length || !matches(s, label->shown, n))
        return;
    s->found = label;
    s->length = n;
}

static bool begins_path(const char *text, size_t at)
{
    return text[at] == '/' && (at == 0 || (!is_word(text[at - 1]) && !strchr("/.~", text[at - 1])));
}

/* The label of the path at s->at, and the length of the path; NULL: out of memory. */
static const struct label *path_label(struct labels *labels, struct search *s)
{
    const char *begin = s->text + s->at;
    _free_ char *path = NULL;
    size_t n;

    s->path = true;
    twalk_r(labels->trees[KIND_MOUNT], consider, s);
    n = s->length ? s->length : 1;
    while (!ends_path(begin + n))
        n++;
    s->length = n;
    if (s->found)
        return s->found;
    path = strndup(begin, n);
    return path ? labels_find(labels, KIND_PATH, path) : NULL;
}

static char *text_label(struct labels *labels, const char *text)
{
    char *result = NULL;
    size_t size;
    FILE *out = open_memstream(&result, &size);
    bool failed = !out;

    for (size_t i = 0; !failed && text[i];) {
        struct search s = {.text = text, .at = i};

        for (size_t k = 0; k < ARRAY_SIZE(kinds_in_texts); k++)
            twalk_r(labels->trees[kinds_in_texts[k]], consider, &s);
        if (!s.found && begins_path(text, i)) {
            s.found = path_label(labels, &s);
            failed = !s.found;
        }
        (void)(s.found ? fputs(s.found->name, out) : fputc(text[i], out));
        i += s.found ? s.length : 1;
    }
    if (out && fclose(out) != 0)
        failed = true;
    if (!failed)
        return result;
    free(result);
    return NULL;
}

const char *labels_mount(struct labels *labels, const char *mount)
{
    const struct label *label = labels_find(labels, KIND_MOUNT, mount);

    return label ? label->name : NULL;
}

int labels_notes(struct labels *labels, struct advice_notes *notes)
{
    for (size_t i = 0; i < notes->n; i++) {
        struct advice_note *note = &notes->items[i];
        char *text = text_label(labels, note->text);

        if (!text)
            return -ENOMEM;
        free(note->text);
        note->text = text;
        if (note->link)
            note->link[0] = '\0';
    }
    return 0;
}

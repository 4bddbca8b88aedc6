/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "settings/file.h"

#include <fnmatch.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"

/* inih's own limit: it would split a longer line in two. */
#define LINE_MAX_BYTES 198

struct loading {
    const char *path;
    FILE *file;
    char *line;
    size_t size;
    struct settings_reader *reader;
    void *target;
    unsigned line_number;
    unsigned *set_in; /* owned: the line by key; 0: not set yet */
    bool any;         /* a key was set */
    int result;       /* the first failure */
    bool stop;
    struct error *error;
};

void setting_list_clear(struct setting_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i].value);
        free(list->items[i].file);
    }
    free(list->items);
    *list = (struct setting_list){0};
}

static int fail(struct loading *l, int code, const char *reason)
{
    struct error error;

    (void)error_set(&error, code, "%s:%u: %s", l->path, l->line_number, reason);
    if (!l->result || code != -EINVAL) {
        l->result = code;
        *l->error = error;
    }
    l->stop = l->stop || !l->reader->problem || code != -EINVAL;
    if (l->reader->problem && code == -EINVAL)
        l->reader->problem(error.text, l->reader->arg);
    return 0; /* a failure for inih */
}

/* inih reports only the first of such lines. It takes an indented line for more of the value above.
 */
static bool is_malformed(const char *line)
{
    size_t blank = strspn(line, " \t\r\n\v\f");

    if (!line[blank] || strchr(";#", line[blank]) || !strncmp(line, "\xef\xbb\xbf", 3))
        return false;
    if (line[blank] == '[')
        return !strchr(line + blank, ']');
    return !blank && !strpbrk(line, "=:");
}

/* inih reads lines through this function, which counts them and refuses those it would truncate. */
static char *read_line(char *buffer, int size, void *stream)
{
    struct loading *l = stream;
    ssize_t n;

    if (l->stop)
        return NULL;
    n = getline(&l->line, &l->size, l->file);
    if (n < 0 && !feof(l->file)) {
        l->stop = true;
        l->result = error_errno(l->error, -errno, "cannot read %s", l->path);
    }
    if (n < 0)
        return NULL;
    l->line_number++;
    if (memchr(l->line, '\0', (size_t)n)) {
        l->stop = true;
        (void)fail(l, -EINVAL, "a NUL byte: this is not a text file");
    } else if (n > LINE_MAX_BYTES || n >= size) {
        (void)fail(l, -EINVAL, "a line has at most 197 characters");
        n = 0;
    } else if (is_malformed(l->line)) {
        (void)fail(l, -EINVAL, "neither [section] nor KEY = VALUE");
        n = 0;
    }
    if (l->stop)
        return NULL;
    memcpy(buffer, n ? l->line : "\n", n ? (size_t)n + 1 : sizeof("\n"));
    return buffer;
}

static const struct key *find_key(const struct settings_reader *reader, const char *section,
                                  const char *name)
{
    for (size_t i = 0; i < reader->n_keys; i++)
        if (!strcmp(section, reader->keys[i].section) && !strcmp(name, reader->keys[i].name))
            return &reader->keys[i];
    return NULL;
}

/* --- the nodes that a file is for ------------------------------------------------------------- */

static int match_node(struct loading *l, const char *value)
{
    _free_ char *copy = strdup(value);
    char *rest = copy, *word;

    if (!copy)
        return fail(l, -ENOMEM, "no memory");
    if (strpbrk(value, "[]\\"))
        return fail(l, -EINVAL,
                    "nodes: only * and ? are patterns; write n1* instead of n[100-199]");
    l->reader->skipped = true;
    while ((word = strsep(&rest, " \t,")))
        if (*word && fnmatch(word, l->reader->node, 0) == 0)
            l->reader->skipped = false;
    l->target = l->reader->skipped ? l->reader->spare : l->reader->target;
    return 1;
}

static int take_nodes(struct loading *l, const char *value)
{
    if (!l->reader->spare)
        return fail(l, -EINVAL, "nodes: only for files in jobio.conf.d");
    if (l->any)
        return fail(l, -EINVAL, "nodes: must be the first key of the file, and set once");
    l->any = true;
    return match_node(l, value);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* Forget what earlier files set. */
static void forget(struct settings_reader *reader, const struct key *key)
{
    struct setting_list *made = &reader->made;
    size_t kept = 0;

    for (size_t i = 0; i < made->n; i++) {
        if (made->items[i].key != key) {
            made->items[kept++] = made->items[i];
            continue;
        }
        free(made->items[i].value);
        free(made->items[i].file);
    }
    made->n = kept;
}

static int note(struct loading *l, const struct key *key, const char *value)
{
    struct setting_list *made = &l->reader->made;
    struct setting new = {key, strdup(value), strdup(l->path), l->line_number}, *grown;

    grown = new.value &&new.file ? reallocarray(made->items, made->n + 1, sizeof(*grown)) : NULL;
    if (!grown) {
        free(new.value);
        free(new.file);
        return fail(l, -ENOMEM, "no memory");
    }
    made->items = grown;
    grown[made->n++] = new;
    return 1;
}

static int set_key(struct loading *l, const struct key *key, const char *value)
{
    void *field = (char *)l->target + key->offset;
    struct error error;
    int r;

    if (!l->set_in[key - l->reader->keys] && key->repeats) {
        settings_list_clear(field);
        *(struct settings_list *)field = (struct settings_list){0};
    }
    if (!l->set_in[key - l->reader->keys] && !l->reader->skipped)
        forget(l->reader, key);
    l->set_in[key - l->reader->keys] = l->line_number;
    r = key->parse(key, value, field, &error);
    if (r < 0) {
        error_prefix(&error, r, "%s", key->name);
        return fail(l, r, error.text);
    }
    return l->reader->skipped ? 1 : note(l, key, value);
}

static int unknown_key(struct loading *l, const char *section, const char *name)
{
    struct text_nearest nearest = {.word = name, .n = strlen(name)};
    char hint[TEXT_HINT_SIZE];
    struct error error;

    for (size_t i = 0; i < l->reader->n_keys; i++)
        if (!strcmp(section, l->reader->keys[i].section))
            text_nearest_try(&nearest, l->reader->keys[i].name);
    error_set(&error, 0, "unknown key \"%s\"%s%s%s%s", name, *section ? " in [" : "", section,
              *section ? "]" : "", text_nearest_hint(&nearest, hint));
    return fail(l, -EINVAL, error.text);
}

static int take_value(void *user, const char *section, const char *name, const char *value)
{
    struct loading *l = user;
    const struct key *key = find_key(l->reader, section, name);
    struct error error;

    if (!key && !*section && !strcmp(name, "nodes"))
        return take_nodes(l, value);
    l->any = true;
    if (!key)
        return unknown_key(l, section, name);
    if (!key->repeats && l->set_in[key - l->reader->keys]) {
        error_set(&error, 0, "%s: set already in line %u", name, l->set_in[key - l->reader->keys]);
        return fail(l, -EINVAL, error.text);
    }
    return set_key(l, key, value);
}

int settings_file_read(const char *path, struct settings_reader *reader, struct error *error)
{
    _fclose_ FILE *file = fopen(path, "re");
    struct loading l = {
        .path = path, .file = file, .reader = reader, .target = reader->target, .error = error};
    int r;

    if (!file)
        return error_errno(error, -errno, "cannot open %s", path);
    l.set_in = calloc(reader->n_keys, sizeof(*l.set_in));
    if (!l.set_in)
        return error_set(error, -ENOMEM, "no memory for the configuration");
    reader->skipped = false;
    r = ini_parse_stream(read_line, &l, take_value, &l);
    free(l.line);
    free(l.set_in);
    if (r > 0 && !l.result) {
        l.line_number = (unsigned)r;
        (void)fail(&l, -EINVAL, "neither [section] nor KEY = VALUE");
    }
    if (r < 0 && !l.result)
        l.result = error_set(error, -ENOMEM, "no memory for the configuration");
    return l.result;
}

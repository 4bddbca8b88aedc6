/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "settings/file.h"

#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

/* inih's own limit: it would split a longer line in two. */
#define LINE_MAX_BYTES 198

struct loading {
    const char *path;
    FILE *file;
    char *line;
    size_t size;
    const struct key *keys;
    size_t n_keys;
    void *target;
    unsigned line_number;
    unsigned *set_in; /* owned: the line by key; 0: not set yet */
    int result;       /* the first failure */
    struct error *error;
};

static int fail(struct loading *l, int code, const char *reason)
{
    if (!l->result)
        l->result = error_set(l->error, code, "%s:%u: %s", l->path, l->line_number, reason);
    return 0; /* a failure for inih */
}

/* inih reads lines through this function, which counts them and refuses those it would truncate. */
static char *read_line(char *buffer, int size, void *stream)
{
    struct loading *l = stream;
    ssize_t n;

    if (l->result)
        return NULL;
    n = getline(&l->line, &l->size, l->file);
    if (n < 0 && !feof(l->file))
        l->result = error_errno(l->error, -errno, "cannot read %s", l->path);
    if (n < 0)
        return NULL;
    l->line_number++;
    if (memchr(l->line, '\0', (size_t)n))
        (void)fail(l, -EINVAL, "a NUL byte: this is not a text file");
    else if (n > LINE_MAX_BYTES || n >= size)
        (void)fail(l, -EINVAL, "a line has at most 197 characters");
    if (l->result)
        return NULL;
    memcpy(buffer, l->line, (size_t)n + 1);
    return buffer;
}

static const struct key *find_key(const struct loading *l, const char *section, const char *name)
{
    for (size_t i = 0; i < l->n_keys; i++)
        if (!strcmp(section, l->keys[i].section) && !strcmp(name, l->keys[i].name))
            return &l->keys[i];
    return NULL;
}

static int take_value(void *user, const char *section, const char *name, const char *value)
{
    struct loading *l = user;
    const struct key *key = find_key(l, section, name);
    struct error error;
    int r;

    if (!key) {
        error_set(&error, 0, "unknown key \"%s\"%s%s%s", name, *section ? " in [" : "", section,
                  *section ? "]" : "");
        return fail(l, -EINVAL, error.text);
    }
    if (!key->repeats && l->set_in[key - l->keys]) {
        error_set(&error, 0, "%s: set already in line %u", name, l->set_in[key - l->keys]);
        return fail(l, -EINVAL, error.text);
    }
    l->set_in[key - l->keys] = l->line_number;
    r = key->parse(key, value, (char *)l->target + key->offset, &error);
    if (r < 0) {
        error_prefix(&error, r, "%s", name);
        return fail(l, r, error.text);
    }
    return 1;
}

int settings_file_read(const char *path, const struct key *keys, size_t n_keys, void *target,
                       struct error *error)
{
    _fclose_ FILE *file = fopen(path, "re");
    struct loading l = {.path = path,
                        .file = file,
                        .keys = keys,
                        .n_keys = n_keys,
                        .target = target,
                        .error = error};
    int r;

    if (!file)
        return error_errno(error, -errno, "cannot open %s", path);
    l.set_in = calloc(n_keys, sizeof(*l.set_in));
    if (!l.set_in)
        return error_set(error, -ENOMEM, "no memory for the configuration");
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

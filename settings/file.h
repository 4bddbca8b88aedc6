/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A configuration file: [sections] of KEY = VALUE, read into a struct by a table of keys. */
#ifndef JOBIO_SETTINGS_FILE_H
#define JOBIO_SETTINGS_FILE_H

#include <stdbool.h>

#include "settings/value.h"

/* A key that a file sets. The strings are owned. */
struct setting {
    const struct key *key;
    char *value, *file;
    unsigned line;
};

struct setting_list {
    struct setting *items;
    size_t n;
};
void setting_list_clear(struct setting_list *list);

typedef void (*settings_problem_f)(const char *text, void *arg);

/* Files are read one after the other. A later file replaces what earlier ones set. */
struct settings_reader {
    const struct key *keys;
    size_t n_keys;
    void *target;
    struct setting_list made;
    /* The key `nodes` before all others restricts a file to nodes whose name matches one of its
     * words, with * and ?. For other nodes the file is checked, and sets only fields of `spare`. */
    const char *node;
    void *spare;  /* as `target`; NULL: `nodes` is refused */
    bool skipped; /* whether the last file is for other nodes */
    /* Called for each error, as "FILE:LINE: reason"; NULL: reading stops at the first one. */
    settings_problem_f problem;
    void *arg;
};

/* Set the fields that the file names. Returns the first error (-EINVAL: its text is "FILE:LINE:
 * reason"); then some fields may be set. */
int settings_file_read(const char *path, struct settings_reader *reader, struct error *error);

#endif

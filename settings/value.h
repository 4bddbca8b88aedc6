/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types of values in a configuration file. */
#ifndef JOBIO_SETTINGS_VALUE_H
#define JOBIO_SETTINGS_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct settings_list {
    char **items; /* owned, and each of them */
    size_t n;
};
void settings_list_clear(struct settings_list *list);

struct key;
/* Parse the value into the field of the key. 0, or a negative errno with text. */
typedef int parse_f(const struct key *key, const char *value, void *field, struct error *error);

struct key {
    const char *section, *name; /* section "": before the first [section] */
    size_t offset;              /* of the field in the struct that is read */
    parse_f *parse;
    uint64_t min, max; /* of types with limits */
    bool repeats;      /* it may be set several times */
};

parse_f parse_name;   /* char *: min to max letters, digits, '.', '_' and '-' */
parse_f parse_path;   /* char *: an absolute path */
parse_f parse_text;   /* char *: not empty */
parse_f parse_item;   /* struct settings_list: adds one value */
parse_f parse_words;  /* struct settings_list: adds the words of the value */
parse_f parse_listen; /* struct settings_list: as parse_words, each ADDRESS:PORT */
parse_f parse_span;   /* uint64_t in ns, min to max */
parse_f parse_bytes;  /* uint64_t: 0 or at least min */
parse_f parse_batch;  /* uint64_t in bytes, min to max */
parse_f parse_count;  /* uint64_t: a number, min to max */
parse_f parse_bool;   /* bool */
parse_f parse_level;  /* enum log_level */

/* The index of the value in a list of n words. -EINVAL with text: none of them. */
int parse_choice(const char *value, const char *const *words, size_t n, struct error *error);

#endif

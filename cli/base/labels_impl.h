/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names and their labels; for labels*.c only. */
#ifndef JOBIO_CLI_BASE_LABELS_IMPL_H
#define JOBIO_CLI_BASE_LABELS_IMPL_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/labels.h"

enum kind {
    KIND_USER,
    KIND_ACCOUNT,
    KIND_PARTITION,
    KIND_NAME,
    KIND_CLUSTER,
    KIND_NODE,
    KIND_MOUNT,
    KIND_SOURCE,
    KIND_PATH, /* in a text: not below a known mount */
    KIND_LIST, /* labels separated by commas: not renamed, but owned */
    KIND_UID,
    KIND_JOB,
    KINDS,
};

struct label {
    char *text;  /* the name */
    char *shown; /* the name as a terminal shows it, which is in texts */
    char *name;  /* the label */
    uint32_t number;
};

struct labels {
    void *trees[KINDS]; /* trees of struct label, by text */
    uint32_t n[KINDS];
    uint64_t back_ns;  /* how far times are moved back, once that is known */
    uint64_t grain_ns; /* back_ns is a multiple of this */
    bool known;
};

/* The label of that name; created if it has none. NULL: out of memory. */
const struct label *labels_find(struct labels *labels, enum kind kind, const char *text);

#endif

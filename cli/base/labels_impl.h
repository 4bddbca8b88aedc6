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
    KIND_PATH, /* in a text: of no mount that is known */
    KIND_LIST, /* labels with commas between: not renamed, but owned */
    KIND_UID,
    KIND_JOB,
    KINDS,
};

struct label {
    char *text;  /* the name */
    char *shown; /* as a terminal shows that, as it stands in texts */
    char *name;  /* the label */
    uint32_t number;
};

struct labels {
    void *trees[KINDS]; /* trees of struct label, by text */
    uint32_t n[KINDS];
    uint64_t back_ns;  /* how far times go back, once that is known */
    uint64_t grain_ns; /* by a multiple of this */
    bool known;
};

/* The label of that name, a new one if it has none yet; NULL: no memory. */
const struct label *labels_find(struct labels *labels, enum kind kind, const char *text);

#endif

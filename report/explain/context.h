/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known about a job and what to compare it with, as one small document for a language model
 * or a script (doc/context.schema.json).
 */
#ifndef JOBIO_REPORT_EXPLAIN_CONTEXT_H
#define JOBIO_REPORT_EXPLAIN_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/job.h"
#include "report/advice/advice.h"
#include "report/explain/explain.h"
#include "report/compare/similar.h"

#define CONTEXT_SIMILAR 5

struct context_similar {
    const struct job_account *job;
    struct similarity similarity;
};

/* Borrowed. */
struct context {
    const struct job_account *job;
    const struct advice_notes *notes;
    const struct explain_figure *figures; /* what other tools count */
    size_t n_figures;
    const struct context_similar
        *similar; /* the most similar first; at most CONTEXT_SIMILAR are written */
    size_t n_similar;
    const char *note; /* a sentence about what is unknown; NULL: none */
    bool anonymous;   /* names above are replaced by labels; the document says so */
};

/* The document on one line, of at most `max` bytes without the final NUL: what does not fit is
 * left out and listed. malloc'd. -ENOMEM; -E2BIG: not even one mount fits. */
int report_context(const struct context *context, size_t max, char **ret, struct error *error);

#endif

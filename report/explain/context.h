/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All that is known of a job and what it can be compared with, as one small document for a language
 * model or a script (doc/context.schema.json).
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
    const struct explain_figure *figures; /* what others count */
    size_t n_figures;
    const struct context_similar
        *similar; /* the most similar first; up to CONTEXT_SIMILAR are told */
    size_t n_similar;
    const char *note; /* what could not be found out, a sentence; NULL: nothing */
    bool anonymous;   /* all of the above has labels in place of names: the document says so */
};

/* The document on one line, of at most `max` bytes without the final NUL: what did not fit is left
 * out, and it says what. malloc'd. -ENOMEM; -E2BIG: not even one mount fits. */
int report_context(const struct context *context, size_t max, char **ret, struct error *error);

#endif

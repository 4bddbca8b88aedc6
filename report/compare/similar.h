/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How similar two jobs are. */
#ifndef JOBIO_REPORT_COMPARE_SIMILAR_H
#define JOBIO_REPORT_COMPARE_SIMILAR_H

#include <stdbool.h>

#include "common/job.h"

struct similarity {
    bool same_name, same_user;
    /* Of the I/O: the cosine between the logarithms of the bytes of each operation on each mount
     * (metadata: of its requests). 1: the same mix, 0: nothing in common. */
    double io;
};

struct similarity similarity_of(const struct job_account *a, const struct job_account *b);
/* For qsort(): below 0 if `a` is more similar. Same name and user first, then one of them (the name
 * counts more), then by I/O. */
int similarity_compare(const struct similarity *a, const struct similarity *b);

#endif

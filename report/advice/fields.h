/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of the rules of advice: numbers of an account by name. */
#ifndef JOBIO_REPORT_ADVICE_FIELDS_H
#define JOBIO_REPORT_ADVICE_FIELDS_H

#include "common/job.h"

struct advice_field {
    char name[40];
    const char *text; /* NULL: the field is a number */
    double number;
};

struct advice_fields {
    struct advice_field *items; /* owned */
    size_t n, room;
};

/* The fields of one mount of the job, or of the whole job if `mount` is NULL. Names and order are
 * always the same. Texts are borrowed from the account. 0 or -ENOMEM. */
int advice_fields_of(const struct job_account *job, const struct io_mount *mount,
                     struct advice_fields *ret);
void advice_fields_clear(struct advice_fields *fields);

#endif

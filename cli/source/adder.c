/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/source/adder.h"

#include <errno.h>

static int no_memory(struct error *error)
{
    return error_errno(error, -ENOMEM, "read an array");
}

int array_adder_create(struct array_adder *ret, const struct array_reader *reader,
                       struct error *error)
{
    *ret = (struct array_adder){.reader = reader, .error = error};
    return array_sum_create(&ret->sum) < 0 ? no_memory(error) : 0;
}

void array_adder_clear(struct array_adder *adder)
{
    array_sum_clear(&adder->sum);
}

int array_adder_task(const struct job_account *task, void *arg)
{
    struct array_adder *adder = arg;
    const struct history_row row = array_row(task);
    int rc = adder->reader->task(&row, adder->reader->arg, adder->error);

    if (rc == 0 && array_sum_add(&adder->sum, task) < 0)
        rc = no_memory(adder->error);
    return rc;
}

int array_adder_finish(struct array_adder *adder)
{
    return adder->reader->sum(adder->sum.job, adder->reader->arg, adder->error);
}

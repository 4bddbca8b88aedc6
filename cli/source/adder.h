/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Turns the accounts of an array's tasks into what an array_reader receives. */
#ifndef JOBIO_CLI_SOURCE_ADDER_H
#define JOBIO_CLI_SOURCE_ADDER_H

#include "collector/store/array.h"

struct array_adder {
    const struct array_reader *reader;
    struct array_sum sum; /* owned */
    struct error *error;
};

/* 0, or -ENOMEM with text in `error`, which later calls use as well. */
int array_adder_create(struct array_adder *ret, const struct array_reader *reader,
                       struct error *error);
void array_adder_clear(struct array_adder *adder);
/* A store_job_f for the next task; `arg` is the adder. Errors have text. */
int array_adder_task(const struct job_account *task, void *arg);
/* After the last task: hand out the sum. */
int array_adder_finish(struct array_adder *adder);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record of a job in Slurm, for a machine without jobiod. */
#ifndef JOBIO_CLI_SLURM_RECORD_H
#define JOBIO_CLI_SLURM_RECORD_H

#include "cli/base/cli.h"
#include "cli/base/jobid.h"
#include "common/error.h"

/* Run `jobio-record --show` (record_program of jobio.conf), which queries slurmdbd or slurmctld as
 * this user. *ret is the record as text, malloc'd. A negative errno with text: there is no record,
 * no jobio-record, or no Slurm. The step of `id` is ignored. */
int slurm_record_read(const struct cli *cli, const struct jobid *id, char **ret,
                      struct error *error);

#endif

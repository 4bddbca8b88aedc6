/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/slurm_record.h"

#include "cli/base/conf.h"
#include "cli/explain/command.h"
#include "common/cleanup.h"

#define TIMEOUT_MS 12000 /* jobio-record itself gives up after 10 s */
#define TEXT_MAX 65536

DEFINE_CLEANUP(struct settings, settings_destroy)

int slurm_record_read(const struct cli *cli, const struct jobid *id, char **ret,
                      struct error *error)
{
    CLEANUP(settings_destroyp) struct settings *settings = NULL;
    struct jobid job = *id;
    char number[JOBID_TEXT];
    int rc = conf_read(cli->history.config, &settings, error);

    if (rc < 0)
        return rc;
    job.has_step = false;
    return command_read(
        (char *[]){settings->record_program, "--show", jobid_format(&job, number), NULL},
        TIMEOUT_MS, TEXT_MAX, ret, error);
}

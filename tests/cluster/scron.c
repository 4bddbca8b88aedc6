/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * scron COMMAND: a crontab of Slurm for the calling user, with one entry that runs the command
 * every minute; scron -r removes it and ends its job. Replaces scrontab, which Debian does not
 * package.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/slurm_compat.h"

/* As in Slurm's src/common/cron.h and bitstring.h, which are not installed. */
struct cron_entry {
    uint32_t flags;
    bitstr_t *minute, *hour, *day_of_month, *month, *day_of_week;
    char *cronspec, *command;
    uint32_t line_start, line_end;
};
bitstr_t *slurm_bit_alloc(bitoff_t bits);

/* All fields are "*"; their sets are empty but must have the right sizes. */
#define EVERY_MINUTE (1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5)

static struct cron_entry every_minute(char *spec, char *command)
{
    return (struct cron_entry){
        .flags = EVERY_MINUTE,
        .minute = slurm_bit_alloc(61),
        .hour = slurm_bit_alloc(25),
        .day_of_month = slurm_bit_alloc(32),
        .month = slurm_bit_alloc(13),
        .day_of_week = slurm_bit_alloc(8),
        .cronspec = spec,
        .command = command,
        .line_start = 1,
        .line_end = 1,
    };
}

/* Returns 0, or prints the error. */
static int submit(char *crontab, job_desc_msg_t *job)
{
    __typeof__(slurm_list_create(NULL)) jobs = slurm_list_create(NULL);
    crontab_update_response_msg_t *answer;

    slurm_list_append(jobs, job);
    errno = 0;
    answer = slurm_update_crontab(getuid(), getgid(), crontab, jobs);
    if (!answer || answer->return_code) {
        int code = answer ? (int)answer->return_code : errno;

        fprintf(stderr, "scron: %s (%s)\n", slurm_strerror(code),
                answer && answer->err_msg ? answer->err_msg : "no more is said");
        return 1;
    }
    for (uint32_t i = 0; i < answer->jobids_count; i++)
        printf("%u\n", answer->jobids[i]);
    return 0;
}

int main(int argc, char *argv[])
{
    char spec[] = "* * * * *", path[] = "PATH=/usr/local/bin:/usr/bin:/bin", name[] = "scron";
    char *environment[] = {path, NULL}, *crontab = NULL, *script = NULL, directory[4096];
    struct cron_entry entry;
    job_desc_msg_t job;

    if (argc != 2 || !getcwd(directory, sizeof(directory)))
        return 2;
    if (strcmp(argv[1], "-r") == 0) {
        slurm_init(NULL);
        return slurm_remove_crontab(getuid(), getgid()) == SLURM_SUCCESS ? 0 : 1;
    }
    if (asprintf(&crontab, "%s %s\n", spec, argv[1]) < 0 ||
        asprintf(&script, "#!/bin/sh\n%s\n", argv[1]) < 0)
        return 1;
    slurm_init(NULL);
    entry = every_minute(spec, argv[1]);
    slurm_init_job_desc_msg(&job);
    job.crontab_entry = &entry;
    job.name = name;
    job.script = script;
    job.environment = environment;
    job.env_size = 1;
    job.work_dir = directory;
    job.user_id = getuid();
    job.group_id = getgid();
    job.min_cpus = 1;
    return submit(crontab, &job);
}

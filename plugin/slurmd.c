/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurmd, and its prolog and epilog, which run as root: facts of a job that only root may set. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/message.h"
#include "plugin/client.h"
#include "plugin/settings.h"
#include "plugin/contexts.h"
#include "plugin/nodes.h"
#include "plugin/option.h"
#include "plugin/runtime_dir.h"

#define JOB_TIMEOUT_MS 200

static struct message message;

static void complain(const char *word, const char *reason)
{
    slurm_error("jobio: plugstack.conf: \"%s\" %s", word, reason);
}

static void ignore(const char *word, const char *reason)
{
    (void)word;
    (void)reason;
}

void slurmd_init(int ac, char *av[])
{
    struct settings settings;

    settings_read(&settings, ac, av, NULL, complain);
}

static void send_message(const struct settings *settings, uint32_t jobid, const char *what)
{
    struct error error = {""};
    int r = client_ask(settings, &message, JOB_TIMEOUT_MS, &error);

    if (r == -EHOSTDOWN)
        slurm_verbose("jobio: job %u: %s: %s", jobid, what, error.text);
    else if (r < 0)
        slurm_error("jobio: job %u: %s: %s", jobid, what, error.text);
}

/* Logs an error and returns false if Slurm does not provide the number of the job. */
static bool get_job_id(spank_t spank, uint32_t *ret)
{
    spank_err_t r = spank_get_item(spank, S_JOB_ID, ret);

    if (r != ESPANK_SUCCESS)
        slurm_error("jobio: cannot get the job ID from Slurm: error %d", (int)r);
    return r == ESPANK_SUCCESS;
}

static bool wants_mpi(void)
{
    const char *word = switch_word(getenv(MPI_PROLOG_VARIABLE));

    return word && *word == '1';
}

void slurmd_prolog(spank_t spank, int ac, char *av[])
{
    const char *node = settings_node_name();
    struct settings settings;
    struct error error = {""};
    uint32_t jobid;
    char name[16];

    settings_read(&settings, ac, av, node, ignore);
    if (!get_job_id(spank, &jobid))
        return;
    message_init(&message, "job");
    (void)message_put_u64(&message, "JOBID", jobid);
    (void)message_put(&message, "ACCOUNT", getenv("SLURM_JOB_ACCOUNT"));
    (void)message_put(&message, "PARTITION", getenv("SLURM_JOB_PARTITION"));
    (void)message_put(&message, "USER", getenv("SLURM_JOB_USER"));
    (void)message_put(&message, "RESTART", getenv("SLURM_JOB_RESTART_COUNT"));
    if (wants_mpi())
        (void)message_put_u64(&message, "MPI", 1);
    if (nodes_put(&message, node, NULL) == -EMSGSIZE)
        slurm_error("jobio: job %u has too many nodes: its account is not gathered", jobid);
    (void)snprintf(name, sizeof(name), "%u", jobid);
    if (runtime_write_file(settings.runtime, "jobs", name, &message, &error) < 0)
        slurm_error("jobio: job %u: %s", jobid, error.text);
    send_message(&settings, jobid, "prolog");
}

void slurmd_epilog(spank_t spank, int ac, char *av[])
{
    struct settings settings;
    struct error error = {""};
    uint32_t jobid;

    settings_read(&settings, ac, av, settings_node_name(), ignore);
    if (!get_job_id(spank, &jobid))
        return;
    if (runtime_end_job(settings.runtime, jobid, &error) < 0)
        slurm_error("jobio: job %u: %s", jobid, error.text);
    message_init(&message, "job-end");
    (void)message_put_u64(&message, "JOBID", jobid);
    send_message(&settings, jobid, "epilog");
}

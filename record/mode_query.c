/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions about one job, as slurmctld knows it now, for jobiod. --nodes: its nodes, because jobs
 * may get more nodes than their prologs knew. --state: how a run ended. */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "common/slurm_state.h"
#include "common/units.h"
#include "record/record_impl.h"
#include "record/slurm_compat.h"

#define ANY_RESTART UINT64_MAX

struct settings {
    uint64_t jobid, restart, timeout_ns;
};

static int usage(void)
{
    fputs("usage: jobio-record --nodes|--state [--restart N] [--timeout SPAN] JOB\n", stderr);
    return EXIT_USAGE;
}

static int parse(struct settings *settings, int argc, char *argv[])
{
    static const struct option longs[] = {
        {"nodes", no_argument, NULL, 'n'},
        {"state", no_argument, NULL, 's'},
        {"restart", required_argument, NULL, 'r'},
        {"timeout", required_argument, NULL, 't'},
        {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c == '?' || (c == 'r' && number_parse(optarg, 0, UINT16_MAX, &settings->restart) < 0) ||
            (c == 't' && units_parse_span(optarg, &settings->timeout_ns, NULL) < 0))
            return -EINVAL;
    }
    if (argc - optind != 1 || number_parse(argv[optind], 1, UINT32_MAX, &settings->jobid) < 0)
        return -EINVAL;
    return 0;
}

/* The last task of a job array has the number of the array, so Slurm may return several jobs. */
static const slurm_job_info_t *find_job(const job_info_msg_t *info, const struct settings *settings)
{
    for (uint32_t i = 0; i < info->record_count; i++)
        if (INFO_JOB_ID(&info->job_array[i]) == settings->jobid)
            return &info->job_array[i];
    return NULL;
}

static bool is_run(const slurm_job_info_t *job, const struct settings *settings)
{
    return settings->restart == ANY_RESTART || job->restart_cnt == settings->restart;
}

/* --- --nodes ---------------------------------------------------------------------------------- */

static int print_names(const char *nodes)
{
    __auto_type hosts = slurm_hostlist_create(nodes);
    bool first = true;
    char *name;

    if (!hosts)
        return fail("cannot read the list of nodes \"%.100s\"", nodes);
    while ((name = slurm_hostlist_shift(hosts))) {
        printf("%s%s", first ? "" : ",", name);
        first = false;
        free(name);
    }
    slurm_hostlist_destroy(hosts);
    return putchar('\n') == EOF || fflush(stdout) == EOF ? fail("write: %s", strerror(errno))
                                                         : EXIT_SUCCESS;
}

static int print_nodes(const slurm_job_info_t *job, const struct settings *settings)
{
    if (job && is_run(job, settings) && job->nodes && *job->nodes)
        return print_names(job->nodes);
    (void)fail("job %u: slurmctld has no such job or restart, or no nodes for it",
               (unsigned)settings->jobid);
    return EXIT_NO_JOB;
}

/* --- --state ---------------------------------------------------------------------------------- */

static const struct {
    uint32_t base;
    enum slurm_state state;
} ended_states[] = {
    {JOB_COMPLETE, SLURM_STATE_COMPLETED},
    {JOB_CANCELLED, SLURM_STATE_CANCELLED},
    {JOB_FAILED, SLURM_STATE_FAILED},
    {JOB_TIMEOUT, SLURM_STATE_TIMEOUT},
    {JOB_NODE_FAIL, SLURM_STATE_NODE_FAIL},
    {JOB_PREEMPTED, SLURM_STATE_PREEMPTED},
    {JOB_BOOT_FAIL, SLURM_STATE_BOOT_FAIL},
    {JOB_DEADLINE, SLURM_STATE_DEADLINE},
    {JOB_OOM, SLURM_STATE_OOM},
};

/* SLURM_STATE_UNKNOWN: the run has not ended. A run that has ended while its job is pending, or
 * runs again, was requeued; slurmctld does not keep why. While a job is completing, the exit code
 * of its batch script may not have arrived. */
static enum slurm_state state_of(const slurm_job_info_t *job, const struct settings *settings)
{
    uint32_t base = job->job_state & JOB_STATE_BASE;

    if (!is_run(job, settings) || base == JOB_PENDING || (job->job_state & JOB_REQUEUE))
        return SLURM_STATE_REQUEUED;
    if (job->job_state & JOB_COMPLETING)
        return SLURM_STATE_UNKNOWN;
    for (size_t i = 0; i < ARRAY_SIZE(ended_states); i++)
        if (ended_states[i].base == base)
            return ended_states[i].state;
    return SLURM_STATE_UNKNOWN;
}

/* "state FAILED 1:0". The first word distinguishes the line from messages of libslurm. */
static int print_state(const slurm_job_info_t *job, const struct settings *settings)
{
    enum slurm_state state = job ? state_of(job, settings) : SLURM_STATE_UNKNOWN;
    bool has_exit = state != SLURM_STATE_REQUEUED;
    int status;

    if (!job || (settings->restart != ANY_RESTART && job->restart_cnt < settings->restart)) {
        (void)fail("job %u: slurmctld has no such job or restart", (unsigned)settings->jobid);
        return EXIT_NO_JOB;
    }
    status = (int)job->exit_code;
    if (state == SLURM_STATE_UNKNOWN)
        puts(job->job_state & JOB_COMPLETING ? "state COMPLETING" : "state RUNNING");
    else if (has_exit && job->exit_code != NO_VAL)
        printf("state %s %d:%d\n", slurm_state_name(state),
               WIFEXITED(status) ? WEXITSTATUS(status) : 0,
               WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    else
        printf("state %s\n", slurm_state_name(state));
    return fflush(stdout) == EOF ? fail("write: %s", strerror(errno)) : EXIT_SUCCESS;
}

/* --- both ------------------------------------------------------------------------------------- */

static int query(const struct settings *settings,
                 int (*print)(const slurm_job_info_t *job, const struct settings *settings))
{
    job_info_msg_t *info = NULL;
    int r;

    if (slurm_load_job(&info, (uint32_t)settings->jobid, SHOW_LOCAL) != SLURM_SUCCESS) {
        r = errno;
        (void)fail("job %u: load: %s", (unsigned)settings->jobid, slurm_strerror(r));
        return r == ESLURM_INVALID_JOB_ID ? EXIT_NO_JOB : EXIT_FAILURE;
    }
    r = print(find_job(info, settings), settings);
    slurm_free_job_info_msg(info);
    return r;
}

static int run(int argc, char *argv[],
               int (*print)(const slurm_job_info_t *job, const struct settings *settings))
{
    struct settings settings = {.restart = ANY_RESTART, .timeout_ns = 2 * NS_PER_S};
    int r;

    if (parse(&settings, argc, argv) < 0)
        return usage();
    r = start_timer(settings.timeout_ns);
    if (r < 0)
        return fail("set a timer: %s", strerror(-r));
    slurm_init(NULL);
    return query(&settings, print);
}

int mode_nodes(int argc, char *argv[])
{
    return run(argc, argv, print_nodes);
}

int mode_state(int argc, char *argv[])
{
    return run(argc, argv, print_state);
}

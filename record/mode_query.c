/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobio-record --nodes: prints the nodes of a job as slurmctld knows them now, for jobiod: jobs may
 * get more nodes than their prologs knew. */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "common/units.h"
#include "record/record_impl.h"
#include "record/slurm_compat.h"

#define ANY_RESTART UINT64_MAX

struct settings {
    uint64_t jobid, restart, timeout_ns;
};

static int usage(void)
{
    fputs("usage: jobio-record --nodes [--restart N] [--timeout SPAN] JOB\n", stderr);
    return EXIT_USAGE;
}

static int parse(struct settings *settings, int argc, char *argv[])
{
    static const struct option longs[] = {
        {"nodes", no_argument, NULL, 'n'},
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

static const char *find_nodes(const job_info_msg_t *info, const struct settings *settings)
{
    for (uint32_t i = 0; i < info->record_count; i++) {
        const slurm_job_info_t *job = &info->job_array[i];

        if (INFO_JOB_ID(job) == settings->jobid &&
            (settings->restart == ANY_RESTART || job->restart_cnt == settings->restart))
            return job->nodes;
    }
    return NULL;
}

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

static int print_nodes(const struct settings *settings)
{
    job_info_msg_t *info = NULL;
    const char *nodes;
    int r;

    if (slurm_load_job(&info, (uint32_t)settings->jobid, SHOW_LOCAL) != SLURM_SUCCESS) {
        r = errno;
        (void)fail("job %u: load: %s", (unsigned)settings->jobid, slurm_strerror(r));
        return r == ESLURM_INVALID_JOB_ID ? EXIT_NO_JOB : EXIT_FAILURE;
    }
    nodes = find_nodes(info, settings);
    r = nodes && *nodes ? print_names(nodes) : EXIT_NO_JOB;
    if (r == EXIT_NO_JOB)
        (void)fail("job %u: slurmctld has no such job or restart, or no nodes for it",
                   (unsigned)settings->jobid);
    slurm_free_job_info_msg(info);
    return r;
}

int mode_nodes(int argc, char *argv[])
{
    struct settings settings = {.restart = ANY_RESTART, .timeout_ns = 2 * NS_PER_S};
    int r;

    if (parse(&settings, argc, argv) < 0)
        return usage();
    r = start_timer(settings.timeout_ns);
    if (r < 0)
        return fail("set a timer: %s", strerror(-r));
    slurm_init(NULL);
    return print_nodes(&settings);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobio-record --show: prints the record of a job from Slurm, for scripts on the controller. */
#include "config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/units.h"
#include "record/accounting.h"
#include "record/record_impl.h"
#include "record/slurm_compat.h"
#include "report/record/record.h"

struct settings {
    struct accounting_id id;
    bool json;
    uint64_t timeout_ns;
};

static int usage(void)
{
    fputs("usage: jobio-record --show [--json] [--timeout SPAN] JOB\n", stderr);
    return EXIT_USAGE;
}

static int parse(struct settings *settings, int argc, char *argv[])
{
    static const struct option longs[] = {
        {"show", no_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},
        {"timeout", required_argument, NULL, 't'},
        {NULL, 0, NULL, 0},
    };
    struct error error;
    int c;

    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c == 'j')
            settings->json = true;
        else if (c == '?' ||
                 (c == 't' && units_parse_span(optarg, &settings->timeout_ns, NULL) < 0))
            return -EINVAL;
    }
    if (argc - optind != 1)
        return -EINVAL;
    return accounting_parse_id(argv[optind], &settings->id, &error);
}

/* Returns the comment of the last run, malloc'd; NULL: it has no record. */
static char *find_ended_comment(const struct accounting_id *id)
{
    struct accounting *accounting = NULL;
    struct ended_jobs jobs = {0};
    _free_ char *cluster = accounting_cluster(NULL);
    char *comment = NULL;

    if (cluster && accounting_open(&accounting, cluster, NULL) == 0 &&
        accounting_find(accounting, id, 1, &jobs, NULL) == 0) {
        ended_jobs_sort(&jobs);
        if (jobs.n && ended_has_record(&jobs.items[jobs.n - 1]))
            comment = TAKE_PTR(jobs.items[jobs.n - 1].comment);
    }
    ended_jobs_clear(&jobs);
    accounting_close(accounting);
    return comment;
}

static int print(const char *comment, bool json)
{
    _free_ char *text = json ? record_object(comment) : record_text(comment);

    if (!text)
        return EXIT_FAILURE;
    printf(json ? "%s\n" : "%s", text);
    return EXIT_SUCCESS;
}

int mode_show(int argc, char *argv[])
{
    struct settings settings = {.timeout_ns = 10 * NS_PER_S};
    _free_ char *comment = NULL;
    int r;

    if (parse(&settings, argc, argv) < 0)
        return usage();
    r = start_timer(settings.timeout_ns);
    if (r < 0)
        return fail("set a timer: %s", strerror(-r));
    slurm_init(NULL);
    comment = find_ended_comment(&settings.id);
    if (!comment)
        comment = find_live_comment(&settings.id);
    if (!comment || print(comment, settings.json) != EXIT_SUCCESS)
        return fail("job %u: Slurm has no record of it", settings.id.jobid);
    return EXIT_SUCCESS;
}

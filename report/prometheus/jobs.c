/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "report/prometheus/prometheus_impl.h"

#include <errno.h>

#include "common/cleanup.h"

static int put_info(struct page *page)
{
    page_family(page, "jobio_job_info", "gauge", "Labels of a job; always 1.");
    for (size_t i = 0; i < page->n_jobs; i++) {
        const struct job_account *job = page->jobs[i].job;

        fprintf(page->out, "jobio_job_info{%s,jobid=\"%u\"", page->where, job->key.jobid);
        if ((page->node->users && (page_label(page->out, "user", job->user) < 0 ||
                                   page_label(page->out, "account", job->account) < 0)) ||
            page_label(page->out, "partition", job->partition) < 0)
            return -ENOMEM;
        fprintf(page->out, ",state=\"%s\"} 1\n", job->ended ? "ended" : "running");
    }
    return 0;
}

#define NOT_KNOWN UINT64_MAX

static uint64_t job_start(const struct group *group)
{
    return group->job->start_ns;
}

static uint64_t job_end(const struct group *group)
{
    return group->job->ended ? group->job->end_ns : NOT_KNOWN;
}

static uint64_t job_elapsed(const struct group *group)
{
    return group->job->elapsed_ns;
}

static uint64_t job_longest_wait(const struct group *group)
{
    return job_wait_ns(group->job);
}

static uint64_t job_complete(const struct group *group)
{
    return !group->missed;
}

static uint64_t job_nodes(const struct group *group)
{
    return group->job->nodes_expected ? group->job->nodes_expected : NOT_KNOWN;
}

/* Families with one number per job. */
static const struct {
    const char *name, *help;
    uint64_t (*get)(const struct group *group);
    bool seconds; /* the value is in nanoseconds */
} job_values[] = {
    {"jobio_job_start_timestamp_seconds", "Start of the job on this node, in seconds since 1970.",
     job_start, true},
    {"jobio_job_end_timestamp_seconds", "End of the job on this node, in seconds since 1970.",
     job_end, true},
    {"jobio_job_elapsed_seconds", "Elapsed time of the newest run of the job on this node.",
     job_elapsed, true},
    {"jobio_job_longest_wait_seconds",
     "Time that the thread that waited longest spent inside calls.", job_longest_wait, true},
    {"jobio_job_complete", "1 if the account of the job on this node is complete, else 0.",
     job_complete, false},
    {"jobio_job_expected_nodes", "Number of nodes of the job, as far as this node knows.",
     job_nodes, false},
};

static void put_values(struct page *page)
{
    for (size_t v = 0; v < ARRAY_SIZE(job_values); v++) {
        page_family(page, job_values[v].name, "gauge", job_values[v].help);
        for (size_t i = 0; i < page->n_jobs; i++) {
            uint64_t value = job_values[v].get(&page->jobs[i]);

            if (value == NOT_KNOWN)
                continue;
            fprintf(page->out, "%s{%s,jobid=\"%u\"} ", job_values[v].name, page->where,
                    page->jobs[i].job->key.jobid);
            if (job_values[v].seconds)
                page_seconds(page->out, value);
            else
                page_u64(page->out, value);
        }
    }
}

int page_jobs(struct page *page)
{
    if (put_info(page) < 0)
        return -ENOMEM;
    put_values(page);
    return 0;
}

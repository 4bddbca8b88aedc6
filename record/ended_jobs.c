/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "record/ended_jobs.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "report/record/record.h"

/* An ended job can be requeued as long as slurmctld knows it (MinJobAge). If a number is used again
 * after this time, it is another job. */
#define REQUEUE_MAX_S 86400

void ended_job_clear(struct ended_job *job)
{
    free(job->host);
    free(job->comment);
    free(job->record);
}

int ended_jobs_add(struct ended_jobs *jobs, struct ended_job *job)
{
    struct ended_job *grown = jobs->items;

    if ((jobs->n & (jobs->n - 1)) == 0) /* a power of two, or 0: full */
        grown = realloc(grown, (jobs->n ? jobs->n * 2 : 1) * sizeof(*grown));
    if (!grown) {
        ended_job_clear(job);
        return -ENOMEM;
    }
    jobs->items = grown;
    jobs->items[jobs->n++] = *job;
    return 0;
}

void ended_jobs_clear(struct ended_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        ended_job_clear(&jobs->items[i]);
    free(jobs->items);
    *jobs = (struct ended_jobs){0};
}

static int compare(const void *pa, const void *pb)
{
    const struct ended_job *a = pa, *b = pb;

    if (a->jobid != b->jobid)
        return a->jobid < b->jobid ? -1 : 1;
    if (a->submit != b->submit)
        return a->submit < b->submit ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

static bool is_next_run(const struct ended_job *job, const struct ended_job *before)
{
    return job->jobid == before->jobid && job->uid == before->uid && before->end &&
           job->submit - before->end < REQUEUE_MAX_S;
}

void ended_jobs_sort(struct ended_jobs *jobs)
{
    if (jobs->n)
        qsort(jobs->items, jobs->n, sizeof(*jobs->items), compare);
    for (size_t i = 0; i < jobs->n; i++) {
        struct ended_job *job = &jobs->items[i];
        const struct ended_job *before = job - 1;

        if (job->restart_known)
            continue;
        job->restart = 0;
        if (i > 0 && is_next_run(job, before))
            job->restart = before->restart + !before->resized;
    }
}

/* A job is usually requeued within this time after its end. */
#define REQUEUE_USUAL_S 3600

/* The tree has the numbers themselves as keys. */
static int compare_keys(const void *a, const void *b)
{
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static void keep(void *key)
{
    (void)key;
}

void ended_seen_clear(struct ended_seen *seen)
{
    tdestroy(seen->jobids, keep);
    seen->jobids = NULL;
}

bool ended_seen_add(struct ended_seen *seen, const struct ended_job *job)
{
    const void *key = (const void *)(uintptr_t)job->jobid;

    if (job->restart_known)
        return false;
    if (job->submit <= seen->since + REQUEUE_USUAL_S || tfind(key, &seen->jobids, compare_keys))
        return true;
    return !tsearch(key, &seen->jobids, compare_keys);
}

static bool read_own_record(const struct ended_job *job, struct record_head *head)
{
    return record_head(job->comment, head) && head->restart == job->restart;
}

bool ended_has_record(const struct ended_job *job)
{
    struct record_head head;

    return read_own_record(job, &head);
}

bool ended_is_settled(const struct ended_job *job)
{
    struct record_head head;

    return read_own_record(job, &head) &&
           (job->verdict == VERDICT_MARK || head.nodes >= head.nodes_expected);
}

bool ended_wants_record(const struct ended_job *job, const struct ended_rules *rules)
{
    struct record_head head;

    if (!job->end || !job->host || job->resized)
        return false;
    if (!read_own_record(job, &head))
        return true;
    return head.nodes < head.nodes_expected && rules->now - job->end < rules->give_up;
}

static int set_verdict(struct ended_job *job, enum ended_verdict verdict, char *record)
{
    if (!record)
        return -ENOMEM;
    job->record = record;
    job->verdict = verdict;
    return 0;
}

static int mark_missing(struct ended_job *job, const char *why)
{
    const struct record_head head = {.nodes_expected = job->nodes, .restart = job->restart};
    int64_t elapsed = job->start && job->end > job->start ? job->end - job->start : 0;

    return set_verdict(job, VERDICT_MARK, record_without_account(&head, (uint64_t)elapsed, why));
}

int ended_judge(struct ended_job *job, enum ended_answer answer, const char *record,
                const struct ended_rules *rules)
{
    int64_t age = rules->now - job->end;

    job->verdict = VERDICT_KEEP;
    /* A record from before the end of the job looks complete and would never be replaced. */
    if (record && (answer == ANSWER_ENDED || age >= rules->give_up)) {
        if (job->comment && strstr(job->comment, record))
            return 0;
        return set_verdict(job, VERDICT_WRITE, strdup(record));
    }
    if (ended_has_record(job))
        return 0;
    if (answer == ANSWER_UNKNOWN && age >= rules->unknown)
        return mark_missing(job, "its node has no account of it");
    if (age >= rules->give_up)
        return mark_missing(job, "its node did not answer");
    job->verdict = VERDICT_LATER;
    return 0;
}

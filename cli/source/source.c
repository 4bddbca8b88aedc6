/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/source/source.h"

void source_close(struct source *source)
{
    if (source)
        source->ops->close(source);
}

int source_jobs(struct source *source, const struct jobid *id, bool all, unsigned parts,
                struct job_account ***ret, struct error *error)
{
    return source->ops->jobs(source, id, all, parts, ret, error);
}

int source_job(struct source *source, const struct jobid *id, unsigned parts,
               struct job_account **ret, struct error *error)
{
    struct job_account **jobs = NULL;
    int rc = source_jobs(source, id, false, parts, &jobs, error);

    if (rc < 0)
        return rc;
    if (jobs[0]) {
        *ret = jobs[0];
        jobs[0] = NULL;
    } else {
        rc = jobid_unknown(id, error);
    }
    store_jobs_free(jobs);
    return rc;
}

int source_numbers(struct source *source, const uint32_t *numbers, size_t n, source_job_f each,
                   void *arg, struct error *error)
{
    return source->ops->numbers(source, numbers, n, each, arg, error);
}

int source_history(struct source *source, const struct history_filter *filter, history_f each,
                   void *arg, struct error *error)
{
    return source->ops->history(source, filter, each, arg, error);
}

int source_array(struct source *source, uint32_t array, const struct array_reader *reader,
                 struct error *error)
{
    return source->ops->array(source, array, reader, error);
}

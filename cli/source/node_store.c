/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/source/node_store.h"

#include <stdlib.h>

#include "cli/source/adder.h"
#include "cli/source/parts.h"

struct store_source {
    struct source source;
    struct store *store; /* owned */
};

static struct store *store_of(struct source *source)
{
    return ((struct store_source *)source)->store;
}

static int jobs(struct source *source, const struct jobid *id, bool all, unsigned parts,
                struct job_account ***ret, struct error *error)
{
    int rc = id->has_task
                 ? store_task_jobs(store_of(source), NULL, id->job, id->task, all ? UINT32_MAX : 1,
                                   UINT32_MAX, ret, error)
                 : store_jobs(store_of(source), NULL, id->job, all, UINT32_MAX, ret, error);

    for (size_t i = 0; rc >= 0 && (*ret)[i]; i++)
        job_drop_parts((*ret)[i], parts);
    return rc < 0 ? rc : 0;
}

static int numbers(struct source *source, const uint32_t *numbers, size_t n, source_job_f each,
                   void *arg, struct error *error)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc >= 0; i++) {
        struct job_account **found = NULL;

        rc = store_jobs(store_of(source), NULL, numbers[i], true, UINT32_MAX, &found, error);
        for (size_t k = 0; rc >= 0 && found[k]; k++)
            rc = each(found[k], arg, error);
        store_jobs_free(found);
    }
    return rc < 0 ? rc : 0;
}

static int history(struct source *source, const struct history_filter *filter, history_f each,
                   void *arg, struct error *error)
{
    struct history_filter everyone = *filter;

    everyone.uid = UINT32_MAX;
    return store_history(store_of(source), &everyone, each, arg, error);
}

static int array(struct source *source, uint32_t number, const struct array_reader *reader,
                 struct error *error)
{
    struct array_adder adder;
    int rc = array_adder_create(&adder, reader, error);

    if (rc == 0)
        rc = store_array(store_of(source), number, UINT32_MAX, 0, array_adder_task, &adder, error);
    if (rc == 0)
        rc = array_adder_finish(&adder);
    array_adder_clear(&adder);
    return rc;
}

static void close_store(struct source *source)
{
    store_close(store_of(source));
    free(source);
}

static const struct source_ops store_ops = {jobs, numbers, history, array, close_store};

int store_source_open(const char *path, struct source **ret, struct error *error)
{
    struct store_source *s = calloc(1, sizeof(*s));
    int rc = s ? store_open_reader(&s->store, path, error)
               : error_errno(error, -ENOMEM, "open the store");

    if (rc < 0) {
        free(s);
        return rc;
    }
    s->source.ops = &store_ops;
    *ret = &s->source;
    return 0;
}

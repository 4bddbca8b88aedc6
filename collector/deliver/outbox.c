/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* asprintf */
#include "collector/deliver/outbox.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/tree.h"

struct outbox {
    TAILQ_HEAD(jobs, outbox_job) jobs; /* ascending end */
    void *index;                       /* the same, by key: a tree of tsearch() */
    size_t n_jobs;
    size_t n_urls;
    char *urls[];
};

static int compare(const void *left, const void *right)
{
    const struct job_key *a = &((const struct outbox_job *)left)->key;
    const struct job_key *b = &((const struct outbox_job *)right)->key;

    if (a->jobid != b->jobid)
        return a->jobid < b->jobid ? -1 : 1;
    if (a->restart != b->restart)
        return a->restart < b->restart ? -1 : 1;
    return strcmp(a->cluster, b->cluster);
}

struct outbox *outbox_create(const char *const *urls, size_t n)
{
    struct outbox *outbox = calloc(1, sizeof(*outbox) + n * sizeof(*outbox->urls));

    if (!outbox)
        return NULL;
    TAILQ_INIT(&outbox->jobs);
    for (size_t i = 0; i < n; i++) {
        outbox->urls[i] = strdup(urls[i]);
        if (!outbox->urls[i]) {
            outbox_destroy(outbox);
            return NULL;
        }
        outbox->n_urls++;
    }
    return outbox;
}

void outbox_destroy(struct outbox *outbox)
{
    if (!outbox)
        return;
    while (!TAILQ_EMPTY(&outbox->jobs))
        outbox_remove(outbox, TAILQ_FIRST(&outbox->jobs));
    for (size_t i = 0; i < outbox->n_urls; i++)
        free(outbox->urls[i]);
    free(outbox);
}

size_t outbox_count(const struct outbox *outbox)
{
    return outbox->n_jobs;
}

struct outbox_job *outbox_first(const struct outbox *outbox)
{
    return TAILQ_FIRST(&outbox->jobs);
}

struct outbox_job *outbox_next(const struct outbox_job *job)
{
    return TAILQ_NEXT(job, link);
}

struct outbox_job *outbox_find(const struct outbox *outbox, const struct job_key *key)
{
    struct outbox_job wanted = {.key = *key};
    void *node = tfind(&wanted, &outbox->index, compare);

    return node ? *(struct outbox_job **)node : NULL;
}

static void job_destroy(struct outbox_job *job)
{
    free(job->key.cluster);
    free(job);
}

/* Jobs arrive in the order of their ends, unless the clock was set back. */
static void job_place(struct outbox *outbox, struct outbox_job *job)
{
    struct outbox_job *after = TAILQ_LAST(&outbox->jobs, jobs);

    while (after && after->ended_ns > job->ended_ns)
        after = TAILQ_PREV(after, jobs, link);
    if (after)
        TAILQ_INSERT_AFTER(&outbox->jobs, after, job, link);
    else
        TAILQ_INSERT_HEAD(&outbox->jobs, job, link);
}

struct outbox_job *outbox_add(struct outbox *outbox, const struct job_key *key, uint64_t ended_ns)
{
    struct outbox_job *job = outbox_find(outbox, key);

    if (job) {
        for (size_t i = 0; i < outbox->n_urls; i++)
            job->slots[i] = (struct outbox_slot){.state = OUTBOX_PENDING};
        return job;
    }
    job = calloc(1, sizeof(*job) + outbox->n_urls * sizeof(*job->slots));
    if (!job)
        return NULL;
    job->key = *key;
    job->ended_ns = ended_ns;
    job->key.cluster = strdup(key->cluster);
    if (!job->key.cluster || !tsearch(job, &outbox->index, compare)) {
        job_destroy(job);
        return NULL;
    }
    job_place(outbox, job);
    outbox->n_jobs++;
    return job;
}

void outbox_remove(struct outbox *outbox, struct outbox_job *job)
{
    (void)tdelete(job, &outbox->index, compare);
    TAILQ_REMOVE(&outbox->jobs, job, link);
    outbox->n_jobs--;
    job_destroy(job);
}

bool outbox_is_done(const struct outbox *outbox, const struct outbox_job *job)
{
    for (size_t i = 0; i < outbox->n_urls; i++)
        if (job->slots[i].state != OUTBOX_DONE)
            return false;
    return true;
}

void outbox_expire(struct outbox *outbox, size_t target, uint64_t now_ns, uint64_t linger_ns)
{
    struct outbox_job *job;

    TAILQ_FOREACH (job, &outbox->jobs, link) {
        struct outbox_slot *slot = &job->slots[target];

        if (slot->state != OUTBOX_LINGERING)
            continue;
        if (slot->acked_ns > now_ns)
            slot->acked_ns = now_ns;
        if (now_ns - slot->acked_ns >= linger_ns)
            slot->state = OUTBOX_DONE;
    }
}

char *outbox_key(const char *prefix, const struct outbox_job *job)
{
    char *key = NULL;

    if (asprintf(&key, "%s%020" PRIu64 ".%u.%u", prefix, job->ended_ns, job->key.jobid,
                 job->key.restart) < 0)
        return NULL;
    return key;
}

/* {"cluster":..,"jobid":..,"restart":..,"ended_ns":..,"acked_ns":{URL:time, or -1 when done}} */
char *outbox_value(const struct outbox *outbox, const struct outbox_job *job)
{
    struct tree tree = {false}, *t = &tree;
    struct json_object *value = tree_object(t), *acked = tree_object(t);

    tree_put(t, value, "cluster", json_object_new_string(job->key.cluster));
    tree_put_u64(t, value, "jobid", job->key.jobid);
    tree_put_u64(t, value, "restart", job->key.restart);
    tree_put_u64(t, value, "ended_ns", job->ended_ns);
    for (size_t i = 0; i < outbox->n_urls; i++) {
        const struct outbox_slot *slot = &job->slots[i];
        int64_t time = slot->state == OUTBOX_DONE ? -1 : (int64_t)slot->acked_ns;

        if (slot->state != OUTBOX_PENDING)
            tree_put(t, acked, outbox->urls[i], json_object_new_int64(time));
    }
    tree_put(t, value, "acked_ns", acked);
    return tree_text(tree_end(t, value));
}

static bool get_number(struct json_object *from, const char *name, int64_t max, int64_t *ret)
{
    struct json_object *value;

    if (!json_object_object_get_ex(from, name, &value) ||
        !json_object_is_type(value, json_type_int))
        return false;
    *ret = json_object_get_int64(value);
    return *ret >= 0 && *ret <= max;
}

static void restore_slots(struct outbox *outbox, struct outbox_job *job, struct json_object *acked)
{
    for (size_t i = 0; i < outbox->n_urls; i++) {
        struct json_object *value;
        int64_t time;

        if (!json_object_object_get_ex(acked, outbox->urls[i], &value))
            continue;
        time = json_object_get_int64(value);
        job->slots[i].state = time < 0 ? OUTBOX_DONE : OUTBOX_LINGERING;
        job->slots[i].acked_ns = time < 0 ? 0 : (uint64_t)time;
    }
}

static int restore_job(struct outbox *outbox, struct json_object *value)
{
    struct json_object *cluster, *acked;
    int64_t jobid, restart, ended_ns;
    struct outbox_job *job;

    if (!json_object_is_type(value, json_type_object) ||
        !json_object_object_get_ex(value, "cluster", &cluster) ||
        !json_object_is_type(cluster, json_type_string) ||
        !get_number(value, "jobid", UINT32_MAX, &jobid) ||
        !get_number(value, "restart", UINT32_MAX, &restart) ||
        !get_number(value, "ended_ns", INT64_MAX, &ended_ns) ||
        !json_object_object_get_ex(value, "acked_ns", &acked) ||
        !json_object_is_type(acked, json_type_object))
        return -EBADMSG;
    job = outbox_add(outbox,
                     &(struct job_key){.cluster = (char *)json_object_get_string(cluster),
                                       .jobid = (uint32_t)jobid,
                                       .restart = (uint32_t)restart},
                     (uint64_t)ended_ns);
    if (!job)
        return -ENOMEM;
    restore_slots(outbox, job, acked);
    return 0;
}

int outbox_restore(struct outbox *outbox, const char *value, struct error *error)
{
    struct json_object *parsed = json_tokener_parse(value);
    int rc = restore_job(outbox, parsed);

    json_object_put(parsed);
    if (rc == -EBADMSG)
        return error_set(error, rc, "not a job of the outbox: \"%.80s\"", value);
    return rc < 0 ? error_errno(error, rc, "outbox") : 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/daemon/questions.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/array_json.h"
#include "collector/store/history_json.h"
#include "collector/store/query.h"
#include "collector/store/store.h"
#include "collector/track/tracker.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/tree.h"
#include "report/json/json.h"

/* Restarts and holders of a number that an answer lists. */
#define JOBS_MAX 100
/* The page cache of a large query is kept for the next one for this long. */
#define LARGE_IDLE_MS 10000

struct question {
    struct request *request;
    uint32_t uid; /* show only the jobs of this user; UINT32_MAX: all */
    char *answer;
    bool cut; /* the answer is incomplete */
    /* query-job */
    const char *node; /* this one */
    uint32_t jobid;   /* for a task: the ID of its array */
    bool is_task;
    uint32_t task; /* query-array: the first task */
    bool in_parts; /* the caller will query the rest */
    bool all;
    unsigned flags;
    struct job_account **live; /* owned; as they were at asked_ns */
    uint64_t asked_ns;         /* real time */
    /* query-history */
    struct history_filter filter;
    char *lists[7]; /* owned; those of the filter */
};

static void question_free(struct question *q)
{
    if (q->live)
        store_jobs_free(q->live);
    free(q->answer);
    for (size_t i = 0; i < ARRAY_SIZE(q->lists); i++)
        free(q->lists[i]);
    free(q);
}

static void on_answered(int result, const struct error *error, void *arg)
{
    struct question *q = arg;

    if (result < 0)
        request_error(q->request, "%s", error->text);
    else
        request_text(q->request, TAKE_PTR(q->answer), q->cut);
    question_free(q);
}

static void ask(struct query *query, struct question *q, query_run_f run)
{
    int r = query_submit_for(query, request_uid(q->request), run, on_answered, q);

    if (r == 0)
        return;
    request_error(q->request, r == -EBUSY ? "too many queries at once: try again"
                                          : "the query could not be accepted");
    question_free(q);
}

static struct question *question_create(struct request *request)
{
    struct question *q = calloc(1, sizeof(*q));

    if (!q) {
        request_error(request, "no memory");
        return NULL;
    }
    q->request = request;
    q->uid = request_is_admin(request) ? UINT32_MAX : request_uid(request);
    return q;
}

/* --- the threads ------------------------------------------------------------------------------ */

static int on_query(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    (void)source, (void)fd, (void)events;
    (void)query_dispatch(arg);
    return 0;
}

static int create_query(struct query **ret, sd_event *loop, const struct query_options *options,
                        struct error *error)
{
    int r = query_create(ret, options, error);

    if (r < 0)
        return r;
    r = sd_event_add_io(loop, NULL, query_fd(*ret), EPOLLIN, on_query, *ret);
    return r < 0 ? error_errno(error, r, "cannot set up the event loop") : 0;
}

int question_queries_create(struct query **small, struct query **large, sd_event *loop,
                            const char *path, struct error *error)
{
    const struct query_options for_small = {.path = path};
    const struct query_options for_large = {
        .path = path, .name = "jobiod-large", .idle_ms = LARGE_IDLE_MS};
    int r = create_query(small, loop, &for_small, error);

    return r < 0 ? r : create_query(large, loop, &for_large, error);
}

/* --- all of them ------------------------------------------------------------------------------ */

static int set_answer(struct question *q, struct json_object *array, struct error *error)
{
    q->answer = tree_text(json_object_get(array));
    return q->answer ? 0 : error_set(error, -ENOMEM, "out of memory for the answer");
}

/* --- query-job -------------------------------------------------------------------------------- */

static bool has_step(const struct job_account *job, size_t n, const struct step_account *step)
{
    for (size_t i = 0; i < n; i++)
        if (job->steps[i].het == step->het && job->steps[i].step == step->step &&
            job->steps[i].tagged_at_ns == step->tagged_at_ns)
            return true;
    return false;
}

/* The step started and ended while the query was queued, so it is not in the sums in memory. An end
 * in the future belongs to a step from before the clock was set back. */
static bool is_newer(const struct question *q, const struct step_account *step)
{
    uint64_t ended_ns = step->tagged_at_ns + step->elapsed_ns;

    return strcmp(step->node, q->node) == 0 && ended_ns > q->asked_ns &&
           ended_ns <= clock_ns(CLOCK_REALTIME);
}

/* The sums of a running job have the ended steps of this node, but for their stacks. */
static int add_ended_step(const struct question *q, struct job_account *live,
                          const struct step_account *step)
{
    return strcmp(step->node, q->node) == 0 ? stack_profile_add(&live->stacks, step->stacks)
                                            : job_account_add_step(live, step);
}

/* Memory has the sums of a running job on this node; the store has its ended steps, and the steps
 * of other nodes. */
static int take_ended_steps(const struct question *q, struct job_account *live,
                            struct job_account *stored)
{
    size_t own = live->n_steps;
    struct step_account *grown = realloc(live->steps, (own + stored->n_steps + 1) * sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    live->steps = grown;
    for (size_t i = 0; i < stored->n_steps; i++) {
        if (stored->steps[i].state == STEP_RUNNING || has_step(live, own, &stored->steps[i]) ||
            is_newer(q, &stored->steps[i]))
            continue;
        if (add_ended_step(q, live, &stored->steps[i]) < 0)
            return -ENOMEM;
        live->steps[live->n_steps++] = stored->steps[i];
        memset(&stored->steps[i], 0, sizeof(stored->steps[i]));
    }
    live->nodes_reported = stored->nodes_reported;
    if (!live->user)
        live->user = TAKE_PTR(stored->user);
    return job_account_check_mpi(live);
}

/* What the store has of a running job. Before it is written here for the first time, another node
 * may have made the row, with its own start: then it is the one that the job will be written to. */
static const struct job_account *find_stored(struct job_account **stored,
                                             const struct job_account *live)
{
    const struct job_account *found = NULL;

    for (size_t i = 0; stored && stored[i]; i++) {
        if (stored[i]->key.restart != live->key.restart || stored[i]->key.jobid != live->key.jobid)
            continue;
        if (stored[i]->start_ns == live->start_ns)
            return stored[i];
        if (!found && !(stored[i]->ended && live->start_ns > stored[i]->end_ns))
            found = stored[i];
    }
    return found;
}

static struct job_account *find_live(const struct question *q, struct job_account **stored,
                                     size_t which)
{
    for (size_t i = 0; q->live[i]; i++)
        if (find_stored(stored, q->live[i]) == stored[which])
            return q->live[i];
    return NULL;
}

static int add_document(struct question *q, struct json_object *array,
                        const struct job_account *job)
{
    size_t n = json_object_array_length(array);
    struct json_object *document;

    if (n >= (q->all ? JOBS_MAX : 1)) {
        q->cut |= q->all;
        return 0;
    }
    document = report_json(job, q->flags);
    if (!document || json_object_array_add(array, document) < 0) {
        json_object_put(document);
        return -ENOMEM;
    }
    return 0;
}

/* Newest first: running jobs that are not in the store yet, then the jobs of the store, updated if
 * they are running. */
static int add_documents(struct question *q, struct json_object *array, struct job_account **stored)
{
    bool *known;
    size_t n = 0;
    int r = 0;

    while (q->live[n])
        n++;
    known = calloc(n + 1, sizeof(*known));
    if (!known)
        return -ENOMEM;
    for (size_t i = 0; stored && stored[i] && !r; i++) {
        struct job_account *live = find_live(q, stored, i);

        for (size_t j = 0; live && j < n; j++)
            known[j] |= q->live[j] == live;
        if (live)
            r = take_ended_steps(q, live, stored[i]);
    }
    for (size_t j = 0; j < n && !r; j++)
        if (!known[j])
            r = add_document(q, array, q->live[j]);
    for (size_t i = 0; stored && stored[i] && !r; i++) {
        struct job_account *live = find_live(q, stored, i);

        r = add_document(q, array, live ? live : stored[i]);
    }
    free(known);
    return r;
}

static int run_query_job(struct store *reader, void *arg, struct error *error)
{
    struct question *q = arg;
    struct job_account **stored = NULL;
    struct json_object *array;
    uint32_t limit = q->all ? JOBS_MAX + 1 : 1;
    int r;

    /* The store has the ended steps of running jobs. */
    for (size_t i = 0; q->live[i]; i++)
        limit++;
    /* Best effort: ignore failure. */
    for (size_t i = 0; q->live[i]; i++)
        (void)store_fill_baseline(reader, q->live[i], &(struct error){0});
    r = q->is_task ? store_task_jobs(reader, NULL, q->jobid, q->task, limit, q->uid, &stored, error)
                   : store_newest_jobs(reader, NULL, q->jobid, limit, q->uid, &stored, error);
    if (r < 0)
        return r;
    array = json_object_new_array();
    r = array ? add_documents(q, array, stored) : -ENOMEM;
    store_jobs_free(stored);
    r = r < 0 ? error_set(error, r, "out of memory for the answer") : set_answer(q, array, error);
    json_object_put(array);
    return r;
}

static int parse_query_job(const struct question_sources *sources, const struct message *m,
                           struct question *q, struct error *error)
{
    uint64_t jobid, task, all, steps, timeline, stacks;
    int r = message_get_u64(m, "JOBID", UINT32_MAX, 0, &jobid, error);

    if (!r)
        r = message_get_u64(m, "ARRAY_TASK", UINT32_MAX - 1, UINT32_MAX, &task, error);
    if (!r)
        r = message_get_u64(m, "ALL", 1, 0, &all, error);
    if (!r)
        r = message_get_u64(m, "STEPS", 1, 0, &steps, error);
    if (!r)
        r = message_get_u64(m, "TIMELINE", 1, 0, &timeline, error);
    if (!r)
        r = message_get_u64(m, "STACKS", 1, 0, &stacks, error);
    if (r < 0)
        return r;
    if (!jobid)
        return error_set(error, -EINVAL, "JOBID is missing");
    q->jobid = (uint32_t)jobid;
    q->is_task = task != UINT32_MAX;
    q->task = (uint32_t)task;
    q->node = sources->node;
    q->all = all;
    q->flags = (steps ? REPORT_STEPS : 0) | (timeline ? REPORT_TIMELINE : 0) |
               (stacks ? REPORT_STACKS : 0);
    r = q->is_task ? tracker_task_jobs(sources->tracker, q->jobid, q->task, q->uid, &q->live, error)
                   : tracker_jobs(sources->tracker, q->jobid, q->uid, &q->live, error);
    q->asked_ns = clock_ns(CLOCK_REALTIME);
    return r;
}

void question_job(const struct question_sources *sources, struct request *request,
                  const struct message *m)
{
    struct question *q = question_create(request);
    struct error error;

    if (!q)
        return;
    if (parse_query_job(sources, m, q, &error) < 0) {
        request_error(request, "query-job: %s", error.text);
        question_free(q);
        return;
    }
    ask(q->all ? sources->large : sources->small, q, run_query_job);
}

/* --- query-history ---------------------------------------------------------------------------- */

static int run_query_history(struct store *reader, void *arg, struct error *error)
{
    struct question *q = arg;

    return history_answer(reader, &q->filter, HISTORY_ROWS_MAX, &q->answer, &q->cut, error);
}

/* The keys that select rows. An answer lists the keys that were applied, so that a newer command
 * detects that this jobiod ignored one. */
static const struct {
    const char *key;
    size_t offset;
} list_keys[] = {
    {"USER", offsetof(struct history_filter, user)},
    {"ACCOUNT", offsetof(struct history_filter, account)},
    {"PARTITION", offsetof(struct history_filter, partition)},
    {"NAME", offsetof(struct history_filter, name)},
    {"MOUNT", offsetof(struct history_filter, mount)},
    {"JOBS", offsetof(struct history_filter, jobs)},
    {"NODES", offsetof(struct history_filter, nodes)},
};

static int parse_lists(const struct message *m, struct question *q, struct error *error)
{
    for (size_t i = 0; i < ARRAY_SIZE(list_keys); i++) {
        const char *list = message_get(m, list_keys[i].key);

        if (!list || !*list)
            continue;
        q->lists[i] = strdup(list);
        if (!q->lists[i])
            return error_errno(error, -ENOMEM, "%s", list_keys[i].key);
        *(const char **)((char *)&q->filter + list_keys[i].offset) = q->lists[i];
        request_applied(q->request, list_keys[i].key);
    }
    return 0;
}

/* A keyword, or 0 if the key is missing. */
static int parse_word(const struct message *m, struct question *q, const char *key,
                      int (*parse)(const char *), int *ret, struct error *error)
{
    const char *text = message_get(m, key);

    *ret = text ? parse(text) : 0;
    if (*ret < 0)
        return error_set(error, -EINVAL, "%s=%s is not known", key, text);
    if (text)
        request_applied(q->request, key);
    return 0;
}

static int parse_states(const struct message *m, struct question *q, struct error *error)
{
    const char *list = message_get(m, "SLURMSTATES");

    if (!list)
        return 0;
    q->filter.slurm_states = history_slurm_states_parse(list);
    if (!q->filter.slurm_states)
        return error_set(error, -EINVAL, "SLURMSTATES=%s is not known", list);
    request_applied(q->request, "SLURMSTATES");
    return 0;
}

static int parse_query_history(const struct message *m, struct question *q, struct error *error)
{
    uint64_t since, until, limit, reverse;
    const uint64_t max = UINT64_MAX / NS_PER_S;
    int sort, group, state;
    int r = message_get_u64(m, "SINCE", max, 0, &since, error);

    if (!r)
        r = message_get_u64(m, "UNTIL", max, 0, &until, error);
    if (!r)
        r = message_get_u64(m, "LIMIT", UINT32_MAX, 0, &limit, error);
    if (!r)
        r = message_get_u64(m, "REVERSE", 1, 0, &reverse, error);
    if (!r)
        r = parse_word(m, q, "SORT", history_sort_parse, &sort, error);
    if (!r)
        r = parse_word(m, q, "GROUP", history_group_parse, &group, error);
    if (!r)
        r = parse_word(m, q, "STATE", history_state_parse, &state, error);
    if (!r)
        r = parse_states(m, q, error);
    if (!r)
        r = parse_lists(m, q, error);
    if (r < 0)
        return r;
    if (reverse)
        request_applied(q->request, "REVERSE");
    q->filter.uid = q->uid;
    q->filter.since_ns = since * NS_PER_S;
    q->filter.until_ns = until * NS_PER_S;
    q->filter.sort = (enum history_sort)sort;
    q->filter.group = (enum history_group)group;
    q->filter.state = (enum history_state)state;
    q->filter.reverse = reverse;
    q->filter.limit = (uint32_t)limit;
    return 0;
}

void question_history(const struct question_sources *sources, struct request *request,
                      const struct message *m)
{
    struct question *q = question_create(request);
    struct error error;

    if (!q)
        return;
    if (parse_query_history(m, q, &error) < 0) {
        request_error(request, "query-history: %s", error.text);
        question_free(q);
        return;
    }
    ask(sources->large, q, run_query_history);
}

/* --- query-array ------------------------------------------------------------------------------ */

static int run_query_array(struct store *reader, void *arg, struct error *error)
{
    struct question *q = arg;

    bool more = false;
    int r = array_answer(reader, q->jobid, q->uid, q->task, &q->answer, &more, error);

    q->cut = more && !q->in_parts;
    return r;
}

void question_array(const struct question_sources *sources, struct request *request,
                    const struct message *m)
{
    struct question *q = question_create(request);
    struct error error;
    uint64_t jobid, from;

    if (!q)
        return;
    if (message_get_u64(m, "JOBID", UINT32_MAX, 0, &jobid, &error) < 0 || !jobid ||
        message_get_u64(m, "FROM", UINT32_MAX, 0, &from, &error) < 0) {
        request_error(request, "query-array: JOBID is missing, or it or FROM is not a number");
        question_free(q);
        return;
    }
    q->jobid = (uint32_t)jobid;
    q->task = (uint32_t)from;
    q->in_parts = message_get(m, "FROM");
    ask(sources->large, q, run_query_array);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "record/accounting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"
#include "record/slurm_compat.h"
#include "report/record/record.h"

#include <slurm/slurmdb.h>

/* Called List until 23.02, list_t * later. */
typedef __typeof__(slurm_list_create(NULL)) slurm_list;

#define SLICE_S 3600
#define IDS_MAX 500   /* per query */
#define BATCH_MAX 100 /* changes per transaction */
/* The column has 65,535 bytes; slurmdbd would silently truncate longer text. */
#define COMMENT_MAX 60000

/* The states of ended runs; JOB_REQUEUE: it was requeued. */
static const uint32_t ended_states[] = {
    JOB_COMPLETE,  JOB_CANCELLED, JOB_FAILED,   JOB_TIMEOUT, JOB_NODE_FAIL,
    JOB_PREEMPTED, JOB_BOOT_FAIL, JOB_DEADLINE, JOB_OOM,     JOB_REQUEUE,
};

struct accounting {
    void *connection;
    char *cluster;
};

/* The lists do not own their items, which are on the caller's stack. */
struct condition {
    slurmdb_job_cond_t cond;
    char states[ARRAY_SIZE(ended_states)][12];
};

/* --- conditions ------------------------------------------------------------------------------- */

static void condition_clear(struct condition *c)
{
    slurm_list lists[] = {c->cond.cluster_list, c->cond.state_list, c->cond.step_list};

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
        if (lists[i])
            slurm_list_destroy(lists[i]);
}

static void condition_init(struct condition *c, struct accounting *accounting)
{
    memset(c, 0, sizeof(*c));
    c->cond.db_flags = SLURMDB_JOB_FLAG_NOTSET;
    c->cond.flags = JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_STEP | JOBCOND_FLAG_NO_TRUNC |
                    JOBCOND_FLAG_NO_DEFAULT_USAGE;
    c->cond.cluster_list = slurm_list_create(NULL);
    slurm_list_append(c->cond.cluster_list, accounting->cluster);
}

/* Select runs that ended in one of these states, from `since` to `until`. */
static void condition_ended(struct condition *c, const uint32_t *states, size_t n, int64_t since,
                            int64_t until)
{
    c->cond.state_list = slurm_list_create(NULL);
    for (size_t i = 0; i < n; i++) {
        snprintf(c->states[i], sizeof(c->states[i]), "%u", states[i]);
        slurm_list_append(c->cond.state_list, c->states[i]);
    }
    c->cond.usage_start = since;
    c->cond.usage_end = until;
}

static slurm_selected_step_t select_run(uint32_t jobid, uint32_t task, uint32_t offset)
{
    slurm_selected_step_t step;

    memset(&step, 0, sizeof(step));
    step.step_id.job_id = jobid;
    step.step_id.step_id = NO_VAL;
    step.step_id.step_het_comp = NO_VAL;
    step.array_task_id = task == ENDED_NONE ? NO_VAL : task;
    step.het_job_offset = offset == ENDED_NONE ? NO_VAL : offset;
    return step;
}

/* Select only this job: the last task of an array has the number of the array, and the first
 * component of a heterogeneous job has that of the job. */
static slurm_selected_step_t select_job(const struct ended_job *job)
{
    if (job->array_task != ENDED_NONE)
        return select_run(job->array_job, job->array_task, ENDED_NONE);
    if (job->het_offset != ENDED_NONE)
        return select_run(job->het_job, ENDED_NONE, job->het_offset);
    return select_run(job->jobid, ENDED_NONE, ENDED_NONE);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int report_no_answer(struct error *error, const char *what)
{
    return error_set(error, -ENOTCONN, "%s: slurmdbd: %s", what, slurm_strerror(errno));
}

int accounting_open(struct accounting **ret, const char *cluster, struct error *error)
{
    struct accounting *a = calloc(1, sizeof(*a));
    uint16_t flags = 0;

    if (a)
        a->cluster = strdup(cluster);
    if (!a || !a->cluster) {
        accounting_close(a);
        return error_set(error, -ENOMEM, "no memory");
    }
    errno = 0;
    a->connection = slurmdb_connection_get(&flags);
    if (!a->connection || errno) {
        int r = report_no_answer(error, "connect");

        accounting_close(a);
        return r;
    }
    *ret = a;
    return 0;
}

void accounting_close(struct accounting *a)
{
    if (!a)
        return;
    if (a->connection)
        (void)slurmdb_connection_close(&a->connection);
    free(a->cluster);
    free(a);
}

char *accounting_cluster(struct error *error)
{
    slurm_conf_t *conf = NULL;

    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS) {
        (void)error_set(error, -ENOTCONN, "the name of the cluster: slurmctld: %s",
                        slurm_strerror(errno));
        return NULL;
    }
    /* Not freed: the function for that has another name in each release. */
    return strdup(conf->cluster_name ? conf->cluster_name : "");
}

/* The first node of the job, which ran the batch script; NULL: it had no nodes. And how many it
 * had. */
static char *find_batch_host(const char *nodes, uint32_t *n)
{
    __typeof__(slurm_hostlist_create(NULL)) list = NULL;
    char *host = NULL;

    *n = 0;
    if (nodes && *nodes && strcmp(nodes, "None assigned") != 0 && *nodes != '(')
        list = slurm_hostlist_create(nodes);
    if (list) {
        *n = (uint32_t)slurm_hostlist_count(list);
        host = slurm_hostlist_shift(list);
        slurm_hostlist_destroy(list);
    }
    return host;
}

static struct ended_job make_job(const slurmdb_job_rec_t *rec)
{
    uint32_t n;
    char *host = find_batch_host(rec->nodes, &n);

    return (struct ended_job){
        .jobid = rec->jobid,
        .uid = rec->uid,
        .array_job = rec->array_job_id,
        .array_task =
            rec->array_job_id && rec->array_task_id != NO_VAL ? rec->array_task_id : ENDED_NONE,
        .het_job = rec->het_job_id,
        .het_offset =
            rec->het_job_id && rec->het_job_offset != NO_VAL ? rec->het_job_offset : ENDED_NONE,
        .state = rec->state,
#ifdef HAVE_SLURMDB_JOB_REC_T_RESTART_CNT
        .restart = rec->restart_cnt,
        .restart_known = true,
#endif
        .resized = (rec->state & JOB_RESIZING) != 0,
        .submit = rec->submit,
        .start = rec->start,
        .end = rec->end,
        /* Seen to be 0 for a short time after the end of a short job. */
        .nodes = rec->alloc_nodes ? rec->alloc_nodes : n,
        .host = host,
        .comment = rec->admin_comment ? strdup(rec->admin_comment) : NULL,
    };
}

static int get_jobs(struct accounting *a, struct condition *c,
                    bool (*wanted)(const struct ended_job *job, void *arg), void *arg,
                    struct ended_jobs *ret, struct error *error)
{
    slurm_list list;
    slurmdb_job_rec_t *rec;
    int r = 0;

    errno = 0;
    list = slurmdb_jobs_get(a->connection, &c->cond);
    if (!list)
        return report_no_answer(error, "jobs");
    while (!r && (rec = slurm_list_pop(list))) {
        struct ended_job job = make_job(rec);

        slurmdb_destroy_job_rec(rec);
        if (!wanted || wanted(&job, arg))
            r = ended_jobs_add(ret, &job);
        else
            ended_job_clear(&job);
    }
    slurm_list_destroy(list);
    return r < 0 ? error_set(error, r, "no memory") : 0;
}

int accounting_list(struct accounting *a, int64_t since, int64_t until,
                    bool (*wanted)(const struct ended_job *job, void *arg), void *arg,
                    struct ended_jobs *ret, struct error *error)
{
    int r = 0;

    for (int64_t from = since; !r && from <= until; from += SLICE_S) {
        int64_t to = from + SLICE_S - 1 < until ? from + SLICE_S - 1 : until;
        struct condition c;

        condition_init(&c, a);
        condition_ended(&c, ended_states, ARRAY_SIZE(ended_states), from, to);
        r = get_jobs(a, &c, wanted, arg, ret, error);
        condition_clear(&c);
    }
    return r;
}

static int find_some(struct accounting *a, const struct accounting_id *ids, size_t n,
                     struct ended_jobs *ret, struct error *error)
{
    slurm_selected_step_t steps[IDS_MAX];
    struct condition c;
    int r;

    condition_init(&c, a);
    c.cond.step_list = slurm_list_create(NULL);
    for (size_t i = 0; i < n; i++) {
        steps[i] = select_run(ids[i].jobid, ids[i].task, ids[i].offset);
        slurm_list_append(c.cond.step_list, &steps[i]);
    }
    r = get_jobs(a, &c, NULL, NULL, ret, error);
    condition_clear(&c);
    return r;
}

struct accounting_id accounting_id_of(const struct ended_job *job)
{
    if (job->array_task != ENDED_NONE)
        return (struct accounting_id){job->array_job, job->array_task, ENDED_NONE};
    if (job->het_offset != ENDED_NONE)
        return (struct accounting_id){job->het_job, ENDED_NONE, job->het_offset};
    return (struct accounting_id){job->jobid, ENDED_NONE, ENDED_NONE};
}

int accounting_find(struct accounting *a, const struct accounting_id *ids, size_t n,
                    struct ended_jobs *ret, struct error *error)
{
    int r = 0;

    for (size_t i = 0; !r && i < n; i += IDS_MAX)
        r = find_some(a, ids + i, n - i < IDS_MAX ? n - i : IDS_MAX, ret, error);
    return r;
}

static const char *parse_id_part(const char *text, uint32_t *ret)
{
    uint64_t value;

    if (number_parse_prefix(&text, &value) < 0 || value >= NO_VAL)
        return NULL;
    *ret = (uint32_t)value;
    return text;
}

int accounting_parse_id(const char *text, struct accounting_id *ret, struct error *error)
{
    struct accounting_id id = {.task = ENDED_NONE, .offset = ENDED_NONE};
    const char *end = parse_id_part(text, &id.jobid);

    if (end && (*end == '_' || *end == '+'))
        end = parse_id_part(end + 1, *end == '_' ? &id.task : &id.offset);
    if (!end || *end || !id.jobid)
        return error_set(error, -EINVAL, "\"%s\" is not a job ID such as 12, 12_3 or 12+1", text);
    *ret = id;
    return 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Returns the number of changed rows; -1: none, errno is set. */
static int change_comment(struct accounting *a, const struct ended_job *job, char *comment)
{
    slurm_selected_step_t step = select_job(job);
    struct condition c;
    slurmdb_job_rec_t rec;
    slurm_list changed;
    int n = -1;

    condition_init(&c, a);
    condition_ended(&c, &job->state, 1, job->end, job->end);
    c.cond.step_list = slurm_list_create(NULL);
    slurm_list_append(c.cond.step_list, &step);
    memset(&rec, 0, sizeof(rec));
    rec.derived_ec = NO_VAL;
    rec.admin_comment = comment;
    errno = 0;
    changed = slurmdb_job_modify(a->connection, &c.cond, &rec);
    if (changed) {
        n = slurm_list_count(changed);
        slurm_list_destroy(changed);
    }
    condition_clear(&c);
    return n;
}

static void print_refused(const struct ended_job *job, int rows,
                          void (*print_line)(const char *line))
{
    char line[128];

    if (rows < 0)
        snprintf(line, sizeof(line), "job %u: slurmdbd: %s", job->jobid, slurm_strerror(errno));
    else
        snprintf(line, sizeof(line), "job %u: the change would affect %d jobs", job->jobid, rows);
    print_line(line);
}

/* 1: done; 0: the record was dropped, and the transaction must be rolled back. */
static int write_one(struct accounting *a, struct ended_job *job,
                     void (*print_line)(const char *line))
{
    _free_ char *comment = record_merge(job->comment, job->record);
    int rows = 0;

    if (comment && strlen(comment) <= COMMENT_MAX)
        rows = change_comment(a, job, comment);
    if (rows == 1)
        return 1;
    if (!comment || strlen(comment) > COMMENT_MAX)
        print_line("a comment is too long for a record");
    else
        print_refused(job, rows, print_line);
    free(job->record);
    job->record = NULL;
    return 0;
}

static void update_comment(struct ended_job *job, struct ended_jobs *fresh)
{
    for (size_t i = 0; i < fresh->n; i++) {
        struct ended_job *now = &fresh->items[i];

        if (now->jobid != job->jobid || now->submit != job->submit || now->start != job->start)
            continue;
        free(job->comment);
        job->comment = TAKE_PTR(now->comment);
        if (ended_is_settled(job)) {
            free(TAKE_PTR(job->record));
            job->verdict = VERDICT_KEEP;
        }
        return;
    }
    /* Removed or restarted: the next pass checks it. */
    free(TAKE_PTR(job->record));
}

/* Read the comments again right before they are written: the queries of the nodes may have taken
 * minutes, and other programs may have changed a comment. */
static int refresh_comments(struct accounting *a, struct ended_jobs *jobs, size_t from, size_t to,
                            struct error *error)
{
    struct accounting_id ids[BATCH_MAX];
    struct ended_jobs fresh = {0};
    size_t n = 0;
    int r;

    for (size_t i = from; i < to; i++)
        if (jobs->items[i].record)
            ids[n++] = accounting_id_of(&jobs->items[i]);
    r = n ? accounting_find(a, ids, n, &fresh, error) : 0;
    for (size_t i = from; !r && i < to; i++)
        if (jobs->items[i].record)
            update_comment(&jobs->items[i], &fresh);
    ended_jobs_clear(&fresh);
    return r;
}

/* Write the jobs from `from` to `to` in one transaction. 1: one failed, and all were rolled back.
 */
static int write_batch(struct accounting *a, struct ended_jobs *jobs, size_t from, size_t to,
                       void (*print_line)(const char *line), struct error *error)
{
    bool bad = false, any = false;
    int r = refresh_comments(a, jobs, from, to, error);

    if (r < 0)
        return r;
    for (size_t i = from; !bad && i < to; i++)
        if (jobs->items[i].record) {
            any = true;
            bad = !write_one(a, &jobs->items[i], print_line);
        }
    errno = 0;
    if (any && slurmdb_connection_commit(a->connection, !bad) != SLURM_SUCCESS)
        return report_no_answer(error, "commit");
    return bad;
}

int accounting_write(struct accounting *a, struct ended_jobs *jobs,
                     void (*print_line)(const char *line), struct error *error)
{
    int r = 0;

    for (size_t from = 0; r >= 0 && from < jobs->n;) {
        size_t to = jobs->n - from < BATCH_MAX ? jobs->n : from + BATCH_MAX;

        r = write_batch(a, jobs, from, to, print_line, error);
        if (r != 1) /* else retry without the job that failed */
            from = to;
    }
    return r;
}

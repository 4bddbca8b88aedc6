/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/tracker_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/cgroup/users.h"
#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* --- small things ----------------------------------------------------------------------------- */

void tracker_say(struct tracker *tracker, enum log_level level, const char *format, ...)
{
    char text[512];
    va_list ap;

    if (!tracker->hooks.say)
        return;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    tracker->hooks.say(level, text, tracker->hooks.arg);
}

static int copy_string(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return from && !*to ? -ENOMEM : 0;
}

/* --- jobs ------------------------------------------------------------------------------------- */

struct tracked_job *tracked_find_job(struct tracker *tracker, uint32_t jobid, uint32_t restart)
{
    for (size_t i = 0; i < tracker->n_jobs; i++) {
        const struct tracked_job *job = tracker->jobs[i];

        if (!job->over && job->sum->key.jobid == jobid && job->sum->key.restart == restart)
            return tracker->jobs[i];
    }
    return NULL;
}

static void job_free(struct tracked_job *job)
{
    if (!job)
        return;
    for (size_t i = 0; i < job->n_steps; i++) {
        tag_clear(&job->steps[i]->tag);
        step_account_clear(&job->steps[i]->account);
        free(job->steps[i]);
    }
    free(job->steps);
    job_account_destroy(job->sum);
    completeness_clear(&job->own);
    step_account_clear(&job->folded);
    tracked_forget_ended(job);
    free(job->gatherer);
    free(job->nodes);
    meter_destroy(job->meter);
    free(job);
}
DEFINE_CLEANUP(struct tracked_job, job_free)

void tracked_remove_job(struct tracked_job *job)
{
    struct tracker *tracker = job->tracker;

    for (size_t i = 0; i < tracker->n_jobs; i++)
        if (tracker->jobs[i] == job) {
            tracker->jobs[i] = tracker->jobs[--tracker->n_jobs];
            break;
        }
    job_free(job);
}

/* CLOCK_BOOTTIME at a moment that is known in real time only. */
static uint64_t boot_of(uint64_t real_ns)
{
    uint64_t now = clock_ns(CLOCK_REALTIME), ago = now > real_ns ? now - real_ns : 0;
    uint64_t boot = clock_ns(CLOCK_BOOTTIME);

    return boot > ago ? boot - ago : 0;
}

struct tracked_job *tracked_load_job(struct tracker *tracker, struct job_account *account)
{
    CLEANUP(job_freep) struct tracked_job *job = calloc(1, sizeof(*job));
    struct tracked_job **grown =
        realloc(tracker->jobs, (tracker->n_jobs + 1) * sizeof(*tracker->jobs));

    if (grown)
        tracker->jobs = grown;
    if (!job || !grown)
        return NULL;
    job->tracker = tracker;
    job->start_boot_ns = job->last_end_boot_ns = boot_of(account->start_ns);
    job->meter = meter_create(tracker->interval_ns, job->start_boot_ns);
    if (!job->meter)
        return NULL;
    job->sum = account;
    tracker->jobs[tracker->n_jobs++] = job;
    tracked_learn_nodes(job);
    return TAKE_PTR(job);
}

struct tracked_job *tracked_get_job(struct tracker *tracker, const struct tag *tag)
{
    struct tracked_job *job = tracked_find_job(tracker, tag->jobid, tag->restart);
    struct job_account *account;

    if (job)
        return job;
    account = job_account_create();
    if (!account)
        return NULL;
    account->key.jobid = tag->jobid;
    account->key.restart = tag->restart;
    account->uid = tag->uid;
    account->start_ns = tag->tagged_at_ns;
    if (copy_string(&account->key.cluster, tracker->cluster) < 0 ||
        !(job = tracked_load_job(tracker, account))) {
        job_account_destroy(account);
        return NULL;
    }
    job->start_boot_ns = tag->tagged_boot_ns;
    /* Asked for now, it is known when the job ends, unless the prolog tells it first. */
    account->user = names_find(tracker->names, account->uid);
    return job;
}

/* --- steps ------------------------------------------------------------------------------------ */

struct tracked_step *tracked_find_step(struct tracked_job *job, uint32_t het, uint32_t step)
{
    struct tracked_step *found = NULL;

    for (size_t i = 0; i < job->n_steps; i++) {
        struct tracked_step *s = job->steps[i];

        if (s->tag.step == step && s->tag.het == het && (!found || s->state == TRACKED_RUNNING))
            found = s;
    }
    return found;
}

struct tracked_step *tracked_find_any(struct tracker *tracker, const struct step_ids *ids)
{
    struct tracked_step *found = NULL;

    for (size_t i = 0; i < tracker->n_jobs; i++) {
        struct tracked_job *job = tracker->jobs[i];
        struct tracked_step *step;

        if (job->sum->key.jobid != ids->jobid || job->sum->key.restart != ids->restart)
            continue;
        step = tracked_find_step(job, ids->het, ids->step);
        if (step && (!found || step->state == TRACKED_RUNNING))
            found = step;
    }
    return found;
}

struct tracked_step *tracked_add_step(struct tracked_job *job, struct tag *tag)
{
    struct tracked_step **grown = realloc(job->steps, (job->n_steps + 1) * sizeof(*job->steps));
    struct tracked_step *step = calloc(1, sizeof(*step));

    if (grown)
        job->steps = grown;
    if (!grown || !step) {
        free(step);
        return NULL;
    }
    step->job = job;
    step->tag = *tag;
    memset(tag, 0, sizeof(*tag));
    job->steps[job->n_steps++] = step;
    step->folds = job->n_rows >= TRACKER_STEPS_PER_JOB;
    job->n_rows += !step->folds;
    if (step->tag.nodes > job->sum->nodes_expected)
        job->sum->nodes_expected = step->tag.nodes;
    if (!job->sum->name && step->tag.name)
        (void)copy_string(&job->sum->name, step->tag.name);
    if (step->tag.array_job) { /* not every step of it is told */
        job->sum->array_job = step->tag.array_job;
        job->sum->array_task = step->tag.array_task;
    }
    job->had_extern |= step->tag.step == STEP_EXTERN;
    return step;
}

void tracked_remove_step(struct tracked_step *step)
{
    struct tracked_job *job = step->job;

    for (size_t i = 0; i < job->n_steps; i++)
        if (job->steps[i] == step) {
            job->n_steps--;
            memmove(&job->steps[i], &job->steps[i + 1], (job->n_steps - i) * sizeof(*job->steps));
            break;
        }
    tag_clear(&step->tag);
    step_account_clear(&step->account);
    free(step);
}

/* --- accounts --------------------------------------------------------------------------------- */

static int copy_counts(const struct step_account *from, struct step_account *to)
{
    int r = io_mounts_copy(&from->mounts, &to->mounts);

    if (!r)
        r = completeness_merge(&to->completeness, &from->completeness);
    to->elapsed_ns = from->elapsed_ns;
    to->longest_wait_ns = from->longest_wait_ns;
    to->folded = from->folded;
    to->state = from->state;
    return r;
}

static int copy_step(const struct step_account *from, struct step_account *ret)
{
    CLEANUP(step_account_clear)
    struct step_account copy = {
        .het = from->het, .step = from->step, .tagged_at_ns = from->tagged_at_ns};

    if (copy_string(&copy.node, from->node) < 0 || copy_counts(from, &copy) < 0)
        return -ENOMEM;
    *ret = copy;
    memset(&copy, 0, sizeof(copy));
    return 0;
}

int tracked_account(const struct tracked_step *step, struct step_account *ret)
{
    const struct tracker *tracker = step->job->tracker;
    CLEANUP(step_account_clear)
    struct step_account a = {
        .het = step->tag.het, .step = step->tag.step, .tagged_at_ns = step->tag.tagged_at_ns};
    int r;

    if (!tracked_is_open(step))
        return copy_step(&step->account, ret);
    r = copy_string(&a.node, tracker->node);
    if (!r)
        r = sampler_account(tracker->sampler, step->number, &a);
    if (r < 0)
        return r;
    *ret = a;
    memset(&a, 0, sizeof(a));
    return 0;
}

static int copy_identity(const struct job_account *from, struct job_account *to)
{
    to->key.jobid = from->key.jobid;
    to->key.restart = from->key.restart;
    to->uid = from->uid;
    to->array_job = from->array_job;
    to->array_task = from->array_task;
    to->ended = from->ended;
    to->start_ns = from->start_ns;
    to->end_ns = from->end_ns;
    to->nodes_expected = from->nodes_expected;
    to->nodes_reported = 1;
    to->longest_wait_ns = from->longest_wait_ns;
    if (copy_string(&to->key.cluster, from->key.cluster) < 0 ||
        copy_string(&to->user, from->user) < 0 || copy_string(&to->account, from->account) < 0 ||
        copy_string(&to->partition, from->partition) < 0 || copy_string(&to->name, from->name) < 0)
        return -ENOMEM;
    return io_mounts_copy(&from->mounts, &to->mounts);
}

static uint64_t over_or_now(const struct tracked_job *job)
{
    return job->over_boot_ns ? job->over_boot_ns : clock_ns(CLOCK_BOOTTIME);
}

static uint64_t elapsed(const struct tracked_job *job)
{
    uint64_t end = over_or_now(job);

    return end > job->start_boot_ns ? end - job->start_boot_ns : 0;
}

int tracked_meter(struct tracked_job *job, uint64_t now_ns, bool tick)
{
    int r;

    meter_begin(job->meter);
    r = meter_add(job->meter, &job->sum->mounts);
    for (size_t i = 0; i < job->n_steps && !r; i++) {
        const struct tracked_step *step = job->steps[i];
        const struct io_mounts *mounts =
            step->summed ? NULL : sampler_mounts(job->tracker->sampler, step->number);

        if (mounts)
            r = meter_add(job->meter, mounts);
    }
    if (!r)
        meter_end(job->meter, now_ns, tick);
    return r;
}

/* Steps that run join the sum; `keep` also lists those that the store has not got. */
static int add_steps(const struct tracked_job *job, struct job_account *ret, bool keep)
{
    for (size_t i = 0; i < job->n_steps; i++) {
        const struct tracked_step *step = job->steps[i];
        CLEANUP(step_account_clear) struct step_account account = {0};
        int r;

        if (step->summed && (!keep || step->folds || step->state == TRACKED_SAVED))
            continue;
        r = tracked_account(step, &account);
        if (!r && !step->summed)
            r = job_account_add_step(ret, &account);
        if (r < 0)
            return r;
        if (keep) {
            ret->steps[ret->n_steps++] = account;
            memset(&account, 0, sizeof(account));
        }
    }
    if (keep && job->folded.folded) {
        if (copy_step(&job->folded, &ret->steps[ret->n_steps]) < 0)
            return -ENOMEM;
        ret->n_steps++;
    }
    return 0;
}

static struct job_account *build(struct tracked_job *job, bool keep)
{
    struct job_account *ret = job_account_create();

    if (!ret)
        return NULL;
    ret->steps = keep ? calloc(job->n_steps + 1, sizeof(*ret->steps)) : NULL;
    if ((keep && !ret->steps) || copy_identity(job->sum, ret) < 0 ||
        completeness_merge(&ret->completeness, &job->own) < 0 ||
        completeness_merge(&ret->completeness, &job->sum->completeness) < 0 ||
        add_steps(job, ret, keep) < 0 || tracked_meter(job, over_or_now(job), false) < 0) {
        job_account_destroy(ret);
        return NULL;
    }
    if (copy_string(&ret->first_node, job->gatherer) < 0) {
        job_account_destroy(ret);
        return NULL;
    }
    ret->elapsed_ns = elapsed(job);
    ret->unsupported = probe_unsupported(job->tracker->probe);
    ret->ns_per_event = probe_ns_per_event(job->tracker->probe);
    meter_fill(job->meter, &ret->mounts, ret->elapsed_ns);
    return ret;
}

struct job_account *tracked_snapshot(struct tracked_job *job)
{
    return build(job, true);
}

struct job_account *tracked_row(struct tracked_job *job)
{
    struct job_account *row = build(job, false);

    if (!row)
        return NULL;
    completeness_clear(&row->completeness);
    if (completeness_merge(&row->completeness, &job->own) == 0)
        return row;
    job_account_destroy(row);
    return NULL;
}

/* --- the rest --------------------------------------------------------------------------------- */

/* The job's file, as a message; NULL: there is none. */
static struct message *read_job_file(const struct tracked_job *job)
{
    _free_ struct message *m = malloc(sizeof(*m));
    char name[16];

    (void)snprintf(name, sizeof(name), "%u", job->sum->key.jobid);
    if (!m || job->tracker->jobs_fd < 0 ||
        tag_read_file(job->tracker->jobs_fd, name, "job", m, NULL) < 0)
        return NULL;
    return TAKE_PTR(m);
}

void tracked_describe(struct tracked_job *job)
{
    struct job_account *sum = job->sum;
    _free_ struct message *m = NULL;

    if (job->described || sum->account)
        return;
    m = read_job_file(job);
    if (!m)
        return;
    job->described = true;
    (void)tracker_describe(job->tracker, sum->key.jobid, message_get(m, "USER"),
                           message_get(m, "ACCOUNT"), message_get(m, "PARTITION"), NULL);
}

static uint32_t count_names(const char *list)
{
    uint32_t n = 1;

    for (const char *at = list; (at = strchr(at, ',')); at++)
        n++;
    return n;
}

/* Is the file that of the job's next run, or of one before? */
static bool is_of_other_run(const struct message *m, const struct tracked_job *job)
{
    uint64_t mine = job->sum->key.restart, restart;

    return message_get_u64(m, "RESTART", UINT32_MAX, mine, &restart, NULL) < 0 || restart != mine;
}

/* Slurm may have another name for this node than we do: NODE says which. A step on some of the
 * nodes does not know how many the job has. */
void tracked_learn_nodes(struct tracked_job *job)
{
    _free_ struct message *m = read_job_file(job);
    const char *node = m ? message_get(m, "NODE") : NULL;
    const char *gatherer = m ? message_get(m, "GATHER") : NULL;
    const char *nodes = m ? message_get(m, "NODELIST") : NULL;

    if (!node || !gatherer || is_of_other_run(m, job))
        return;
    if (strcmp(node, gatherer) != 0 && !job->gatherer)
        (void)copy_string(&job->gatherer, gatherer);
    if (nodes && count_names(nodes) > job->sum->nodes_expected)
        job->sum->nodes_expected = count_names(nodes);
    if (nodes && strchr(nodes, ',') && !job->nodes)
        (void)copy_string(&job->nodes, nodes);
}

void tracked_forget_file(struct tracker *tracker, uint32_t jobid, uint32_t restart)
{
    _free_ struct message *m = malloc(sizeof(*m));
    uint64_t file_restart;
    char name[16];

    for (size_t i = 0; i < tracker->n_jobs; i++)
        if (tracker->jobs[i]->sum->key.jobid == jobid)
            return;
    (void)snprintf(name, sizeof(name), "%u", jobid);
    if (m && tag_read_file(tracker->jobs_fd, name, "job", m, NULL) == 0 &&
        message_get_u64(m, "RESTART", UINT32_MAX, 0, &file_restart, NULL) == 0 &&
        file_restart <= restart && !message_get(m, "ENDED"))
        (void)unlinkat(tracker->jobs_fd, name, 0);
}

int tracked_read_file(struct tracker *tracker, const char *name, struct tag *ret,
                      uint64_t *ended_boot, struct error *error)
{
    _free_ struct message *m = malloc(sizeof(*m));
    int r;

    if (!m)
        return error_set(error, -ENOMEM, "no memory for a step file");
    r = tag_read_file(tracker->steps_fd, name, "tag", m, error);
    if (!r)
        r = tag_parse(m, ret, error);
    if (!r)
        *ended_boot = tag_ended_boot(tracker->steps_fd, name);
    return r;
}

void tracked_reject_file(struct tracker *tracker, const char *name)
{
    char bad[TAG_FILE_SIZE + 4];

    (void)snprintf(bad, sizeof(bad), "%s.bad", name);
    (void)renameat(tracker->steps_fd, name, tracker->steps_fd, bad);
}

int tracked_add_totals(struct io_mounts *totals, const struct io_mounts *mounts)
{
    for (size_t i = 0; i < mounts->n; i++) {
        const struct io_mount *m = &mounts->items[i];
        struct io_mount *to = io_mounts_get(totals, m->labelled ? m->mount : "(private)", m->fstype,
                                            "", !m->labelled);

        if (!to || io_account_add(&to->io, &m->io) < 0)
            return -ENOMEM;
        to->labelled = m->labelled;
    }
    return 0;
}

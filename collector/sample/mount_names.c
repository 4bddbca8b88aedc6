/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of the mounts that steps use. The first task may have ended before its table of mounts
 * was read; then the tables of other tasks of the step are read. */
#include <stdlib.h>
#include <string.h>

#include "collector/mounts/mounts.h"
#include "collector/sample/sampler_impl.h"

/* Give up after this many readings. The pause doubles with each attempt; a task with the mount
 * existed when it was first used. */
#define LAST_PAUSE 32
/* The number of tasks of a step to try at a time. */
#define TASKS 64

struct learn_pass {
    struct sampler *sampler;
    struct error *error;
    int result;
};

static bool is_unnamed(const struct sampler *sampler, uint32_t step, uint64_t dev)
{
    for (size_t i = 0; i < sampler->n_unnamed; i++)
        if (sampler->unnamed[i].step == step && sampler->unnamed[i].dev == dev)
            return true;
    return false;
}

static int keep_unnamed(struct sampler *sampler, const struct probe_mount *m)
{
    struct unnamed *grown;

    if (is_unnamed(sampler, m->step, m->dev))
        return 0;
    grown = reallocarray(sampler->unnamed, sampler->n_unnamed + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    sampler->unnamed = grown;
    grown += sampler->n_unnamed++;
    *grown = (struct unnamed){.step = m->step, .dev = m->dev, .wait = 1, .pause = 1};
    memcpy(grown->fstype, m->fstype, sizeof(grown->fstype));
    memcpy(grown->id, m->id, sizeof(grown->id));
    return 0;
}

/* A mount may be gone by now. Returns 1 if it has no name, or may get a better one. */
static int learn_seen(struct mounts *mounts, const struct probe_mount *m)
{
    const struct mount_seen seen = {
        .space = m->seen->space,
        .in_space = m->seen->in_space,
        .in_task = m->seen->in_task,
        .fstype = m->seen->type,
        .source = m->seen->source,
    };
    int r = mounts_learn_seen(mounts, m->step, m->dev, &seen);

    return r == 0 && mounts_busy(mounts) ? 1 : r;
}

static int learn_mount(const struct probe_mount *m, void *arg)
{
    struct learn_pass *l = arg;
    struct error error;
    int r = mounts_learn(l->sampler->mounts, m->step, m->dev, m->pid, m->fstype, m->id, &error);

    if (r > 0 && m->seen)
        r = learn_seen(l->sampler->mounts, m);
    if (r > 0 && keep_unnamed(l->sampler, m) < 0)
        r = error_set(&error, -ENOMEM, "no memory for a mount without a name");
    /* A name that cannot be found does not prevent the others from being found. */
    if (r < 0 && !l->result)
        l->result = error_set(l->error, r, "%s", error.text);
    return 0;
}

int sampler_name_new_mounts(struct sampler *sampler, struct error *error)
{
    struct learn_pass l = {sampler, error, 0};
    int r;

    mounts_turn(sampler->mounts);
    r = probe_new_mounts(sampler->probe, learn_mount, &l, error);
    return r < 0 ? r : l.result;
}

int mount_names_learn(struct sampler *sampler, struct error *error)
{
    struct learn_pass l = {sampler, NULL, 0};

    mounts_turn(sampler->mounts);
    return probe_mounts(sampler->probe, learn_mount, &l, error);
}

const char *sampler_mount(struct sampler *sampler, uint32_t step, uint64_t dev)
{
    return mounts_find(sampler->mounts, step, dev).mount;
}

void sampler_set_tasks(struct sampler *sampler, sampler_tasks_f tasks, void *arg)
{
    sampler->tasks = tasks;
    sampler->tasks_arg = arg;
}

/* True if it has a name, or there are no more attempts. */
static bool retry(struct sampler *sampler, struct unnamed *u)
{
    uint32_t pids[TASKS];
    size_t n = sampler->tasks ? sampler->tasks(u->step, pids, TASKS, sampler->tasks_arg) : 0;
    /* It may have a name by now; then no task is needed. */
    int r = mounts_learn(sampler->mounts, u->step, u->dev, 0, u->fstype, u->id, NULL);

    for (size_t i = 0; i < n && r > 0; i++)
        r = mounts_learn(sampler->mounts, u->step, u->dev, pids[i], u->fstype, u->id, NULL);
    u->pause *= 2;
    u->wait = u->pause;
    return r == 0 || u->pause > LAST_PAUSE;
}

void mount_names_retry(struct sampler *sampler)
{
    size_t kept = 0;

    for (size_t i = 0; i < sampler->n_unnamed; i++) {
        struct unnamed *u = &sampler->unnamed[i];

        if (--u->wait || !retry(sampler, u))
            sampler->unnamed[kept++] = *u;
    }
    sampler->n_unnamed = kept;
}

void mount_names_forget(struct sampler *sampler, uint32_t step)
{
    size_t kept = 0;

    for (size_t i = 0; i < sampler->n_unnamed; i++)
        if (sampler->unnamed[i].step != step)
            sampler->unnamed[kept++] = sampler->unnamed[i];
    sampler->n_unnamed = kept;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/sample/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sample/meter.h"
#include "collector/mounts/mounts.h"
#include "collector/probe/probe.h"
#include "collector/sample/sampler_impl.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"

/* The events per second that one shard serves before CPUs that share it slow each other down: a
 * contended atomic add takes about 100 ns, and a call makes three. */
#define SHARD_EVENTS_PER_S 200000

#define CAUSE_HOOK "hook-not-attached"
#define CAUSE_FEATURE "unseen: " /* and the feature */
#define CAUSE_SELFTEST "self-test-failed"

/* Losses that are counted in the maps, as causes. */
static const struct lost_cause_name {
    const char *cause;
    size_t offset;
    bool is_events;
} lost_causes[] = {
    {"map-full", offsetof(struct probe_step, lost.requests), true},
    {"map-full-bytes", offsetof(struct probe_step, lost.bytes), false},
    {"errno-unknown", offsetof(struct probe_step, lost.errnos), false},
    {"latency-lost", offsetof(struct probe_step, lost.latencies), false},
    {"mount-unannounced", offsetof(struct probe_step, lost.mounts), false},
    {"end-unseen", offsetof(struct probe_step, lost.ends), true},
    {"async-lost", offsetof(struct probe_step, lost.async), true},
    {"async-unseen", offsetof(struct probe_step, lost.unseen), true},
    {"cache-map-full-bytes", offsetof(struct probe_step, lost.fills), false},
};

static uint64_t lost_value(const struct probe_step *p, const struct lost_cause_name *c)
{
    uint64_t value;

    memcpy(&value, (const char *)p + c->offset, sizeof(value));
    return value;
}

/* --- the list --------------------------------------------------------------------------------- */

static void followed_destroy(struct followed *f)
{
    if (!f)
        return;
    completeness_clear(&f->causes);
    io_mounts_clear(&f->mounts);
    io_mounts_clear(&f->fresh);
    io_mounts_clear(&f->before);
    io_mounts_clear(&f->wraps);
    slices_clear(&f->slices);
    slices_clear(&f->fresh_slices);
    meter_destroy(f->meter);
    free(f);
}
DEFINE_CLEANUP(struct followed, followed_destroy)

static int followed_insert(struct sampler *sampler, struct followed *f)
{
    size_t i = followed_index(sampler, f->step);
    struct followed **grown = realloc(sampler->steps, (sampler->n + 1) * sizeof(*sampler->steps));

    if (!grown)
        return -ENOMEM;
    sampler->steps = grown;
    memmove(&grown[i + 1], &grown[i], (sampler->n - i) * sizeof(*grown));
    grown[i] = f;
    sampler->n++;
    return 0;
}

/* --- start and stop --------------------------------------------------------------------------- */

void sampler_destroy(struct sampler *sampler)
{
    if (!sampler)
        return;
    for (size_t i = 0; i < sampler->n; i++)
        followed_destroy(sampler->steps[i]);
    free(sampler->steps);
    free(sampler->missed);
    free(sampler->unnamed);
    completeness_clear(&sampler->gap);
    free(sampler);
}
DEFINE_CLEANUP(struct sampler, sampler_destroy)

static bool is_mounted(uint32_t step, uint64_t dev, uint64_t *since_ns, void *arg)
{
    return probe_is_mounted(arg, step, dev, since_ns);
}

int sampler_create(struct sampler **ret, struct probe *probe, struct mounts *mounts,
                   uint64_t interval_ns, struct error *error)
{
    CLEANUP(sampler_destroyp) struct sampler *sampler = calloc(1, sizeof(*sampler));
    const struct probe_hook *hooks;
    size_t n;
    int r;

    if (!sampler)
        return error_set(error, -ENOMEM, "no memory for the sampler");
    sampler->probe = probe;
    sampler->mounts = mounts;
    sampler->interval_ns = interval_ns;
    mounts_set_check(mounts, is_mounted, probe);
    r = mount_names_learn(sampler, error);
    if (r < 0)
        return r;
    if (!probe_hooks(probe, &hooks, &n) && missed_set(sampler, hooks, n) < 0)
        return error_set(error, -ENOMEM, "no memory for the sampler");
    *ret = TAKE_PTR(sampler);
    return 0;
}

/* --- steps ------------------------------------------------------------------------------------ */

static bool is_counted_in_maps(const char *cause)
{
    for (size_t i = 0; i < ARRAY_SIZE(lost_causes); i++)
        if (!strcmp(cause, lost_causes[i].cause))
            return true;
    return false;
}

static bool has_cause(const struct completeness *c, const char *cause)
{
    for (size_t i = 0; i < c->n; i++)
        if (!strcmp(c->items[i].cause, cause))
            return true;
    return false;
}

/* Take over the causes of an earlier process. Those that are counted in the maps are read from them
 * again, unless `keep`: then they cannot be read. */
static int followed_resume(struct followed *f, const struct step_account *before, bool keep)
{
    int r = 0;

    for (size_t i = 0; i < before->completeness.n && !r; i++) {
        const struct incomplete *item = &before->completeness.items[i];

        if (!is_counted_in_maps(item->cause) && strcmp(item->cause, CAUSE_HISTOGRAM) != 0)
            r = completeness_add(&f->causes, item->cause, item->count, item->ops);
    }
    f->last.longest_wait_ns = before->longest_wait_ns;
    if (!r && keep)
        r = io_mounts_copy(&before->mounts, &f->mounts);
    else if (!r)
        r = wraps_resume(f, &before->mounts);
    if (!r && !keep)
        r = timelines_resume(f, before);
    return r < 0 ? r : meter_resume(f->meter, &before->mounts, f->started_ns + before->elapsed_ns);
}

/* A way to do I/O that is not covered by any hook, though this kernel has it. */
static int mark_missing_feature(const struct probe_hook *hook, bool io_uring,
                                struct completeness *causes)
{
    char cause[64];

    if (hook->backend != PROBE_NONE || hook->absent || !*hook->feature ||
        (hook->by_step && !io_uring))
        return 0;
    (void)snprintf(cause, sizeof(cause), CAUSE_FEATURE "%s", hook->feature);
    return has_cause(causes, cause) ? 0 : completeness_add(causes, cause, 1, hook->ops);
}

/* io_uring: the step has used it. */
static int mark_missing_features(struct sampler *sampler, bool io_uring,
                                 struct completeness *causes)
{
    const struct probe_hook *hooks;
    size_t n;
    int r = 0;

    if (probe_hooks(sampler->probe, &hooks, &n) < 0)
        return 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = mark_missing_feature(&hooks[i], io_uring, causes);
    return r;
}

static int mark_distrusted(struct sampler *sampler, struct completeness *causes)
{
    uint64_t distrusted = probe_distrusted(sampler->probe);

    if (!distrusted || has_cause(causes, CAUSE_SELFTEST))
        return 0;
    return completeness_add(causes, CAUSE_SELFTEST, __builtin_popcountll(distrusted), distrusted);
}

/* Nothing is counted. */
static int mark_not_counted(const char *why, struct completeness *causes)
{
    _free_ char *cause = NULL;

    if (asprintf(&cause, CAUSE_NOT_COUNTED "%s", why) < 0) {
        cause = NULL;
        return -ENOMEM;
    }
    return has_cause(causes, cause) ? 0 : completeness_add(causes, cause, 1, 0);
}

static int mark_missing_hooks(struct sampler *sampler, struct completeness *causes)
{
    const struct probe_hook *hooks;
    uint64_t unsupported = probe_unsupported(sampler->probe), ops = 0, count = 0;
    size_t n;

    if (has_cause(causes, CAUSE_HOOK) || probe_hooks(sampler->probe, &hooks, &n) < 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (hooks[i].backend == PROBE_NONE && !*hooks[i].feature && hooks[i].ops & unsupported) {
            ops |= hooks[i].ops & unsupported;
            count++;
        }
    if (!n) {
        ops = unsupported;
        count = 1;
    }
    return count ? completeness_add(causes, CAUSE_HOOK, count, ops) : 0;
}

static int mark_uncovered(struct sampler *sampler, struct completeness *causes)
{
    const char *blind = probe_blind(sampler->probe);
    int r;

    if (blind)
        return mark_not_counted(blind, causes);
    r = mark_missing_hooks(sampler, causes);
    if (r == 0)
        r = mark_distrusted(sampler, causes);
    return r < 0 ? r : mark_missing_features(sampler, false, causes);
}

int sampler_add(struct sampler *sampler, uint32_t step, uint64_t started_ns, uint64_t real_ns,
                const struct step_account *before, struct error *error)
{
    CLEANUP(followed_destroyp) struct followed *f = NULL;

    if (followed_find(sampler, step))
        return error_set(error, -EEXIST, "step number %u is followed already", step);
    f = calloc(1, sizeof(*f));
    if (!f)
        return error_set(error, -ENOMEM, "no memory to follow a step");
    f->step = step;
    f->started_ns = f->read_ns = f->timed_ns = started_ns;
    f->real_ns = real_ns;
    f->shards = 1;
    f->slices_known = !before;
    f->meter = meter_create(sampler->interval_ns, started_ns);
    if (!f->meter || (before && followed_resume(f, before, probe_blind(sampler->probe)) < 0) ||
        completeness_merge(&f->causes, &sampler->gap) < 0 ||
        mark_uncovered(sampler, &f->causes) < 0 || followed_insert(sampler, f) < 0)
        return error_set(error, -ENOMEM, "no memory to follow a step");
    (void)TAKE_PTR(f);
    return 0;
}

int sampler_mark_incomplete(struct sampler *sampler, uint32_t step, const char *cause,
                            uint64_t count, uint64_t ops)
{
    struct followed *f = followed_find(sampler, step);

    if (!f)
        return -ENOENT;
    if (completeness_add(&f->causes, cause, count, ops) < 0)
        add_saturating(&f->causes.lost, count); /* without the memory for a cause */
    return 0;
}

void sampler_forget(struct sampler *sampler, uint32_t step)
{
    size_t i = followed_index(sampler, step);

    if (i >= sampler->n || sampler->steps[i]->step != step)
        return;
    followed_destroy(sampler->steps[i]);
    sampler->n--;
    memmove(&sampler->steps[i], &sampler->steps[i + 1], (sampler->n - i) * sizeof(*sampler->steps));
    mount_names_forget(sampler, step);
    mounts_forget(sampler->mounts, step);
}

/* --- readings --------------------------------------------------------------------------------- */

void sampler_set_labels(struct sampler *sampler, char *const *fstypes, size_t n)
{
    sampler->labels = fstypes;
    sampler->n_labels = n;
}

static bool may_label(const struct sampler *sampler, const char *fstype)
{
    for (size_t i = 0; i < sampler->n_labels; i++)
        if (!strcmp(sampler->labels[i], fstype))
            return true;
    return false;
}

static int add_slices(struct followed *f, const struct io_mount *m,
                      const struct probe_slice *slices)
{
    size_t at = (size_t)(m - f->fresh.items);
    int r = slices_reserve(&f->fresh_slices, at + 1);

    for (int i = 0; i < PROBE_SLICES && r == 0; i++)
        if (slices[i].wait_ns)
            slices_raise(&f->fresh_slices.items[at], slices[i].slice, slices[i].wait_ns);
    return r;
}

static int add_account(const struct probe_account *a, void *arg)
{
    struct sampler *sampler = arg;
    struct followed *f = followed_find(sampler, a->step);
    struct mount_name name;
    struct io_mount *m;

    if (!f || f->finished)
        return 0;
    name = mounts_find(sampler->mounts, a->step, a->dev);
    f->unnamed |= mounts_is_unknown(&name);
    sampler->unlisted |= !mounts_has(sampler->mounts, a->step, a->dev);
    m = io_mounts_get(&f->fresh, name.mount, name.fstype, name.source, name.private);
    if (!m)
        return -ENOMEM;
    m->labelled = name.labelled || (!name.private && may_label(sampler, name.fstype));
    m->dev = a->dev;
    if (!(io_unsupported_on(name.fstype) & IO_CACHE))
        io_cache_add(&m->cache, a->cache);
    /* Before the requests are added: another super block may have the same name. */
    io_users_merge(m->users, io_account_ops(&m->io), a->users, io_account_ops(a->io));
    if (rpc_account_reserve(&m->rpc, a->rpc) < 0)
        return -ENOMEM;
    rpc_account_add(m->rpc, io_account_ops(&m->io), a->rpc, io_account_ops(a->io));
    return add_slices(f, m, a->slices) < 0 ? -ENOMEM : io_account_add(&m->io, a->io);
}

/* Too many CPUs for the shards of the step: take more shards. */
static void spread(struct sampler *sampler, struct followed *f, const struct probe_step *now,
                   uint64_t now_ns)
{
    uint64_t span = now_ns > f->read_ns ? now_ns - f->read_ns : 0;
    uint64_t events = now->events > f->last.events ? now->events - f->last.events : 0;
    uint64_t want = span ? events * NS_PER_S / span / SHARD_EVENTS_PER_S + 1 : 1;

    if (want <= f->shards)
        return;
    f->shards = (unsigned)want;
    (void)probe_shards(sampler->probe, now->cgroup_id, now->cgroup_version, f->shards);
}

/* A reading of the maps. */
struct reading {
    const uint32_t *wanted; /* steps, ascending; NULL: all */
    size_t n_wanted;
    uint64_t now_ns;
    bool tick; /* it closes an interval */
};

static bool is_wanted(const struct reading *reading, const struct followed *f)
{
    return !f->finished &&
           (!reading->wanted || number_is_in(reading->wanted, reading->n_wanted, f->step));
}

static int update_steps(struct sampler *sampler, const struct reading *reading, struct error *error)
{
    _free_ struct probe_step *steps = NULL;
    size_t n;
    int r = probe_steps(sampler->probe, &steps, &n, error);

    if (r < 0)
        return r;
    for (size_t i = 0; i < n; i++) {
        struct followed *f = followed_find(sampler, steps[i].step);
        uint64_t wait;

        if (!f || !is_wanted(reading, f))
            continue;
        if (steps[i].io_uring && !f->last.io_uring &&
            mark_missing_features(sampler, true, &f->causes) < 0)
            return error_set(error, -ENOMEM, "no memory for the causes of a step");
        if (reading->tick)
            spread(sampler, f, &steps[i], reading->now_ns);
        wait = f->last.longest_wait_ns;
        f->last = steps[i];
        if (wait > f->last.longest_wait_ns)
            f->last.longest_wait_ns = wait;
    }
    return 0;
}

static int followed_update(struct sampler *sampler, struct followed *f,
                           const struct reading *reading)
{
    int r;

    f->read_ns = reading->now_ns;
    if (probe_blind(sampler->probe))
        return 0;
    wraps_apply(f);
    r = timelines_update(sampler, f, reading->now_ns);
    io_mounts_clear(&f->mounts);
    f->mounts = f->fresh;
    f->fresh = (struct io_mounts){0};
    slices_clear(&f->slices);
    f->slices = f->fresh_slices;
    f->fresh_slices = (struct slices_list){0};
    f->slices_known = !r;
    meter_start(f->meter);
    if (!r)
        r = meter_add(f->meter, &f->mounts);
    if (!r)
        meter_end(f->meter, reading->now_ns, reading->tick);
    return r;
}

static void start_pass(const struct sampler *sampler, struct followed *f,
                       const struct reading *reading)
{
    io_mounts_clear(&f->fresh);
    slices_clear(&f->fresh_slices);
    if (!is_wanted(reading, f))
        return;
    f->unnamed = false;
    f->renamed = mounts_renamed(sampler->mounts, f->step);
}

static int read_accounts(struct sampler *sampler, const struct reading *reading,
                         struct error *error)
{
    sampler->unlisted = false;
    for (size_t i = 0; i < sampler->n; i++)
        start_pass(sampler, sampler->steps[i], reading);
    return probe_read(sampler->probe, reading->wanted, reading->n_wanted, add_account, sampler,
                      error);
}

static int read_pass(struct sampler *sampler, const struct reading *reading, struct error *error)
{
    int r;

    (void)sampler_name_new_mounts(sampler, NULL);
    if (reading->tick)
        mount_names_retry(sampler);
    r = read_accounts(sampler, reading, error);
    if (r == 0 && sampler->unlisted && mount_names_learn(sampler, NULL) == 0)
        r = read_accounts(sampler, reading, error);
    if (r < 0)
        return r == -ENOMEM ? error_set(error, r, "no memory for a reading") : r;
    r = update_steps(sampler, reading, error);
    if (r < 0)
        return r;
    r = missed_update(sampler);
    for (size_t i = 0; i < sampler->n && !r; i++)
        if (is_wanted(reading, sampler->steps[i]))
            r = followed_update(sampler, sampler->steps[i], reading);
    return r < 0 ? error_set(error, r, "no memory for a reading") : 0;
}

int sampler_read(struct sampler *sampler, uint64_t now_ns, struct error *error)
{
    const struct reading reading = {.now_ns = now_ns, .tick = true};

    return read_pass(sampler, &reading, error);
}

int sampler_peek(struct sampler *sampler, const uint32_t *steps, size_t n, uint64_t now_ns,
                 struct error *error)
{
    const struct reading reading = {.wanted = steps, .n_wanted = n, .now_ns = now_ns};

    return read_pass(sampler, &reading, error);
}

int sampler_finish(struct sampler *sampler, uint32_t step, uint64_t now_ns, struct error *error)
{
    struct reading reading = {&step, 1, now_ns, .tick = true};
    struct followed *f = followed_find(sampler, step);
    int r;

    if (!f)
        return error_set(error, -ENOENT, "step number %u is not followed", step);
    if (f->finished)
        return 0;
    if (reading.now_ns < f->read_ns)
        reading.now_ns = f->read_ns;
    (void)sampler_name_new_mounts(sampler, NULL);
    mounts_finish(sampler->mounts, step);
    r = read_pass(sampler, &reading, error);
    if (!r)
        f->finished = true;
    return r;
}

void sampler_set_end(struct sampler *sampler, uint32_t step, uint64_t end_ns)
{
    struct followed *f = followed_find(sampler, step);

    if (f)
        f->end_ns = end_ns;
}

int sampler_seal(struct sampler *sampler, uint32_t step, uint64_t idle_since_ns)
{
    struct followed *f = followed_find(sampler, step);
    int r;

    if (!f)
        return -ENOENT;
    if (f->finished)
        return 0;
    mounts_finish(sampler->mounts, step);
    if (f->read_ns <= idle_since_ns ||
        (f->unnamed && f->renamed != mounts_renamed(sampler->mounts, step)))
        return -EAGAIN;
    meter_start(f->meter);
    r = meter_add(f->meter, &f->mounts);
    if (r < 0)
        return r;
    meter_end(f->meter, f->read_ns, true);
    f->finished = true;
    return 0;
}

/* --- accounts --------------------------------------------------------------------------------- */

static int fill_completeness(const struct followed *f, struct completeness *ret)
{
    int r = completeness_merge(ret, &f->causes);

    if (!r)
        r = wraps_mark_incomplete(f, ret);
    for (size_t i = 0; i < ARRAY_SIZE(lost_causes) && !r; i++) {
        uint64_t count = lost_value(&f->last, &lost_causes[i]);

        if (lost_causes[i].is_events)
            ret->lost += count;
        if (count)
            r = completeness_add(ret, lost_causes[i].cause, count, 0);
    }
    return r;
}

int sampler_account(const struct sampler *sampler, uint32_t step, struct step_account *ret)
{
    const struct followed *f = followed_find(sampler, step);
    struct completeness completeness = {0};
    struct io_mounts mounts = {0};
    uint64_t end_ns;

    if (!f)
        return -ENOENT;
    end_ns = f->read_ns;
    if (fill_completeness(f, &completeness) < 0 || io_mounts_copy(&f->mounts, &mounts) < 0) {
        completeness_clear(&completeness);
        return -ENOMEM;
    }
    if (f->end_ns && f->end_ns < end_ns)
        end_ns = f->end_ns;
    ret->elapsed_ns = end_ns > f->started_ns ? end_ns - f->started_ns : 0;
    meter_fill(f->meter, &mounts, ret->elapsed_ns);
    ret->longest_wait_ns = f->last.longest_wait_ns;
    ret->completeness = completeness;
    ret->mounts = mounts;
    return 0;
}

const struct io_mounts *sampler_mounts(const struct sampler *sampler, uint32_t step)
{
    const struct followed *f = followed_find(sampler, step);

    return f ? &f->mounts : NULL;
}

uint64_t sampler_lost(const struct sampler *sampler, uint32_t step)
{
    const struct followed *f = followed_find(sampler, step);
    uint64_t lost = 0;

    for (size_t i = 0; f && i < ARRAY_SIZE(lost_causes); i++)
        if (lost_causes[i].is_events)
            lost += lost_value(&f->last, &lost_causes[i]);
    return lost;
}

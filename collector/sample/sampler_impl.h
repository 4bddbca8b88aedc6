/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sampler's insides, shared by the files that it is made of. */
#ifndef JOBIO_COLLECTOR_SAMPLE_SAMPLER_IMPL_H
#define JOBIO_COLLECTOR_SAMPLE_SAMPLER_IMPL_H

#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"

/* A super block of a step that nobody could name when it was seen. */
struct unnamed {
    uint32_t step;
    uint64_t dev;
    char fstype[16], id[32];
    unsigned wait, pause; /* readings until the next question; between this one and that */
};

struct follower {
    uint32_t step;
    bool finished;
    uint64_t started_ns, read_ns;
    uint64_t real_ns;       /* the node's clock when it started */
    uint64_t timed_ns;      /* the reading that the time lines end at */
    struct probe_step last; /* what the maps say of the step beside its counters */
    unsigned shards;
    struct completeness causes; /* those that are not counted in the maps */
    struct io_mounts mounts;    /* without peaks */
    struct io_mounts fresh;     /* of the pass under way */
    struct meter *meter;
    struct io_mounts before; /* time lines of an earlier process, until the first reading */
    struct io_mounts wraps;  /* what its histograms lack since an earlier process; n 0: nothing */
    bool wraps_known;        /* else they hold the stored histograms */
    bool unnamed;            /* a mount of the last reading has no name yet */
    unsigned renamed;        /* mounts_renamed() before that reading */
};

struct sampler {
    struct probe *probe;
    struct mounts *mounts;
    uint64_t interval_ns;
    struct follower **followers; /* ascending step number */
    size_t n;
    uint64_t *missed; /* by hook, as of the last reading */
    size_t n_missed;
    struct completeness gap; /* missed between the process before and this one */
    char *const *labels;
    size_t n_labels;
    struct unnamed *unnamed; /* super blocks to ask again for */
    size_t n_unnamed;
    sampler_tasks_f tasks; /* NULL: nobody knows */
    void *tasks_arg;
};

/* NULL: not followed. */
struct follower *follower_find(const struct sampler *sampler, uint32_t step);

/* --- sampler_names.c: names of mounts ------------------------------------------------------------
 */
/* Of the super blocks that the probe knows already. */
int names_learn_known(struct sampler *sampler, struct error *error);
/* A reading begins: ask other tasks for what has no name. */
void names_ask_again(struct sampler *sampler);
void names_forget(struct sampler *sampler, uint32_t step);

/* --- sampler_missed.c: events that no program saw ------------------------------------------------
 */
int missed_remember(struct sampler *sampler, const struct probe_hook *hooks, size_t n);
/* What was missed since the last reading: nobody knows whose it was, so every step says so. */
int missed_take(struct sampler *sampler);

/* --- sampler_times.c: time lines -----------------------------------------------------------------
 */
/* The earlier process has stored these. 0 or -ENOMEM. */
int times_resume(struct follower *f, const struct step_account *stored);
/* The time lines of the pass under way: those of the reading before, and what has been added since.
 * They add up to the totals, also after -ENOMEM and another try. */
int times_take(struct sampler *sampler, struct follower *f, uint64_t now_ns);

/* --- sampler_wraps.c: histograms that wrapped ----------------------------------------------------
 */
#define CAUSE_HISTOGRAM "histogram-short"
/* The earlier process has stored these. 0 or -ENOMEM. */
int wraps_resume(struct follower *f, const struct io_mounts *stored);
/* Make the histograms of the pass under way whole. */
void wraps_apply(struct follower *f);
/* Say so if some have still wrapped unseen: more than once, or while nothing was stored. */
int wraps_blame(const struct follower *f, struct completeness *causes);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of the sampler, shared by its files. */
#ifndef JOBIO_COLLECTOR_SAMPLE_SAMPLER_IMPL_H
#define JOBIO_COLLECTOR_SAMPLE_SAMPLER_IMPL_H

#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"

/* A super block of a step without a name so far. */
struct unnamed {
    uint32_t step;
    uint64_t dev;
    char fstype[16], id[32];
    unsigned wait, pause; /* readings until the next attempt; between the last one and that */
};

struct followed {
    uint32_t step;
    bool finished;
    uint64_t started_ns, read_ns;
    uint64_t real_ns;       /* the node's clock when it started */
    uint64_t timed_ns;      /* the reading that the time lines end at */
    struct probe_step last; /* the state of the step in the maps, beside its counters */
    unsigned shards;
    struct completeness causes; /* that are not counted in the maps */
    struct io_mounts mounts;    /* without peaks */
    struct io_mounts fresh;     /* of the current pass */
    struct meter *meter;
    struct io_mounts before; /* time lines of an earlier process, until the first reading */
    struct io_mounts wraps;  /* add this to its histograms since an earlier process; n 0: nothing */
    bool wraps_known;        /* else they hold the stored histograms */
    bool unnamed;            /* a mount of the last reading has no name yet */
    unsigned renamed;        /* mounts_renamed() before that reading */
};

struct sampler {
    struct probe *probe;
    struct mounts *mounts;
    uint64_t interval_ns;
    struct followed **steps; /* ascending step number */
    size_t n;
    uint64_t *missed; /* by hook, as of the last reading */
    size_t n_missed;
    struct completeness gap; /* missed between the last process and this one */
    char *const *labels;
    size_t n_labels;
    struct unnamed *unnamed; /* super blocks to look up again */
    size_t n_unnamed;
    sampler_tasks_f tasks; /* may be NULL */
    void *tasks_arg;
};

/* NULL: not followed. */
struct followed *followed_find(const struct sampler *sampler, uint32_t step);

/* --- mount_names.c: names of mounts ----------------------------------------------------------- */
/* Look up the super blocks that the probe knows already. */
int mount_names_learn(struct sampler *sampler, struct error *error);
/* At the start of a reading: look super blocks without a name up in the tables of other tasks. */
void mount_names_retry(struct sampler *sampler);
void mount_names_forget(struct sampler *sampler, uint32_t step);

/* --- missed.c: events that the programs missed ------------------------------------------------ */
int missed_set(struct sampler *sampler, const struct probe_hook *hooks, size_t n);
/* Mark every step as incomplete by what was missed since the last reading: the step is unknown. */
int missed_update(struct sampler *sampler);

/* --- timelines.c: time lines ------------------------------------------------------------------ */
/* The earlier process has stored these. 0 or -ENOMEM. */
int timelines_resume(struct followed *f, const struct step_account *stored);
/* The time lines of the current pass: those of the last reading and what was added since. They add
 * up to the totals, also after -ENOMEM and another attempt. */
int timelines_update(struct sampler *sampler, struct followed *f, uint64_t now_ns);

/* --- wraps.c: histograms that wrapped --------------------------------------------------------- */
#define CAUSE_HISTOGRAM "histogram-short"
/* The earlier process has stored these. 0 or -ENOMEM. */
int wraps_resume(struct followed *f, const struct io_mounts *stored);
/* Correct the histograms of the current pass. */
void wraps_apply(struct followed *f);
/* Mark the step as incomplete if a histogram wrapped more than once, or before it was stored. */
int wraps_mark_incomplete(const struct followed *f, struct completeness *causes);

#endif

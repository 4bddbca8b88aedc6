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

/* The longest wait of one thread on a mount until the end of each of the last slices: 275 s. As in
 * struct probe_slice, the thread waited before the slice, too, if it is longer than that. */
#define SLICES_KEPT 64
struct slices {
    uint64_t newest;               /* 0: none */
    uint64_t wait_ns[SLICES_KEPT]; /* of slice n at n % SLICES_KEPT */
};

/* Those of each mount of a list. A zeroed struct is an empty list. */
struct slices_list {
    struct slices *items; /* owned */
    size_t n;
};

struct followed {
    uint32_t step;
    bool finished;
    uint64_t started_ns, read_ns, end_ns; /* end_ns: 0: not set */
    uint64_t real_ns;                     /* the node's clock when it started */
    uint64_t timed_ns;                    /* the reading that the time lines end at */
    struct probe_step last; /* the state of the step in the maps, beside its counters */
    unsigned shards;
    struct completeness causes;              /* that are not counted in the maps */
    struct io_mounts mounts;                 /* without peaks */
    struct io_mounts fresh;                  /* of the current pass */
    struct slices_list slices, fresh_slices; /* of these mounts */
    bool slices_known; /* `slices` is of the last reading, and nothing is missing before it */
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
    bool unlisted; /* a super block of this reading was not reported, as the ring buffer was full */
    sampler_tasks_f tasks; /* may be NULL */
    void *tasks_arg;
};

/* --- followed.c: the steps that are followed -------------------------------------------------- */
/* The index of the step, or where to insert it. */
size_t followed_index(const struct sampler *sampler, uint32_t step);
/* NULL: not followed. */
struct followed *followed_find(const struct sampler *sampler, uint32_t step);
/* The time of the node's clock at this moment (CLOCK_BOOTTIME), at least that of the start. */
uint64_t followed_real_ns(const struct followed *f, uint64_t boot_ns);

/* --- mount_names.c: names of mounts ----------------------------------------------------------- */
/* Look up the super blocks that the probe knows already. */
int mount_names_learn(struct sampler *sampler, struct error *error);
/* At the start of a reading: look super blocks without a name up in the tables of other tasks. */
void mount_names_retry(struct sampler *sampler);
void mount_names_forget(struct sampler *sampler, uint32_t step);

/* --- slices.c: the longest wait over time ------------------------------------------------------
 */
/* Without a reading for longer than this, slices are lost. */
#define SLICES_GAP_NS ((PROBE_SLICES - 2) * PROBE_SLICE_NS)
/* One thread waited as long in this slice and, if that is more than a slice, before it. */
void slices_raise(struct slices *s, uint64_t slice, uint64_t wait_ns);
void slices_merge(struct slices *to, const struct slices *from);
/* The time between two readings. */
struct slices_span {
    const struct followed *followed;
    uint64_t from_ns, to_ns; /* CLOCK_BOOTTIME */
    uint64_t width_s;        /* of bins, at least */
};
/* Add to a time line by what the slices of this reading exceed those of the last one. 0 or -ENOMEM.
 */
int slices_spread(struct timeline *t, const struct slices_span *span, const struct slices *now,
                  const struct slices *before);
/* Make room for n mounts. 0 or -ENOMEM. */
int slices_reserve(struct slices_list *list, size_t n);
void slices_clear(struct slices_list *list);

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

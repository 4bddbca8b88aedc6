/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings of the probe become accounts: totals of a step by mount name, its busiest interval, its
 * longest wait, and what is missing. Used by jobiod for all steps of a node and by `jobio run` for
 * one. Times are CLOCK_BOOTTIME in nanoseconds; the caller passes them in.
 */
#ifndef JOBIO_COLLECTOR_SAMPLE_SAMPLER_H
#define JOBIO_COLLECTOR_SAMPLE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/job.h"

struct mounts;
struct probe;
struct sampler;

/* Both stay the caller's and must outlive the sampler. interval_ns: the time between two calls of
 * sampler_read(). Readings of super blocks that the probe already knows (adopted maps) are named at
 * once. */
int sampler_create(struct sampler **ret, struct probe *probe, struct mounts *mounts,
                   uint64_t interval_ns, struct error *error);
void sampler_destroy(struct sampler *sampler); /* NULL is fine */

/* Types of FUSE ("fuse.cvmfs2") whose host mounts may be metric labels like others. The list must
 * outlive the sampler. */
void sampler_set_labels(struct sampler *sampler, char *const *fstypes, size_t n);

/* Follow a step that probe_add() made (its number) since started_ns, which was real_ns by the
 * clock of the node: its time line counts on from there, whatever happens to that clock. `before`
 * (may be NULL): what an earlier process last knew of it, so that its peaks, its time line, its
 * causes and its open interval go on. -EEXIST: followed already. */
int sampler_add(struct sampler *sampler, uint32_t step, uint64_t started_ns, uint64_t real_ns,
                const struct step_account *before, struct error *error);

/* Events that no program saw up to the last reading (or the start), as a text for the next process;
 * malloc'd, NULL: no memory. */
char *sampler_missed(const struct sampler *sampler);
/* `text` is that of the process before, whose programs still run: what was missed since is a cause
 * of every step that is added from now on. NULL: steps that are added now are new again. */
int sampler_resume_missed(struct sampler *sampler, const char *text);

/* Fill pids with living tasks of the step, at most max; returns how many. */
typedef size_t (*sampler_tasks_f)(uint32_t step, uint32_t *pids, size_t max, void *arg);
/* Who is asked, at the next readings, for the name of a super block that the task that was seen
 * first could not tell. Not called for steps that are not followed. NULL, as at first: nobody. */
void sampler_set_tasks(struct sampler *sampler, sampler_tasks_f tasks, void *arg);

/* Name the super blocks that were touched for the first time: call it as soon as probe_fd() is
 * readable, so that a mount that goes away soon still has its name. */
int sampler_sightings(struct sampler *sampler, struct error *error);

/* Every interval: one pass over the maps for all steps. Closes an interval of each. */
int sampler_read(struct sampler *sampler, uint64_t now_ns, struct error *error);
/* In between: bring the totals of one step up to date (0: of all). Closes no interval. */
int sampler_peek(struct sampler *sampler, uint32_t step, uint64_t now_ns, struct error *error);
/* The last reading of a step: later ones leave it as it is. Its last interval, if shorter than half
 * the configured one, is joined with the one before. */
int sampler_finish(struct sampler *sampler, uint32_t step, uint64_t now_ns, struct error *error);

/* The same without a reading of its own, for many steps that end at once: the last reading (of all
 * steps) is the last of this one, because it did nothing after quiet_ns. -EAGAIN: the last reading
 * did not begin after that, or one of its mounts has got its name since. */
int sampler_seal(struct sampler *sampler, uint32_t step, uint64_t quiet_ns);

/* Add to the causes of a step, e.g. "began-untracked". */
int sampler_blame(struct sampler *sampler, uint32_t step, const char *cause, uint64_t count,
                  uint64_t ops);

/* Fill elapsed_ns, longest_wait_ns, completeness and mounts (with time lines, and with peaks, never
 * below the mean) of *ret as of the last reading; the rest of *ret is left alone. What was in these
 * fields is not freed. -ENOENT: not followed. */
int sampler_account(const struct sampler *sampler, uint32_t step, struct step_account *ret);
/* The mounts of a step as of the last reading, without peaks; NULL: not followed. Good until the
 * next call that is not const. */
const struct io_mounts *sampler_mounts(const struct sampler *sampler, uint32_t step);
/* Its events that were seen, but not accounted, as of the last reading. 0: not followed. */
uint64_t sampler_lost(const struct sampler *sampler, uint32_t step);

/* Stop following. The names of its mounts are forgotten too; the probe is not touched. */
void sampler_forget(struct sampler *sampler, uint32_t step);

#endif

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

/* Both must outlive the sampler. interval_ns: the time between two calls of sampler_read(). Super
 * blocks that the probe already knows (adopted maps) get their names in this call. */
int sampler_create(struct sampler **ret, struct probe *probe, struct mounts *mounts,
                   uint64_t interval_ns, struct error *error);
void sampler_destroy(struct sampler *sampler); /* NULL is fine */

/* Types of FUSE ("fuse.cvmfs2") whose host mounts may be metric labels like others. The list must
 * outlive the sampler. */
void sampler_set_labels(struct sampler *sampler, char *const *fstypes, size_t n);

/* Follow a step that probe_add() made (its number) since started_ns. real_ns is the same moment by
 * the clock of the node: the time line starts there, whatever happens to that clock later. `before`
 * (may be NULL): the last account of an earlier process, whose peaks, time line, causes and open
 * interval are continued. -EEXIST: already followed. */
int sampler_add(struct sampler *sampler, uint32_t step, uint64_t started_ns, uint64_t real_ns,
                const struct step_account *before, struct error *error);

/* The counts of events that the programs have missed up to the last reading (or the start), as a
 * text for the next process; malloc'd. NULL: out of memory. */
char *sampler_missed(const struct sampler *sampler);
/* `text` is that of the last process, whose programs still run: steps added from now on are marked
 * as incomplete by what was missed since. NULL: steps added from now on are new. */
int sampler_resume_missed(struct sampler *sampler, const char *text);

/* Fill pids with at most max live tasks of the step. Returns their number. */
typedef size_t (*sampler_tasks_f)(uint32_t step, uint32_t *pids, size_t max, void *arg);
/* Lists other tasks, at the next readings, to look up a super block that the first task has no name
 * for. Not called for steps that are not followed. NULL, the default: no other tasks. */
void sampler_set_tasks(struct sampler *sampler, sampler_tasks_f tasks, void *arg);

/* The name of a mount of the step, "(unknown)" if it has none. Valid until the step is forgotten.
 */
const char *sampler_mount(struct sampler *sampler, uint32_t step, uint64_t dev);

/* Look up the names of new mounts: super blocks that were used for the first time. Call it as soon
 * as probe_fd() is readable, before a mount can disappear. */
int sampler_name_new_mounts(struct sampler *sampler, struct error *error);

/* Every interval: one pass over the maps for all steps. Closes an interval of each. */
int sampler_read(struct sampler *sampler, uint64_t now_ns, struct error *error);
/* In between: bring the totals of n steps (ascending numbers), or of all (`steps` is NULL), up to
 * date. Does not close an interval. */
int sampler_peek(struct sampler *sampler, const uint32_t *steps, size_t n, uint64_t now_ns,
                 struct error *error);
/* The last reading of a step: later ones leave it as it is. The step ended at now_ns, or at the
 * reading before if that was later. Its last interval, if shorter than half the configured one, is
 * joined with the one before. */
int sampler_finish(struct sampler *sampler, uint32_t step, uint64_t now_ns, struct error *error);
/* Its processes ended at end_ns, which may be before the last reading: the elapsed time of the
 * account ends there. */
void sampler_set_end(struct sampler *sampler, uint32_t step, uint64_t end_ns);

/* The same without a reading of its own, for many steps that end at once: the last reading (of all
 * steps) is the last of this one, because it was idle after idle_since_ns. -EAGAIN: the last
 * reading started before that, or one of its mounts got its name since. */
int sampler_seal(struct sampler *sampler, uint32_t step, uint64_t idle_since_ns);

/* Mark a step as incomplete, e.g. with the cause "began-untracked". */
int sampler_mark_incomplete(struct sampler *sampler, uint32_t step, const char *cause,
                            uint64_t count, uint64_t ops);

/* Fill elapsed_ns, longest_wait_ns, completeness and mounts (with time lines, and with peaks, never
 * below the mean) of *ret as of the last reading; the rest of *ret is unchanged. Old values of
 * these fields are not freed. -ENOENT: not followed. */
int sampler_account(const struct sampler *sampler, uint32_t step, struct step_account *ret);
/* The mounts of a step as of the last reading, without peaks; NULL: not followed. Valid until
 * the next call that is not const. */
const struct io_mounts *sampler_mounts(const struct sampler *sampler, uint32_t step);
/* Lost events of the step as of the last reading. 0: not followed. */
uint64_t sampler_lost(const struct sampler *sampler, uint32_t step);

/* Stop following the step and forget the names of its mounts. The probe is not changed. */
void sampler_forget(struct sampler *sampler, uint32_t step);

#endif

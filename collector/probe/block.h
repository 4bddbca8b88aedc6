/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs that count requests to block devices: loads and attaches them, reads the counters.
 * They find steps in the maps of a probe. */
#ifndef JOBIO_COLLECTOR_PROBE_BLOCK_H
#define JOBIO_COLLECTOR_PROBE_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/probe/probe.h"
#include "common/block.h"
#include "common/error.h"

struct block_probe;

/* Load and attach the programs, or take over those that an earlier process has pinned: they are
 * pinned if the probe is. The probe must outlive them. -ENOTSUP: this build or kernel cannot count
 * block requests, or the probe is blind. */
int block_probe_create(struct block_probe **ret, const struct probe *probe, struct error *error);
void block_probe_destroy(struct block_probe *block); /* NULL is fine */

/* Remove what an earlier process has pinned: nothing is counted any more. */
void block_probe_unpin(const struct probe *probe);

/* A step that is about to start: its requests are counted from now on. late: it may have made some
 * already, so a later process cannot continue it. */
int block_probe_add(struct block_probe *block, uint32_t step, bool late, struct error *error);
/* A step of an earlier process: returns whether its requests were all counted so far, and will be.
 */
bool block_probe_continue(struct block_probe *block, uint32_t step);
/* Forget the step and remove its counters. */
void block_probe_remove(struct block_probe *block, uint32_t step);
/* Remove the counters of cgroups in the maps of the probe that were not added or continued; if
 * there is no step, those of kernel threads, too. */
void block_probe_sweep(struct block_probe *block);

/* Read the account of a step into the empty *ret. A step that was not added is incomplete. */
int block_probe_read(const struct block_probe *block, uint32_t step, struct block_account *ret,
                     struct error *error);

#endif

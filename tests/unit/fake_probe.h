/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A FAKE of collector/probe/probe.h: counters in plain memory that a test sets. It stands in for
 * the kernel in tests of what is built on a probe; the real one is tested in the guest.
 */
#ifndef JOBIO_TESTS_FAKE_PROBE_H
#define JOBIO_TESTS_FAKE_PROBE_H

#include "collector/probe/probe.h"

struct probe *fake_probe_create(void);
/* Forget everything that was counted and tagged: what a reboot does. */
void fake_probe_reset(struct probe *probe);
/* One process has gone, the next one adopts: tagged steps and counters stay. */
void fake_probe_adopt(struct probe *probe);
/* From now on it counts nothing, for this reason. */
/* What probe_growth() returns. */
extern int fake_probe_growth;
void fake_probe_go_blind(struct probe *probe, const char *why);
/* Count `requests` calls of `bytes` each. */
void fake_probe_count(struct probe *probe, uint32_t step, uint64_t dev, enum io_op op,
                      uint64_t requests, uint64_t bytes);
/* What it counted; good until the step is dropped. */
struct io_counter *fake_probe_counter(struct probe *probe, uint32_t step, uint64_t dev,
                                      enum io_op op);
/* Those of a mount; good until the step is dropped. */
struct io_users *fake_probe_users(struct probe *probe, uint32_t step, uint64_t dev);
/* What probe_rpc_missing() returns. */
extern const char *fake_probe_rpc_missing;
/* From now on the mount is one of NFS. */
struct rpc_account *fake_probe_rpc(struct probe *probe, uint32_t step, uint64_t dev);
/* One thread waited as long in this slice, and before if that is more than a slice. */
void fake_probe_wait(struct probe *probe, uint32_t step, uint64_t dev, uint64_t slice,
                     uint64_t wait_ns);
/* The ring buffer was full: probe_new_mounts() hands out none of the mounts so far. */
void fake_probe_lose_reports(struct probe *probe);
/* The next probe_new_mounts() hands this out; good until the next one that is made. */
struct probe_mount *fake_probe_sight(struct probe *probe, uint32_t step, uint64_t dev,
                                     const char *fstype);
/* The super block went then (CLOCK_MONOTONIC), with all that had its number before. */
void fake_probe_unmount(struct probe *probe, uint64_t dev, uint64_t at_ns);
struct probe_step *fake_probe_step(struct probe *probe, uint32_t step);
struct probe_hook *fake_probe_hook(struct probe *probe, size_t i);
/* How often all of the maps have been walked through, to read or to drop. */
unsigned fake_probe_passes(const struct probe *probe);
/* How often probe_sweep() was called. */
unsigned fake_probe_sweeps(const struct probe *probe);
/* How often the counters of all steps were read. */
unsigned fake_probe_reads_of_all(const struct probe *probe);
/* From now on probe_read() takes this long. */
void fake_probe_slow_down(struct probe *probe, unsigned ms);
/* probe_drop_wait() calls this. */
void fake_probe_set_wait(struct probe *probe, void (*wait)(void *arg), void *arg);
/* From now on probe_read() fails with this; 0: works again. */
void fake_probe_fail(struct probe *probe, int code);

#endif

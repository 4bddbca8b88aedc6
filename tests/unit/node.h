/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A node in a directory: a jobiod without its socket, with a real store, writer, sampler and table
 * of mounts. The probe is a fake (fake_probe.h), and the cgroups are plain directories: an id is an
 * inode number there, too. What cannot be done fails the test.
 */
#ifndef JOBIO_TESTS_UNIT_NODE_H
#define JOBIO_TESTS_UNIT_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "collector/cgroup/hierarchy.h"
#include "collector/mounts/mounts.h"
#include "collector/sample/sampler.h"
#include "collector/store/store.h"
#include "collector/track/tracker.h"
#include "collector/store/writer.h"
#include "common/job.h"
#include "tests/unit/fake_probe.h"

#define S 1000000000ull
#define EXT4 ((8u << 20) | 1)
#define JOB 17

struct node {
    char root[64];
    char cgroup[64]; /* of the last tag that was made */
    struct probe *probe;
    struct mounts *mounts;
    struct hierarchy *hierarchy;
    struct sampler *sampler;
    struct tracker *tracker;
    struct writer *writer;
    struct error error;
    unsigned over;                /* jobs that have ended */
    unsigned queued;              /* times that there was something new for the sinks */
    const char *const *sinks;     /* of the tracker, from node_start() on */
    bool peers;                   /* as well */
    uint64_t interval, rows, gap; /* as of the tracker's options, from node_start() on */
    size_t capacity;              /* of the writer's queue; 0: as always */
};
extern struct node node;

/* Of every test; the node is up. */
int node_setup(void **state);
int node_teardown(void **state);
/* r < 0: the test fails, with node.error. */
void node_must(int r);
uint64_t node_now(clockid_t clock);

/* --- files below the node's directory ------------------------------------------------------------
 */
void node_path(char buf[256], const char *name);
void node_put(const char *name, const char *text);
void node_mkdir(const char *name);
void node_rmdir(const char *name);
bool node_has(const char *name);
int node_rename(const char *from, const char *to);

/* --- jobiod ----------------------------------------------------------------------------------- */
void node_start(void);
/* As node_start(), but it may fail, with node.error: then nothing runs. */
int node_try_start(void);
void node_stop(void);
/* As SIGKILL would: what the writer has not done yet may or may not be in the store; here it is not
 * looked at. The maps stay. */
void node_restart(void);
/* Wait for the store, and for what comes after it. */
void node_flush(void);

/* --- steps of job JOB ------------------------------------------------------------------------- */
/* Its cgroup, and with `file` its step file; jobiod is not told. */
struct tag node_tag(uint32_t step, bool file);
/* The same, and jobiod is told; its number in the maps. */
uint32_t node_begin(uint32_t step);
void node_write(uint32_t number, uint64_t requests, uint64_t bytes);
void node_put_end(uint32_t step, uint64_t boot_ns);
bool node_has_step(uint32_t step);
/* That of the last tag. */
void node_lose_cgroup(void);

/* --- what is known ---------------------------------------------------------------------------- */
/* The job in the store, all its runs; store_jobs_free(). */
struct job_account **node_stored(void);
bool node_has_state(const char *key);
uint64_t node_written(const struct io_mounts *mounts);
uint64_t node_total(void);
struct step_account *node_step(struct job_account *job, uint32_t step);
bool node_blames(const struct completeness *c, const char *cause);

#endif

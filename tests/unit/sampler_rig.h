/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sampler on a fake probe (fake_probe.h) and the real table of mounts over a made-up /proc. */
#ifndef JOBIO_TESTS_SAMPLER_RIG_H
#define JOBIO_TESTS_SAMPLER_RIG_H

#include <stdint.h>

#include "collector/mounts/mounts.h"
#include "collector/sample/sampler.h"
#include "tests/unit/fake_probe.h"

#define S 1000000000ull
#define EXT4 ((8u << 20) | 1) /* "/" */
#define NFS 40u               /* "/home" */

struct rig {
    char proc[40]; /* the made-up /proc */
    struct probe *probe;
    struct mounts *mounts;
    struct sampler *sampler;
    struct error error; /* of all that is called with it */
};
extern struct rig rig;

/* Of a group of tests: the directory; of a test: all else. */
int rig_make_proc(void **state);
int rig_remove_proc(void **state);
int rig_setup(void **state);
int rig_teardown(void **state);

/* Fail with rig.error if r is negative. */
void rig_must(int r);
/* A step of that cgroup from then on; its number. */
uint32_t rig_tag(uint64_t cgroup_id, uint64_t at_ns);
/* What the sampler knows of it; step_account_clear it. Fails if the time lines do not add up to it.
 */
struct step_account rig_account(uint32_t step);
/* The step has done something on that super block. */
void rig_touch(uint32_t step, uint64_t dev, const char *fstype);

/* The mount of that name, which must be there; bytes in its bins that begin in [from_s, to_s). */
const struct io_mount *rig_mount(const struct step_account *a, const char *mount);
uint64_t rig_written(const struct step_account *a, const char *mount, uint64_t from_s,
                     uint64_t to_s);

#endif

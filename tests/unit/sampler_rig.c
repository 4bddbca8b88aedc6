/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/sampler_rig.h"

#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct rig rig = {.proc = "/tmp/jobio-test-sampler-XXXXXX"};

static const char mountinfo[] = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                                "21 20 0:40 / /home rw - nfs4 srv:/home rw\n";

void rig_must(int r)
{
    if (r < 0)
        fail_msg("%d: %s", r, rig.error.text);
}

int rig_make_proc(void **state)
{
    char name[128];
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(rig.proc));
    snprintf(name, sizeof(name), "%s/1", rig.proc);
    assert_int_equal(mkdir(name, 0700), 0);
    snprintf(name, sizeof(name), "%s/1/mountinfo", rig.proc);
    f = fopen(name, "w");
    assert_non_null(f);
    fputs(mountinfo, f);
    fclose(f);
    return 0;
}

int rig_remove_proc(void **state)
{
    char name[128];

    (void)state;
    snprintf(name, sizeof(name), "%s/1/mountinfo", rig.proc);
    unlink(name);
    snprintf(name, sizeof(name), "%s/1", rig.proc);
    rmdir(name);
    rmdir(rig.proc);
    return 0;
}

int rig_setup(void **state)
{
    (void)state;
    rig.probe = fake_probe_create();
    rig_must(mounts_create(&rig.mounts, rig.proc, &rig.error));
    rig_must(sampler_create(&rig.sampler, rig.probe, rig.mounts, 10 * S, &rig.error));
    return 0;
}

int rig_teardown(void **state)
{
    (void)state;
    sampler_destroy(rig.sampler);
    mounts_destroy(rig.mounts);
    probe_destroy(rig.probe);
    return 0;
}

uint32_t rig_tag(uint64_t cgroup_id, uint64_t at_ns)
{
    uint32_t step;

    rig_must(probe_add(rig.probe, cgroup_id, 3, 2, &step, &rig.error));
    rig_must(sampler_add(rig.sampler, step, at_ns, at_ns, NULL, &rig.error));
    return step;
}

struct step_account rig_account(uint32_t step)
{
    struct step_account a = {0};

    assert_int_equal(sampler_account(rig.sampler, step, &a), 0);
    /* Whatever happens: the time line adds up to the account. */
    for (size_t i = 0; i < a.mounts.n; i++) {
        struct timeline_bin sum = timeline_sum(&a.mounts.items[i].timeline);
        struct timeline_bin total = io_account_now(&a.mounts.items[i].io);

        assert_memory_equal(sum.of, total.of, sizeof(sum.of));
    }
    return a;
}

void rig_touch(uint32_t step, uint64_t dev, const char *fstype)
{
    fake_probe_sight(rig.probe, step, dev, fstype);
    rig_must(sampler_name_new_mounts(rig.sampler, &rig.error));
}

const struct io_mount *rig_mount(const struct step_account *a, const char *mount)
{
    for (size_t i = 0; i < a->mounts.n; i++)
        if (!strcmp(a->mounts.items[i].mount, mount))
            return &a->mounts.items[i];
    fail_msg("no %s", mount);
    return NULL;
}

/* Bytes in the bins that begin in [from_s, to_s). */
uint64_t rig_written(const struct step_account *a, const char *mount, uint64_t from_s,
                     uint64_t to_s)
{
    return timeline_between(&rig_mount(a, mount)->timeline, from_s, to_s).of[TIMELINE_WRITE];
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobio.so in a slurmstepd (stepd.h) puts its step into real BPF maps, because no jobiod
 * answers. */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/records.h"
#include "common/cleanup.h"
#include "tests/unit/answerer.h"
#include "tests/unit/stepd.h"

/* Real maps, pinned as jobiod pins them, on a bpffs of our own. */
static int make_map(const char *name, enum bpf_map_type type, __u32 key, __u32 value, __u32 entries,
                    __u32 flags)
{
    union bpf_attr attr;
    char path[256];
    int fd;

    memset(&attr, 0, sizeof(attr));
    attr.map_type = type;
    attr.key_size = key;
    attr.value_size = value;
    attr.max_entries = entries;
    attr.map_flags = flags;
    fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
    if (fd < 0)
        return -1;
    snprintf(path, sizeof(path), "%s/bpf/%d/%s", stepd_directory, JOBIO_LAYOUT, name);
    memset(&attr, 0, sizeof(attr));
    attr.pathname = (__u64)(uintptr_t)path;
    attr.bpf_fd = (__u32)fd;
    assert_int_equal(syscall(SYS_bpf, BPF_OBJ_PIN, &attr, sizeof(attr)), 0);
    return fd;
}

static void save_probe(int layout, int shape)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/probe", stepd_directory);
    _fclose_ FILE *f = fopen(path, "w");

    assert_non_null(f);
    fprintf(f, "SINCE=1\nPIN=%s/bpf\nLAYOUT=%d\nSHAPE=%d\n", stepd_directory, layout, shape);
}

static bool step_is_tagged(int fd, __u64 id, int version)
{
    struct step_record record;
    __u64 key = step_key(id, version);
    union bpf_attr attr;

    memset(&attr, 0, sizeof(attr));
    attr.map_fd = (__u32)fd;
    attr.key = (__u64)(uintptr_t)&key;
    attr.value = (__u64)(uintptr_t)&record;
    return syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) == 0;
}

/* Starts a step beside maps of this layout and shape. Returns whether the plugin has tagged it. */
static bool tags(struct spank_handle *handle, struct cgroups *c, int layout, int shape)
{
    save_probe(layout, shape);
    stepd_run(handle, stepd_words, c, NULL);
    return strstr(stepd_read("steps/17.2.4294967294.0"), "\nDIRECT=1\n");
}

static void test_direct_tag(void **state)
{
    struct levels_record *levels;
    struct spank_handle handle = stepd_batch;
    struct cgroups c, v1;
    char path[256], own[16];
    int steps, levels_fd;

    (void)state;
    stepd_cgroups(&c, 2, "step_0");
    snprintf(path, sizeof(path), "%s/bpf", stepd_directory);
    stepd_mount("bpf", path, NULL);
    snprintf(path, sizeof(path), "%s/bpf/%d", stepd_directory, JOBIO_LAYOUT);
    assert_int_equal(mkdir(path, 0700), 0);
    steps = make_map("steps", BPF_MAP_TYPE_HASH, sizeof(__u64), sizeof(struct step_record), 8, 0);
    levels_fd =
        make_map("levels", BPF_MAP_TYPE_ARRAY, sizeof(__u32), sizeof(*levels), 1, BPF_F_MMAPABLE);
    assert_true(steps >= 0 && levels_fd >= 0);
    levels = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, levels_fd, 0);
    assert_true(levels != MAP_FAILED);
    levels->v2 = level_bit(9);

    handle.stepid = 0;
    assert_false(tags(&handle, &c, JOBIO_LAYOUT + 1, JOBIO_SHAPE + 1));
    assert_has(spank_host_log->text, "not counted until jobiod runs: the maps have layout ");
    assert_has(stepd_read("steps/17.2.4294967294.0"), "\nDIRECT=0\n");

    assert_true(tags(&handle, &c, JOBIO_LAYOUT, JOBIO_SHAPE));
    assert_true(step_is_tagged(steps, cgroups_inode(&c, c.step), 2));
    assert_false(step_is_tagged(steps, cgroups_inode(&c, c.stepd), 2));
    assert_int_equal(levels->v2, level_bit(9) | level_bit(3));
    assert_int_equal(levels->v1, 0);
    assert_int_equal(levels->generation, 1);
    /* Again: it is already tagged. The maps of another version with a known shape will do. */
    snprintf(own, sizeof(own), "%d", JOBIO_LAYOUT);
    snprintf(path, sizeof(path), "%s/bpf/%d", stepd_directory, JOBIO_LAYOUT + 1);
    assert_int_equal(symlink(own, path), 0);
    assert_false(tags(&handle, &c, JOBIO_LAYOUT + 1, JOBIO_FIRST_SHAPE - 1));
    assert_true(tags(&handle, &c, JOBIO_LAYOUT + 1, JOBIO_FIRST_SHAPE));
    assert_true(tags(&handle, &c, JOBIO_LAYOUT + 1, JOBIO_SHAPE));
    if (cgroups_create(&v1, 1, "step_0")) {
        stepd_run(&handle, stepd_words, &v1, NULL);
        assert_true(step_is_tagged(steps, cgroups_inode(&v1, v1.step), 1));
        assert_int_equal(levels->v1, level_bit(2));
        cgroups_destroy(&v1);
    }
    snprintf(path, sizeof(path), "%s/bpf", stepd_directory);
    assert_int_equal(umount2(path, MNT_DETACH), 0);
    munmap(levels, 4096);
    close(steps);
    close(levels_fd);
    cgroups_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_direct_tag, stepd_clean),
    };

    return cmocka_run_group_tests(tests, stepd_set_up, stepd_tear_down);
}

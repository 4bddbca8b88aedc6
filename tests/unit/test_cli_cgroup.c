/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Proves: cgroup2 and our place in it are found in the mountinfo of unified and hybrid hosts. That
 * the cgroup works is proved in the guest, tests/cli. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "collector/watch/cgroup.h"
#include "common/cleanup.h"

static int find(const char *mountinfo, char **mount, char **root)
{
    _fclose_ FILE *f = fmemopen((void *)mountinfo, strlen(mountinfo), "r");

    return cgroup2_find(f, mount, root);
}

static void found(const char *mountinfo, const char *want_mount, const char *want_root)
{
    _free_ char *mount = NULL, *root = NULL;

    assert_int_equal(find(mountinfo, &mount, &root), 0);
    assert_string_equal(mount, want_mount);
    assert_string_equal(root, want_root);
}

#define PROC "22 27 0:21 / /proc rw - proc proc rw\n"
#define V1 "33 32 0:29 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"

static void test_find(void **state)
{
    char *mount = NULL, *root = NULL;

    (void)state;
    found(PROC "30 24 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup",
          "/");
    found(V1 "42 32 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" PROC,
          "/sys/fs/cgroup/unified", "/");
    found(
        "42 32 0:27 / /mnt/c rw - cgroup2 none rw\n30 24 0:26 / /sys/fs/cgroup rw - cgroup2 c rw\n",
        "/sys/fs/cgroup", "/");
    found("42 32 0:27 /a\\040b /mnt/x\\011y rw - cgroup2 none rw\n", "/mnt/x\ty", "/a b");
    assert_int_equal(find(PROC V1, &mount, &root), -ENOTSUP);
    assert_null(mount);
}

static void own(const char *text, int want_rc, const char *want)
{
    _fclose_ FILE *f = fmemopen((void *)text, strlen(text), "r");
    _free_ char *path = NULL;

    assert_int_equal(cgroup2_own(f, &path), want_rc);
    if (want)
        assert_string_equal(path, want);
}

static void test_own(void **state)
{
    (void)state;
    own("0::/user.slice/session-1.scope\n", 0, "/user.slice/session-1.scope");
    own("9:name=systemd:/x\n1:cpu:/\n0::/\n", 0, "/");
    own("9:name=systemd:/x\n1:cpu:/\n", -ENOTSUP, NULL);
}

static void directory(const char *mount, const char *root, const char *path, const char *want)
{
    _free_ char *got = cgroup2_directory(mount, root, path);

    if (!want)
        assert_null(got);
    else
        assert_string_equal(got, want);
}

static void test_folder(void **state)
{
    (void)state;
    directory("/sys/fs/cgroup", "/", "/", "/sys/fs/cgroup");
    directory("/sys/fs/cgroup", "/", "/a/b", "/sys/fs/cgroup/a/b");
    directory("/m", "/a", "/a/b", "/m/b");
    directory("/m", "/a", "/a", "/m");
    directory("/m", "/a", "/ab", NULL);
    directory("/m", "/a", "/", NULL);
}

static void test_depth(void **state)
{
    (void)state;
    assert_int_equal(cgroup_depth("/"), 0);
    assert_int_equal(cgroup_depth("/a"), 1);
    assert_int_equal(cgroup_depth("/a/b.scope/c"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_own),
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_depth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

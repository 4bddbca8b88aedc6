/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names from the mount namespaces of jobs: shared by many tasks, or with many thousands of
 * mounts. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/unit/proc.h"

static void learn(struct mounts *mounts, uint32_t step, uint32_t dev, uint32_t pid, int want)
{
    assert_int_equal(mounts_learn(mounts, step, dev, pid, "t", "s", NULL), want);
}

/* Tasks of one namespace share its table, as long as it is known to be the same. */
static void test_shared_namespace(void **state)
{
    struct mounts *mounts;

    (void)state;
    proc_write("1", "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    proc_write("7", "2 1 0:77 / /seven rw - tmpfs t rw\n3 1 0:78 / /more rw - tmpfs t rw\n");
    proc_write("8", "2 1 0:77 / /eight rw - tmpfs t rw\n3 1 0:79 / /new rw - tmpfs t rw\n");
    proc_task("7", NULL, 100);
    proc_task("8", "7", 200);
    mounts = proc_mounts();
    mounts_turn(mounts);
    learn(mounts, 1, DEV(0, 77), 7, 0);
    /* Shown by the name: the file of the second task was not read. */
    learn(mounts, 2, DEV(0, 77), 8, 0);
    assert_string_equal(mounts_find(mounts, 2, DEV(0, 77)).mount, "/seven");
    learn(mounts, 2, DEV(0, 79), 8, 1);
    assert_string_equal(mounts_find(mounts, 2, DEV(0, 79)).mount, "(unknown)");
    /* What the table does not have may have been mounted since. */
    mounts_turn(mounts);
    learn(mounts, 2, DEV(0, 79), 8, 0);
    assert_string_equal(mounts_find(mounts, 2, DEV(0, 79)).mount, "/new");
    /* The task it was read for is another by now: so may be the namespace. */
    learn(mounts, 3, DEV(0, 77), 7, 0);
    assert_string_equal(mounts_find(mounts, 3, DEV(0, 77)).mount, "/eight");
    proc_task("8", "7", 201);
    learn(mounts, 4, DEV(0, 77), 7, 0);
    assert_string_equal(mounts_find(mounts, 4, DEV(0, 77)).mount, "/seven");
    /* In the host's namespace there is nothing that the host's table has not. */
    proc_task("1", NULL, 1);
    mounts_destroy(mounts);
    mounts = proc_mounts();
    proc_task("8", "1", 300);
    learn(mounts, 1, DEV(0, 77), 8, 1);
    proc_remove("7");
    proc_remove("8");
    mounts_destroy(mounts);
}

/* Tens of thousands of mounts are read in portions, while the loop does other things. */
#define LINES 20000

static void test_large_namespace(void **state)
{
    char *lines = malloc(LINES * 64), *at = lines;
    struct mounts *mounts;
    unsigned turns = 0;

    (void)state;
    assert_non_null(lines);
    for (unsigned i = 1; i <= LINES; i++)
        at += sprintf(at, "%u 1 0:%u / /m%u rw - tmpfs t rw\n", i, i + 100, i);
    proc_write("1", "1 1 0:101 / /host rw - tmpfs t rw\n");
    proc_write("7", lines);
    proc_task("7", NULL, 100);
    proc_task("8", "7", 100);
    free(lines);
    mounts = proc_mounts();
    mounts_set_lines(mounts, 1000);
    mounts_turn(mounts);
    learn(mounts, 1, DEV(0, 101), 7, 0); /* the host's */
    learn(mounts, 1, DEV(0, 102), 7, 1);
    learn(mounts, 1, DEV(0, LINES + 100), 7, 1);
    learn(mounts, 2, DEV(0, 5000), 8, 1);
    learn(mounts, 2, DEV(0, 9), 8, 1); /* it has none */
    assert_true(mounts_busy(mounts));
    assert_string_equal(mounts_find(mounts, 1, DEV(0, 102)).mount, "(unknown)");
    /* Who is gone by then has been looked at all the same. */
    proc_remove("7");
    proc_remove("8");
    while (mounts_work(mounts))
        turns++;
    assert_in_range(turns, LINES / 1000 - 2, LINES / 1000);
    assert_string_equal(mounts_find(mounts, 1, DEV(0, 102)).mount, "/m2");
    assert_string_equal(mounts_find(mounts, 1, DEV(0, LINES + 100)).mount, "/m20000");
    assert_string_equal(mounts_find(mounts, 2, DEV(0, 5000)).mount, "/m4900");
    assert_string_equal(mounts_find(mounts, 2, DEV(0, 9)).mount, "(unknown)");
    assert_int_equal(mounts_renamed(mounts, 1), 2);
    assert_int_equal(mounts_renamed(mounts, 2), 1);
    mounts_destroy(mounts);
}

/* A step that ends does not wait for its turn, and one that is forgotten is not waited for. */
static void test_large_namespace_at_the_end(void **state)
{
    struct mounts *mounts;

    (void)state;
    proc_write("1", "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    proc_write("7", "1 1 0:1 / /a rw - tmpfs t rw\n2 1 0:2 / /b rw - tmpfs t rw\n");
    proc_task("7", NULL, 100);
    mounts = proc_mounts();
    mounts_set_lines(mounts, 1);
    mounts_turn(mounts);
    learn(mounts, 1, DEV(0, 2), 7, 1);
    learn(mounts, 2, DEV(0, 2), 7, 1);
    mounts_forget(mounts, 2);
    mounts_finish(mounts, 2);
    assert_true(mounts_busy(mounts));
    mounts_finish(mounts, 1);
    assert_false(mounts_busy(mounts));
    assert_string_equal(mounts_find(mounts, 1, DEV(0, 2)).mount, "/b");
    mounts_set_lines(mounts, 1);
    mounts_turn(mounts);
    proc_task("7", NULL, 101);
    learn(mounts, 3, DEV(0, 2), 7, 1);
    mounts_forget(mounts, 3);
    assert_false(mounts_busy(mounts));
    proc_remove("7");
    mounts_destroy(mounts);
}

static uint32_t host_space(void)
{
    char path[256];
    struct stat st;

    proc_path(path, "1", "ns/mnt");
    assert_int_equal(stat(path, &st), 0);
    return (uint32_t)st.st_ino;
}

/* Mounts that were gone before their table was read: the kernel has seen their names. */
static void test_seen(void **state)
{
    struct mount_seen seen = {.in_space = "/root/a b", .fstype = "fuse.x", .source = ""};
    struct mounts *mounts;
    struct mount_name name;

    (void)state;
    proc_write("1", "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    proc_task("1", NULL, 1);
    seen.space = host_space();
    mounts = proc_mounts();
    mounts_turn(mounts);
    /* In the host's namespace. */
    learn(mounts, 1, DEV(0, 77), 0, 1);
    assert_int_equal(mounts_learn_seen(mounts, 1, DEV(0, 77), &seen), 0);
    name = mounts_find(mounts, 1, DEV(0, 77));
    assert_string_equal(name.mount, "/root/a b");
    assert_string_equal(name.fstype, "fuse.x");
    assert_string_equal(name.source, "none");
    assert_true(!name.private && !name.labelled);
    /* In another one, where only the path from the root of the task counts. */
    seen.space++;
    learn(mounts, 1, DEV(0, 78), 0, 1);
    assert_int_equal(mounts_learn_seen(mounts, 1, DEV(0, 78), &seen), 1);
    assert_string_equal(mounts_find(mounts, 1, DEV(0, 78)).mount, "(unknown)");
    seen.in_task = "/a b";
    assert_int_equal(mounts_learn_seen(mounts, 1, DEV(0, 78), &seen), 0);
    assert_string_equal(mounts_find(mounts, 1, DEV(0, 78)).mount, "/a b");
    assert_true(mounts_find(mounts, 1, DEV(0, 78)).private);
    /* It is final. */
    proc_write("1", "1 1 0:78 / /later rw - tmpfs t rw\n");
    assert_int_equal(mounts_refresh(mounts, NULL), 0);
    learn(mounts, 1, DEV(0, 78), 0, 0);
    assert_string_equal(mounts_find(mounts, 1, DEV(0, 78)).mount, "/a b");
    mounts_destroy(mounts);
}

/* A table that is being read has the last word. */
static void test_seen_and_read(void **state)
{
    struct mount_seen seen = {.space = 1, .in_task = "/seen", .fstype = "tmpfs", .source = "t"};
    struct mounts *mounts;

    (void)state;
    proc_write("1", "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    proc_write("7", "2 1 0:77 / /a rw - tmpfs t rw\n3 1 0:78 / /b rw - tmpfs t rw\n");
    proc_task("7", NULL, 100);
    mounts = proc_mounts();
    mounts_set_lines(mounts, 1);
    mounts_turn(mounts);
    learn(mounts, 1, DEV(0, 78), 7, 1);
    assert_int_equal(mounts_learn_seen(mounts, 1, DEV(0, 78), &seen), 0);
    assert_string_equal(mounts_find(mounts, 1, DEV(0, 78)).mount, "/seen");
    mounts_finish(mounts, 1);
    assert_string_equal(mounts_find(mounts, 1, DEV(0, 78)).mount, "/b");
    proc_remove("7");
    mounts_destroy(mounts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_namespace),
        cmocka_unit_test(test_large_namespace),
        cmocka_unit_test(test_seen),
        cmocka_unit_test(test_seen_and_read),
        cmocka_unit_test(test_large_namespace_at_the_end),
    };

    return cmocka_run_group_tests(tests, proc_set_up, proc_tear_down);
}

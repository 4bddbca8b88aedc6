/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of super blocks from mountinfo texts: tests/data/mountinfo/odd is what a kernel printed for
 * mounts with awkward names, host has the lines of a cluster node. The tables lie below a directory
 * of the test that stands for /proc. The last tests ask the kernel itself.
 */
#define _GNU_SOURCE /* memfd_create, unshare */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/mounts/mounts.h"
#include "common/cleanup.h"
#include "common/io_op.h"
#include "tests/unit/proc.h"

static char *data(const char *name)
{
    const char *srcdir = getenv("srcdir");
    char path[512], *text = calloc(1, 65536);
    FILE *f;

    snprintf(path, sizeof(path), "%s/tests/data/mountinfo/%s", srcdir ? srcdir : ".", name);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(text);
    assert_true(fread(text, 1, 65535, f) > 0);
    fclose(f);
    return text;
}

struct expected {
    uint32_t dev;
    const char *mount, *fstype, *source;
    bool labelled;
};

static void check_names(struct mounts *mounts, const struct expected *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct mount_name got;

        assert_int_equal(mounts_learn(mounts, 1, want[i].dev, 0, "bpf", "id", NULL), 0);
        got = mounts_find(mounts, 1, want[i].dev);
        assert_string_equal(got.mount, want[i].mount);
        assert_string_equal(got.fstype, want[i].fstype);
        assert_string_equal(got.source, want[i].source);
        assert_int_equal(got.labelled, want[i].labelled);
        assert_false(got.private);
    }
}

static void test_host_names(void **state)
{
    static const struct expected want[] = {
        {DEV(8, 1), "/", "ext4", "/dev/sda1", true},           /* not its bind mount below /data */
        {DEV(0, 45), "/export/all", "nfs4", "store1:/", true}, /* whole, though /home is shorter */
        {DEV(0, 46), "/p", "nfs4", "store2:/project", true},   /* no whole mount: the shortest */
        {DEV(1957, 517892), "/lustre", "lustre", "10.0.1.1@o2ib:10.0.1.2@o2ib:/fs1", true},
        {DEV(0, 50), "/vol", "btrfs", "/dev/sdb", true},
        {DEV(0, 51), "/mnt/ssh", "fuse.sshfs", "user@host:/data", false},
        {DEV(8, 17), "/mnt/usb", "fuseblk", "/dev/sdb1", false},
    };
    _free_ char *host = data("host");
    struct mounts *mounts;

    (void)state;
    proc_write("1", host);
    mounts = proc_mounts();
    check_names(mounts, want, ARRAY_SIZE(want));
    mounts_destroy(mounts);
}

static void test_awkward_names(void **state)
{
    static const struct expected want[] = {
        {DEV(0, 39), "/scratch", "tmpfs", "tmpfs", true}, /* binds and a deleted bind of it too */
        {DEV(0, 40), "/scratch/hash", "tmpfs", "src with space", true},
        {DEV(0, 41), "/scratch/t\tb", "tmpfs", "tmpfs", true},
        {DEV(0, 42), "/scratch/n\nl", "tmpfs", "none", true},
        {DEV(0, 43), "/scratch/b\\k#h", "tmpfs", "a\\b#c", true},
        {DEV(0, 44), "/scratch/merged", "overlay", "overlay", true},
        {DEV(0, 46), "/scratch/e2", "tmpfs", "none", true}, /* the source is empty */
    };
    _free_ char *odd = data("odd");
    struct mounts *mounts;

    (void)state;
    proc_write("1", odd);
    mounts = proc_mounts();
    check_names(mounts, want, ARRAY_SIZE(want));
    mounts_destroy(mounts);
}

/* What a 6.1 kernel printed for one mount of each kind, on the host and in a job's own namespace:
 * there a bind mount has gone, and a tmpfs and the host's squashfs image were mounted. */
static void test_kinds_of_mounts(void **state)
{
    static const struct expected want[] = {
        {DEV(0, 34), "/tmp/m/vol", "btrfs", "/dev/loop0", true}, /* and not its subvolume */
        {DEV(7, 1), "/tmp/m/sqm", "squashfs", "/dev/loop1", true},
        {DEV(0, 37), "/tmp/m/merged", "overlay", "overlay", true},
        {DEV(0, 39), "/tmp/m/fuse", "fuse.squashfuse", "squashfuse", false},
        {DEV(0, 33), "/tmp/m", "tmpfs", "none", true}, /* nor its binds, one of them deleted */
        {DEV(0, 40), "/tmp/m/stack", "tmpfs", "first", true}, /* below the next one */
        {DEV(0, 41), "/tmp/m/stack", "tmpfs", "second", true},
    };
    _free_ char *host = data("kinds"), *job = data("job");
    struct mounts *mounts;
    struct mount_name name;

    (void)state;
    proc_write("1", host);
    proc_write("7", job);
    mounts = proc_mounts();
    check_names(mounts, want, ARRAY_SIZE(want));
    for (size_t i = 0; i < ARRAY_SIZE(want); i++)
        assert_int_equal(mounts_learn(mounts, 2, want[i].dev, 7, "t", "s", NULL), 0);
    assert_string_equal(mounts_find(mounts, 2, DEV(7, 1)).mount, "/tmp/m/sqm");
    assert_int_equal(mounts_learn(mounts, 2, DEV(0, 42), 7, "tmpfs", "none", NULL), 0);
    name = mounts_find(mounts, 2, DEV(0, 42));
    assert_string_equal(name.mount, "/tmp/m/priv");
    assert_string_equal(name.source, "my scratch");
    assert_true(name.private);
    proc_remove("7");
    mounts_destroy(mounts);
}

static void test_deleted_is_the_last_choice(void **state)
{
    struct mounts *mounts;

    (void)state;
    proc_write("1", "1 1 0:9 /x//deleted /a rw - tmpfs t rw\n"
                    "2 1 0:9 /y /longer rw - tmpfs t rw\n"
                    "3 1 0:8 /x//deleted /only//deleted rw - tmpfs t rw\n"
                    "4 1 0:7 /q /b1 rw - tmpfs first rw\n"
                    "5 1 0:7 /q /b2 rw - tmpfs second rw\n");
    mounts = proc_mounts();
    assert_string_equal(mounts_find(mounts, 1, 9).mount, "/longer");
    assert_string_equal(mounts_find(mounts, 1, 8).mount, "/only");
    assert_string_equal(mounts_find(mounts, 1, 7).source, "first");
    mounts_destroy(mounts);
}

static void test_private_mount(void **state)
{
    struct mounts *mounts;
    struct mount_name name;

    (void)state;
    proc_write("1", "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    proc_write("7", "1 1 8:1 / /host rw - ext4 /dev/sda1 rw\n"
                    "2 1 0:77 / /image rw - squashfs /dev/loop0 ro\n");
    mounts = proc_mounts();
    assert_int_equal(mounts_learn(mounts, 5, DEV(0, 77), 7, "squashfs", "loop0", NULL), 0);
    name = mounts_find(mounts, 5, DEV(0, 77));
    assert_string_equal(name.mount, "/image");
    assert_true(name.private);
    assert_false(name.labelled);
    /* A super block of the host keeps the host's name, whatever the job calls it. */
    assert_int_equal(mounts_learn(mounts, 5, DEV(8, 1), 7, NULL, NULL, NULL), 0);
    name = mounts_find(mounts, 5, DEV(8, 1));
    assert_string_equal(name.mount, "/");
    assert_false(name.private);
    mounts_destroy(mounts);
}

static void test_unknown_mount(void **state)
{
    struct mounts *mounts;
    struct mount_name early, name;

    (void)state;
    proc_write("1", "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    proc_remove("7");
    proc_write("8", "2 1 0:77 / /image rw - squashfs /dev/loop0 ro\n");
    mounts = proc_mounts();
    assert_string_equal(mounts_find(mounts, 5, DEV(0, 77)).mount, "(unknown)");
    assert_int_equal(mounts_learn(mounts, 5, DEV(0, 77), 7, "squashfs", "loop0", NULL), 1);
    early = mounts_find(mounts, 5, DEV(0, 77));
    assert_string_equal(early.mount, "(unknown)");
    assert_string_equal(early.fstype, "squashfs");
    assert_string_equal(early.source, "loop0 0:77");
    assert_false(early.labelled);
    /* Another task of the step still has it; what was handed out before stays readable. */
    assert_int_equal(mounts_learn(mounts, 5, DEV(0, 77), 7, "squashfs", "loop0", NULL), 1);
    assert_int_equal(mounts_learn(mounts, 5, DEV(0, 77), 8, "squashfs", "loop0", NULL), 0);
    name = mounts_find(mounts, 5, DEV(0, 77));
    assert_string_equal(name.mount, "/image");
    assert_string_equal(early.source, "loop0 0:77");
    name = mounts_find(mounts, 5, 0);
    assert_string_equal(name.mount, "(no mount)");
    assert_true(*name.fstype && *name.source);
    name = mounts_find(mounts, 5, IO_DEV_OTHER);
    assert_string_equal(name.mount, "(other mounts)");
    assert_true(name.labelled && !name.private);
    mounts_destroy(mounts);
}

/* The kernel's own tmpfs, which is mounted nowhere. */
static void test_memory(void **state)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    struct mounts *mounts;
    struct mount_name name;
    struct stat st;
    uint64_t dev;

    (void)state;
    assert_int_equal(fstat(fd, &st), 0);
    dev = DEV(major(st.st_dev), minor(st.st_dev));
    proc_write("1", "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    mounts = proc_mounts();
    assert_int_equal(mounts_learn(mounts, 5, dev, 7, "tmpfs", "tmpfs", NULL), 0);
    name = mounts_find(mounts, 5, dev);
    assert_string_equal(name.mount, "(memory)");
    assert_string_equal(name.fstype, "tmpfs");
    assert_true(name.labelled && !name.private);
    /* It exists as long as the kernel runs: no other one has had its number. */
    assert_string_equal(mounts_find(mounts, 5, dev | UINT64_C(1) << 32).mount, "(unknown)");
    mounts_destroy(mounts);
    close(fd);
}

static void test_name_stays_until_forgotten(void **state)
{
    struct mounts *mounts;
    struct error error;

    (void)state;
    proc_write("1", "1 1 0:9 / /a rw - tmpfs t rw\n");
    mounts = proc_mounts();
    assert_int_equal(mounts_learn(mounts, 1, 9, 0, NULL, NULL, NULL), 0);
    proc_write("1", "1 1 0:9 / /b rw - tmpfs t rw\n");
    assert_int_equal(mounts_refresh(mounts, &error), 0);
    assert_string_equal(mounts_find(mounts, 1, 9).mount, "/a");
    assert_string_equal(mounts_find(mounts, 2, 9).mount, "/b");
    assert_string_equal(mounts_find(mounts, 0, 9).mount, "/b");
    mounts_forget(mounts, 1);
    assert_string_equal(mounts_find(mounts, 1, 9).mount, "/b");
    mounts_forget(mounts, 3);
    assert_string_equal(mounts_find(mounts, 2, 9).mount, "/b");
    mounts_destroy(mounts);
}

static void test_many_steps(void **state)
{
    char lines[40 * 64] = "", want[32];
    struct mounts *mounts;

    (void)state;
    for (int i = 40; i > 0; i--)
        sprintf(lines + strlen(lines), "%d 1 0:%d / /m%d rw - tmpfs t rw\n", i, i, i);
    proc_write("1", lines);
    mounts = proc_mounts();
    for (uint32_t step = 300; step > 0; step--)
        for (uint32_t dev = 1; dev <= 40; dev++)
            assert_int_equal(mounts_learn(mounts, step * 7919, dev, 0, NULL, NULL, NULL), 0);
    for (uint32_t step = 1; step <= 300; step += 2)
        mounts_forget(mounts, step * 7919);
    for (uint32_t step = 2; step <= 300; step += 2)
        for (uint32_t dev = 1; dev <= 40; dev++) {
            snprintf(want, sizeof(want), "/m%u", dev);
            assert_string_equal(mounts_find(mounts, step * 7919, dev).mount, want);
        }
    mounts_destroy(mounts);
}

/* Whatever the table holds: no crash, no empty word, and good lines survive bad ones. */
static void test_garbage(void **state)
{
    _free_ char *odd = data("odd");
    size_t length = strlen(odd);
    unsigned seed = 1;

    (void)state;
    for (int round = 0; round < 300; round++) {
        _free_ char *text = strdup(odd);
        struct mounts *mounts;

        assert_non_null(text);
        for (int i = 0; i < 40; i++)
            text[rand_r(&seed) % length] = " \n\\/-:019"[rand_r(&seed) % 9];
        text[rand_r(&seed) % length] = '\0';
        proc_write("1", text);
        mounts = proc_mounts();
        for (uint32_t dev = 0; dev < 64; dev++) {
            struct mount_name name = mounts_find(mounts, 1, dev);

            assert_true(*name.mount && *name.fstype && *name.source);
        }
        mounts_destroy(mounts);
    }
    proc_write("1", "\n\n1 2\nx y z\n1 1 0:9 / /a rw - tmpfs\n"
                    "1 1 0:9 / /good rw - tmpfs t rw\n1 1 0:9 / / rw");
    {
        struct mounts *mounts = proc_mounts();

        assert_string_equal(mounts_find(mounts, 1, 9).mount, "/good");
        mounts_destroy(mounts);
    }
}

static void test_table_missing(void **state)
{
    struct mounts *mounts = NULL;
    struct error error = {""};

    (void)state;
    proc_remove("1");
    assert_int_equal(mounts_create(&mounts, proc_folder, &error), -ENOENT);
    assert_null(mounts);
    assert_non_null(strstr(error.text, "mountinfo"));
    proc_write("self", "1 1 0:9 / /a rw - tmpfs t rw\n");
    mounts = proc_mounts();
    assert_string_equal(mounts_find(mounts, 1, 9).mount, "/a");
    mounts_destroy(mounts);
    mounts_destroy(NULL);
}

/* The kernel's own table of this machine: the root has a name, and the descriptor is a good one. */
static void test_this_kernel(void **state)
{
    struct mounts *mounts = NULL;
    struct pollfd p = {.events = POLLPRI};
    struct error error;
    struct stat st;
    FILE *f;
    char line[4096];
    bool found = false;

    (void)state;
    assert_int_equal(mounts_create(&mounts, "/proc", &error), 0);
    p.fd = mounts_fd(mounts);
    assert_int_equal(fstat(p.fd, &st), 0);
    assert_true(poll(&p, 1, 0) >= 0);
    f = fopen("/proc/self/mountinfo", "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        unsigned major, minor;
        char root[1024], where[1024];

        assert_int_equal(sscanf(line, "%*d %*d %u:%u %1023s %1023s", &major, &minor, root, where),
                         4);
        if (strcmp(where, "/") != 0 || strcmp(root, "/") != 0)
            continue;
        assert_string_equal(mounts_find(mounts, 1, DEV(major, minor)).mount, "/");
        found = true;
    }
    fclose(f);
    mounts_destroy(mounts);
    if (!found)
        skip();
}

/* Mounted and unmounted while we watch: in a namespace of our own, so as root only. */
static void test_mount_comes_and_goes(void **state)
{
    char dir[] = "/tmp/jobio-mount-XXXXXX", link[256], target[32];
    struct mounts *mounts;
    struct stat st;
    uint32_t dev;
    pid_t child;
    int status;

    (void)state;
    proc_remove("1");
    assert_non_null(mkdtemp(dir));
    child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
            _exit(77);
        proc_path(link, "1", NULL);
        snprintf(target, sizeof(target), "/proc/%d", (int)getpid());
        assert_int_equal(symlink(target, link), 0);
        mounts = proc_mounts();
        assert_int_equal(mount("src", dir, "tmpfs", 0, NULL), 0);
        assert_int_equal(stat(dir, &st), 0);
        dev = DEV(major(st.st_dev), minor(st.st_dev));
        assert_int_equal(mounts_learn(mounts, 1, dev, 0, NULL, NULL, NULL), 0);
        assert_string_equal(mounts_find(mounts, 1, dev).mount, dir);
        assert_int_equal(umount(dir), 0);
        assert_int_equal(mounts_learn(mounts, 2, dev, 0, "tmpfs", "s", NULL), 1);
        assert_string_equal(mounts_find(mounts, 1, dev).mount, dir);
        assert_string_equal(mounts_find(mounts, 2, dev).mount, "(unknown)");
        mounts_destroy(mounts);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    proc_path(link, "1", NULL);
    (void)unlink(link);
    (void)rmdir(dir);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

/* Numbers that others have had: what is there, as the kernel would say it. */
struct there {
    uint64_t dev, since_ns;
    unsigned lasts; /* so many questions */
};

static bool is_there(uint32_t step, uint64_t dev, uint64_t *since_ns, void *arg)
{
    struct there *there = arg;

    assert_int_equal(step, 1);
    *since_ns = there->since_ns;
    return dev == there->dev && there->lasts && there->lasts--;
}

static uint64_t now_ns(void)
{
    struct timespec ts;

    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &ts), 0);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void test_number_of_another(void **state)
{
    const uint64_t first = DEV(0, 9), later = 1ull << 32 | DEV(0, 9);
    struct there there = {.dev = first, .lasts = 99};
    struct mounts *mounts;

    (void)state;
    proc_write("1", "1 1 0:9 / /first rw - tmpfs t rw\n");
    mounts = proc_mounts();
    mounts_set_check(mounts, is_there, &there);
    assert_int_equal(mounts_learn(mounts, 1, first, 0, "tmpfs", "t", NULL), 0);
    /* The table was read while the first was there; now it is read again. */
    there = (struct there){.dev = later, .since_ns = now_ns(), .lasts = 99};
    proc_write("1", "1 1 0:9 / /later rw - tmpfs t rw\n");
    assert_int_equal(mounts_learn(mounts, 1, later, 0, "tmpfs", "t", NULL), 0);
    assert_string_equal(mounts_find(mounts, 1, first).mount, "/first");
    assert_string_equal(mounts_find(mounts, 1, later).mount, "/later");
    mounts_forget(mounts, 1);
    /* It has gone before anybody looked, or while. */
    for (unsigned lasts = 0; lasts < 2; lasts++) {
        there.lasts = lasts;
        assert_int_equal(mounts_learn(mounts, 1, later, 0, "tmpfs", "t", NULL), 1);
        assert_string_equal(mounts_find(mounts, 1, later).mount, "(unknown)");
        assert_string_equal(mounts_find(mounts, 1, later).source, "t 0:9+1");
        assert_string_equal(mounts_find(mounts, 1, first).mount, "(unknown)");
        mounts_forget(mounts, 1);
    }
    mounts_destroy(mounts);
}

static void test_number_of_another_in_a_namespace(void **state)
{
    const uint64_t first = DEV(0, 9), later = 1ull << 32 | DEV(0, 9);
    struct there there = {.dev = first, .lasts = 99};
    struct mounts *mounts;

    (void)state;
    proc_write("1", "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
    proc_write("7", "1 1 0:9 / /first rw - tmpfs t rw\n");
    proc_task("7", NULL, 100);
    mounts = proc_mounts();
    mounts_set_check(mounts, is_there, &there);
    mounts_turn(mounts);
    assert_int_equal(mounts_learn(mounts, 1, first, 7, "tmpfs", "t", NULL), 0);
    /* What was read in this turn is not good any more. */
    there = (struct there){.dev = later, .since_ns = now_ns(), .lasts = 99};
    proc_write("7", "1 1 0:9 / /later rw - tmpfs t rw\n");
    assert_int_equal(mounts_learn(mounts, 1, later, 7, "tmpfs", "t", NULL), 0);
    assert_string_equal(mounts_find(mounts, 1, first).mount, "/first");
    assert_string_equal(mounts_find(mounts, 1, later).mount, "/later");
    /* It went while its table was read in portions. */
    proc_write("7", "1 1 0:8 / /x rw - tmpfs t rw\n1 1 0:9 / /last rw - tmpfs t rw\n");
    there = (struct there){.dev = 2ull << 32 | DEV(0, 9), .since_ns = now_ns(), .lasts = 99};
    mounts_set_lines(mounts, 1);
    mounts_turn(mounts);
    assert_int_equal(mounts_learn(mounts, 1, there.dev, 7, "tmpfs", "t", NULL), 1);
    there.lasts = 0;
    mounts_finish(mounts, 1);
    assert_string_equal(mounts_find(mounts, 1, there.dev).mount, "(unknown)");
    proc_remove("7");
    mounts_destroy(mounts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_names),
        cmocka_unit_test(test_awkward_names),
        cmocka_unit_test(test_kinds_of_mounts),
        cmocka_unit_test(test_deleted_is_the_last_choice),
        cmocka_unit_test(test_private_mount),
        cmocka_unit_test(test_unknown_mount),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_name_stays_until_forgotten),
        cmocka_unit_test(test_many_steps),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_table_missing),
        cmocka_unit_test(test_this_kernel),
        cmocka_unit_test(test_mount_comes_and_goes),
        cmocka_unit_test(test_number_of_another),
        cmocka_unit_test(test_number_of_another_in_a_namespace),
    };

    return cmocka_run_group_tests(tests, proc_set_up, proc_tear_down);
}

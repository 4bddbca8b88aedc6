/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mount that only a job's namespace has: its name, and what was counted before it was known. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/sampler_rig.h"

#define PRIVATE 77u
static char task[160]; /* its directory */
static unsigned asked;

static void task_begin(void)
{
    char name[200];
    FILE *f;

    snprintf(task, sizeof(task), "%s/55", rig.proc);
    assert_int_equal(mkdir(task, 0700), 0);
    snprintf(name, sizeof(name), "%s/mountinfo", task);
    f = fopen(name, "w");
    assert_non_null(f);
    fputs("90 1 0:77 / /image rw - squashfs /dev/loop0 ro\n", f);
    fclose(f);
}

static void task_end(void)
{
    char name[200];

    snprintf(name, sizeof(name), "%s/mountinfo", task);
    unlink(name);
    rmdir(task);
}

static size_t list_tasks(uint32_t step, uint32_t *pids, size_t max, void *arg)
{
    assert_int_equal(step, *(uint32_t *)arg);
    assert_true(max >= 2);
    asked++;
    pids[0] = 54; /* has just gone */
    pids[1] = 55;
    return 2;
}

/* The task that was seen has gone: others of the step are asked, less and less often. What was
 * counted in the meantime gets the name, too, and is no burst. */
static void test_another_task_knows_the_name(void **state)
{
    uint32_t a = rig_tag(100, 0);
    struct step_account got;
    uint64_t at = 0;

    (void)state;
    asked = 0;
    sampler_set_tasks(rig.sampler, list_tasks, &a);
    rig_touch(a, PRIVATE, "squashfs");
    for (int i = 0; i < 4; i++) {
        fake_probe_count(rig.probe, a, PRIVATE, IO_READ, 1, 2500);
        rig_must(sampler_read(rig.sampler, at += 10 * S, &rig.error));
    }
    assert_int_equal(asked, 2); /* at readings 1 and 3, next at 7 */
    got = rig_account(a);
    assert_string_equal(got.mounts.items[0].mount, "(unknown)");
    assert_string_equal(got.mounts.items[0].fstype, "squashfs");
    step_account_clear(&got);
    task_begin();
    for (int i = 0; i < 3; i++)
        rig_must(sampler_read(rig.sampler, at += 10 * S, &rig.error));
    assert_int_equal(asked, 3);
    task_end();
    fake_probe_count(rig.probe, a, PRIVATE, IO_READ, 1, 500);
    for (int i = 0; i < 12; i++)
        rig_must(sampler_read(rig.sampler, at += 10 * S, &rig.error));
    assert_int_equal(asked, 3);
    got = rig_account(a);
    assert_int_equal(got.mounts.n, 1);
    assert_string_equal(got.mounts.items[0].mount, "/image");
    assert_true(got.mounts.items[0].private);
    assert_int_equal(got.mounts.items[0].io.ops[IO_READ]->bytes, 10500);
    assert_int_equal(got.mounts.items[0].peaks[IO_READ].bytes_per_s, 250);
    step_account_clear(&got);
}

static void test_a_name_that_nobody_knows(void **state)
{
    uint32_t a = rig_tag(100, 0);

    (void)state;
    asked = 0;
    sampler_set_tasks(rig.sampler, list_tasks, &a);
    rig_touch(a, PRIVATE, "tmpfs");
    for (uint64_t at = 10 * S; at < 2000 * S; at += 10 * S)
        rig_must(sampler_read(rig.sampler, at, &rig.error));
    assert_int_equal(asked, 6);
}

/* Its table is long, and the step ends before it is read: the last reading waits for it. */
static void test_a_name_that_comes_with_the_end(void **state)
{
    uint32_t a = rig_tag(100, 0);
    struct step_account got;

    (void)state;
    task_begin();
    mounts_set_lines(rig.mounts, 0);
    fake_probe_sight(rig.probe, a, PRIVATE, "squashfs")->pid = 55;
    fake_probe_count(rig.probe, a, PRIVATE, IO_READ, 1, 10);
    rig_must(sampler_read(rig.sampler, 10 * S, &rig.error));
    got = rig_account(a);
    assert_string_equal(got.mounts.items[0].mount, "(unknown)");
    step_account_clear(&got);
    task_end();
    assert_int_equal(sampler_seal(rig.sampler, a, 9 * S), -EAGAIN);
    rig_must(sampler_peek(rig.sampler, NULL, 0, 11 * S, &rig.error));
    rig_must(sampler_seal(rig.sampler, a, 9 * S));
    got = rig_account(a);
    assert_string_equal(got.mounts.items[0].mount, "/image");
    step_account_clear(&got);
}

/* Readings of 10 s give bins of 8 s. 10 s are one of them and a quarter of the next. */
/* What was done on "(unknown)" was done then, not when the name came. */
static void test_time_line_of_a_late_name(void **state)
{
    uint32_t a = rig_tag(100, 0);
    struct step_account got;

    (void)state;
    task_begin();
    mounts_set_lines(rig.mounts, 0);
    rig_touch(a, NFS, "nfs4");
    fake_probe_count(rig.probe, a, NFS, IO_WRITE, 1, 600);
    fake_probe_sight(rig.probe, a, PRIVATE, "squashfs")->pid = 55;
    fake_probe_count(rig.probe, a, PRIVATE, IO_WRITE, 1, 500);
    rig_must(sampler_read(rig.sampler, 8 * S, &rig.error));
    got = rig_account(a);
    assert_int_equal(rig_written(&got, "(unknown)", 0, 8), 500);
    step_account_clear(&got);
    task_end();
    fake_probe_count(rig.probe, a, PRIVATE, IO_WRITE, 1, 90);
    fake_probe_count(rig.probe, a, NFS, IO_WRITE, 1, 60000);
    rig_must(sampler_finish(rig.sampler, a, 16 * S, &rig.error));
    got = rig_account(a);
    assert_int_equal(rig_written(&got, "/image", 0, 8), 500);
    assert_int_equal(rig_written(&got, "/image", 8, 16), 90);
    assert_int_equal(rig_written(&got, "/home", 0, 8), 600);
    assert_int_equal(rig_written(&got, "/home", 8, 16), 60000);
    step_account_clear(&got);
}

static void use(uint32_t step, uint64_t dev, uint64_t processes)
{
    fake_probe_count(rig.probe, step, dev, IO_READ, 1, 10);
    fake_probe_users(rig.probe, step, dev)[IO_READERS] =
        (struct io_users){.processes = processes, .threads = processes};
}

/* Of two super blocks with one name, the processes may be the same ones. */
static void test_users_of_one_name(void **state)
{
    uint32_t a = rig_tag(100, 0);
    const struct io_users *users;
    struct step_account got;

    (void)state;
    task_begin();
    rig_touch(a, NFS, "nfs4");
    use(a, NFS, 4);
    use(a, PRIVATE, 3);
    use(a, PRIVATE + 1, 2);
    rig_must(sampler_read(rig.sampler, 10 * S, &rig.error));
    got = rig_account(a);
    assert_int_equal(got.mounts.n, 2);
    for (size_t i = 0; i < got.mounts.n; i++) {
        bool known = strcmp(got.mounts.items[i].mount, "(unknown)") != 0;

        users = &got.mounts.items[i].users[IO_READERS];
        assert_int_equal(users->processes, known ? 4 : 3);
        assert_int_equal(users->at_least, !known);
    }
    step_account_clear(&got);
    task_end();
}

/* The NFS requests of the super blocks are added up. */
static void test_requests_of_nfs(void **state)
{
    uint32_t a = rig_tag(100, 0);
    struct step_account got;

    (void)state;
    rig_touch(a, NFS, "nfs4");
    fake_probe_count(rig.probe, a, NFS, IO_READ, 1, 10);
    fake_probe_rpc(rig.probe, a, NFS)->own[RPC_READ].calls = 3;
    rig_must(sampler_read(rig.sampler, 10 * S, &rig.error));
    fake_probe_rpc(rig.probe, a, NFS)->own[RPC_READ].calls = 4;
    fake_probe_rpc(rig.probe, a, NFS)->shared[RPC_WRITE].calls = 2;
    rig_must(sampler_read(rig.sampler, 20 * S, &rig.error));
    got = rig_account(a);
    assert_int_equal(got.mounts.n, 1);
    assert_non_null(got.mounts.items[0].rpc);
    assert_int_equal(got.mounts.items[0].rpc->own[RPC_READ].calls, 4);
    assert_int_equal(got.mounts.items[0].rpc->shared[RPC_WRITE].calls, 2);
    assert_false(got.mounts.items[0].rpc->incomplete);
    step_account_clear(&got);
}

/* The second file system with a number has gone as well before anybody asked for its name. */
static void test_number_of_another(void **state)
{
    uint32_t a = rig_tag(100, 0);
    uint64_t later = 1ull << 32 | NFS;
    struct step_account got;

    (void)state;
    rig_touch(a, NFS, "nfs4");
    fake_probe_count(rig.probe, a, NFS, IO_WRITE, 10, 1000);
    fake_probe_count(rig.probe, a, later, IO_WRITE, 1, 1);
    fake_probe_unmount(rig.probe, later, 0);
    rig_touch(a, later, "tmpfs");
    rig_must(sampler_finish(rig.sampler, a, 10 * S, &rig.error));
    got = rig_account(a);
    assert_int_equal(got.mounts.n, 2);
    assert_int_equal(rig_mount(&got, "/home")->io.ops[IO_WRITE]->bytes, 10000);
    assert_int_equal(rig_mount(&got, "(unknown)")->io.ops[IO_WRITE]->bytes, 1);
    assert_string_equal(rig_mount(&got, "(unknown)")->fstype, "tmpfs");
    step_account_clear(&got);
}

/* Mounts of which no report found room in the ring buffer are listed when they are read: each is a
 * line of its own, with its type. */
static void test_reports_that_were_lost(void **state)
{
    uint32_t a = rig_tag(100, 0);
    struct step_account got;

    (void)state;
    fake_probe_sight(rig.probe, a, PRIVATE, "tmpfs");
    fake_probe_sight(rig.probe, a, PRIVATE + 1, "squashfs");
    fake_probe_lose_reports(rig.probe);
    fake_probe_count(rig.probe, a, PRIVATE, IO_READ, 1, 10);
    fake_probe_count(rig.probe, a, PRIVATE + 1, IO_READ, 1, 20);
    rig_must(sampler_finish(rig.sampler, a, 10 * S, &rig.error));
    got = rig_account(a);
    assert_int_equal(got.mounts.n, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct io_mount *m = &got.mounts.items[i];
        bool first = m->dev == PRIVATE;

        assert_string_equal(m->fstype, first ? "tmpfs" : "squashfs");
        assert_int_equal(m->io.ops[IO_READ]->bytes, first ? 10 : 20);
    }
    step_account_clear(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_another_task_knows_the_name, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_a_name_that_nobody_knows, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_a_name_that_comes_with_the_end, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(test_time_line_of_a_late_name, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_users_of_one_name, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_requests_of_nfs, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_number_of_another, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(test_reports_that_were_lost, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, rig_make_proc, rig_remove_proc);
}

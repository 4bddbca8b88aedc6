/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that writes the summary to an output that does not take it. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "plugin/job_output.h"
#include "tests/unit/cgroups.h"

static char folder[] = "/tmp/jobio-test-output-XXXXXX";
static char fifo[64];

/* A full FIFO whose reader does not read. */
static int full_fifo(void)
{
    int fd = open(fifo, O_RDWR | O_CLOEXEC | O_NONBLOCK);

    assert_true(fd >= 0);
    while (write(fd, "x", 1) == 1)
        ;
    assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
    return fd;
}

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(fifo, sizeof(fifo), "%s/out", folder);
    /* An abandoned writer becomes a child of the test. */
    return mkfifo(fifo, 0600) < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(fifo) | rmdir(folder);
}

/* The life of a slurmstepd, which blocks and ignores signals. */
static void __attribute__((noreturn)) stepd(const struct cgroups *c)
{
    struct error error = {""};
    sigset_t all;
    int fd = full_fifo(), r;

    (void)signal(SIGALRM, SIG_IGN);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    if (c && !cgroups_enter(c, c->stepd))
        _exit(100);
    r = job_output_write(fd, "the summary\n", 12,
                         clock_ns(CLOCK_MONOTONIC) + 200 * (NS_PER_S / 1000), &error);
    _exit(r == -ETIMEDOUT ? 0 : 101);
}

static void run_stepd(const struct cgroups *c)
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0)
        stepd(c);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* The test has inherited the writer. LATE_S of the test is 2 s. 0: of any signal. */
static void assert_writer_dies(int signal)
{
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    int status = 0;
    pid_t pid = 0;

    while (pid == 0 && clock_ns(CLOCK_MONOTONIC) - start < 8 * NS_PER_S) {
        pid = waitpid(-1, &status, WNOHANG);
        (void)usleep(10000);
    }
    assert_true(pid > 0);
    assert_true(WIFSIGNALED(status));
    if (signal)
        assert_int_equal(WTERMSIG(status), signal);
}

/* As another user, who cannot move it to another cgroup. */
static void test_writer_without_a_way_out(void **state)
{
    pid_t pid;
    int status;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chmod(folder, 0755) | chmod(fifo, 0666), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (setgid(65534) < 0 || setuid(65534) < 0)
            _exit(102);
        stepd(NULL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_writer_dies(SIGKILL);
}

static void test_writer_dies(void **state)
{
    (void)state;
    run_stepd(NULL);
    assert_writer_dies(0);
}

/* Slurm can remove the cgroup of slurmstepd while the writer lives. */
static void leaves_cgroup(int version)
{
    struct cgroups c;
    char path[1024];

    if (!cgroups_create(&c, version, "step_batch")) {
        print_message("no writable cgroup v%d hierarchy here\n", version);
        skip();
    }
    run_stepd(&c);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);
    cgroups_destroy(&c);
    snprintf(path, sizeof(path), "%s%s", c.mount, c.job);
    assert_int_equal(access(path, F_OK), -1);
    assert_writer_dies(SIGALRM);
}

static void test_leaves_cgroup_v2(void **state)
{
    (void)state;
    leaves_cgroup(2);
}

static void test_leaves_cgroup_v1(void **state)
{
    (void)state;
    leaves_cgroup(1);
}

static void test_writes(void **state)
{
    struct error error = {""};
    uint64_t deadline_ns = clock_ns(CLOCK_MONOTONIC) + 5 * NS_PER_S;
    char text[64] = "";
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(job_output_write(fds[1], "the summary\n", 12, deadline_ns, &error), 0);
    assert_int_equal(read(fds[0], text, sizeof(text) - 1), 12);
    assert_string_equal(text, "the summary\n");
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_writer_dies),
        cmocka_unit_test(test_writer_without_a_way_out),
        cmocka_unit_test(test_leaves_cgroup_v2),
        cmocka_unit_test(test_leaves_cgroup_v1),
    };

    return cmocka_run_group_tests_name("job_output", tests, set_up, tear_down);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which job a process belongs to, by its cgroups. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/cgroups.h"
#include "tests/unit/node.h"

/* A child in a freezer cgroup whose path is longer than 511 bytes. It writes 'y' once it is there.
 */
static pid_t child_in_deep_freezer(const struct cgroups *c, char path[1024], int pipes[2])
{
    char full[sizeof(c->mount) + 1024];
    pid_t pid;

    snprintf(path, 1024, "%s", c->step);
    while (strlen(path) < 512) {
        snprintf(path + strlen(path), 1024 - strlen(path), "/%0120d", 0);
        snprintf(full, sizeof(full), "%s%s", c->mount, path);
        assert_int_equal(mkdir(full, 0755), 0);
    }
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        char byte = (char)(cgroups_enter(c, path) ? 'y' : 'n');

        (void)!write(pipes[1], &byte, 1);
        pause();
        _exit(0);
    }
    return pid;
}

static void remove_deep(const struct cgroups *c, char path[1024])
{
    char full[sizeof(c->mount) + 1024];

    while (strlen(path) > strlen(c->step)) {
        snprintf(full, sizeof(full), "%s%s", c->mount, path);
        assert_int_equal(rmdir(full), 0);
        *strrchr(path, '/') = '\0';
    }
}

/* If the freezer's path of a process cannot be read, it may be in a step of cgroup v1. */
static void test_a_process_whose_freezer_is_unknown(void **state)
{
    struct tag v1 = node_tag(1, false);
    char path[1024], text[512], byte = 0;
    struct cgroups c;
    uint32_t jobid = 77;
    int pipes[2];
    pid_t pid;

    (void)state;
    if (!cgroups_create(&c, 1, "deep"))
        skip();
    pid = child_in_deep_freezer(&c, path, pipes);
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    node_begin(0);
    node_must(tracker_covers(node.tracker, pid, "/elsewhere", &jobid, &node.error));
    assert_int_equal(jobid, 0);
    node_must(tracker_covers(node.tracker, pid, "/step_0/x", &jobid, &node.error));
    assert_int_equal(jobid, JOB);
    snprintf(text, sizeof(text),
             "33 32 0:29 / %s/cg rw - cgroup2 cgroup2 rw\n"
             "34 32 0:30 / %s/cg rw - cgroup cgroup rw,freezer\n",
             node.root, node.root);
    node_put("mountinfo", text);
    v1.version = 1;
    v1.cgroup = (char *)"/step_1";
    node_must(tracker_tag(node.tracker, &v1, &node.error));
    assert_int_equal(tracker_covers(node.tracker, pid, "/elsewhere", &jobid, &node.error),
                     -ENAMETOOLONG);
    assert_non_null(strstr(node.error.text, "too long"));
    node_must(tracker_covers(node.tracker, getpid(), "/elsewhere", &jobid, &node.error));
    assert_int_equal(jobid, 0);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
    remove_deep(&c, path);
    cgroups_destroy(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_process_whose_freezer_is_unknown, node_setup,
                                        node_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

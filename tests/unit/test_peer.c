/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who asked, with real processes. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/cgroup/peer.h"
#include "common/cleanup.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

static struct error error;
static pid_t child;

static int setup(void **state)
{
    (void)state;
    child = fork();
    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    return child < 0;
}

static void end_child(void)
{
    if (child <= 0)
        return;
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    child = 0;
}

static int teardown(void **state)
{
    (void)state;
    end_child();
    return 0;
}

static void test_its_own(void **state)
{
    int fd = peer_open(child, getuid(), &error);
    struct pollfd watched = {.fd = fd, .events = POLLIN};

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(peer_check(fd, &error), 0);
    end_child();
    assert_int_equal(poll(&watched, 1, 5000), 1);
    assert_int_equal(peer_check(fd, &error), -ESRCH);
    assert_string_equal(error.text, "the process that asked has ended");
    close(fd);
}

/* The number that the socket told is another user's by now. */
static void test_the_process_of_another(void **state)
{
    (void)state;
    assert_int_equal(peer_open(child, getuid() + 1, &error), -EPERM);
    assert_non_null(strstr(error.text, "is not one of uid"));
}

static void test_a_process_that_has_gone(void **state)
{
    pid_t gone = child;

    (void)state;
    end_child();
    assert_int_equal(peer_open(gone, getuid(), &error), -ESRCH);
}

/* Ended, but its number is still taken. */
static void test_a_zombie(void **state)
{
    siginfo_t info;

    (void)state;
    (void)kill(child, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(peer_open(child, getuid(), &error), -ESRCH);
}

/* The number of an old process can be reused while it is being moved. */
static void test_the_number(void **state)
{
    (void)state;
    assert_true(peer_number_is_recent(1000, 1000, 32768));
    assert_false(peer_number_is_recent(311, 399, 400));
    assert_true(peer_number_is_recent(1000, 1001, 32768));
    assert_true(peer_number_is_recent(1000, 17233, 32768));
    assert_false(peer_number_is_recent(1000, 17234, 32768));
    assert_false(peer_number_is_recent(1000, 999, 32768));
    assert_false(peer_number_is_recent(32000, 20000, 32768));
    /* The numbers started again from the lowest. */
    assert_true(peer_number_is_recent(32000, 400, 32768));
    assert_int_equal(peer_check_number(child, &error), 0);
}

static bool write_file(pid_t pid, const char *name, const char *text)
{
    char path[64];
    int fd, n;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : (int)write(fd, text, strlen(text));
    (void)close(fd);
    return n == (int)strlen(text);
}

#define OWNER 65533

/* Two nested user namespaces; the inner one belongs to a subordinate user of OWNER. */
static void enter_namespaces(int up, int down)
{
    char byte = 0;

    if (setresgid(OWNER, OWNER, OWNER) < 0 || setresuid(OWNER, OWNER, OWNER) < 0 ||
        unshare(CLONE_NEWUSER) < 0)
        byte = 1;
    (void)!write(up, &byte, 1);
    (void)!read(down, &byte, 1); /* the ids are mapped */
    if (setresgid(5, 5, 5) < 0 || setresuid(5, 5, 5) < 0 || unshare(CLONE_NEWUSER) < 0)
        byte = 1;
    (void)!write(up, &byte, 1);
    (void)pause();
    _exit(0);
}

static void test_the_owner_of_namespaces(void **state)
{
    int up[2], down[2];
    char byte = 1;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(pipe(up), 0);
    assert_int_equal(pipe(down), 0);
    end_child();
    child = fork();
    if (child == 0)
        enter_namespaces(up[1], down[0]);
    assert_int_equal(read(up[0], &byte, 1), 1);
    if (byte || !write_file(child, "gid_map", "0 300000 10") ||
        !write_file(child, "uid_map", "0 300000 10"))
        skip(); /* no user namespaces */
    assert_int_equal(write(down[1], "", 1), 1);
    assert_int_equal(read(up[0], &byte, 1), 1);
    assert_int_equal(byte, 0);
    assert_int_equal(peer_owners(child).namespace_owner, OWNER);
    assert_int_equal(peer_owners(getpid()).namespace_owner, PEER_NO_OWNER);
    for (int i = 0; i < 2; i++) {
        close(up[i]);
        close(down[i]);
    }
}

static void test_the_login(void **state)
{
    (void)state;
    end_child();
    child = fork();
    if (child == 0) {
        (void)write_file(getpid(), "loginuid", "65533");
        (void)pause();
        _exit(0);
    }
    for (int i = 0; i < 100 && peer_owners(child).login != OWNER; i++)
        (void)usleep(10000);
    if (peer_owners(child).login != OWNER)
        skip(); /* the login uid is set already, or the kernel has none */
}

/* From here on, this process has no pidfd_open(2), as before Linux 5.3. */
static void forbid_pidfd(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = ARRAY_SIZE(filter), .filter = filter};

    assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
    assert_int_equal(syscall(SYS_pidfd_open, getpid(), 0), -1);
    assert_int_equal(errno, ENOSYS);
}

static void *stay(void *arg)
{
    (void)pause();
    return arg;
}

/* Wait until the first thread of the child has ended. */
static void await_zombie(void)
{
    char path[64], line[512] = "";
    const char *state = NULL;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)child);
    for (int i = 0; i < 5000 && !(state && !strncmp(state, ") Z", 3)); i++) {
        FILE *file = fopen(path, "re");

        assert_non_null(file);
        assert_non_null(fgets(line, sizeof(line), file));
        fclose(file);
        state = strrchr(line, ')');
        (void)usleep(1000);
    }
    assert_true(state && !strncmp(state, ") Z", 3));
}

/* No more files can be opened. Returns what peer_check() does then. */
static int check_without_files(int fd)
{
    struct rlimit limit, none;
    int r;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    r = peer_check(fd, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return r;
}

/* Also if the name looks like the rest of the line, and after the first thread has ended. */
static void test_an_old_kernel(void **state)
{
    siginfo_t info;
    pthread_t thread;
    int fd;

    (void)state;
    forbid_pidfd();
    end_child();
    child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_NAME, ") Z 1 2");
        if (pthread_create(&thread, NULL, stay, NULL) == 0)
            pthread_exit(NULL);
        _exit(1);
    }
    fd = peer_open(child, getuid(), &error);
    assert_true(fd >= 0);
    await_zombie();
    assert_int_equal(peer_check(fd, &error), 0);
    assert_int_equal(check_without_files(fd), 0);
    (void)kill(child, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_int_equal(peer_check(fd, &error), -ESRCH);
    assert_int_equal(peer_open(child, getuid(), &error), -ESRCH);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(peer_check(fd, &error), -ESRCH);
    assert_int_equal(peer_open(child, getuid(), &error), -ESRCH);
    child = 0;
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_its_own, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_process_of_another, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_process_that_has_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_zombie, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_number, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_owner_of_namespaces, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_login, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_old_kernel, setup, teardown), /* the last one */
    };

    return cmocka_run_group_tests_name("peer", tests, NULL, NULL);
}

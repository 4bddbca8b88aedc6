/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/stepd.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/job.h"
#include "tests/unit/test.h"

char stepd_directory[] = "/tmp/jobio-test-plugin-XXXXXX";
static char word_socket[128];
const char *stepd_second;
bool stepd_mpi, stepd_stacks, stepd_trace;
const char *stepd_trace_of;
char *stepd_words[] = {word_socket, NULL};

const struct spank_handle stepd_batch = {
    .context = S_CTX_REMOTE, .jobid = 17, .stepid = STEP_BATCH, .restart = 2, .uid = 1000};

int stepd_set_up(void **state)
{
    (void)state;
    if (!mkdtemp(stepd_directory))
        return -1;
    snprintf(word_socket, sizeof(word_socket), "socket=%s/jobiod.sock", stepd_directory);
    setenv("SLURMD_NODENAME", "n1", 1);
    spank_host_init();
    return 0;
}

int stepd_clean(void **state)
{
    char command[128];

    (void)state;
    memset(spank_host_log, 0, sizeof(*spank_host_log));
    snprintf(command, sizeof(command), "rm -rf %s/*", stepd_directory);
    return system(command);
}

int stepd_tear_down(void **state)
{
    (void)stepd_clean(state);
    return rmdir(stepd_directory);
}

uint64_t stepd_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

char *stepd_read(const char *name)
{
    static char text[16384];
    char path[256];
    ssize_t n;

    snprintf(path, sizeof(path), "%s/%s", stepd_directory, name);
    _close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

    n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

bool stepd_has(const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", stepd_directory, name);
    return access(path, F_OK) == 0;
}

/* A task that is in the step's cgroup from before its exec, as after slurmstepd's fork. */
static pid_t start_task(const struct cgroups *c)
{
    int fds[2];
    char byte;
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) < 0 || (pid = fork()) < 0)
        _exit(101);
    if (pid == 0) {
        _exit(!cgroups_enter(c, c->step) || write(fds[1], "x", 1) != 1 || pause());
    }
    if (read(fds[0], &byte, 1) != 1)
        _exit(102);
    close(fds[0]);
    close(fds[1]);
    return pid;
}

static struct spank_plugin lines[2];

static int run_hook(const char *name)
{
    int r = spank_host_run(&lines[0], name);

    return stepd_second ? r | spank_host_run(&lines[1], name) : r;
}

static void load(struct spank_handle *handle, char **av)
{
    spank_host_load(&lines[0], handle, av);
    if (!stepd_second)
        return;
    spank_host_path = stepd_second;
    spank_host_load(&lines[1], handle, av);
}

/* As slurmstepd does: an option without an argument has none. */
static int give_options(const char *summary)
{
    int r = 0;

    if (summary)
        r |= spank_host_option("io-summary")->cb(0, summary, 1);
    if (stepd_mpi)
        r |= spank_host_option("io-mpi")->cb(0, NULL, 1);
    if (stepd_stacks)
        r |= spank_host_option("io-stacks")->cb(0, NULL, 1);
    if (stepd_trace)
        r |= spank_host_option("io-trace")->cb(0, stepd_trace_of, 1);
    return r;
}

/* The life of a slurmstepd. Exits 0 if every hook gave ESPANK_SUCCESS. */
static void __attribute__((noreturn))
stepd(struct spank_handle handle, char **av, const struct cgroups *c, const char *option)
{
    int r = 0, out;
    char path[256];

    snprintf(path, sizeof(path), "%s/output", stepd_directory);
    out = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (out < 0 || dup2(out, STDERR_FILENO) < 0 || !cgroups_enter(c, c->stepd))
        _exit(100);
    load(&handle, av);
    r |= run_hook("init");
    r |= give_options(option);
    r |= run_hook("init_post_opt");
    if (handle.stepid != STEP_EXTERN)
        handle.task = start_task(c);
    r |= run_hook("task_post_fork");
    if (handle.task) {
        kill(handle.task, SIGKILL);
        waitpid(handle.task, NULL, 0);
        handle.task = 0;
    }
    for (; handle.task_id < (int)handle.tasks; handle.task_id++)
        r |= run_hook("task_exit");
    r |= run_hook("exit");
    spank_host_unload(&lines[0]);
    if (stepd_second)
        spank_host_unload(&lines[1]);
    _exit(r);
}

void stepd_run(const struct spank_handle *handle, char **av, const struct cgroups *c,
               const char *option)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        stepd(*handle, av, c, option);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

void stepd_cgroups(struct cgroups *c, int version, const char *name)
{
    if (!cgroups_create(c, version, name)) {
        print_message("no writable cgroup v%d hierarchy here: %s\n", version,
                      geteuid() ? "not root" : "not mounted");
        skip();
    }
}

void assert_has(const char *text, const char *part)
{
    if (!text)
        fail_msg("no text, and so no \"%s\"", part);
    else if (!strstr(text, part))
        fail_msg("no \"%s\" in:\n%s", part, text);
}

void assert_has_not(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("\"%s\" in:\n%s", part, text);
}

size_t stepd_count(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

void stepd_age(const char *name, time_t seconds)
{
    struct timespec times[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", stepd_directory, name);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* In a mount namespace of our own. */
void stepd_mount(const char *type, const char *path, const char *options)
{
    if (mkdir(path, 0700) < 0 || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount(type, path, type, 0, options) < 0) {
        print_message("no %s of our own: %s\n", type, strerror(errno));
        skip();
    }
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "cli/run/child.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"

/* Datagrams from the new process to its parent; the end of the file means that the program runs. */
struct news {
    int result;   /* of prepare, or the negative errno of execve */
    bool is_exec; /* execve has failed */
    uint64_t value;
    struct error error;
};

/* What this process changes for itself; the command gets the original values. */
struct inherited {
    sigset_t mask;
    struct sigaction pipe, child;
};

struct child {
    pid_t pid;
    struct inherited inherited;
    int talk; /* one byte to the new process: continue; from it: struct news */
    int signals;
    int failure;
    int status; /* of waitpid */
    bool started, ended;
};

static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

/* --- the program ------------------------------------------------------------------------------ */

static int check_program(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    return access(path, X_OK) < 0 ? -errno : 0;
}

static int search_path(const char *name, char **ret)
{
    const char *list = getenv("PATH");
    int rc = -ENOENT;

    for (const char *p = list ? list : "/usr/bin:/bin";; p++) {
        size_t n = strcspn(p, ":");
        _free_ char *path = NULL;
        int found;

        if (asprintf(&path, "%.*s%s%s", (int)n, p, n ? "/" : "./", name) < 0) {
            path = NULL;
            return -ENOMEM;
        }
        found = check_program(path);
        if (found == 0) {
            *ret = TAKE_PTR(path);
            return 0;
        }
        if (found == -EACCES)
            rc = found;
        p += n;
        if (!*p)
            return rc;
    }
}

int child_resolve(const char *name, char **ret, struct error *error)
{
    char *path = NULL;
    int rc;

    if (strchr(name, '/')) {
        rc = check_program(name);
        path = rc == 0 ? strdup(name) : NULL;
    } else {
        rc = *name ? search_path(name, &path) : -ENOENT;
    }
    if (rc == 0 && !path)
        rc = -ENOMEM;
    if (rc == -EISDIR)
        return error_set(error, -EACCES, "\"%s\" is a directory", name);
    if (rc == -ENOENT && !strchr(name, '/'))
        return error_set(error, rc, "no command \"%s\" in PATH", name);
    if (rc < 0)
        return error_errno(error, rc, "cannot execute \"%s\"", name);
    *ret = path;
    return 0;
}

/* A script without "#!" is run by the shell, like execvp does. */
static int execute(const char *program, char *const argv[])
{
    const char **words;
    size_t n = 0;

    (void)execve(program, argv, environ);
    if (errno != ENOEXEC)
        return -errno;
    while (argv[n])
        n++;
    words = calloc(n + 2, sizeof(*words));
    if (!words)
        return -ENOMEM;
    words[0] = "/bin/sh";
    words[1] = program;
    for (size_t i = 1; i < n; i++)
        words[i + 1] = argv[i];
    (void)execve(words[0], (char *const *)words, environ);
    return -errno;
}

/* --- the new process -------------------------------------------------------------------------- */

static void tell(int talk, const struct news *news)
{
    (void)!send(talk, news, sizeof(*news), MSG_NOSIGNAL);
}

static void restore_signals(const struct inherited *inherited)
{
    (void)sigaction(SIGPIPE, &inherited->pipe, NULL);
    (void)sigaction(SIGCHLD, &inherited->child, NULL);
    (void)sigprocmask(SIG_SETMASK, &inherited->mask, NULL);
}

static void child_main(int talk, const char *program, char *const argv[], child_prepare_f prepare,
                       void *arg, const struct inherited *inherited)
{
    struct news news = {0};
    char go;

    if (recv(talk, &go, 1, 0) != 1)
        _exit(125);
    news.result = prepare ? prepare(arg, &news.value, &news.error) : 0;
    tell(talk, &news);
    if (news.result < 0)
        _exit(125);
    restore_signals(inherited);
    news.result = execute(program, argv);
    news.is_exec = true;
    (void)error_errno(&news.error, news.result, "cannot execute \"%s\"", argv[0]);
    tell(talk, &news);
    _exit(news.result == -ENOENT ? 127 : 126);
}

/* --- its parent ------------------------------------------------------------------------------- */

static int take_signals(struct inherited *inherited)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN}, as_usual = {.sa_handler = SIG_DFL};
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < ARRAY_SIZE(forwarded); i++)
        (void)sigaddset(&set, forwarded[i]);
    if (sigprocmask(SIG_BLOCK, &set, &inherited->mask) < 0 ||
        sigaction(SIGPIPE, &ignore, &inherited->pipe) < 0 ||
        sigaction(SIGCHLD, &as_usual, &inherited->child) < 0)
        return -errno;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void child_destroy(struct child *child)
{
    if (!child)
        return;
    if (child->pid > 0 && (!child->started || child->failure) && !child->ended) {
        (void)kill(child->pid, SIGKILL);
        (void)waitpid(child->pid, NULL, 0);
    }
    if (child->talk >= 0)
        (void)close(child->talk);
    if (child->signals >= 0)
        (void)close(child->signals);
    free(child);
}
DEFINE_CLEANUP(struct child, child_destroy)

void child_cancel(struct child *child)
{
    struct inherited inherited;

    if (!child)
        return;
    inherited = child->inherited;
    child_destroy(child);
    restore_signals(&inherited);
}

int child_create(struct child **ret, const char *program, char *const argv[],
                 child_prepare_f prepare, void *arg, struct error *error)
{
    CLEANUP(child_destroyp) struct child *child = calloc(1, sizeof(*child));
    int pair[2];

    if (!child)
        return error_errno(error, -ENOMEM, "start the command");
    child->talk = -1;
    child->signals = take_signals(&child->inherited);
    if (child->signals < 0)
        return error_errno(error, child->signals, "watch signals");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(error, -errno, "make a socket pair");
    (void)fflush(NULL);
    child->pid = fork();
    if (child->pid == 0) {
        (void)close(pair[0]);
        child_main(pair[1], program, argv, prepare, arg, &child->inherited);
    }
    (void)close(pair[1]);
    child->talk = pair[0];
    if (child->pid < 0)
        return error_errno(error, -errno, "fork");
    *ret = TAKE_PTR(child);
    return 0;
}

pid_t child_pid(const struct child *child)
{
    return child->pid;
}

int child_failure(const struct child *child)
{
    return child->failure;
}

static int receive(int fd, struct news *ret)
{
    ssize_t n;

    do
        n = recv(fd, ret, sizeof(*ret), 0);
    while (n < 0 && errno == EINTR);
    return n == 0 ? 0 : n == (ssize_t)sizeof(*ret) ? 1 : -EIO;
}

int child_start(struct child *child, uint64_t *ret, struct error *error)
{
    struct news news = {0};
    int rc;

    if (send(child->talk, "g", 1, MSG_NOSIGNAL) != 1)
        return error_errno(error, -errno, "start the command");
    rc = receive(child->talk, &news);
    if (rc <= 0)
        return error_set(error, -EIO, "the command was killed before it could start");
    if (news.result < 0)
        return error_set(error, news.result, "%s", news.error.text);
    *ret = news.value;
    child->started = true;
    rc = receive(child->talk, &news);
    if (rc == 0)
        return 0;
    child->failure = rc > 0 ? -news.result : EIO;
    return error_set(error, -child->failure, "%s",
                     rc > 0 ? news.error.text : "the command did not start");
}

int child_fd(const struct child *child)
{
    return child->signals;
}

void child_wait(const struct child *child)
{
    struct pollfd p = {.fd = child->signals, .events = POLLIN};

    (void)poll(&p, 1, -1);
}

/* The terminal sends its signals to the whole foreground group, the command is in it. */
static bool is_from_terminal(const struct signalfd_siginfo *info)
{
    return info->ssi_code == SI_KERNEL;
}

bool child_handle(struct child *child)
{
    struct signalfd_siginfo info;

    while (read(child->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo != SIGCHLD && !is_from_terminal(&info) && !child->ended)
            (void)kill(child->pid, (int)info.ssi_signo);
    }
    if (!child->ended && waitpid(child->pid, &child->status, WNOHANG) == child->pid)
        child->ended = true;
    return child->ended;
}

static bool take_interrupt(const struct child *child)
{
    struct signalfd_siginfo info;

    while (read(child->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
        if (info.ssi_signo == SIGHUP || info.ssi_signo == SIGINT || info.ssi_signo == SIGQUIT ||
            info.ssi_signo == SIGTERM)
            return true;
    return false;
}

bool child_wait_interrupt(const struct child *child, unsigned ms)
{
    uint64_t end_ns = clock_ns(CLOCK_MONOTONIC) + ms * NS_PER_MS, now_ns;
    struct pollfd p = {.fd = child->signals, .events = POLLIN};

    while ((now_ns = clock_ns(CLOCK_MONOTONIC)) < end_ns) {
        if (poll(&p, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1) > 0 && take_interrupt(child))
            return true;
    }
    return false;
}

int child_status(const struct child *child)
{
    return WIFSIGNALED(child->status) ? 128 + WTERMSIG(child->status) : WEXITSTATUS(child->status);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* pipe2 */
#include "cli/explain/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"

#define COMPLAINT_MAX 512

/* The text that is read from a pipe. */
struct stream {
    int fd; /* -1: ended */
    char *data;
    size_t n, max;
    bool over; /* there was more than `max` */
};

static uint64_t now_ms(void)
{
    return clock_ns(CLOCK_MONOTONIC) / NS_PER_MS;
}

static void stream_close(struct stream *s)
{
    cleanup_close(&s->fd);
    s->fd = -1;
}

static int stream_read(struct stream *s)
{
    char part[4096];
    ssize_t n = read(s->fd, part, sizeof(part));
    char *grown;

    if (n <= 0) {
        stream_close(s);
        return 0;
    }
    if ((size_t)n > s->max - s->n) {
        s->over = true;
        n = (ssize_t)(s->max - s->n);
    }
    grown = realloc(s->data, s->n + (size_t)n + 1);
    if (!grown)
        return -ENOMEM;
    memcpy(grown + s->n, part, (size_t)n);
    s->data = grown;
    s->n += (size_t)n;
    grown[s->n] = '\0';
    return 0;
}

/* Until both pipes are closed, there is too much text, or the deadline has passed. */
static int streams_read(struct stream *out, struct stream *err, uint64_t end)
{
    while ((out->fd >= 0 || err->fd >= 0) && !out->over) {
        struct pollfd fds[] = {{out->fd, POLLIN, 0}, {err->fd, POLLIN, 0}};
        uint64_t now = now_ms();
        int n = now < end ? poll(fds, 2, (int)(end - now)) : 0, rc = 0;

        if (n == 0)
            return -ETIMEDOUT;
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n > 0 && fds[0].revents)
            rc = stream_read(out);
        if (rc == 0 && n > 0 && fds[1].revents)
            rc = stream_read(err);
        if (rc < 0)
            return rc;
    }
    return out->over ? -E2BIG : 0;
}

/* In a group of its own, so that its children can be ended with it. */
static int start(char *const argv[], int out, int err, pid_t *ret)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int rc = posix_spawn_file_actions_init(&actions);

    if (rc)
        return -rc;
    rc = posix_spawnattr_init(&attributes);
    if (rc) {
        posix_spawn_file_actions_destroy(&actions);
        return -rc;
    }
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    rc = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!rc)
        rc = posix_spawn_file_actions_adddup2(&actions, out, 1);
    if (!rc)
        rc = posix_spawn_file_actions_adddup2(&actions, err, 2);
    if (!rc)
        rc = posix_spawnp(ret, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -rc;
}

/* "sacct: error: why" */
static const char *without_name(const char *line, const char *name)
{
    const char *const heads[] = {name, ": ", "error: ", "fatal: "};

    for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
        if (strncmp(line, heads[i], strlen(heads[i])) == 0)
            line += strlen(heads[i]);
    return line;
}

static int judge(const char *name, int rc, int status, const struct stream *err,
                 unsigned timeout_ms, struct error *error)
{
    if (rc == -ETIMEDOUT)
        return error_set(error, rc, "%s did not answer within %u s", name, timeout_ms / 1000);
    if (rc == -E2BIG)
        return error_set(error, rc, "the answer of %s is too long", name);
    if (rc < 0)
        return error_errno(error, rc, "%s", name);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    if (err->n) {
        const char *why = without_name(err->data, name);

        return error_set(error, -EIO, "%s failed: %.*s", name, (int)strcspn(why, "\n"), why);
    }
    return error_set(error, -EIO, "%s failed", name);
}

/* A program may close its output and continue to run. */
static int wait_end(pid_t pid, uint64_t end, int *status)
{
    pid_t got;

    while ((got = waitpid(pid, status, WNOHANG)) == 0) {
        if (now_ms() >= end)
            return -ETIMEDOUT;
        (void)poll(NULL, 0, 5);
    }
    return got < 0 ? -errno : 0;
}

static int finish(const char *name, pid_t pid, struct stream *out, struct stream *err,
                  unsigned timeout_ms, struct error *error)
{
    uint64_t end = now_ms() + timeout_ms;
    int rc = streams_read(out, err, end), status = 0;

    if (rc == 0)
        rc = wait_end(pid, end, &status);
    if (rc < 0) {
        (void)kill(-pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
    }
    return judge(name, rc, status, err, timeout_ms, error);
}

int command_read(char *const argv[], unsigned timeout_ms, size_t max, char **ret,
                 struct error *error)
{
    struct stream out = {.fd = -1, .max = max}, err = {.fd = -1, .max = COMPLAINT_MAX};
    _close_ int out_end = -1, err_end = -1;
    int ends[2], rc;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return error_errno(error, -errno, "%s", argv[0]);
    out.fd = ends[0];
    out_end = ends[1];
    rc = pipe2(ends, O_CLOEXEC) < 0 ? -errno : 0;
    if (rc == 0) {
        err.fd = ends[0];
        err_end = ends[1];
        rc = start(argv, out_end, err_end, &pid);
    }
    cleanup_close(&out_end);
    cleanup_close(&err_end);
    out_end = err_end = -1;
    if (rc < 0)
        (void)error_errno(error, rc, "%s", argv[0]);
    else
        rc = finish(argv[0], pid, &out, &err, timeout_ms, error);
    stream_close(&out);
    stream_close(&err);
    free(err.data);
    if (rc == 0 && !out.data)
        out.data = calloc(1, 1);
    if (rc == 0)
        *ret = TAKE_PTR(out.data);
    free(out.data);
    return rc == 0 && !*ret ? error_errno(error, -ENOMEM, "%s", argv[0]) : rc;
}

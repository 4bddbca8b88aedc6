/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/probe/selftest.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/cgroup/hierarchy.h"
#include "collector/probe/probe.h"
#include "collector/probe/selftest_calls.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* A busy emulated machine usually takes up to 800 ms, others a few. Without the self-test the cost
 * of the accounting is unknown. */
#define LIMIT_MS 2000

/* Returns the operations of which only calls by descriptor are seen. */
static uint64_t blind_by_path(struct probe *probe)
{
    const struct probe_hook *hooks;
    uint64_t ops = 0;
    size_t n;

    for (size_t i = 0; probe_hooks(probe, &hooks, &n) == 0 && i < n; i++)
        if (!strcmp(hooks[i].feature, PROBE_BY_PATH) && hooks[i].backend == PROBE_NONE)
            ops |= hooks[i].ops;
    return ops;
}

static int add_requests(const struct probe_account *account, void *arg)
{
    struct io_counter *const *ops = account->io->ops;
    uint64_t *requests = arg;

    for (int op = 0; op < IO_OP_COUNT; op++)
        requests[op] += ops[op] ? ops[op]->requests : 0;
    return 0;
}

static void judge(struct probe *probe, const struct selftest_calls *calls, const uint64_t *requests,
                  struct selftest *ret)
{
    uint64_t unsupported = probe_unsupported(probe), by_path = ~blind_by_path(probe);

    for (int op = 0; op < IO_OP_COUNT; op++) {
        uint64_t bit = UINT64_C(1) << op;
        uint64_t expected = calls->by_fd[op] + (by_path & bit ? calls->by_path[op] : 0);

        if (unsupported & bit || !(calls->by_fd[op] + calls->by_path[op]))
            continue;
        ret->tested |= bit;
        if (requests[op] != expected)
            ret->failed |= bit;
    }
}

/* The child: makes the calls outside a step, reports them, waits to be moved, and makes the others.
 */
static void child(int socket, const char *directory)
{
    struct selftest_calls calls = {0};
    char go;

    selftest_outside(&calls, directory);
    if (write(socket, &calls, sizeof(calls)) == sizeof(calls) && read(socket, &go, 1) == 1) {
        selftest_inside(&calls, directory);
        if (write(socket, &calls, sizeof(calls)) != sizeof(calls))
            _exit(1);
    }
    _exit(0);
}

static int await(int socket, uint64_t deadline_ns, struct selftest_calls *ret, struct error *error)
{
    struct pollfd poll_fd = {.fd = socket, .events = POLLIN};
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    int r = poll(&poll_fd, 1, now < deadline_ns ? (deadline_ns - now) / NS_PER_MS : 0);

    if (r < 0)
        return error_errno(error, -errno, "self-test: cannot wait for the child");
    if (r == 0)
        return error_set(error, -ETIMEDOUT, "self-test: not done after %d ms", LIMIT_MS);
    if (read(socket, ret, sizeof(*ret)) != sizeof(*ret))
        return error_set(error, -EIO, "self-test: the child ended too early");
    return 0;
}

static int count(struct probe *probe, const struct hierarchy_leaf *leaf, int socket,
                 uint64_t deadline_ns, struct selftest *ret, struct error *error)
{
    uint64_t requests[IO_OP_COUNT] = {0};
    struct selftest_calls calls;
    uint32_t step;
    int r = probe_add(probe, leaf->id, leaf->level, 2, &step, error);

    if (r < 0)
        return r;
    if (send(socket, "", 1, MSG_NOSIGNAL) != 1)
        r = error_errno(error, -errno, "self-test: cannot talk to the child");
    if (r == 0)
        r = await(socket, deadline_ns, &calls, error);
    if (r == 0)
        r = probe_read(probe, &step, 1, add_requests, requests, error);
    if (r == 0) {
        judge(probe, &calls, requests, ret);
        if (calls.ns_inside > calls.ns_outside && !(ret->failed & UINT64_C(1) << IO_READ))
            ret->ns_per_event = calls.ns_inside - calls.ns_outside + calls.ns_attached;
    }
    (void)probe_drop(probe, leaf->id, 2, NULL);
    return r;
}

static int run_child(struct probe *probe, struct hierarchy *hierarchy, pid_t pid, int socket,
                     uint64_t deadline_ns, struct selftest *ret, struct error *error)
{
    struct hierarchy_leaf leaf = {0};
    struct selftest_calls calls;
    char name[64];
    int r = await(socket, deadline_ns, &calls, error);

    (void)snprintf(name, sizeof(name), "selftest-%d", getpid());
    if (r == 0)
        r = hierarchy_enclose_anywhere(hierarchy, pid, name, &leaf, error);
    if (r == 0)
        r = count(probe, &leaf, socket, deadline_ns, ret, error);
    if (r < 0)
        (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    if (*leaf.path)
        (void)hierarchy_remove(hierarchy, leaf.path);
    return r;
}

int selftest_run(struct probe *probe, struct hierarchy *hierarchy, const char *directory,
                 struct selftest *ret, struct error *error)
{
    uint64_t start = clock_ns(CLOCK_MONOTONIC);
    char own[PATH_MAX];
    int sockets[2], r;
    pid_t pid;

    *ret = (struct selftest){0};
    if (snprintf(own, sizeof(own), "%s/selftest-XXXXXX", directory) >= (int)sizeof(own) ||
        !mkdtemp(own))
        return error_errno(error, -errno, "self-test: cannot make a directory in '%s'", directory);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
        (void)rmdir(own);
        return error_errno(error, -errno, "self-test: no socket");
    }
    pid = fork();
    if (pid == 0)
        child(sockets[1], own);
    (void)close(sockets[1]);
    r = pid < 0 ? error_errno(error, -errno, "self-test: cannot fork")
                : run_child(probe, hierarchy, pid, sockets[0], start + LIMIT_MS * NS_PER_MS, ret,
                            error);
    (void)close(sockets[0]);
    selftest_clear(own);
    ret->took_ns = clock_ns(CLOCK_MONOTONIC) - start;
    return r;
}

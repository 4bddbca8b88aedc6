/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/stacks/unwinder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "collector/stacks/unwind_message.h"
#include "common/cleanup.h"
#include "common/stack_text.h"

/* Bytes of stacks that wait for the process. */
#define WAITING_MAX (4 << 20)
/* Of its answer, without the numbers and words that stand before each stack. */
#define ANSWER_MAX (STACK_PROFILE_BYTES + 128 * (STACK_PROFILE_MAX + 8))

struct waiting {
    STAILQ_ENTRY(waiting) link;
    size_t size;
    struct unwind_message message; /* only `size` bytes of it */
};

struct unwinder {
    pid_t pid;
    int input, output;
    bool finished; /* close the input when nothing waits */
    STAILQ_HEAD(stacks_waiting, waiting) waiting;
    size_t bytes_waiting;
    struct stack_weight sent;
    char *answer; /* owned */
    size_t n;     /* bytes of it */
};

/* --- the user --------------------------------------------------------------------------------- */

#define IDS_MAX 4096 /* of a line of groups */

/* Returns whether the line is "NAME: ID ID ID ID" with equal ids. */
static bool parse_ids(const char *line, const char *name, unsigned *ret)
{
    unsigned ids[4];
    size_t n = strlen(name);

    if (strncmp(line, name, n) != 0 ||
        sscanf(line + n, "%u %u %u %u", &ids[0], &ids[1], &ids[2], &ids[3]) != 4)
        return false;
    *ret = ids[0];
    return ids[0] == ids[1] && ids[0] == ids[2] && ids[0] == ids[3];
}

struct owner {
    unsigned uid, gid;
    char groups[IDS_MAX];
    bool has_uid, has_gid;
};

static int read_owner(uint32_t pid, struct owner *ret)
{
    _fclose_ FILE *in = NULL;
    _free_ char *line = NULL;
    size_t room = 0;
    char path[32];

    (void)snprintf(path, sizeof(path), "/proc/%u/status", pid);
    in = fopen(path, "re");
    if (!in)
        return -ESRCH;
    while (getline(&line, &room, in) > 0) {
        ret->has_uid |= parse_ids(line, "Uid:", &ret->uid);
        ret->has_gid |= parse_ids(line, "Gid:", &ret->gid);
        if (!strncmp(line, "Groups:", strlen("Groups:")) &&
            snprintf(ret->groups, sizeof(ret->groups), "%s", line + strlen("Groups:")) >=
                (int)sizeof(ret->groups))
            return -E2BIG; /* half of a number is another group */
    }
    return ret->has_uid && ret->has_gid ? 0 : -EPERM;
}

/* --- the process ------------------------------------------------------------------------------ */

static int spawn(struct unwinder *unwinder, const struct owner *owner, int in, int out)
{
    char uid[16], gid[16];
    char *argv[] = {
        (char *)"jobiod", (char *)UNWINDER_ARGUMENT, uid, gid, (char *)owner->groups, NULL};
    char *environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int r;

    (void)snprintf(uid, sizeof(uid), "%u", owner->uid);
    (void)snprintf(gid, sizeof(gid), "%u", owner->gid);
    (void)sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    r = posix_spawn(&unwinder->pid, "/proc/self/exe", &actions, &attributes, argv, environment);
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return -r;
}

static int launch(struct unwinder *unwinder, const struct owner *owner)
{
    int in[2], out[2], r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, in) < 0)
        return -errno;
    if (pipe2(out, O_CLOEXEC) < 0) {
        r = -errno;
        (void)close(in[0]);
        (void)close(in[1]);
        return r;
    }
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    r = spawn(unwinder, owner, in[1], out[1]);
    (void)close(in[1]);
    (void)close(out[1]);
    unwinder->input = in[0];
    unwinder->output = out[0];
    return r;
}

static void unwinder_free(struct unwinder *unwinder)
{
    while (!STAILQ_EMPTY(&unwinder->waiting)) {
        struct waiting *waiting = STAILQ_FIRST(&unwinder->waiting);

        STAILQ_REMOVE_HEAD(&unwinder->waiting, link);
        free(waiting);
    }
    cleanup_close(&unwinder->input);
    cleanup_close(&unwinder->output);
    free(unwinder->answer);
    free(unwinder);
}

int unwinder_start(struct unwinder **ret, uint32_t pid, uid_t uid, struct error *error)
{
    struct owner owner = {0};
    struct unwinder *unwinder;
    int r = read_owner(pid, &owner);

    if (r == 0 && owner.uid != uid)
        r = -EPERM;
    if (r < 0)
        return error_errno(error, r, "cannot unwind stacks of process %u", pid);
    unwinder = calloc(1, sizeof(*unwinder));
    if (!unwinder)
        return error_errno(error, -ENOMEM, "cannot unwind stacks");
    STAILQ_INIT(&unwinder->waiting);
    unwinder->input = unwinder->output = -1;
    r = launch(unwinder, &owner);
    if (r < 0) {
        unwinder_free(unwinder);
        return error_errno(error, r, "cannot start the process that unwinds stacks");
    }
    *ret = unwinder;
    return 0;
}

bool unwinder_destroy(struct unwinder *unwinder)
{
    cleanup_close(&unwinder->input);
    cleanup_close(&unwinder->output);
    unwinder->input = unwinder->output = -1;
    (void)kill(unwinder->pid, SIGKILL);
    if (waitpid(unwinder->pid, NULL, WNOHANG) == 0)
        return false;
    unwinder_free(unwinder);
    return true;
}

int unwinder_input(const struct unwinder *unwinder)
{
    return unwinder->input;
}

int unwinder_output(const struct unwinder *unwinder)
{
    return unwinder->output;
}

/* --- the stacks ------------------------------------------------------------------------------- */

/* 1: it was sent, or nobody reads it any more; 0: there is no room. */
static int send_message(const struct unwinder *unwinder, const struct waiting *waiting)
{
    return send(unwinder->input, &waiting->message, waiting->size, MSG_DONTWAIT | MSG_NOSIGNAL) >=
               0 ||
           (errno != EAGAIN && errno != ENOBUFS);
}

static void close_input(struct unwinder *unwinder)
{
    cleanup_close(&unwinder->input);
    unwinder->input = -1;
}

bool unwinder_flush(struct unwinder *unwinder)
{
    struct waiting *waiting;

    while ((waiting = STAILQ_FIRST(&unwinder->waiting))) {
        if (!send_message(unwinder, waiting))
            return true;
        STAILQ_REMOVE_HEAD(&unwinder->waiting, link);
        unwinder->bytes_waiting -= waiting->size;
        free(waiting);
    }
    if (unwinder->finished)
        close_input(unwinder);
    return false;
}

bool unwinder_waits(const struct unwinder *unwinder)
{
    return unwinder->input >= 0 && !STAILQ_EMPTY(&unwinder->waiting);
}

bool unwinder_send(struct unwinder *unwinder, const struct probe_stack *stack)
{
    size_t size = unwind_message_size(stack);
    struct waiting *waiting;

    if (unwinder->finished || unwinder->bytes_waiting + size > WAITING_MAX)
        return false;
    waiting = malloc(offsetof(struct waiting, message) + size);
    if (!waiting)
        return false;
    waiting->size = size;
    unwind_message_fill(&waiting->message, stack);
    STAILQ_INSERT_TAIL(&unwinder->waiting, waiting, link);
    unwinder->bytes_waiting += size;
    stack_weight_add(&unwinder->sent, &(struct stack_weight){1, stack->time_ns});
    (void)unwinder_flush(unwinder);
    return true;
}

void unwinder_finish(struct unwinder *unwinder)
{
    unwinder->finished = true;
    if (unwinder->input >= 0)
        (void)unwinder_flush(unwinder);
}

/* --- the answer ------------------------------------------------------------------------------- */

static bool is_part(const struct stack_weight *part, const struct stack_weight *of)
{
    return part->calls <= of->calls && part->time_ns <= of->time_ns;
}

/* The text is untrusted. */
static int report_failure(char *text, struct error *error)
{
    text[strcspn(text, "\n")] = '\0';
    for (char *c = text; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return error_set(error, -EIO, "the process that unwinds stacks: %.200s", text);
}

static int parse(struct unwinder *unwinder, struct stack_profile *ret, struct error *error)
{
    struct stack_weight sum;
    int r;

    if (!unwinder->n)
        return error_set(error, -EIO, "the process that unwinds stacks was killed");
    unwinder->answer[unwinder->n] = '\0';
    if (!strncmp(unwinder->answer, UNWIND_FAILURE, strlen(UNWIND_FAILURE)))
        return report_failure(unwinder->answer + strlen(UNWIND_FAILURE), error);
    r = stack_text_parse(unwinder->answer, ret, error);
    if (r < 0)
        return error_prefix(error, r, "the process that unwinds stacks");
    sum = stack_profile_sum(ret);
    if (is_part(&sum, &unwinder->sent) && is_part(&ret->truncated, &sum) &&
        is_part(&ret->unread, &sum))
        return 0;
    stack_profile_clear(ret);
    return error_set(error, -EBADMSG, "the process that unwinds stacks has more than it got");
}

int unwinder_take(struct unwinder *unwinder, struct stack_profile *ret, struct error *error)
{
    ssize_t n;

    if (!unwinder->answer)
        unwinder->answer = malloc(ANSWER_MAX + 1);
    if (!unwinder->answer)
        return error_set(error, -ENOMEM, "out of memory");
    while ((n = read(unwinder->output, unwinder->answer + unwinder->n, ANSWER_MAX - unwinder->n)) >
           0)
        unwinder->n += (size_t)n;
    if (n < 0)
        return errno == EAGAIN ? -EAGAIN : error_errno(error, -errno, "cannot read stacks");
    return parse(unwinder, ret, error);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/daemon/runs_impl.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "collector/track/tracker.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define RUNS_USERS 224 /* the others are reserved for root */
/* By subordinate uids of one user. */
#define RUNS_AN_OWNER 64
/* After the counted process has ended, or the next jobiod has started if that is later, its parent
 * has this long to request the account. */
#define GRACE_US (60 * US_PER_S)
/* Between two checks whether a process has ended that cannot be polled. */
#define CHECK_US US_PER_S

/* --- limits ----------------------------------------------------------------------------------- */

static int refuse(uid_t uid, size_t n, struct error *error)
{
    return error_set(error, -EAGAIN,
                     "too many runs at once: user %u has %zu already: wait until one has ended",
                     (unsigned)uid, n);
}

/* A user is never refused because of runs of another uid. */
static int check_owner(uid_t uid, uid_t owner, size_t n, struct error *error)
{
    return owner == uid || owner == PEER_NO_OWNER || n < RUNS_AN_OWNER ? 0
                                                                       : refuse(owner, n, error);
}

static int check_room(const struct runs *runs, uid_t uid, const struct peer_owners *owners,
                      struct error *error)
{
    size_t all = 0, users = 0, same = 0, login = 0, namespace = 0;
    int r;

    for (const struct run *run = runs->list; run; run = run->next) {
        if (run->in_maps) /* its removal has not been tried yet */
            continue;
        all++;
        users += run->uid != 0;
        same += run->uid == uid;
        login += run->owners.login == owners->login;
        namespace += run->owners.namespace_owner == owners->namespace_owner;
    }
    if (all >= RUNS_MAX || (uid != 0 && users >= RUNS_USERS))
        return error_set(error, -EAGAIN,
                         "too many runs at once: this node has %zu already: try again later", all);
    if (uid == 0)
        return 0;
    if (same >= RUNS_A_USER)
        return refuse(uid, same, error);
    r = check_owner(uid, owners->login, login, error);
    return r < 0 ? r : check_owner(uid, owners->namespace_owner, namespace, error);
}

bool run_has_path(const struct run *run, const char *path)
{
    size_t n = strlen(run->leaf.path);

    return !strncmp(path, run->leaf.path, n) && (path[n] == '/' || path[n] == '\0');
}

/* A process is counted only once, so it must be neither in a step nor in another run. */
static int check_free(struct runs *runs, pid_t pid, struct error *error)
{
    char path[512];
    uint32_t jobid;
    int r = hierarchy_of(pid, path, error);

    if (r == 0)
        r = tracker_covers(runs->options.tracker, pid, path, &jobid, error);
    if (r < 0)
        return r;
    if (jobid)
        return error_set(error, -EBUSY,
                         "this is a step of job %u, which is counted already: `srun --overlap "
                         "COMMAND` makes COMMAND a step of its own, and `jobio job %u --full` "
                         "lists the steps",
                         jobid, jobid);
    for (const struct run *run = runs->list; run; run = run->next)
        if (!run->over && run_has_path(run, path))
            return error_set(error, -EBUSY, "this is part of a jobio run already");
    return 0;
}

/* --- counting --------------------------------------------------------------------------------- */

static int count(struct run *run, struct error *error)
{
    const struct runs_options *o = &run->runs->options;
    int r = probe_add(o->probe, run->leaf.id, run->leaf.level, 2, &run->step, error);

    if (r < 0)
        return r;
    r = sampler_add(o->sampler, run->step, run->start_boot_ns, run->start_ns, NULL, error);
    run->in_maps = r < 0;
    return r;
}

static int on_grace_end(sd_event_source *source, uint64_t usec, void *arg)
{
    struct run *run = arg;
    struct hierarchy *hierarchy = run->runs->options.hierarchy;

    (void)usec;
    /* The processes of an orphan may be its command. */
    if (run->orphaned_ns && hierarchy_processes(hierarchy, run->leaf.path) &&
        sd_event_source_set_time_relative(source, GRACE_US) >= 0 &&
        sd_event_source_set_enabled(source, SD_EVENT_ONESHOT) >= 0)
        return 0;
    run_stop(run);
    runs_remove(run->runs);
    return 0;
}

int run_start_grace(struct run *run, struct error *error)
{
    int r = sd_event_add_time_relative(run->runs->loop, &run->timer, CLOCK_MONOTONIC, GRACE_US,
                                       US_PER_S, on_grace_end, run);

    return r < 0 ? error_errno(error, r, "cannot wait for the request for the account") : 0;
}

static int on_client_exit(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct run *run = arg;

    (void)source, (void)fd, (void)events;
    run->watch = sd_event_source_disable_unref(run->watch);
    (void)run_start_grace(run, NULL);
    return 0;
}

/* If the next check cannot be planned, the run ends as if the process had ended. */
static int on_check(sd_event_source *source, uint64_t usec, void *arg)
{
    struct run *run = arg;

    (void)usec;
    if (peer_check(run->process, NULL) < 0 ||
        sd_event_source_set_time_relative(source, CHECK_US) < 0)
        return on_client_exit(source, run->process, 0, run);
    return 0;
}

static int watch_by_time(struct run *run)
{
    int r = sd_event_add_time_relative(run->runs->loop, &run->watch, CLOCK_MONOTONIC, CHECK_US,
                                       US_PER_S, on_check, run);

    return r < 0 ? r : sd_event_source_set_enabled(run->watch, SD_EVENT_ON);
}

int run_watch(struct run *run, int process, struct error *error)
{
    int r;

    run->process = process;
    r = sd_event_add_io(run->runs->loop, &run->watch, run->process, EPOLLIN, on_client_exit, run);
    if (r == -EPERM) /* it cannot be polled: before Linux 5.3 */
        r = watch_by_time(run);
    return r < 0 ? error_errno(error, r, "cannot watch the process that sent the request") : 0;
}

/* --- moves ------------------------------------------------------------------------------------ */

/* A request to count a process, which the thread moves to the cgroup of the run. */
struct start {
    struct run *run;
    struct hierarchy *hierarchy;
    struct request *request;
    pid_t pid;
    int process;
    char name[64];
    struct hierarchy_leaf leaf;
};

static void start_free(struct start *start)
{
    cleanup_close(&start->process);
    free(start);
}

/* On the thread. */
static int execute_start(struct store *store, void *arg, struct error *error)
{
    struct start *start = arg;
    int r = peer_check(start->process, error);

    (void)store;
    if (!r)
        r = peer_check_number(start->pid, error); /* nothing may come between this and the move */
    return r < 0
               ? r
               : hierarchy_enclose(start->hierarchy, start->pid, start->name, &start->leaf, error);
}

static int start_counting(struct run *run, struct start *start, struct error *error)
{
    /* The process may have ended before it was moved. */
    int r = peer_check(start->process, error);

    /* Since the request, it may have got into a step or another run. */
    if (!r)
        r = check_free(run->runs, start->pid, error);
    if (!r)
        r = count(run, error);
    if (r < 0)
        return r; /* the tick removes the cgroup once it is empty */
    run->over = false;
    r = run_watch(run, TAKE_FD(start->process), error);
    if (r < 0)
        run_stop(run);
    return r;
}

static void answer_start(struct request *request, uint64_t number)
{
    struct message *answer = malloc(sizeof(*answer));

    if (!answer) {
        request_error(request, "run: no memory");
        return;
    }
    message_init(answer, "answer");
    (void)message_put(answer, "STATUS", "ok");
    (void)message_put_u64(answer, "RUN", number);
    request_message(request, answer);
    free(answer);
}

static void on_moved(int result, const struct error *error, void *arg)
{
    struct start *start = arg;
    struct run *run = start->run;
    struct error why = *error;

    run->starting = false;
    if (result < 0) {
        run_free(run);
    } else {
        run->leaf = start->leaf;
        run->start_ns = clock_ns(CLOCK_REALTIME);
        run->start_boot_ns = clock_ns(CLOCK_BOOTTIME);
        run_file_write(run, start->pid);
        result = start_counting(run, start, &why);
    }
    if (result < 0)
        request_error(start->request, "%s", why.text);
    else
        answer_start(start->request, run->number);
    start_free(start);
}

/* Takes the descriptor. Returns NULL on out-of-memory. */
static struct start *start_create(struct runs *runs, struct request *request, int *process)
{
    struct start *start = calloc(1, sizeof(*start));
    struct run *run = calloc(1, sizeof(*run));

    if (!start || !run) {
        free(start);
        free(run);
        return NULL;
    }
    run->runs = runs;
    run->uid = request_uid(request);
    run->number = ++runs->last;
    run->process = -1;
    run->over = true; /* not counted yet */
    run->starting = true;
    run->next = runs->list;
    runs->list = run;
    start->run = run;
    start->hierarchy = runs->hierarchy;
    start->request = request;
    start->pid = request_pid(request);
    start->process = TAKE_FD(*process);
    (void)snprintf(start->name, sizeof(start->name), "jobio-run-%" PRIu64, run->number);
    return start;
}

/* Who takes turns for the thread: a user with all subordinate uids. Root has no limit there. */
static uint64_t turn_owner(uid_t uid, const struct peer_owners *owners)
{
    uid_t owner = owners->namespace_owner == PEER_NO_OWNER ? uid : owners->namespace_owner;

    return uid == 0 ? 0 : (uint64_t)owner + 1;
}

static int submit(struct start *start, struct error *error)
{
    struct run *run = start->run;
    const struct worker_task task = {.run = execute_start,
                                     .done = on_moved,
                                     .arg = start,
                                     .owner = turn_owner(run->uid, &run->owners)};

    if (worker_submit(run->runs->worker, &task) == 0)
        return 0;
    run_free(run);
    start_free(start);
    return error_set(error, -EAGAIN, "too many runs start at once: try again later");
}

static int start_run(struct runs *runs, struct request *request, struct error *error)
{
    pid_t pid = request_pid(request);
    uid_t uid = request_uid(request);
    _close_ int process = peer_open(pid, uid, error);
    struct peer_owners owners = peer_owners(pid);
    struct start *start;
    int r = process < 0 ? process : check_free(runs, pid, error);

    if (!r)
        r = check_room(runs, uid, &owners, error);
    if (r < 0)
        return r;
    start = start_create(runs, request, &process);
    if (!start)
        return error_set(error, -ENOMEM, "no memory for a run");
    start->run->owners = owners;
    return submit(start, error);
}

/* The client can count by itself: refuse what would count less. */
static int check_strict(const struct runs *runs, const struct message *m, struct error *error)
{
    uint64_t strict;
    int r = message_get_u64(m, "STRICT", 1, 0, &strict, error);

    if (r < 0 || !strict)
        return r;
    if (probe_blind(runs->options.probe))
        return error_set(error, -EOPNOTSUPP, "nothing is counted: %s",
                         probe_blind(runs->options.probe));
    if (runs->options.is_backend_forced)
        return error_set(error, -EOPNOTSUPP, "the backend is the one that jobio.conf names");
    return 0;
}

void runs_start(struct runs *runs, struct request *request, const struct message *m)
{
    struct error error;

    if (check_strict(runs, m, &error) < 0 || start_run(runs, request, &error) < 0)
        request_error(request, "%s", error.text);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/daemon/runs.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/cgroup/hierarchy.h"
#include "collector/cgroup/peer.h"
#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "collector/track/tracker.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "report/json/json.h"
#include "report/top/top.h"

#define RUNS_MAX 256
#define RUNS_USERS 224 /* the others are reserved for root */
#define RUNS_A_USER 16
/* By subordinate uids of one user. */
#define RUNS_AN_OWNER 64
/* After the counted process has ended, its parent has this long to request the account. */
#define GRACE_US (60 * US_PER_S)

struct run {
    struct runs *runs;
    struct run *next;
    uint64_t number;
    uid_t uid;
    struct peer_owners owners;
    uint32_t step;
    uint64_t start_ns, start_boot_ns;
    struct hierarchy_leaf leaf;
    bool over; /* not counted (any more): only its cgroup exists */
    int pidfd;
    sd_event_source *watch, *timer;
};

struct runs {
    sd_event *loop;
    struct runs_options options;
    struct run *list;
    uint64_t last;
    int dir; /* has a file for each run, named by its number, with the path of its cgroup */
};

/* --- files ------------------------------------------------------------------------------------ */

/* Best effort: without the file, the cgroup is left behind if jobiod is killed. */
static void write_run_file(const struct run *run)
{
    size_t size = strlen(run->leaf.path);
    char name[32];
    int fd;

    (void)snprintf(name, sizeof(name), "%" PRIu64, run->number);
    fd = openat(run->runs->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && write(fd, run->leaf.path, size) != (ssize_t)size)
        (void)unlinkat(run->runs->dir, name, 0);
    cleanup_close(&fd);
}

static void remove_run_file(const struct run *run)
{
    char name[32];

    (void)snprintf(name, sizeof(name), "%" PRIu64, run->number);
    (void)unlinkat(run->runs->dir, name, 0);
}

/* Adopt a run of an earlier process: its account is lost, but its cgroup is removed once it is
 * empty.
 */
static void adopt_run(struct runs *runs, const char *name)
{
    _close_ int fd = openat(runs->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct run *run = calloc(1, sizeof(*run));
    char own[32];
    ssize_t n = run && fd >= 0 ? read(fd, run->leaf.path, sizeof(run->leaf.path) - 1) : -1;

    if (n > 0 && number_parse(name, 0, UINT64_MAX, &run->number) < 0)
        n = -1;
    if (n > 0) {
        run->runs = runs;
        run->uid = (uid_t)-1;
        run->owners = (struct peer_owners){PEER_NO_OWNER, PEER_NO_OWNER};
        run->over = true;
        run->pidfd = -1;
        (void)snprintf(own, sizeof(own), "jobio-run-%" PRIu64, run->number);
    }
    if (n <= 0 || !strrchr(run->leaf.path, '/') ||
        strcmp(strrchr(run->leaf.path, '/') + 1, own) != 0) {
        (void)unlinkat(runs->dir, name, 0);
        free(run);
        return;
    }
    run->next = runs->list;
    runs->list = run;
}

static void adopt_runs(struct runs *runs)
{
    int fd = runs->dir < 0 ? -1 : fcntl(runs->dir, F_DUPFD_CLOEXEC, 3);
    _closedir_ DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            adopt_run(runs, entry->d_name);
}

static int open_run_files(const char *runtime_dir)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/runs", runtime_dir);
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -1;
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* --- start and stop --------------------------------------------------------------------------- */

int runs_create(struct runs **ret, sd_event *loop, const struct runs_options *options,
                struct error *error)
{
    struct runs *runs = calloc(1, sizeof(*runs));

    if (!runs)
        return error_set(error, -ENOMEM, "no memory for runs");
    runs->loop = sd_event_ref(loop);
    runs->options = *options;
    /* The numbers of an earlier process must not be reused. */
    runs->last = clock_ns(CLOCK_REALTIME);
    runs->dir = open_run_files(options->runtime_dir);
    adopt_runs(runs);
    runs_tick(runs);
    *ret = runs;
    return 0;
}

size_t runs_count(const struct runs *runs)
{
    size_t n = 0;

    for (const struct run *run = runs->list; run; run = run->next)
        n += !run->over;
    return n;
}

int runs_top(const struct runs *runs, struct top_reading *reading)
{
    for (const struct run *run = runs->list; run; run = run->next) {
        const struct io_mounts *mounts =
            run->over ? NULL : sampler_mounts(runs->options.sampler, run->step);
        struct top_who *who =
            mounts ? top_add(reading, TOP_RUN, run->number, NULL, "jobio run") : NULL;

        if (!mounts)
            continue;
        if (!who || top_add_mounts(who, mounts) < 0)
            return -ENOMEM;
        who->uid = run->uid;
        who->since_ns = run->start_boot_ns;
        who->steps = 1;
    }
    return 0;
}

size_t runs_tasks(const struct runs *runs, uint32_t number, uint32_t *pids, size_t max)
{
    for (const struct run *run = runs->list; run; run = run->next)
        if (run->step == number)
            return hierarchy_tasks(runs->options.hierarchy, 2, run->leaf.path, pids, max);
    return 0;
}

/* --- end of runs ------------------------------------------------------------------------------ */

static void stop_counting(struct run *run)
{
    struct runs *runs = run->runs;

    if (run->over)
        return;
    run->over = true;
    sampler_forget(runs->options.sampler, run->step);
    (void)probe_drop(runs->options.probe, run->leaf.id, 2, NULL);
    run->watch = sd_event_source_disable_unref(run->watch);
    run->timer = sd_event_source_disable_unref(run->timer);
    cleanup_close(&run->pidfd);
    run->pidfd = -1;
}

/* Remove the run, if its cgroup is empty. */
static bool run_remove(struct run *run)
{
    struct run **at = &run->runs->list;

    stop_counting(run);
    if (hierarchy_remove(run->runs->options.hierarchy, run->leaf.path) == -EBUSY)
        return false;
    remove_run_file(run);
    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    free(run);
    return true;
}

void runs_tick(struct runs *runs)
{
    struct run *next;

    for (struct run *run = runs->list; run; run = next) {
        next = run->next;
        if (run->over)
            (void)run_remove(run);
    }
}

void runs_destroy(struct runs *runs)
{
    if (!runs)
        return;
    while (runs->list) {
        struct run *run = runs->list;

        if (run_remove(run))
            continue;
        runs->list = run->next;
        free(run);
    }
    cleanup_close(&runs->dir);
    sd_event_unref(runs->loop);
    free(runs);
}

static int on_grace_end(sd_event_source *source, uint64_t usec, void *arg)
{
    struct run *run = arg;

    (void)source, (void)usec;
    (void)run_remove(run);
    return 0;
}

static int on_client_exit(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct run *run = arg;

    (void)source, (void)fd, (void)events;
    run->watch = sd_event_source_disable_unref(run->watch);
    (void)sd_event_add_time_relative(run->runs->loop, &run->timer, CLOCK_MONOTONIC, GRACE_US,
                                     US_PER_S, on_grace_end, run);
    return 0;
}

/* --- start ------------------------------------------------------------------------------------ */

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

static bool is_below(const char *path, const char *parent)
{
    size_t n = strlen(parent);

    return !strncmp(path, parent, n) && (path[n] == '/' || path[n] == '\0');
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
        if (!run->over && is_below(path, run->leaf.path))
            return error_set(error, -EBUSY, "this is part of a jobio run already");
    return 0;
}

static int count(struct run *run, struct error *error)
{
    const struct runs_options *o = &run->runs->options;
    int r = probe_add(o->probe, run->leaf.id, run->leaf.level, 2, &run->step, error);

    if (r < 0)
        return r;
    run->start_ns = clock_ns(CLOCK_REALTIME);
    run->start_boot_ns = clock_ns(CLOCK_BOOTTIME);
    r = sampler_add(o->sampler, run->step, run->start_boot_ns, run->start_ns, NULL, error);
    if (r < 0)
        (void)probe_drop(o->probe, run->leaf.id, 2, NULL);
    return r;
}

static int watch(struct run *run, int pidfd, struct error *error)
{
    int r;

    run->pidfd = pidfd;
    r = sd_event_add_io(run->runs->loop, &run->watch, run->pidfd, EPOLLIN, on_client_exit, run);
    return r < 0 ? error_errno(error, r, "cannot watch the process that sent the request") : 0;
}

static int start(struct runs *runs, struct request *request, uint64_t *number, struct error *error)
{
    pid_t pid = request_pid(request);
    uid_t uid = request_uid(request);
    _close_ int pidfd = peer_open(pid, uid, error);
    struct peer_owners owners = peer_owners(pid);
    struct run *run;
    char name[64];
    int r = pidfd < 0 ? pidfd : check_free(runs, pid, error);

    if (!r)
        r = check_room(runs, uid, &owners, error);
    if (!r)
        r = peer_check_number(pid, error);
    if (r < 0)
        return r;
    run = calloc(1, sizeof(*run));
    if (!run)
        return error_set(error, -ENOMEM, "no memory for a run");
    run->runs = runs;
    run->uid = uid;
    run->owners = owners;
    run->number = ++runs->last;
    run->pidfd = -1;
    run->over = true; /* not counted yet */
    (void)snprintf(name, sizeof(name), "jobio-run-%" PRIu64, run->number);
    r = hierarchy_enclose(runs->options.hierarchy, pid, name, &run->leaf, error);
    if (r < 0) {
        free(run);
        return r;
    }
    run->next = runs->list;
    runs->list = run;
    write_run_file(run);
    /* The process may have ended before it was moved. */
    r = peer_check(pidfd, error);
    if (!r)
        r = count(run, error);
    if (r < 0)
        return r; /* the tick removes the cgroup once it is empty */
    run->over = false;
    r = watch(run, TAKE_FD(pidfd), error);
    if (r < 0) {
        stop_counting(run);
        return r;
    }
    *number = run->number;
    return 0;
}

void runs_start(struct runs *runs, struct request *request, const struct message *m)
{
    struct message *answer = malloc(sizeof(*answer));
    struct error error;
    uint64_t number = 0;

    (void)m;
    if (!answer) {
        request_error(request, "run: no memory");
    } else if (start(runs, request, &number, &error) < 0) {
        request_error(request, "%s", error.text);
    } else {
        message_init(answer, "answer");
        (void)message_put(answer, "STATUS", "ok");
        (void)message_put_u64(answer, "RUN", number);
        request_message(request, answer);
    }
    free(answer);
}

/* --- end -------------------------------------------------------------------------------------- */

static struct run *run_find(struct runs *runs, uint64_t number, uid_t uid)
{
    for (struct run *run = runs->list; run; run = run->next)
        if (!run->over && run->number == number && (uid == 0 || run->uid == uid))
            return run;
    return NULL;
}

static char *make_document(struct run *run, struct error *error)
{
    const struct runs_options *o = &run->runs->options;
    CLEANUP(step_account_clear) struct step_account step = {0};
    struct job_account *job = job_account_create();
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    size_t survivors = hierarchy_processes(o->hierarchy, run->leaf.path);
    char *text = NULL;
    int r = sampler_finish(o->sampler, run->step, now, error);

    if (!r && survivors)
        r = sampler_mark_incomplete(o->sampler, run->step, "still-running", survivors, 0);
    if (!r)
        r = sampler_account(o->sampler, run->step, &step);
    if (!job || r < 0 || job_account_add_step(job, &step) < 0) {
        job_account_destroy(job);
        return NULL;
    }
    job->key.cluster = strdup(o->cluster);
    job->uid = run->uid;
    job->ended = true;
    job->start_ns = run->start_ns;
    job->end_ns = run->start_ns + step.elapsed_ns;
    job->elapsed_ns = step.elapsed_ns;
    job->nodes_expected = job->nodes_reported = 1;
    job->unsupported = probe_unsupported(o->probe);
    job->ns_per_event = probe_ns_per_event(o->probe);
    text = report_json_text(job, REPORT_TIMELINE);
    job_account_destroy(job);
    return text;
}

void runs_end(struct runs *runs, struct request *request, const struct message *m)
{
    struct error error = {"no memory for the account of the run"};
    struct run *run;
    uint64_t number;
    char *text;

    if (message_get_u64(m, "RUN", UINT64_MAX, 0, &number, &error) < 0) {
        request_error(request, "%s", error.text);
        return;
    }
    run = run_find(runs, number, request_uid(request));
    if (!run) {
        request_error(request, "there is no run %" PRIu64 " (was jobiod restarted?)", number);
        return;
    }
    text = make_document(run, &error);
    if (text)
        request_text(request, text, false);
    else
        request_error(request, "%s", error.text);
    (void)run_remove(run);
}

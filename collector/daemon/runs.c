/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/daemon/runs_impl.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "report/json/json.h"
#include "report/top/top.h"

/* --- files ------------------------------------------------------------------------------------ */

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

void runs_destroy(struct runs *runs)
{
    if (!runs)
        return;
    worker_destroy(runs->worker);
    sd_event_source_disable_unref(runs->outcomes);
    for (struct run *run = runs->list; run; run = run->next)
        run_stop(run);
    runs_remove_now(runs);
    while (runs->list)
        run_free(runs->list);
    hierarchy_destroy(runs->hierarchy);
    cleanup_close(&runs->dir);
    sd_event_unref(runs->loop);
    free(runs);
}
DEFINE_CLEANUP(struct runs, runs_destroy)

static void execute(struct worker_task *tasks, size_t n, void *owner)
{
    (void)n, (void)owner;
    for (struct worker_task *task = tasks; task; task = task->next)
        task->result = task->run(NULL, task->arg, &task->error);
}

static int on_outcome(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct runs *runs = arg;

    (void)source, (void)fd, (void)events;
    (void)worker_dispatch(runs->worker);
    return 0;
}

static int start_thread(struct runs *runs, struct error *error)
{
    const struct worker_options options = {
        .name = "jobiod-runs",
        .capacity = RUNS_MAX + 1, /* and a removal */
        .each = RUNS_A_USER,
        .batch = 1,
        .execute = execute,
    };
    int r = hierarchy_create(&runs->hierarchy, "/proc/self/mountinfo", error);

    if (!r)
        r = worker_create(&runs->worker, &options, error);
    if (r < 0)
        return r;
    r = sd_event_add_io(runs->loop, &runs->outcomes, worker_fd(runs->worker), EPOLLIN, on_outcome,
                        runs);
    return r < 0 ? error_errno(error, r, "cannot set up the event loop") : 0;
}

int runs_create(struct runs **ret, sd_event *loop, const struct runs_options *options,
                struct error *error)
{
    CLEANUP(runs_destroyp) struct runs *runs = calloc(1, sizeof(*runs));
    int r;

    if (!runs)
        return error_set(error, -ENOMEM, "no memory for runs");
    runs->dir = -1;
    runs->loop = sd_event_ref(loop);
    runs->options = *options;
    r = start_thread(runs, error);
    if (r < 0)
        return r;
    /* The numbers of an earlier process must not be reused. */
    runs->last = clock_ns(CLOCK_REALTIME);
    runs->dir = open_run_files(options->runtime_dir);
    adopt_runs(runs);
    runs_tick(runs);
    *ret = TAKE_PTR(runs);
    return 0;
}

void runs_tick(struct runs *runs)
{
    runs_remove(runs);
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
    run_stop(run);
    runs_remove(runs);
}

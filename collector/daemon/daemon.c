/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "config.h"

#include "collector/daemon/daemon.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "collector/daemon/daemon_impl.h"
#include "collector/peers/gather.h"
#include "collector/cgroup/hierarchy.h"
#include "collector/mounts/mounts.h"
#include "collector/probe/probe.h"
#include "collector/store/query.h"
#include "collector/daemon/recorder.h"
#include "collector/daemon/runs.h"
#include "collector/sample/sampler.h"
#include "collector/track/services.h"
#include "collector/deliver/step_queue.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"
#include "common/call.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "report/advice/advice.h"

#define BPFFS "/sys/fs/bpf"
#define FLUSH_MS 10000
/* Each pass that forgets counters holds up the tags that come meanwhile: some 10 ms, twice. */
#define DROP_GAP_NS 2000000000ull
/* About this much of the running steps' accounts a crash of the node costs: a row is written at the
 * reading that is nearest. */
#define ROWS_NS NS_PER_MINUTE
/* Of a task's table of mounts, in a turn of the loop: some 3 ms. */
#define MOUNT_LINES 1000

/* --- folders and names ------------------------------------------------------------------------ */

/* One folder of BPF maps a runtime directory, so that several jobiod live on one kernel. */
static char *name_pins(const char *runtime_dir)
{
    char *name;

    if (!strcmp(runtime_dir, JOBIO_RUNTIME_DIR))
        return strdup(BPFFS "/jobio");
    while (*runtime_dir == '/')
        runtime_dir++;
    if (asprintf(&name, BPFFS "/jobio-%s", runtime_dir) < 0)
        return NULL;
    /* bpffs takes no dots in names. */
    for (char *c = name + strlen(BPFFS "/"); *c; c++)
        if (*c == '/' || *c == '.')
            *c = '-';
    return name;
}

static char *name_node(const struct settings *settings)
{
    char host[256] = "";

    if (settings->node)
        return strdup(settings->node);
    (void)gethostname(host, sizeof(host) - 1);
    host[strcspn(host, ".")] = '\0';
    return strdup(*host ? host : "localhost");
}

static int set_names(struct daemon *d, const struct daemon_options *options, struct error *error)
{
    d->runtime_dir = strdup(options->runtime_dir);
    d->state_dir = strdup(options->state_dir);
    d->pin_dir = options->pin_dir ? strdup(options->pin_dir) : name_pins(options->runtime_dir);
    d->node = name_node(d->settings);
    if (asprintf(&d->store_path, "%s/jobio.db", options->state_dir) < 0)
        d->store_path = NULL;
    return d->runtime_dir && d->state_dir && d->pin_dir && d->node && d->store_path
               ? 0
               : error_set(error, -ENOMEM, "no memory");
}

static int make_dir(const char *path, mode_t mode, struct error *error)
{
    _free_ char *parent = strdup(path);

    for (char *c = parent ? parent + 1 : NULL; c && *c; c++)
        if (*c == '/') {
            *c = '\0';
            (void)mkdir(parent, 0755);
            *c = '/';
        }
    if (mkdir(path, mode) < 0 && errno != EEXIST)
        return error_errno(error, -errno, "cannot make %s", path);
    return 0;
}

/* The lock is the kernel's: it ends with the process, however that ends. */
static int take_lock(struct daemon *d, struct error *error)
{
    char path[512], pid[32] = "";
    _close_ int fd = -1;

    (void)snprintf(path, sizeof(path), "%s/lock", d->runtime_dir);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_errno(error, -errno, "cannot open %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        ssize_t n = read(fd, pid, sizeof(pid) - 1);

        pid[n > 0 ? n : 0] = '\0';
        pid[strcspn(pid, "\n")] = '\0';
        return error_set(error, -EBUSY, "another jobiod (process %s) serves %s", pid,
                         d->runtime_dir);
    }
    (void)snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
    if (ftruncate(fd, 0) < 0 || write(fd, pid, strlen(pid)) < 0)
        return error_errno(error, -errno, "cannot write %s", path);
    d->lock_fd = TAKE_FD(fd);
    return 0;
}

/* --- what wakes the loop ---------------------------------------------------------------------- */

static void settle_soon(struct daemon *d)
{
    (void)sd_event_source_set_enabled(d->settle, SD_EVENT_ONESHOT);
}

/* Behind everything else that is waiting. */
static int on_settle(sd_event_source *source, void *arg)
{
    struct daemon *d = arg;

    uint64_t again_ns = tracker_settle(d->tracker);

    (void)source;
    if (mounts_work(d->mounts))
        settle_soon(d);
    if (again_ns) {
        (void)sd_event_source_set_time_relative(d->settle_later, again_ns / 1000);
        (void)sd_event_source_set_enabled(d->settle_later, SD_EVENT_ONESHOT);
    }
    return 0;
}

static int on_settle_later(sd_event_source *source, uint64_t usec, void *arg)
{
    (void)source, (void)usec;
    settle_soon(arg);
    return 0;
}

static int on_writer(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct daemon *d = arg;

    (void)source, (void)fd, (void)events;
    (void)writer_dispatch(d->writer);
    settle_soon(d);
    return 0;
}

static int on_sighting(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct daemon *d = arg;
    struct error error;

    (void)source, (void)fd, (void)events;
    if (sampler_sightings(d->sampler, &error) < 0)
        daemon_log_limited("sighting", 60, "mounts: %s", error.text);
    if (mounts_busy(d->mounts))
        settle_soon(d);
    return 0;
}

static int on_mounts(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct daemon *d = arg;
    struct error error;

    (void)source, (void)fd, (void)events;
    if (mounts_refresh(d->mounts, &error) < 0)
        daemon_log_limited("mounts", 60, "mounts: %s", error.text);
    return 0;
}

static int on_step_file(sd_event_source *source, const struct inotify_event *event, void *arg)
{
    struct daemon *d = arg;

    (void)source;
    if (event->len)
        tracker_file(d->tracker, event->name);
    settle_soon(d);
    return 0;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *arg)
{
    struct daemon *d = arg;
    struct error error;

    (void)usec;
    if (tracker_tick(d->tracker, &error) < 0)
        daemon_log_limited("tick", 60, "the counters cannot be read: %s", error.text);
    runs_tick(d->runs);
    if (d->services)
        services_tick(d->services);
    settle_soon(d);
    (void)sd_event_source_set_time_relative(source, d->settings->interval_ns / 1000);
    (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    return 0;
}

static int watch_fd(struct daemon *d, int fd, uint32_t events, sd_event_io_handler_t handler)
{
    return fd < 0 ? 0 : sd_event_add_io(d->loop, NULL, fd, events, handler, d);
}

static int watch_steps(struct daemon *d)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/steps", d->runtime_dir);
    return sd_event_add_inotify(d->loop, NULL, path, IN_MOVED_TO, on_step_file, d);
}

static int prepare_settling(struct daemon *d)
{
    int r = sd_event_add_defer(d->loop, &d->settle, on_settle, d);

    if (r >= 0)
        r = sd_event_source_set_priority(d->settle, SD_EVENT_PRIORITY_IDLE);
    if (r >= 0)
        r = sd_event_add_time(d->loop, &d->settle_later, CLOCK_MONOTONIC, 0, 10000, on_settle_later,
                              d);
    return r < 0 ? r : sd_event_source_set_enabled(d->settle_later, SD_EVENT_OFF);
}

static int watch_all(struct daemon *d, struct error *error)
{
    uint64_t interval_us = d->settings->interval_ns / 1000;
    int r = watch_fd(d, writer_fd(d->writer), EPOLLIN, on_writer);

    if (r >= 0)
        r = watch_fd(d, probe_fd(d->probe), EPOLLIN, on_sighting);
    if (r >= 0)
        r = watch_fd(d, mounts_fd(d->mounts), EPOLLPRI, on_mounts);
    if (r >= 0)
        r = watch_steps(d);
    if (r >= 0)
        r = prepare_settling(d);
    if (r >= 0)
        r = sd_event_add_time_relative(d->loop, &d->tick, CLOCK_MONOTONIC, interval_us,
                                       interval_us / 20 + 1, on_tick, d);
    if (r >= 0)
        r = sd_event_add_signal(d->loop, NULL, SIGTERM, NULL, NULL);
    if (r >= 0)
        r = sd_event_add_signal(d->loop, NULL, SIGINT, NULL, NULL);
    if (r >= 0)
        r = sd_event_set_watchdog(d->loop, true);
    return r < 0 ? error_errno(error, r, "cannot set up the event loop") : 0;
}

/* --- the parts -------------------------------------------------------------------------------- */

static void say(enum log_level level, const char *text, void *arg)
{
    (void)arg;
    log_write(level, "%s", text);
}

static void on_job_over(const struct job_account *job, void *arg)
{
    struct daemon *d = arg;

    if (deliver_job_ended(d->deliver, &job->key) < 0)
        log_error("job %u: no memory to deliver it", job->key.jobid);
}

static void on_queued(void *arg)
{
    struct daemon *d = arg;

    if (d->gather)
        gather_queued(d->gather);
    if (d->sink)
        sink_notify(d->sink);
}

/* A store that cannot be used is left as it is and keeps jobiod from starting. The maps are there
 * by then, and plugins can tag without us: while somebody looks into it, nothing is lost. */
static int create_store(struct daemon *d, struct error *error)
{
    const struct store_options options = {
        .path = d->store_path,
        .node = d->node,
        .keep_ns = d->settings->keep_ns,
        .keep_bytes = d->settings->keep_bytes,
    };
    int r;

    /* A store of an older release is made anew first, which may take longer than systemd waits. */
    (void)sd_notify(0, "EXTEND_TIMEOUT_USEC=1800000000");
    r = store_open(&d->store, &options, error);
    return r < 0 ? error_prefix(error, r, "the store") : 0;
}

static int create_counting(struct daemon *d, struct error *error)
{
    int r = hierarchy_create(&d->hierarchy, "/proc/self/mountinfo", error);

    if (!r)
        r = mounts_create(&d->mounts, "/proc", error);
    if (!r)
        mounts_set_lines(d->mounts, MOUNT_LINES);
    if (!r)
        r = counting_create(d, error);
    if (!r)
        counting_test(d);
    if (!r)
        r = sampler_create(&d->sampler, d->probe, d->mounts, d->settings->interval_ns, error);
    if (!r)
        sampler_set_labels(d->sampler, d->settings->fuse_labels.items, d->settings->fuse_labels.n);
    return r;
}

static int create_tracker(struct daemon *d, struct error *error)
{
    const struct tracker_options options = {
        .cluster = d->settings->cluster,
        .node = d->node,
        .runtime_dir = d->runtime_dir,
        .interval_ns = d->settings->interval_ns,
        .drop_gap_ns = DROP_GAP_NS,
        .rows_ns = ROWS_NS,
        .peers = gathering_is_wanted(d->settings),
        .sinks = feeding_sinks(d->settings),
        .probe = d->probe,
        .sampler = d->sampler,
        .hierarchy = d->hierarchy,
    };
    const struct tracker_hooks hooks = {
        .job_over = on_job_over, .log = say, .queued = on_queued, .arg = d};
    int r = tracker_create(&d->tracker, &options, &hooks, error);

    if (!r)
        r = gathering_tidy(d, error);
    if (!r)
        r = tracker_adopt(d->tracker, d->store, error);
    if (!r)
        r = writer_create(&d->writer, d->store, 0, 0, error);
    if (r < 0)
        return r;
    d->store = NULL;
    tracker_attach(d->tracker, d->writer);
    return questions_create(d, error);
}

static size_t list_tasks(uint32_t step, uint32_t *pids, size_t max, void *arg)
{
    struct daemon *d = arg;
    size_t n = tracker_tasks(d->tracker, step, pids, max);

    if (!n)
        n = runs_tasks(d->runs, step, pids, max);
    return n || !d->services ? n : services_tasks(d->services, step, pids, max);
}

static int create_runs(struct daemon *d, struct error *error)
{
    const struct runs_options options = {
        .cluster = d->settings->cluster,
        .node = d->node,
        .runtime_dir = d->runtime_dir,
        .probe = d->probe,
        .sampler = d->sampler,
        .hierarchy = d->hierarchy,
        .tracker = d->tracker,
    };

    int r = runs_create(&d->runs, d->loop, &options, error);

    if (!r)
        sampler_set_tasks(d->sampler, list_tasks, d);
    return r;
}

/* Before the steps of an earlier process are adopted: what was counted of services is no
 * stranger. */
static int create_services(struct daemon *d, struct error *error)
{
    struct error why = {"\"services = yes\" is not in jobio.conf"};
    int r = d->settings->services
                ? services_create(&d->services, d->probe, d->sampler, d->hierarchy, &why)
                : -ENOTSUP;

    if (!r)
        return 0;
    if (d->settings->services)
        log_warning("services are not counted: %s", why.text);
    d->no_services = strdup(why.text);
    return d->no_services ? 0 : error_set(error, -ENOMEM, "no memory");
}

static int create_server(struct daemon *d, struct error *error)
{
    char path[512];
    const struct group *group = getgrnam(d->settings->group);
    const struct server_options options = {
        .path = path,
        .admin_gid = group ? group->gr_gid : (gid_t)-1,
    };
    const struct server_hooks hooks = {daemon_handle, say, d};

    if (!group)
        log_info("there is no group %s: only root sees the jobs of others", d->settings->group);
    (void)snprintf(path, sizeof(path), "%s/" JOBIO_SOCKET_NAME, d->runtime_dir);
    return server_create(&d->server, d->loop, &options, &hooks, error);
}

static int create_parts(struct daemon *d, struct error *error)
{
    int r = sd_event_default(&d->loop);

    if (r < 0)
        return error_errno(error, r, "cannot make an event loop");
    r = create_counting(d, error);
    if (!r)
        r = create_store(d, error);
    if (!r)
        r = recorder_create(&d->recorder, d->loop, d->settings->record_program, 0, error);
    if (!r)
        report_create(d);
    if (!r)
        r = pushing_create(d, error);
    if (!r)
        r = feeding_create(d, error);
    if (!r)
        r = create_services(d, error);
    if (!r)
        r = create_tracker(d, error);
    if (!r)
        r = gathering_create(d, error);
    if (!r)
        r = create_runs(d, error);
    if (!r)
        r = create_server(d, error);
    if (!r)
        r = metrics_create(&d->metrics, d, error);
    if (!r)
        r = normals_create(d, error);
    if (!r)
        r = watch_all(d, error);
    if (r < 0)
        return r;
    on_queued(d); /* by an earlier process */
    if (d->sink)
        sink_start(d->sink);
    return deliver_start(d->deliver, error);
}

/* --- life ------------------------------------------------------------------------------------- */

void daemon_destroy(struct daemon *d)
{
    if (!d)
        return;
    gathering_stop(d); /* who waits for other nodes is answered, while all parts are there */
    server_destroy(d->server);
    d->server = NULL; /* what is still asked for metrics looks for it */
    runs_destroy(d->runs);
    live_release(d->live);
    services_destroy(d->services);
    free(d->no_services);
    recorder_destroy(d->recorder);
    advice_destroy(d->advice);
    if (d->tracker)
        tracker_attach(d->tracker, NULL);
    query_destroy(d->query);
    query_destroy(d->large);
    io_mounts_clear(&d->normals);
    metrics_destroy(d->metrics);
    deliver_destroy(d->deliver);
    sink_destroy(TAKE_PTR(d->sink));
    writer_destroy(d->writer);
    gather_destroy(d->gather);
    tracker_destroy(d->tracker);
    sampler_destroy(d->sampler);
    probe_destroy(d->probe);
    mounts_destroy(d->mounts);
    hierarchy_destroy(d->hierarchy);
    store_close(d->store);
    sd_event_source_disable_unref(d->tick);
    sd_event_source_disable_unref(d->settle);
    sd_event_source_disable_unref(d->settle_later);
    prometheus_names_clear(&d->metric_names);
    sd_event_unref(d->loop);
    cleanup_close(&d->lock_fd);
    free(d->runtime_dir);
    free(d->state_dir);
    free(d->pin_dir);
    free(d->store_path);
    free(d->node);
    free(d);
}
DEFINE_CLEANUP(struct daemon, daemon_destroy)

int daemon_create(struct daemon **ret, const struct daemon_options *options,
                  const struct settings *settings, struct error *error)
{
    CLEANUP(daemon_destroyp) struct daemon *d = calloc(1, sizeof(*d));
    int r;

    if (!d)
        return error_set(error, -ENOMEM, "no memory");
    d->lock_fd = -1;
    d->settings = settings;
    d->started_ns = clock_ns(CLOCK_BOOTTIME);
    r = set_names(d, options, error);
    if (!r)
        r = make_dir(d->runtime_dir, 0755, error);
    if (!r)
        r = make_dir(d->state_dir, 0750, error);
    if (!r)
        r = take_lock(d, error);
    if (!r)
        r = create_parts(d, error);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(d);
    return 0;
}

int daemon_run(struct daemon *d, struct error *error)
{
    struct tracker_stats stats;
    int r;

    tracker_stats(d->tracker, &stats);
    log_info("%s: %zu jobs and %zu steps are followed%s", d->node, stats.jobs, stats.steps,
             probe_is_adopted(d->probe) ? ", the maps of an earlier process go on" : "");
    (void)sd_notify(0, "READY=1");
    r = sd_event_loop(d->loop);
    (void)sd_notify(0, "STOPPING=1");
    tracker_make_rows_due(d->tracker);
    (void)tracker_tick(d->tracker, NULL);
    (void)writer_flush(d->writer, FLUSH_MS);
    (void)tracker_settle(d->tracker);
    return r < 0 ? error_errno(error, r, "the event loop failed") : 0;
}

int daemon_check(const struct settings *settings, struct error *error)
{
    struct daemon d = {.settings = settings, .lock_fd = -1};
    int r = sd_event_new(&d.loop);

    if (r < 0)
        return error_errno(error, r, "cannot make an event loop");
    d.node = name_node(settings);
    r = pushing_create(&d, error);
    if (r >= 0)
        r = feeding_create(&d, error);
    sink_destroy(d.sink);
    deliver_destroy(d.deliver);
    sd_event_unref(d.loop);
    free(d.node);
    return r;
}

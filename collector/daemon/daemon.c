/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/daemon/daemon.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "collector/cgroup/hierarchy.h"
#include "collector/daemon/backend.h"
#include "collector/daemon/baselines.h"
#include "collector/daemon/cluster.h"
#include "collector/daemon/degraded.h"
#include "collector/daemon/dispatch.h"
#include "collector/daemon/events.h"
#include "collector/daemon/history_sink.h"
#include "collector/daemon/instance.h"
#include "collector/daemon/job_states.h"
#include "collector/daemon/live_view.h"
#include "collector/daemon/metrics.h"
#include "collector/daemon/metrics_push.h"
#include "collector/daemon/node_state.h"
#include "collector/daemon/notes.h"
#include "collector/daemon/passed_sockets.h"
#include "collector/daemon/peer_requests.h"
#include "collector/daemon/recorder.h"
#include "collector/daemon/reports.h"
#include "collector/daemon/runs.h"
#include "collector/daemon/status.h"
#include "collector/daemon/trace_sink.h"
#include "collector/daemon/tracker_settings.h"
#include "collector/deliver/node_queue.h"
#include "collector/deliver/step_queue.h"
#include "collector/mounts/mounts.h"
#include "collector/peers/peers.h"
#include "collector/probe/probe.h"
#include "collector/probe/selftest.h"
#include "collector/sample/sampler.h"
#include "collector/store/query.h"
#include "collector/store/writer.h"
#include "collector/track/services.h"
#include "collector/track/tracker.h"
#include "common/call.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/node_name.h"
#include "common/text.h"

#define FLUSH_MS 10000
/* Minimum time between two passes that drop counters; each delays tags by about 10 ms, twice. */
#define DROP_GAP_NS (2 * NS_PER_S)
/* How often the accounts of running steps are stored: a crash of the node loses this much. */
#define ROWS_NS NS_PER_MINUTE
#define MOUNT_LINES 1000 /* of mountinfo per iteration of the loop; they take about 3 ms */

struct daemon {
    const struct settings *settings;
    const struct cluster *cluster; /* NULL: named by the settings */
    char *runtime_dir, *state_dir, *pin_dir, *store_path, *node;
    uint64_t started_ns; /* CLOCK_BOOTTIME */
    int lock_fd;
    sd_event *loop;
    struct probe *probe;
    struct selftest selftest; /* all 0: not done */
    struct mounts *mounts;
    struct hierarchy *hierarchy;
    struct sampler *sampler;
    struct tracker *tracker;
    struct store *store; /* NULL once the writer owns it */
    struct writer *writer;
    struct query *query; /* short questions: the live view, the status, peers, one job */
    struct query *large; /* questions that may use all of their time */
    struct recorder *recorder;
    struct job_states *job_states;
    struct baselines *baselines;
    struct notes *notes;
    struct node_state *node_state;
    struct reports *reports;
    struct metrics_push *push;
    struct history_sink *sink;           /* NULL: no [history] */
    struct trace_sink *traces;           /* NULL: traces are not delivered */
    struct peer_requests *peer_requests; /* NULL: no [peers] */
    struct metrics *metrics;
    struct runs *runs;
    struct services *services; /* NULL: not counted */
    char *no_services;         /* why they are not counted */
    struct live_view *live_view;
    struct degraded degraded;
    struct passed_sockets sockets;
    struct status_sources status;
    struct dispatch dispatch;
    struct server *server;
    struct events *events;
    sd_event_source *cluster_watch; /* NULL: the name of the cluster is known */
};

/* --- directories and names -------------------------------------------------------------------- */

static int set_names(struct daemon *d, const struct daemon_options *options, struct error *error)
{
    d->runtime_dir = strdup(options->runtime_dir);
    d->state_dir = strdup(options->state_dir);
    d->pin_dir =
        options->pin_dir ? strdup(options->pin_dir) : instance_pin_dir(options->runtime_dir);
    d->node = node_name(d->settings->node);
    d->store_path = text_format("%s/jobio.db", options->state_dir);
    return d->runtime_dir && d->state_dir && d->pin_dir && d->node && d->store_path
               ? 0
               : error_set(error, -ENOMEM, "no memory");
}

/* --- the parts -------------------------------------------------------------------------------- */

/* The result of a part that is made from settings. */
static int from_settings(int r)
{
    return r == -EINVAL ? -ENOTRECOVERABLE : r;
}

static void say(enum log_level level, const char *text, void *arg)
{
    (void)arg;
    log_write(level, "%s", text);
}

static void on_job_over(const struct job_account *job, void *arg)
{
    struct daemon *d = arg;

    if (node_queue_job_ended(metrics_push_queue(d->push), &job->key) < 0)
        log_error("job %u: no memory to deliver it", job->key.jobid);
    job_states_add(d->job_states, job);
}

static void on_queued(void *arg)
{
    struct daemon *d = arg;
    struct peers *peers = peer_requests_peers(d->peer_requests);
    struct step_queue *sink = history_sink_queue(d->sink);

    if (peers)
        peers_notify(peers);
    if (sink)
        step_queue_notify(sink);
}

static int create_store(struct daemon *d, struct error *error)
{
    const struct store_options options = {.path = d->store_path,
                                          .node = d->node,
                                          .keep_ns = d->settings->keep_ns,
                                          .keep_bytes = d->settings->keep_bytes};

    return instance_open_store(&d->store, &options, error);
}

static int create_recorder(struct daemon *d, struct error *error)
{
    int r = recorder_create(&d->recorder, d->loop, d->settings->record_program, 0, error);
    const struct job_states_options options = {d->loop, d->recorder,
                                               history_sink_names(d->settings), on_queued, d};

    if (r < 0 || !d->settings->job_state)
        return r;
    return job_states_create(&d->job_states, &options, d->store, error);
}

static int create_counting(struct daemon *d, struct error *error)
{
    const struct backend_options backend = {
        .runtime_dir = d->runtime_dir,
        .pin_dir = d->pin_dir,
        .settings = d->settings,
    };
    int r = hierarchy_create(&d->hierarchy, "/proc/self/mountinfo", error);

    if (!r)
        r = mounts_create(&d->mounts, "/proc", error);
    if (!r)
        mounts_set_lines(d->mounts, MOUNT_LINES);
    if (!r)
        r = backend_create(&d->probe, &backend, error);
    if (!r)
        backend_test(d->probe, d->hierarchy, d->runtime_dir, &d->selftest);
    if (!r)
        r = sampler_create(&d->sampler, d->probe, d->mounts, d->settings->interval_ns, error);
    if (!r)
        sampler_set_labels(d->sampler, d->settings->fuse_labels.items, d->settings->fuse_labels.n);
    return r;
}

static void on_adopt(void *arg)
{
    runs_adopt(((struct daemon *)arg)->runs);
}

static void on_traced(void *arg)
{
    trace_sink_notify(((struct daemon *)arg)->traces);
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
        .runtime_dir = d->runtime_dir,
        .is_backend_forced = d->settings->backend != BACKEND_AUTO,
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

static int create_tracker(struct daemon *d, struct error *error)
{
    struct tracker_options options = {
        .node = d->node,
        .runtime_dir = d->runtime_dir,
        .drop_gap_ns = DROP_GAP_NS,
        .rows_ns = ROWS_NS,
        .probe = d->probe,
        .sampler = d->sampler,
        .hierarchy = d->hierarchy,
        .state_dir = d->state_dir,
    };
    const struct tracker_hooks hooks = {on_job_over, say, on_queued, on_adopt, on_traced, d};
    int r;

    tracker_settings_apply(d->settings, &options);
    r = tracker_create(&d->tracker, &options, &hooks, error);
    if (!r)
        r = create_runs(d, error);
    if (!r)
        r = peer_requests_tidy_outbox(d->store, d->settings, error);
    if (!r)
        r = tracker_adopt(d->tracker, d->store, error);
    if (!r)
        r = writer_create(&d->writer, d->store, 0, 0, error);
    if (r < 0)
        return r;
    d->store = NULL;
    tracker_attach(d->tracker, d->writer);
    notes_attach(d->notes, d->writer);
    job_states_attach(d->job_states, d->writer);
    r = question_queries_create(&d->query, &d->large, d->loop, d->store_path, error);
    if (r < 0)
        return r;
    node_state_attach(d->node_state, d->tracker, d->query);
    history_sink_attach(d->sink, d->query, d->writer);
    return 0;
}

/* Must run before the steps of an earlier process are adopted; otherwise the counters of services
 * would seem to belong to unknown cgroups. */
static int create_services(struct daemon *d, struct error *error)
{
    const struct backend_parts parts = {d->probe, d->sampler, d->hierarchy};

    return backend_count_services(&d->services, &d->no_services, d->settings->services, &parts,
                                  error);
}

static int create_server(struct daemon *d, struct error *error)
{
    char path[512];
    const struct group *group = getgrnam(d->settings->group);
    const struct server_options options = {.path = path,
                                           .admin_gid = group ? group->gr_gid : (gid_t)-1};
    const struct server_hooks hooks = {dispatch_request, say, &d->dispatch};

    if (!group)
        log_info("there is no group %s: only root sees the jobs of others", d->settings->group);
    (void)snprintf(path, sizeof(path), "%s/" JOBIO_SOCKET_NAME, d->runtime_dir);
    return server_create(&d->server, d->loop, &options, &hooks, error);
}

static int create_node_state(struct daemon *d, struct error *error)
{
    const struct node_state_options options = {
        .cluster = d->settings->cluster,
        .node = d->node,
        .history = d->settings->history.url ? HISTORY_SINK : NULL,
        .traces = trace_sink_outbox(d->traces),
        .users = d->settings->metrics_user != METRICS_USER_NO,
    };
    int r = notes_create(&d->notes, d->store, error);

    return r < 0 ? r : node_state_create(&d->node_state, &options, d->notes, d->store, error);
}

static int create_push(struct daemon *d, struct error *error)
{
    const struct metrics_push_options options = {
        .loop = d->loop,
        .settings = d->settings,
        .degraded = &d->degraded,
        .node = d->node,
        .notes = d->notes,
        .node_state = d->node_state,
        .store = d->store,
    };
    return metrics_push_create(&d->push, &options, error);
}

static int create_peer_requests(struct daemon *d, struct error *error)
{
    const struct peer_requests_options options = {
        .loop = d->loop,
        .settings = d->settings,
        .node = d->node,
        .runtime_dir = d->runtime_dir,
        .degraded = &d->degraded,
        .sockets = &d->sockets.peers,
        .tracker = d->tracker,
        .recorder = d->recorder,
        .query = d->query,
        .writer = d->writer,
        .handle = dispatch_remote,
        .arg = &d->dispatch,
    };
    return from_settings(peer_requests_create(&d->peer_requests, &options, error));
}

static int create_reports(struct daemon *d, struct error *error)
{
    const struct reports_options options = {
        .loop = d->loop,
        .settings = d->settings,
        .tracker = d->tracker,
        .recorder = d->recorder,
        .baselines = d->baselines,
        .peers = peer_requests_peers(d->peer_requests),
    };
    return reports_create(&d->reports, &options, error);
}

static int create_live_view(struct daemon *d, struct error *error)
{
    const struct live_view_options options = {
        .node = d->node,
        .probe = d->probe,
        .tracker = d->tracker,
        .runs = d->runs,
        .services = d->services,
        .no_services = d->no_services,
        .query = d->query,
    };
    return live_view_create(&d->live_view, &options, error);
}

static int create_metrics(struct daemon *d, struct error *error)
{
    const struct metrics_options options = {
        .loop = d->loop,
        .settings = d->settings,
        .node_state = d->node_state,
        .degraded = &d->degraded,
        .sockets = &d->sockets.metrics,
        .sources =
            {
                .started_ns = d->started_ns,
                .degraded = &d->degraded,
                .tracker = d->tracker,
                .probe = d->probe,
                .deliver = metrics_push_queue(d->push),
                .sink = history_sink_queue(d->sink),
                .sink_name = HISTORY_SINK,
                .traces = d->traces,
                .writer = d->writer,
                .server = d->server,
            },
    };
    return from_settings(metrics_create(&d->metrics, &options, error));
}

static int create_events(struct daemon *d, struct error *error)
{
    const struct events_options options = {
        .loop = d->loop,
        .runtime_dir = d->runtime_dir,
        .interval_ns = d->settings->interval_ns,
        .writer = d->writer,
        .probe = d->probe,
        .mounts = d->mounts,
        .sampler = d->sampler,
        .tracker = d->tracker,
        .runs = d->runs,
        .services = d->services,
    };
    return events_create(&d->events, &options, error);
}

static void fill_status(struct daemon *d)
{
    d->status = (struct status_sources){
        .started_ns = d->started_ns,
        .settings = d->settings,
        .node = d->node,
        .runtime_dir = d->runtime_dir,
        .pin_dir = d->pin_dir,
        .degraded = &d->degraded,
        .probe = d->probe,
        .selftest = &d->selftest,
        .tracker = d->tracker,
        .writer = d->writer,
        .small = d->query,
        .large = d->large,
        .recorder = d->recorder,
        .deliver = metrics_push_queue(d->push),
        .sink = history_sink_queue(d->sink),
        .sink_name = HISTORY_SINK,
        .traces = d->traces,
        .peers = peer_requests_peers(d->peer_requests),
        .metrics = d->metrics,
        .runs = d->runs,
        .services = d->services,
        .server = d->server,
    };
}

static void fill_dispatch(struct daemon *d)
{
    d->dispatch = (struct dispatch){
        .runtime_dir = d->runtime_dir,
        .tracker = d->tracker,
        .peer_requests = d->peer_requests,
        .reports = d->reports,
        .live_view = d->live_view,
        .runs = d->runs,
        .metrics = d->metrics,
        .push = d->push,
        .status = &d->status,
        .questions = {d->node, d->tracker, d->query, d->large},
    };
}

static int create_parts(struct daemon *d, struct error *error)
{
    int r = sd_event_default(&d->loop);

    if (r < 0)
        return error_errno(error, r, "cannot make an event loop");
    passed_sockets_take(&d->sockets);
    r = create_counting(d, error);
    if (!r)
        r = create_store(d, error);
    if (!r)
        r = create_recorder(d, error);
    if (!r)
        r = from_settings(trace_sink_create(&d->traces, d->loop, d->settings, d->state_dir, error));
    if (!r)
        r = create_node_state(d, error);
    if (!r)
        r = create_push(d, error);
    if (!r)
        r = from_settings(history_sink_create(&d->sink, d->loop, d->settings, d->store, error));
    if (!r)
        r = create_services(d, error);
    if (!r)
        r = create_tracker(d, error);
    if (!r)
        r = create_peer_requests(d, error);
    if (!r)
        r = create_server(d, error);
    if (!r)
        r = create_metrics(d, error);
    if (!r)
        r = baselines_create(&d->baselines, d->loop, d->query, error);
    if (!r)
        r = create_reports(d, error);
    if (!r)
        r = create_live_view(d, error);
    if (!r)
        r = create_events(d, error);
    if (!r && d->cluster)
        r = cluster_watch(&d->cluster_watch, d->loop, d->cluster, error);
    if (r < 0)
        return r;
    fill_status(d);
    fill_dispatch(d);
    on_queued(d); /* an earlier process may have left rows */
    if (d->sink)
        step_queue_start(history_sink_queue(d->sink));
    trace_sink_start(d->traces, d->large, d->writer);
    return node_queue_start(metrics_push_queue(d->push), error);
}

/* --- start and stop --------------------------------------------------------------------------- */

void daemon_destroy(struct daemon *d)
{
    if (!d)
        return;
    /* Answer what waits for other nodes, and then for records, while all parts exist. */
    peer_requests_stop(d->peer_requests);
    reports_stop(d->reports);
    server_destroy(d->server);
    metrics_forget_server(d->metrics);
    events_destroy(d->events);
    sd_event_source_disable_unref(d->cluster_watch);
    runs_destroy(d->runs);
    live_view_destroy(d->live_view);
    services_destroy(d->services);
    free(d->no_services);
    recorder_destroy(d->recorder);
    reports_destroy(d->reports);
    if (d->tracker)
        tracker_attach(d->tracker, NULL);
    query_destroy(d->query);
    query_destroy(d->large);
    baselines_destroy(d->baselines);
    metrics_destroy(d->metrics);
    metrics_push_destroy(d->push);
    history_sink_stop(d->sink);
    trace_sink_stop(d->traces);
    node_state_destroy(d->node_state);
    writer_destroy(d->writer);
    job_states_destroy(d->job_states);
    history_sink_destroy(d->sink);
    trace_sink_destroy(d->traces);
    notes_destroy(d->notes);
    peer_requests_destroy(d->peer_requests);
    tracker_destroy(d->tracker);
    sampler_destroy(d->sampler);
    probe_destroy(d->probe);
    mounts_destroy(d->mounts);
    hierarchy_destroy(d->hierarchy);
    store_close(d->store);
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
    d->cluster = options->cluster;
    d->started_ns = clock_ns(CLOCK_BOOTTIME);
    r = set_names(d, options, error);
    if (!r)
        r = d->lock_fd = instance_claim(d->runtime_dir, d->state_dir, error);
    if (r >= 0)
        r = create_parts(d, error);
    if (r < 0)
        return r;
    if (d->cluster)
        cluster_keep(d->cluster, d->state_dir);
    *ret = TAKE_PTR(d);
    return 0;
}

int daemon_run(struct daemon *d, struct error *error)
{
    int r;

    status_log_start(&d->status, d->store_path);
    (void)sd_notify(0, "READY=1");
    r = sd_event_loop(d->loop);
    (void)sd_notify(0, "STOPPING=1");
    tracker_make_rows_due(d->tracker);
    (void)tracker_tick(d->tracker, NULL);
    (void)writer_flush(d->writer, FLUSH_MS);
    (void)tracker_settle(d->tracker);
    return r < 0 ? error_errno(error, r, "the event loop failed") : 0;
}

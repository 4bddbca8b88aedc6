/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/daemon/status.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/daemon/backend.h"
#include "collector/daemon/sink_list.h"
#include "collector/daemon/degraded.h"
#include "collector/daemon/metrics.h"
#include "collector/peers/peers.h"
#include "collector/probe/probe.h"
#include "collector/store/query.h"
#include "collector/daemon/recorder.h"
#include "collector/daemon/trace_sink.h"
#include "collector/daemon/runs.h"
#include "collector/mpi/watcher.h"
#include "collector/trace/outbox.h"
#include "collector/track/services.h"
#include "collector/deliver/step_queue.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"
#include "collector/deliver/node_queue.h"
#include "collector/track/tracker.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/tree.h"

#define NO_MEMORY "status: no memory"

struct status {
    const char *sink_name;
    struct request *request;
    struct tree tree;
    struct json_object *document;
    struct store_stats stats;
    struct outbox_stats history;
    const struct trace_outbox *traces; /* NULL: none are delivered */
    struct trace_outbox_stats waiting; /* of them */
    uint64_t undelivered;              /* removed traces */
    uint64_t deleted_early;
};

static struct json_object *op_names(struct tree *tree, uint64_t ops)
{
    struct json_object *names = tree_array(tree);

    for (unsigned bit = 0; bit < IO_SET_BITS; bit++)
        if (ops & 1ull << bit)
            tree_add_text(tree, names, io_bit_name(bit));
    return names;
}

static const char *const backends[] = {[PROBE_NONE] = "none",
                                       [PROBE_FENTRY] = "fentry",
                                       [PROBE_KPROBE] = "kprobe",
                                       [PROBE_TP_BTF] = "tp_btf"};

static struct json_object *hook_json(struct tree *tree, const struct probe_hook *hook)
{
    struct json_object *object = tree_object(tree);

    tree_put_text(tree, object, "function", hook->function);
    tree_put(tree, object, "ops", op_names(tree, hook->ops));
    tree_put_text(tree, object, "backend", backends[hook->backend]);
    if (*hook->feature)
        tree_put_text(tree, object, "feature", hook->feature);
    if (*hook->why)
        tree_put_text(tree, object, "why", hook->why);
    if (hook->backend == PROBE_NONE)
        tree_put_bool(tree, object, "absent", hook->absent);
    if (hook->run_count) {
        tree_put_u64(tree, object, "run_count", hook->run_count);
        tree_put_u64(tree, object, "run_time_ns", hook->run_time_ns);
    }
    tree_put_u64(tree, object, "missed", hook->missed);
    return object;
}

/* Each operation with the backend that counts it, or "none". */
static struct json_object *op_backends(struct tree *tree, const struct probe_hook *hooks, size_t n,
                                       uint64_t unsupported)
{
    struct json_object *object = tree_object(tree);

    for (int op = 0; op < IO_OP_COUNT; op++) {
        enum probe_backend backend = PROBE_NONE;

        for (size_t i = 0; i < n && !(unsupported & 1ull << op); i++)
            if (backend == PROBE_NONE && hooks[i].ops & 1ull << op)
                backend = hooks[i].backend;
        tree_put_text(tree, object, io_op_name(op), backends[backend]);
    }
    return object;
}

/* The kernel counts runs and run time of programs only with this sysctl. */
static bool has_run_statistics(void)
{
    _fclose_ FILE *file = fopen("/proc/sys/kernel/bpf_stats_enabled", "re");

    return file && getc(file) == '1';
}

static struct json_object *selftest_json(struct tree *tree, const struct selftest *test)
{
    struct json_object *object = tree_object(tree);

    tree_put(tree, object, "tested", op_names(tree, test->tested));
    tree_put(tree, object, "failed", op_names(tree, test->failed));
    tree_put_u64(tree, object, "ns_per_event", test->ns_per_event);
    tree_put_u64(tree, object, "took_ms", test->took_ns / NS_PER_MS);
    return object;
}

static void put_hooks(struct tree *tree, struct json_object *document,
                      const struct status_sources *sources)
{
    struct json_object *hooks = tree_array(tree);
    uint64_t unsupported = probe_unsupported(sources->probe);
    const struct probe_hook *list = NULL;
    size_t n = 0;

    for (size_t i = 0; probe_hooks(sources->probe, &list, &n) == 0 && i < n; i++)
        tree_add(tree, hooks, hook_json(tree, &list[i]));
    tree_put_text(tree, document, "run_statistics",
                  has_run_statistics() ? "on" : "off (sysctl kernel.bpf_stats_enabled=1)");
    tree_put(tree, document, "operations", op_backends(tree, list, n, unsupported));
    tree_put(tree, document, "hooks", hooks);
    tree_put(tree, document, "unsupported", op_names(tree, unsupported));
    if (sources->selftest->tested)
        tree_put(tree, document, "self_test", selftest_json(tree, sources->selftest));
}

static void put_tracker(struct tree *tree, struct json_object *document,
                        const struct status_sources *sources)
{
    struct json_object *steps = tree_object(tree);
    const int growth = probe_growth(sources->probe);
    struct tracker_stats stats;

    tracker_stats(sources->tracker, &stats);
    if (*stats.plugin)
        tree_put_text(tree, document, "plugin", stats.plugin);
    tree_put_u64(tree, document, "jobs", stats.jobs);
    tree_put_u64(tree, document, "lost", stats.lost);
    if (growth < 0)
        tree_put_text(tree, document, "counters_failure", strerror(-growth));
    tree_put_u64(tree, steps, "running", stats.steps);
    tree_put_u64(tree, steps, "unsaved", stats.unsaved);
    tree_put_u64(tree, steps, "vanished", stats.vanished);
    tree_put_u64(tree, steps, "began_untracked", stats.untracked);
    tree_put_u64(tree, steps, "untagged", stats.untagged);
    if (stats.untagged)
        tree_put_text(tree, steps, "untagged_example", stats.untagged_example);
    tree_put(tree, document, "steps", steps);
    tree_put_u64(tree, document, "runs", runs_count(sources->runs));
}

static void put_services(struct tree *tree, struct json_object *document,
                         const struct services *services)
{
    struct json_object *object = tree_object(tree);
    struct services_stats stats;

    services_stats(services, &stats);
    tree_put_u64(tree, object, "followed", stats.followed);
    tree_put_u64(tree, object, "left_out", stats.left_out);
    tree_put(tree, document, "services", object);
}

static void put_mpi(struct tree *tree, struct json_object *document, const struct tracker *tracker)
{
    struct json_object *object = tree_object(tree);
    struct mpi_watcher_state state;

    tracker_mpi_state(tracker, &state);
    tree_put_u64(tree, object, "steps", state.steps);
    tree_put_bool(tree, object, "ready", state.ready);
    if (*state.why.text)
        tree_put_text(tree, object, "not_counted", state.why.text);
    tree_put(tree, document, "mpi", object);
}

static void put_block(struct tree *tree, struct json_object *document,
                      const struct tracker *tracker)
{
    struct json_object *object = tree_object(tree);
    const char *failure = tracker_block_failure(tracker);

    tree_put_bool(tree, object, "ready", !failure);
    if (failure)
        tree_put_text(tree, object, "not_counted", failure);
    tree_put(tree, document, "block", object);
}

static void put_stacks(struct tree *tree, struct json_object *document,
                       const struct tracker *tracker)
{
    struct json_object *object = tree_object(tree);
    struct tracker_stacks state;

    tracker_stacks_state(tracker, &state);
    tree_put_u64(tree, object, "steps", state.steps);
    tree_put_u64(tree, object, "kept", state.kept);
    tree_put_u64(tree, object, "failed", state.failed);
    tree_put(tree, document, "stacks", object);
}

static void put_traces(struct tree *tree, struct json_object *document,
                       const struct status_sources *sources)
{
    struct json_object *object = tree_object(tree);
    struct tracker_traces state;

    tracker_traces_state(sources->tracker, &state);
    tree_put_u64(tree, object, "steps", state.steps);
    tree_put_u64(tree, object, "kept", state.kept);
    tree_put_u64(tree, object, "failed", state.failed);
    if (sources->traces)
        tree_put(tree, object, "delivery", trace_sink_status(sources->traces, tree));
    tree_put(tree, document, "trace", object);
}

static void put_queues(struct tree *tree, struct json_object *document,
                       const struct status_sources *sources)
{
    struct json_object *queues = tree_object(tree);
    struct json_object *sockets = tree_object(tree);
    struct writer_stats writer;
    struct server_stats server;
    struct tracker_stats tracker;
    struct query_stats small, large;

    query_stats(sources->small, &small);
    query_stats(sources->large, &large);
    writer_stats(sources->writer, &writer);
    server_stats(sources->server, &server);
    tracker_stats(sources->tracker, &tracker);
    tree_put_u64(tree, queues, "store", writer.waiting);
    tree_put_u64(tree, queues, "store_capacity", writer.capacity);
    tree_put_u64(tree, queues, "store_failures", writer.failed);
    tree_put_u64(tree, queues, "store_refused", writer.refused);
    tree_put_u64(tree, queues, "save_failures", tracker.save_failures);
    tree_put_u64(tree, queues, "records", recorder_pending(sources->recorder));
    tree_put_u64(tree, queues, "questions", small.waiting);
    tree_put_u64(tree, queues, "questions_refused", small.refused);
    tree_put_u64(tree, queues, "large_questions", large.waiting);
    tree_put_u64(tree, queues, "large_questions_refused", large.refused);
    tree_put(tree, document, "queues", queues);
    tree_put_u64(tree, sockets, "clients", server.clients);
    tree_put_u64(tree, sockets, "requests", server.requests);
    tree_put_u64(tree, sockets, "refused", server.refused);
    tree_put_u64(tree, sockets, "bad", server.bad);
    tree_put_u64(tree, sockets, "timeouts", server.timeouts);
    tree_put(tree, document, "socket", sockets);
    if (*writer.sweep_error.text)
        tree_put_text(tree, document, "retention_error", writer.sweep_error.text);
}

static void put_metrics(struct tree *tree, struct json_object *document,
                        const struct status_sources *sources)
{
    struct json_object *metrics = tree_object(tree);
    struct metrics_stats stats;

    metrics_stats(sources->metrics, &stats);
    tree_put_u64(tree, metrics, "scrapes", stats.scrapes);
    tree_put_u64(tree, metrics, "refused", stats.http.refused);
    tree_put_u64(tree, metrics, "timeouts", stats.http.timeouts);
    tree_put_u64(tree, metrics, "crowded", stats.http.crowded);
    tree_put_u64(tree, metrics, "textfiles", stats.textfile.writes);
    tree_put_u64(tree, metrics, "textfile_failures", stats.textfile.failures);
    if (*stats.textfile.error)
        tree_put_text(tree, metrics, "textfile_error", stats.textfile.error);
    tree_put(tree, document, "metrics", metrics);
}

static struct json_object *build(struct tree *tree, const struct status_sources *sources)
{
    struct json_object *document = tree_object(tree), *degraded;
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    tree_put_text(tree, document, "version", PACKAGE_VERSION);
    tree_put_u64(tree, document, "uptime_s", (now - sources->started_ns) / NS_PER_S);
    tree_put_text(tree, document, "node", sources->node);
    tree_put_text(tree, document, "cluster", sources->settings->cluster);
    tree_put_text(tree, document, "runtime", sources->runtime_dir);
    tree_put_text(tree, document, "maps", sources->pin_dir);
    tree_put_bool(tree, document, "maps_adopted", probe_is_adopted(sources->probe));
    if (probe_blind(sources->probe))
        tree_put_text(tree, document, "not_counted", probe_blind(sources->probe));
    if (probe_rpc_missing(sources->probe))
        tree_put_text(tree, document, "nfs_not_counted", probe_rpc_missing(sources->probe));
    if ((degraded = degraded_json(tree, sources->degraded)))
        tree_put(tree, document, "degraded", degraded);
    tree_put_text(tree, document, "record", settings_record_name(sources->settings->record));
    tree_put_u64(tree, document, "interval_ms", sources->settings->interval_ns / NS_PER_MS);
    put_tracker(tree, document, sources);
    put_hooks(tree, document, sources);
    if (sources->services)
        put_services(tree, document, sources->services);
    if (sources->settings->mpi_count != MPI_COUNT_NO)
        put_mpi(tree, document, sources->tracker);
    if (sources->settings->block_count)
        put_block(tree, document, sources->tracker);
    if (sources->settings->stacks.sample != STACKS_SAMPLE_NO)
        put_stacks(tree, document, sources->tracker);
    if (sources->settings->trace.allow)
        put_traces(tree, document, sources);
    put_queues(tree, document, sources);
    tree_put(tree, document, "delivery", node_queue_status(sources->deliver));
    if (sources->settings->metrics.listen.n || sources->settings->metrics.textfile)
        put_metrics(tree, document, sources);
    if (sources->sink)
        tree_put(tree, document, "history", step_queue_status(sources->sink));
    if (sources->peers)
        tree_put(tree, document, "peers", peers_status(sources->peers));
    return document;
}

static int load_stats(struct store *reader, void *arg, struct error *error)
{
    struct status *status = arg;
    int r = store_stats(reader, &status->stats, error);

    if (r >= 0)
        r = store_outbox_stats(reader, status->sink_name, &status->history, error);
    return r < 0 || !status->traces ? r
                                    : trace_outbox_stats(status->traces, &status->waiting, error);
}

static uint64_t age_s(uint64_t since_ns)
{
    uint64_t now = clock_ns(CLOCK_REALTIME);

    return since_ns && since_ns < now ? (now - since_ns) / NS_PER_S : 0;
}

static void put_history(struct status *status)
{
    struct tree *tree = &status->tree;
    struct json_object *history;

    if (!json_object_object_get_ex(status->document, "history", &history))
        return;
    tree_put_u64(tree, history, "waiting", status->history.waiting);
    tree_put_u64(tree, history, "oldest_age_s", age_s(status->history.oldest_ns));
    tree_put_u64(tree, history, "refused", status->history.refused);
    tree_put_u64(tree, history, "given_up", status->history.given_up);
}

static void put_waiting_traces(struct status *status)
{
    struct tree *tree = &status->tree;
    struct json_object *trace, *delivery;

    if (!json_object_object_get_ex(status->document, "trace", &trace) ||
        !json_object_object_get_ex(trace, "delivery", &delivery))
        return;
    tree_put_u64(tree, delivery, "waiting", status->waiting.waiting);
    tree_put_u64(tree, delivery, "oldest_age_s", age_s(status->waiting.oldest_ns));
    tree_put_u64(tree, delivery, "given_up", status->undelivered);
}

static void on_stats(int result, const struct error *error, void *arg)
{
    struct status *status = arg;
    struct tree *tree = &status->tree;
    struct json_object *store = tree_object(tree);
    char *text;

    if (result < 0) {
        tree_put_text(tree, store, "error", error->text);
    } else {
        tree_put_u64(tree, store, "jobs", status->stats.jobs);
        tree_put_u64(tree, store, "steps", status->stats.steps);
        tree_put_u64(tree, store, "bytes", status->stats.bytes);
        tree_put_u64(tree, store, "oldest_s", status->stats.oldest_ns / NS_PER_S);
        tree_put_u64(tree, store, "deleted_early", status->deleted_early);
        put_history(status);
        put_waiting_traces(status);
    }
    tree_put(tree, status->document, "store", store);
    text = tree_text(tree_end(tree, status->document));
    if (text)
        request_text(status->request, text, false);
    else
        request_error(status->request, NO_MEMORY);
    free(status);
}

/* Show only to admins: an answer of a server may quote names of jobs and mounts of other users. */
static void hide_answers(struct json_object *document)
{
    struct json_object *part, *targets;

    if (json_object_object_get_ex(document, "history", &part))
        json_object_object_del(part, "last_error");
    if (json_object_object_get_ex(document, "trace", &part) &&
        json_object_object_get_ex(part, "delivery", &part)) {
        json_object_object_del(part, "last_error");
        json_object_object_del(part, "last_message");
    }
    if (!json_object_object_get_ex(document, "delivery", &part) ||
        !json_object_object_get_ex(part, "targets", &targets))
        return;
    for (size_t i = 0; i < json_object_array_length(targets); i++)
        json_object_object_del(json_object_array_get_idx(targets, i), "last_error");
}

static void set_traces(struct status *status, const struct status_sources *sources)
{
    struct trace_sink_counts counts;
    struct tracker_traces traces;

    trace_sink_counts(sources->traces, &counts);
    tracker_traces_state(sources->tracker, &traces);
    status->traces = trace_sink_outbox(sources->traces);
    status->undelivered = traces.undelivered + counts.unreadable;
}

void status_answer(const struct status_sources *sources, struct request *request)
{
    struct status *status = calloc(1, sizeof(*status));
    struct writer_stats writer;
    const struct error busy = {"too many queries are waiting"};

    if (!status) {
        request_error(request, NO_MEMORY);
        return;
    }
    status->document = build(&status->tree, sources);
    writer_stats(sources->writer, &writer);
    status->deleted_early = writer.deleted_early;
    status->request = request;
    status->sink_name = sources->sink_name;
    set_traces(status, sources);
    if (!request_is_admin(request))
        hide_answers(status->document);
    if (query_submit_for(sources->small, request_uid(request), load_stats, on_stats, status) < 0)
        on_stats(-EBUSY, &busy, status);
}

/* --- the start -------------------------------------------------------------------------------- */

void status_log_start(const struct status_sources *sources, const char *store_path)
{
    _free_ char *sinks = sink_list(sources->settings);
    struct tracker_stats stats;

    tracker_stats(sources->tracker, &stats);
    log_info("version " PACKAGE_VERSION
             "; node %s of cluster %s; backend: %s%s; store: %s; %s; %zu "
             "jobs and %zu steps are followed",
             sources->node, sources->settings->cluster, backend_in_use(sources->probe),
             probe_is_adopted(sources->probe) ? " (the maps of an earlier process)" : "",
             store_path, sinks ? sinks : "", stats.jobs, stats.steps);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/daemon/status.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/daemon/degraded.h"
#include "collector/daemon/metrics.h"
#include "collector/peers/peers.h"
#include "collector/probe/probe.h"
#include "collector/store/query.h"
#include "collector/daemon/recorder.h"
#include "collector/daemon/runs.h"
#include "collector/track/services.h"
#include "collector/deliver/step_queue.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"
#include "collector/deliver/node_queue.h"
#include "collector/track/tracker.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/tree.h"

struct status {
    const char *sink_name;
    struct request *request;
    struct json_object *document;
    struct store_stats stats;
    struct outbox_stats history;
    uint64_t deleted_early;
};

static void put_u64(struct json_object *object, const char *key, uint64_t value)
{
    (void)json_object_object_add(
        object, key, json_object_new_int64(value > INT64_MAX ? INT64_MAX : (int64_t)value));
}

static void put_text(struct json_object *object, const char *key, const char *value)
{
    (void)json_object_object_add(object, key, json_object_new_string(value));
}

static struct json_object *op_names(uint64_t ops)
{
    struct json_object *names = json_object_new_array();

    for (unsigned bit = 0; bit < IO_SET_BITS; bit++)
        if (ops & 1ull << bit)
            (void)json_object_array_add(names, json_object_new_string(io_bit_name(bit)));
    return names;
}

static const char *const backends[] = {[PROBE_NONE] = "none",
                                       [PROBE_FENTRY] = "fentry",
                                       [PROBE_KPROBE] = "kprobe",
                                       [PROBE_TP_BTF] = "tp_btf"};

static struct json_object *hook_json(const struct probe_hook *hook)
{
    struct json_object *object = json_object_new_object();

    put_text(object, "function", hook->function);
    (void)json_object_object_add(object, "ops", op_names(hook->ops));
    put_text(object, "backend", backends[hook->backend]);
    if (*hook->feature)
        put_text(object, "feature", hook->feature);
    if (*hook->why)
        put_text(object, "why", hook->why);
    if (hook->run_count) {
        put_u64(object, "run_count", hook->run_count);
        put_u64(object, "run_time_ns", hook->run_time_ns);
    }
    put_u64(object, "missed", hook->missed);
    return object;
}

/* Each operation with the backend that counts it, or "none". */
static struct json_object *op_backends(const struct probe_hook *hooks, size_t n,
                                       uint64_t unsupported)
{
    struct json_object *object = json_object_new_object();

    for (int op = 0; op < IO_OP_COUNT; op++) {
        enum probe_backend backend = PROBE_NONE;

        for (size_t i = 0; i < n && !(unsupported & 1ull << op); i++)
            if (backend == PROBE_NONE && hooks[i].ops & 1ull << op)
                backend = hooks[i].backend;
        put_text(object, io_op_name(op), backends[backend]);
    }
    return object;
}

/* The kernel counts runs and run time of programs only with this sysctl. */
static bool has_run_statistics(void)
{
    _fclose_ FILE *file = fopen("/proc/sys/kernel/bpf_stats_enabled", "re");

    return file && getc(file) == '1';
}

static struct json_object *selftest_json(const struct selftest *test)
{
    struct json_object *object = json_object_new_object();

    (void)json_object_object_add(object, "tested", op_names(test->tested));
    (void)json_object_object_add(object, "failed", op_names(test->failed));
    put_u64(object, "ns_per_event", test->ns_per_event);
    put_u64(object, "took_ms", test->took_ns / NS_PER_MS);
    return object;
}

static void put_hooks(struct json_object *document, const struct status_sources *sources)
{
    struct json_object *hooks = json_object_new_array();
    uint64_t unsupported = probe_unsupported(sources->probe);
    const struct probe_hook *list = NULL;
    size_t n = 0;

    for (size_t i = 0; probe_hooks(sources->probe, &list, &n) == 0 && i < n; i++)
        (void)json_object_array_add(hooks, hook_json(&list[i]));
    put_text(document, "run_statistics",
             has_run_statistics() ? "on" : "off (sysctl kernel.bpf_stats_enabled=1)");
    (void)json_object_object_add(document, "operations", op_backends(list, n, unsupported));
    (void)json_object_object_add(document, "hooks", hooks);
    (void)json_object_object_add(document, "unsupported", op_names(unsupported));
    if (sources->selftest->tested)
        (void)json_object_object_add(document, "self_test", selftest_json(sources->selftest));
}

static void put_tracker(struct json_object *document, const struct status_sources *sources)
{
    struct json_object *steps = json_object_new_object();
    struct tracker_stats stats;

    tracker_stats(sources->tracker, &stats);
    put_u64(document, "jobs", stats.jobs);
    put_u64(document, "lost", stats.lost);
    put_u64(steps, "running", stats.steps);
    put_u64(steps, "unsaved", stats.unsaved);
    put_u64(steps, "vanished", stats.vanished);
    put_u64(steps, "began_untracked", stats.untracked);
    (void)json_object_object_add(document, "steps", steps);
    put_u64(document, "runs", runs_count(sources->runs));
}

static void put_services(struct json_object *document, const struct services *services)
{
    struct json_object *object = json_object_new_object();
    struct services_stats stats;

    services_stats(services, &stats);
    put_u64(object, "followed", stats.followed);
    put_u64(object, "left_out", stats.left_out);
    (void)json_object_object_add(document, "services", object);
}

static void put_queues(struct json_object *document, const struct status_sources *sources)
{
    struct json_object *queues = json_object_new_object();
    struct json_object *sockets = json_object_new_object();
    struct writer_stats writer;
    struct server_stats server;
    struct tracker_stats tracker;
    struct query_stats small, large;

    query_stats(sources->small, &small);
    query_stats(sources->large, &large);
    writer_stats(sources->writer, &writer);
    server_stats(sources->server, &server);
    tracker_stats(sources->tracker, &tracker);
    put_u64(queues, "store", writer.waiting);
    put_u64(queues, "store_capacity", writer.capacity);
    put_u64(queues, "store_failures", writer.failed);
    put_u64(queues, "store_refused", writer.refused);
    put_u64(queues, "save_failures", tracker.save_failures);
    put_u64(queues, "records", recorder_pending(sources->recorder));
    put_u64(queues, "questions", small.waiting);
    put_u64(queues, "questions_refused", small.refused);
    put_u64(queues, "large_questions", large.waiting);
    put_u64(queues, "large_questions_refused", large.refused);
    (void)json_object_object_add(document, "queues", queues);
    put_u64(sockets, "clients", server.clients);
    put_u64(sockets, "requests", server.requests);
    put_u64(sockets, "refused", server.refused);
    put_u64(sockets, "bad", server.bad);
    put_u64(sockets, "timeouts", server.timeouts);
    (void)json_object_object_add(document, "socket", sockets);
    if (*writer.sweep_error.text)
        put_text(document, "retention_error", writer.sweep_error.text);
}

static void put_metrics(struct json_object *document, const struct status_sources *sources)
{
    struct json_object *metrics = json_object_new_object();
    struct metrics_stats stats;

    metrics_stats(sources->metrics, &stats);
    put_u64(metrics, "scrapes", stats.scrapes);
    put_u64(metrics, "refused", stats.http.refused);
    put_u64(metrics, "timeouts", stats.http.timeouts);
    put_u64(metrics, "crowded", stats.http.crowded);
    put_u64(metrics, "textfiles", stats.textfile.writes);
    put_u64(metrics, "textfile_failures", stats.textfile.failures);
    if (*stats.textfile.error)
        put_text(metrics, "textfile_error", stats.textfile.error);
    (void)json_object_object_add(document, "metrics", metrics);
}

static struct json_object *build(const struct status_sources *sources)
{
    struct json_object *document = json_object_new_object(), *degraded;
    uint64_t now = clock_ns(CLOCK_BOOTTIME);

    if (!document)
        return NULL;
    put_text(document, "version", PACKAGE_VERSION);
    put_u64(document, "uptime_s", (now - sources->started_ns) / NS_PER_S);
    put_text(document, "node", sources->node);
    put_text(document, "cluster", sources->settings->cluster);
    put_text(document, "runtime", sources->runtime_dir);
    put_text(document, "maps", sources->pin_dir);
    (void)json_object_object_add(document, "maps_adopted",
                                 json_object_new_boolean(probe_is_adopted(sources->probe)));
    if (probe_blind(sources->probe))
        put_text(document, "not_counted", probe_blind(sources->probe));
    if ((degraded = degraded_json(sources->degraded)))
        (void)json_object_object_add(document, "degraded", degraded);
    put_text(document, "record", settings_record_name(sources->settings->record));
    put_u64(document, "interval_ms", sources->settings->interval_ns / NS_PER_MS);
    put_tracker(document, sources);
    put_hooks(document, sources);
    if (sources->services)
        put_services(document, sources->services);
    put_queues(document, sources);
    (void)json_object_object_add(document, "delivery", node_queue_status(sources->deliver));
    if (sources->settings->metrics.listen.n || sources->settings->metrics.textfile)
        put_metrics(document, sources);
    if (sources->sink)
        (void)json_object_object_add(document, "history", step_queue_status(sources->sink));
    if (sources->peers)
        (void)json_object_object_add(document, "peers", peers_status(sources->peers));
    return document;
}

static int load_stats(struct store *reader, void *arg, struct error *error)
{
    struct status *status = arg;
    int r = store_stats(reader, &status->stats, error);

    return r < 0 ? r : store_outbox_stats(reader, status->sink_name, &status->history, error);
}

static uint64_t age_s(uint64_t since_ns)
{
    uint64_t now = clock_ns(CLOCK_REALTIME);

    return since_ns && since_ns < now ? (now - since_ns) / NS_PER_S : 0;
}

static void put_history(const struct status *status)
{
    struct json_object *history;

    if (!json_object_object_get_ex(status->document, "history", &history))
        return;
    put_u64(history, "waiting", status->history.waiting);
    put_u64(history, "oldest_age_s", age_s(status->history.oldest_ns));
    put_u64(history, "refused", status->history.refused);
    put_u64(history, "given_up", status->history.given_up);
}

static void on_stats(int result, const struct error *error, void *arg)
{
    struct status *status = arg;
    struct json_object *store = json_object_new_object();

    if (result < 0) {
        put_text(store, "error", error->text);
    } else {
        put_u64(store, "jobs", status->stats.jobs);
        put_u64(store, "steps", status->stats.steps);
        put_u64(store, "bytes", status->stats.bytes);
        put_u64(store, "oldest_s", status->stats.oldest_ns / NS_PER_S);
        put_u64(store, "deleted_early", status->deleted_early);
        put_history(status);
    }
    (void)json_object_object_add(status->document, "store", store);
    request_text(status->request, tree_text(status->document), false);
    free(status);
}

/* Show only to admins: an answer of a server may quote names of jobs and mounts of other users. */
static void hide_answers(struct json_object *document)
{
    struct json_object *part, *targets;

    if (json_object_object_get_ex(document, "history", &part))
        json_object_object_del(part, "last_error");
    if (!json_object_object_get_ex(document, "delivery", &part) ||
        !json_object_object_get_ex(part, "targets", &targets))
        return;
    for (size_t i = 0; i < json_object_array_length(targets); i++)
        json_object_object_del(json_object_array_get_idx(targets, i), "last_error");
}

void status_answer(const struct status_sources *sources, struct request *request)
{
    struct status *status = calloc(1, sizeof(*status));
    struct writer_stats writer;
    const struct error busy = {"too many queries are waiting"};

    if (status)
        status->document = build(sources);
    if (!status || !status->document) {
        free(status);
        request_error(request, "status: no memory");
        return;
    }
    writer_stats(sources->writer, &writer);
    status->deleted_early = writer.deleted_early;
    status->request = request;
    status->sink_name = sources->sink_name;
    if (!request_is_admin(request))
        hide_answers(status->document);
    if (query_submit_for(sources->small, request_uid(request), load_stats, on_stats, status) < 0)
        on_stats(-EBUSY, &busy, status);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/self_metrics.h"

#include <stdlib.h>
#include <string.h>

#include "collector/daemon/degraded.h"
#include "collector/daemon/socket.h"
#include "collector/daemon/trace_sink.h"
#include "collector/deliver/node_queue.h"
#include "collector/probe/probe.h"
#include "collector/deliver/step_queue.h"
#include "collector/track/tracker.h"
#include "collector/store/writer.h"
#include "common/clock.h"

#define PEERS "peers" /* sum over the outboxes of all other nodes */
#define PEER_PREFIX "peer:"

enum family {
    UPTIME,
    STEPS,
    UNSAVED,
    VANISHED,
    UNTRACKED,
    UNTAGGED,
    HOOKS,
    RUNS,
    RUN_SECONDS,
    MISSED,
    PUSHES,
    PUSH_FAILURES,
    PUSH_SUCCESS,
    SPOOL_ROWS,
    SPOOL_OLDEST,
    SPOOL_REFUSED,
    SPOOL_GIVEN_UP,
    TRACE_SPANS,
    STORE_JOBS,
    STORE_BYTES,
    STORE_QUEUE,
    STORE_FAILURES,
    STORE_DELETED_EARLY,
    REQUESTS,
    TEXTFILE_FAILURES,
    DEGRADED,
    N_FAMILIES,
};

static const struct prometheus_family families[N_FAMILIES] = {
    [UPTIME] = {"jobio_uptime_seconds", "gauge", "Seconds since jobiod started.", NULL, NULL, 0},
    [STEPS] = {"jobio_tracked_steps", "gauge", "Steps that run on this node.", NULL, NULL, 0},
    [UNSAVED] = {"jobio_unsaved_steps", "gauge", "Steps that ended and are not in the store yet.",
                 NULL, NULL, 0},
    [VANISHED] = {"jobio_vanished_steps_total", "counter",
                  "Steps that nobody ended: their cgroup was gone.", NULL, NULL, 0},
    [UNTRACKED] = {"jobio_untracked_steps_total", "counter",
                   "Steps that ran for a time before they were counted.", NULL, NULL, 0},
    [UNTAGGED] = {"jobio_untagged_steps", "gauge",
                  "Steps of Slurm that run and that the plugin has not tagged.", NULL, NULL, 0},
    [HOOKS] = {"jobio_hooks", "gauge", "Functions of the kernel that are, or should be, watched.",
               "state", NULL, 0},
    [RUNS] = {"jobio_program_runs_total", "counter",
              "Runs of BPF programs; 0 without kernel.bpf_stats_enabled.", NULL, NULL, 0},
    [RUN_SECONDS] = {"jobio_program_run_seconds_total", "counter",
                     "Seconds in BPF programs; 0 without kernel.bpf_stats_enabled.", NULL, NULL, 0},
    [MISSED] = {"jobio_program_missed_total", "counter",
                "Calls that a BPF program missed, because it ran already.", NULL, NULL, 0},
    [PUSHES] = {"jobio_pushes_total", "counter", "Pushes that were tried.", "target", NULL, 0},
    [PUSH_FAILURES] = {"jobio_push_failures_total", "counter", "Pushes that failed.", "target",
                       NULL, 0},
    [PUSH_SUCCESS] = {"jobio_push_success_timestamp_seconds", "gauge",
                      "When the target last took a push, in seconds since 1970; 0: never.",
                      "target", NULL, 0},
    [SPOOL_ROWS] = {"jobio_spool_rows", "gauge",
                    "Ended jobs (steps or traces, for a sink) that the target has not taken yet.",
                    "target", NULL, 0},
    [SPOOL_OLDEST] = {"jobio_spool_oldest_timestamp_seconds", "gauge",
                      "Since when the first of them waits, in seconds since 1970.", "target", NULL,
                      0},
    [SPOOL_REFUSED] = {"jobio_spool_refused_rows", "gauge",
                       "Steps that the sink does not take, and that are kept.", "target", NULL, 0},
    [SPOOL_GIVEN_UP] = {"jobio_spool_given_up_total", "counter",
                        "Steps or traces that were removed before the sink took them.", "target",
                        NULL, 0},
    [TRACE_SPANS] = {"jobio_trace_spans_total", "counter",
                     "Spans of traces that were sent, by what the collector did with them.",
                     "result", NULL, 0},
    [STORE_JOBS] = {"jobio_store_jobs", "gauge", "Jobs in the store.", NULL, NULL, 0},
    [STORE_BYTES] = {"jobio_store_size_bytes", "gauge", "Size of the store's file.", NULL, NULL, 0},
    [STORE_QUEUE] = {"jobio_store_queue_length", "gauge", "Writes that wait for the store.", NULL,
                     NULL, 0},
    [STORE_FAILURES] = {"jobio_store_failures_total", "counter",
                        "Writes that failed; rows are written again.", NULL, NULL, 0},
    [STORE_DELETED_EARLY] =
        {"jobio_store_deleted_early_total", "counter",
         "Jobs deleted within an hour of their end, because the store was full.", NULL, NULL, 0},
    [REQUESTS] = {"jobio_socket_requests_total", "counter",
                  "Requests at the local socket, by what became of them.", "result", NULL, 0},
    [TEXTFILE_FAILURES] = {"jobio_textfile_failures_total", "counter",
                           "Times that the textfile could not be written.", NULL, NULL, 0},
    [DEGRADED] = {"jobio_degraded", "gauge",
                  "1: this part of jobio.conf does not work, see jobio status.", "part", NULL, 0},
};

struct self_metrics {
    struct prometheus_family families[N_FAMILIES]; /* their samples are owned */
    bool failed;
};

static void put(struct self_metrics *self, enum family family, const char *value, double number)
{
    struct prometheus_family *f = &self->families[family];
    struct prometheus_sample *grown = realloc((void *)f->samples, (f->n + 1) * sizeof(*grown));

    if (!grown) {
        self->failed = true;
        return;
    }
    grown[f->n++] = (struct prometheus_sample){value, number};
    f->samples = grown;
}

/* --- the parts -------------------------------------------------------------------------------- */

static void put_tracker(struct self_metrics *self, const struct self_metrics_sources *sources)
{
    struct tracker_stats stats;

    tracker_stats(sources->tracker, &stats);
    put(self, UPTIME, NULL, (double)((clock_ns(CLOCK_BOOTTIME) - sources->started_ns) / NS_PER_S));
    put(self, STEPS, NULL, (double)stats.steps);
    put(self, UNSAVED, NULL, (double)stats.unsaved);
    put(self, VANISHED, NULL, (double)stats.vanished);
    put(self, UNTRACKED, NULL, (double)stats.untracked);
    put(self, UNTAGGED, NULL, (double)stats.untagged);
}

static void put_probe(struct self_metrics *self, const struct self_metrics_sources *sources)
{
    const struct probe_hook *hooks = NULL;
    size_t n = 0, attached = 0, missing = 0;
    double runs = 0, ns = 0, missed = 0;

    (void)probe_hooks(sources->probe, &hooks, &n);
    for (size_t i = 0; i < n; i++) {
        attached += hooks[i].backend != PROBE_NONE;
        missing += hooks[i].backend == PROBE_NONE && !hooks[i].absent;
        runs += (double)hooks[i].run_count;
        ns += (double)hooks[i].run_time_ns;
        missed += (double)hooks[i].missed;
    }
    put(self, HOOKS, "attached", (double)attached);
    put(self, HOOKS, "missing", (double)missing);
    put(self, RUNS, NULL, runs);
    put(self, RUN_SECONDS, NULL, ns / NS_PER_S);
    put(self, MISSED, NULL, missed);
}

static void put_pushes(struct self_metrics *self, const struct node_queue *deliver)
{
    for (size_t i = 0; i < node_queue_targets(deliver); i++) {
        struct node_queue_stats stats;

        node_queue_stats(deliver, i, &stats);
        put(self, PUSHES, stats.url, (double)stats.pushes);
        put(self, PUSH_FAILURES, stats.url, (double)stats.failures);
        put(self, PUSH_SUCCESS, stats.url, (double)stats.last_success_s);
        put(self, SPOOL_ROWS, stats.url, (double)stats.pending);
        if (stats.oldest_ns)
            put(self, SPOOL_OLDEST, stats.url, (double)(stats.oldest_ns / NS_PER_S));
    }
}

/* The requests of the history sink count as pushes. */
static void put_requests(struct self_metrics *self, const char *name, const struct step_queue *sink)
{
    struct step_queue_counts counts;

    step_queue_counts(sink, &counts);
    put(self, PUSHES, name, (double)counts.requests);
    put(self, PUSH_FAILURES, name, (double)counts.failures);
    put(self, PUSH_SUCCESS, name, (double)counts.last_success_s);
}

static void put_sink(struct self_metrics *self, const char *name, const struct outbox_stats *stats)
{
    put(self, SPOOL_ROWS, name, (double)stats->waiting);
    put(self, SPOOL_REFUSED, name, (double)stats->refused);
    put(self, SPOOL_GIVEN_UP, name, (double)stats->given_up);
    if (stats->oldest_ns)
        put(self, SPOOL_OLDEST, name, (double)(stats->oldest_ns / NS_PER_S));
}

/* What the reading of the store does not have. */
static uint64_t traces_given_up(const struct self_metrics_sources *sources)
{
    struct trace_sink_counts counts;
    struct tracker_traces traces;

    trace_sink_counts(sources->traces, &counts);
    tracker_traces_state(sources->tracker, &traces);
    return traces.undelivered + counts.unreadable;
}

static void put_sinks(struct self_metrics *self, const struct self_metrics_sources *sources,
                      const struct node_reading *reading)
{
    struct outbox_stats peers = {0};

    for (size_t i = 0; i < reading->n_sinks; i++) {
        const struct sink_stats *sink = &reading->sinks[i];
        struct outbox_stats stats = sink->stats;

        if (!strcmp(sink->name, TRACE_SINK))
            stats.given_up = traces_given_up(sources);
        if (strncmp(sink->name, PEER_PREFIX, strlen(PEER_PREFIX)) != 0) {
            put_sink(self, sink->name, &stats);
            continue;
        }
        peers.waiting += sink->stats.waiting;
        peers.refused += sink->stats.refused;
        peers.given_up += sink->stats.given_up;
        if (sink->stats.oldest_ns && (!peers.oldest_ns || sink->stats.oldest_ns < peers.oldest_ns))
            peers.oldest_ns = sink->stats.oldest_ns;
    }
    put_sink(self, PEERS, &peers);
}

static void put_traces(struct self_metrics *self, const struct self_metrics_sources *sources)
{
    struct trace_sink_counts counts;

    trace_sink_counts(sources->traces, &counts);
    put_requests(self, TRACE_SINK, trace_sink_queue(sources->traces));
    put(self, TRACE_SPANS, "accepted", (double)counts.delivered);
    put(self, TRACE_SPANS, "rejected", (double)counts.rejected);
    put(self, TRACE_SPANS, "refused", (double)counts.refused);
}

static void put_store(struct self_metrics *self, const struct self_metrics_sources *sources,
                      const struct store_stats *store)
{
    struct writer_stats writer;

    writer_stats(sources->writer, &writer);
    put(self, STORE_JOBS, NULL, (double)store->jobs);
    put(self, STORE_BYTES, NULL, (double)store->bytes);
    put(self, STORE_QUEUE, NULL, (double)writer.waiting);
    put(self, STORE_FAILURES, NULL, (double)writer.failed);
    put(self, STORE_DELETED_EARLY, NULL, (double)writer.deleted_early);
}

static void put_socket(struct self_metrics *self, const struct server *server)
{
    struct server_stats stats = {0};

    if (server)
        server_stats(server, &stats);
    put(self, REQUESTS, "taken", (double)stats.requests);
    put(self, REQUESTS, "refused", (double)stats.refused);
    put(self, REQUESTS, "bad", (double)stats.bad);
    put(self, REQUESTS, "timed out", (double)stats.timeouts);
}

static void put_textfile(struct self_metrics *self, const struct textfile *file)
{
    struct textfile_stats stats;

    textfile_stats(file, &stats);
    put(self, TEXTFILE_FAILURES, NULL, (double)stats.failures);
}

static void put_degraded(struct self_metrics *self, const struct degraded *degraded)
{
    for (int part = 0; part < DEGRADED_PARTS; part++)
        put(self, DEGRADED, degraded_name(part), *degraded->why[part].text != '\0');
}

/* --- start and stop --------------------------------------------------------------------------- */

struct self_metrics *self_metrics_create(const struct self_metrics_sources *sources,
                                         const struct textfile *file,
                                         const struct node_reading *reading)
{
    struct self_metrics *self = calloc(1, sizeof(*self));

    if (!self)
        return NULL;
    memcpy(self->families, families, sizeof(families));
    put_tracker(self, sources);
    put_probe(self, sources);
    put_pushes(self, sources->deliver);
    if (sources->sink)
        put_requests(self, sources->sink_name, sources->sink);
    if (sources->traces)
        put_traces(self, sources);
    put_sinks(self, sources, reading);
    put_store(self, sources, &reading->store);
    put_socket(self, sources->server);
    put_textfile(self, file);
    put_degraded(self, sources->degraded);
    if (!self->failed)
        return self;
    self_metrics_destroy(self);
    return NULL;
}

const struct prometheus_family *self_metrics_families(const struct self_metrics *self, size_t *n)
{
    *n = N_FAMILIES;
    return self->families;
}

void self_metrics_destroy(struct self_metrics *self)
{
    if (!self)
        return;
    for (size_t i = 0; i < N_FAMILIES; i++)
        free((void *)self->families[i].samples);
    free(self);
}

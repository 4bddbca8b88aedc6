/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the daemon, for the files that wire them. All other files get what they need. */
#ifndef JOBIO_COLLECTOR_DAEMON_DAEMON_IMPL_H
#define JOBIO_COLLECTOR_DAEMON_DAEMON_IMPL_H

#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "collector/daemon/daemon.h"
#include "collector/deliver/node_queue.h"
#include "collector/daemon/limited_log.h"
#include "collector/daemon/metrics.h"
#include "collector/daemon/node_state.h"
#include "collector/daemon/notes.h"
#include "collector/daemon/status.h"
#include "collector/probe/selftest.h"
#include "collector/daemon/socket.h"
#include "collector/store/store.h"
#include "collector/track/tracker.h"

struct baselines;
struct events;
struct peers;
struct held;
struct live_view;
struct query;
struct recorder;
struct reports;
struct runs;
struct services;
struct step_queue;

struct daemon {
    const struct settings *settings;
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
    struct store *store; /* until the writer has it */
    struct writer *writer;
    struct query *query; /* short questions: the live view, the status, peers, a job */
    struct query *large; /* questions that may use all of their time */
    struct recorder *recorder;
    struct baselines *baselines;
    struct notes *notes;
    struct node_state *node_state;
    struct reports *reports;
    struct node_queue *deliver;
    struct step_queue *sink; /* NULL: no [history] */
    struct peers *peers;     /* NULL: no [peers] */
    LIST_HEAD(, held) held;  /* questions that wait until tasks end */
    struct metrics *metrics;
    struct runs *runs;
    struct services *services; /* NULL: not counted */
    char *no_services;         /* why not */
    struct live_view *live_view;
    struct status_sources status;
    struct server *server;
    struct events *events;
};

/* dispatch.c: answer one request. */
void daemon_handle(struct request *request, const struct message *m, void *arg);

/* questions.c: daemon->query and daemon->large, and what is answered there. */
int questions_create(struct daemon *daemon, struct error *error);
void daemon_query_job(struct daemon *daemon, struct request *request, const struct message *m);
void daemon_query_history(struct daemon *daemon, struct request *request, const struct message *m);
void daemon_query_array(struct daemon *daemon, struct request *request, const struct message *m);

/* metrics_push.c: what the pushes of metrics need from the daemon. */
int metrics_push_create(struct daemon *daemon, struct error *error);
void daemon_retire(struct daemon *daemon, struct request *request, const struct message *m);

/* history_sink.c: what the history sink needs from the daemon. */
#define HISTORY_SINK "history" /* in the outbox */
/* The sinks of the outbox that get every finished step, NULL-terminated; NULL: none. */
const char *const *history_sink_names(const struct settings *settings);
int history_sink_create(struct daemon *daemon, struct error *error);

/* peer_requests.c: what the other nodes need from the daemon. */
bool peer_requests_are_wanted(const struct settings *settings);
int peer_requests_tidy_outbox(struct daemon *daemon,
                              struct error *error); /* while the store is ours */
int peer_requests_create(struct daemon *daemon, struct error *error);
/* Tasks have ended: answer the questions that waited for that. */
void peer_requests_recheck(struct daemon *daemon);
void peer_requests_stop(struct daemon *daemon);

#endif

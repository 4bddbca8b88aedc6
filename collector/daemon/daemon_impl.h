/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's insides, shared by the files that it is made of. */
#ifndef JOBIO_COLLECTOR_DAEMON_DAEMON_IMPL_H
#define JOBIO_COLLECTOR_DAEMON_DAEMON_IMPL_H

#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "collector/daemon/daemon.h"
#include "collector/deliver/node_queue.h"
#include "collector/http/server.h"
#include "collector/probe/selftest.h"
#include "collector/daemon/socket.h"
#include "collector/store/store.h"
#include "collector/track/tracker.h"

struct advice;
struct gather;
struct held;
struct metrics;
struct query;
struct recorder;
struct runs;
struct selfmetrics;
struct services;
struct sink;

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
    struct query *query; /* short questions: the live view, the state, peers, a job */
    struct query *large; /* and those that may take all of their time */
    struct recorder *recorder;
    struct advice *advice;    /* NULL: none is given */
    struct io_mounts normals; /* of mounts: what is normal there */
    struct deliver *deliver;
    struct sink *sink;       /* NULL: no [history] */
    struct gather *gather;   /* NULL: no [peers] */
    LIST_HEAD(, held) held;  /* questions that wait for tasks to end */
    struct metrics *metrics; /* NULL: neither scraped nor written */
    struct runs *runs;
    struct services *services; /* NULL: not counted */
    char *no_services;         /* why not */
    struct live *live; /* what is done now, as of the last time that somebody asked; or NULL */
    struct server *server;
    sd_event_source *tick, *settle, *settle_later;
    struct prometheus_names metric_names;
    size_t names_kept; /* of these, in the store */
};

/* dispatch.c: one question of a peer. */
void daemon_handle(struct request *request, const struct message *m, void *arg);

/* report.c: read the rules of the advice; one that is wrong is logged, and left out. */
void report_create(struct daemon *daemon);
void daemon_report(struct daemon *daemon, struct request *request, const struct message *m);

/* normals.c: what is normal on mounts, asked of the store from time to time. */
int normals_create(struct daemon *daemon, struct error *error);
/* Fill in the `normal` of these mounts. */
void normals_fill(const struct daemon *daemon, struct io_mounts *mounts);

/* questions.c: daemon->query and daemon->large, and what is answered there. */
int questions_create(struct daemon *daemon, struct error *error);
void daemon_query_job(struct daemon *daemon, struct request *request, const struct message *m);
void daemon_query_history(struct daemon *daemon, struct request *request, const struct message *m);
void daemon_query_array(struct daemon *daemon, struct request *request, const struct message *m);

/* top.c */
struct live;
void live_release(struct live *live); /* NULL is fine */
void daemon_query_top(struct daemon *daemon, struct request *request, const struct message *m);

/* status.c */
void daemon_status(struct daemon *daemon, struct request *request, const struct message *m);

/* counting.c: make daemon->probe, which may count nothing: a kernel that can do nothing keeps
 * jobiod from nothing else. Then try what it counts, once there is a hierarchy to do so in. */
int counting_create(struct daemon *daemon, struct error *error);
void counting_test(struct daemon *daemon);

/* pushing.c: what deliver asks of the daemon. */
int pushing_create(struct daemon *daemon, struct error *error);
/* Have a small text kept beyond the end of the process, as store_put_state(). */
void daemon_keep(struct daemon *daemon, const char *key, const char *value);
void daemon_retire(struct daemon *daemon, struct request *request, const struct message *m);

/* feeding.c: what the history sink asks of the daemon. */
#define FEEDING_SINK "history" /* in the outbox */
/* Those of the tracker; NULL: none. */
const char *const *feeding_sinks(const struct settings *settings);
int feeding_create(struct daemon *daemon, struct error *error);

/* gathering.c: what gather asks of the daemon. */
bool gathering_is_wanted(const struct settings *settings);
int gathering_tidy(struct daemon *daemon, struct error *error); /* while the store is ours */
int gathering_create(struct daemon *daemon, struct error *error);
/* Tasks have ended: who waits for that is answered. */
void gathering_recheck(struct daemon *daemon);
void gathering_stop(struct daemon *daemon);

/* collection.c */
struct collection {
    const struct job_key *ended; /* these ended jobs; copied */
    size_t n_ended;
    uint64_t recent_ns; /* and the newest that ended at most so long ago; 0: no others */
};
struct sink_stats {
    char *name;
    struct outbox_stats stats;
};
/* Good during the call that gets it. */
struct collected {
    struct prometheus_node node; /* the totals, what runs, what was asked for */
    /* with recent_ns: */
    struct store_stats store;
    struct sink_stats *sinks;
    size_t n_sinks;
};
typedef void (*collected_f)(const struct collected *collected, const struct error *why, void *arg);
/* Gather the state of the node; `done` is called once, inside the call or later: NULL and why
 * not. */
void daemon_collect(struct daemon *daemon, const struct collection *collection, collected_f done,
                    void *arg);
/* The names that mounts had in the metrics of an earlier process. */
int collection_restore(struct daemon *daemon, struct error *error);

/* metrics.c: /metrics and the textfile, as far as they are configured. */
int metrics_create(struct metrics **ret, struct daemon *daemon, struct error *error);
/* After the daemon's query. NULL is fine. */
void metrics_destroy(struct metrics *metrics);
/* The node is retired: its textfile goes. NULL is fine. */
void metrics_retire(struct metrics *metrics);
struct metrics_stats {
    uint64_t scrapes, textfiles, textfile_failures;
    char textfile_error[256]; /* of the last one; "": it was written */
    struct http_server_stats http;
};
void metrics_stats(const struct metrics *metrics, struct metrics_stats *ret); /* NULL: all 0 */

/* selfmetrics.c: what is known of jobiod itself, as families; NULL: no memory. */
struct selfmetrics *selfmetrics_create(struct daemon *daemon, const struct collected *collected);
const struct prometheus_family *selfmetrics_families(const struct selfmetrics *self, size_t *n);
void selfmetrics_destroy(struct selfmetrics *self); /* NULL is fine */

/* log_write() under a limit of one line in `seconds` a key. */
void daemon_log_limited(const char *key, unsigned seconds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

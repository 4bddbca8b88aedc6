/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's insides, shared by the files that it is made of. */
#ifndef JOBIO_COLLECTOR_DAEMON_IMPL_H
#define JOBIO_COLLECTOR_DAEMON_IMPL_H

#include <systemd/sd-event.h>

#include "collector/daemon.h"
#include "collector/deliver.h"
#include "collector/selftest.h"
#include "collector/server.h"
#include "collector/tracker.h"

struct gather;
struct query;
struct recorder;
struct runs;

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
    struct query *query;
    struct recorder *recorder;
    struct deliver *deliver;
    struct gather *gather; /* NULL: no [peers] */
    struct runs *runs;
    struct server *server;
    sd_event_source *tick, *settle;
    struct prometheus_names metric_names;
    size_t names_kept; /* of these, in the store */
};

/* dispatch.c: one question of a peer. */
void daemon_handle(struct request *request, const struct message *m, void *arg);

/* report.c */
void daemon_report(struct daemon *daemon, struct request *request, const struct message *m);

/* questions.c */
void daemon_query_job(struct daemon *daemon, struct request *request, const struct message *m);
void daemon_query_history(struct daemon *daemon, struct request *request, const struct message *m);

/* status.c */
void daemon_status(struct daemon *daemon, struct request *request, const struct message *m);

/* counting.c: make daemon->probe, which may count nothing: a kernel that can do nothing keeps jobiod
 * from nothing else. Then try what it counts, once there is a hierarchy to do so in. */
int counting_create(struct daemon *daemon, struct error *error);
void counting_test(struct daemon *daemon);

/* pushing.c: what deliver asks of the daemon. */
int pushing_create(struct daemon *daemon, struct error *error);
void daemon_retire(struct daemon *daemon, struct request *request, const struct message *m);

/* gathering.c: what gather asks of the daemon. */
bool gathering_is_wanted(const struct settings *settings);
int gathering_create(struct daemon *daemon, struct error *error);

/* log_write() under a limit of one line in `seconds` a key. */
void daemon_log_limited(const char *key, unsigned seconds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif

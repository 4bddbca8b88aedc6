/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Delivery of the node's metrics to Pushgateways and the like: when to push, and which ended jobs
 * each gateway has acknowledged. The whole state of the node is one group, which every push
 * replaces.
 */
#ifndef JOBIO_COLLECTOR_DELIVER_NODE_QUEUE_H
#define JOBIO_COLLECTOR_DELIVER_NODE_QUEUE_H

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "collector/http/access.h"
#include "common/error.h"
#include "common/job.h"
#include "common/log.h"
#include "report/prometheus/prometheus.h"

struct node_queue;
struct json_object;

/* What the queue needs from the daemon. All are called on the loop's thread. */
struct node_queue_hooks {
    /* Gather the state of the node: totals, all running jobs, and these ended ones (keys are good
     * until the call returns). Answer once with node_queue_provide(), inside the call or later. */
    void (*collect)(const struct job_key *ended, size_t n, void *arg);
    /* Keep a small text under the key beyond the end of the process; value NULL: forget the key.
     * Writes must be in the order of the calls, and before later writes to the store. */
    void (*keep)(const char *key, const char *value, void *arg);
    /* One line for the operator. */
    void (*say)(enum log_level level, const char *text, void *arg);
    void *arg;
};

/* Strings are copied by node_queue_create(). Times in ns. */
struct node_queue_options {
    const char *cluster, *instance; /* the group: /metrics/job/jobio/cluster/C/instance/I */
    /* "http://host:9091", with a path prefix if there is one; or, where VictoriaMetrics imports,
     * "http://host:8428/api/v1/import/prometheus" */
    const char *const *urls;
    size_t n_urls;
    struct http_access access;
    uint64_t interval_ns; /* between pushes, +-10 % */
    uint64_t gap_ns;      /* at least this between two pushes to one URL */
    uint64_t spread_ns;   /* after a job's end, start within this time (at random) */
    uint64_t first_ns;    /* the first push starts within this time (at random) */
    uint64_t linger_ns;   /* an ended job stays this long after its first acknowledgement */
    uint64_t backoff_ns;  /* first step of the exponential backoff */
    uint64_t slow_ns;     /* its top, and the pace after 400 and configuration errors */
    uint64_t say_ns;      /* between two lines about failures of one URL */
    uint64_t connect_timeout_ns, timeout_ns;
    size_t max_ended;              /* ended jobs in one body; the rest waits for its turn */
    uint64_t (*realtime_ns)(void); /* the clock of acknowledgements; NULL: CLOCK_REALTIME */
};

/* The start of all keys that `keep` is called with. */
#define NODE_QUEUE_STATE_PREFIX "deliver/"

/* 60 s, 5 s apart, 500 ms, 10 s, 5 min, backoff 5 s to 15 min, a line a minute, 3 s and 15 s, 1,000
 * jobs. */
void node_queue_defaults(struct node_queue_options *options);
/* The linger for a scrape interval: max(3 x interval, 5 min). */
uint64_t node_queue_linger(uint64_t scrape_interval_ns);

/* Whether this URL can be one of `options`. 0, -EINVAL or -ENOMEM, as node_queue_create(). */
int node_queue_check_url(const struct node_queue_options *options, const char *url,
                         struct error *error);
/* Check the options; nothing is sent before node_queue_start(). Without a URL it does nothing.
 * -EINVAL: a URL that is not plain http(s) or holds a password; -errno of an unreadable file;
 * -ENOTSUP: a libcurl that would block on name resolution. *ret untouched on failure. */
int node_queue_create(struct node_queue **ret, sd_event *loop,
                      const struct node_queue_options *options,
                      const struct node_queue_hooks *hooks, struct error *error);
/* Ends all transfers. The group stays at the gateways. NULL is fine. */
void node_queue_destroy(struct node_queue *queue);

/* Restore what an earlier process passed to `keep`. -EBADMSG: not ours, ignored. */
int node_queue_restore(struct node_queue *queue, const char *key, const char *value,
                       struct error *error);
int node_queue_start(struct node_queue *queue, struct error *error);

/* The job has ended on this node. Call it before the job's final write is handed to the store: if
 * jobiod is killed between the two, the job is either delivered, or still unfinished and ends
 * again. Idempotent. -ENOMEM. */
int node_queue_job_ended(struct node_queue *queue, const struct job_key *key);

/* The answer to `collect`: the node (borrowed during the call), or NULL and why not. An ended job
 * that was asked for and is not in node->jobs three times in a row is given up and counted. */
void node_queue_provide(struct node_queue *queue, const struct prometheus_node *node,
                        const struct error *why);

/* Delete the group at every URL and push no more until the next start. `done` is called once, when
 * each has answered or failed, with a line for each ("URL: deleted", "URL: HTTP 401"); failed: how
 * many. That takes at most two time-outs, because a push under way is waited for. It may be called
 * inside node_queue_retire(); it is not if node_queue_destroy() comes first. -EALREADY: one is
 * under way. */
typedef void (*node_queue_retired_f)(const char *text, size_t failed, void *arg);
int node_queue_retire(struct node_queue *queue, node_queue_retired_f done, void *arg);

/* For metrics: what became of the pushes to the n-th URL. */
struct node_queue_stats {
    const char *url; /* the queue's */
    uint64_t pushes, failures;
    uint64_t last_success_s; /* real time; 0: never */
    uint64_t pending;        /* ended jobs that it has not acknowledged */
    uint64_t oldest_ns;      /* when the first of them ended, real time; 0: there is none */
};
size_t node_queue_targets(const struct node_queue *queue);
void node_queue_stats(const struct node_queue *queue, size_t n, struct node_queue_stats *ret);

/* For `jobio status`: {"retired":b,"given_up":N,"targets":[{"url","state":"new|ok|backoff|rejected|
 * misconfigured","pushing":b,"last_code","last_error","last_attempt","last_success" (seconds; 0:
 * never),"pushes","failures","failures_in_a_row","next_s","pending" (ended jobs that it has not
 * acknowledged),"lingering" (acknowledged, still shown)}]}. The caller puts it; NULL on
 * out-of-memory. */
struct json_object *node_queue_status(const struct node_queue *queue);

#endif

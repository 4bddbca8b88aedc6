/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One account from many nodes (doc/peers.md). The first node of a job collects it: at the end of
 * the batch script it queries the accounts of the other nodes. When a step ends on another node,
 * that node queues its final account in its outbox and sends it until the first node has it. Users
 * on hosts without jobiod can query it as on the local socket. All messages are HTTP whose bodies
 * are munge credentials of root (of a reader for records, of any user for queries). Runs on the
 * caller's loop and never blocks.
 */
#ifndef JOBIO_COLLECTOR_PEERS_PEERS_H
#define JOBIO_COLLECTOR_PEERS_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "collector/peers/origins.h"
#include "common/error.h"
#include "common/job.h"
#include "common/log.h"

struct peers;
struct json_object;
struct message;
struct query;
struct writer;

/* The outbox sink of another node: this prefix and the node's name. */
#define PEERS_SINK_PREFIX "peer:"

/* A step whose tasks must have ended before a node counts as reported; NULL: no such step. */
struct peers_step {
    uint32_t het, step;
    const char *nodes; /* for peers_query(): where it runs, comma-separated; NULL: unknown */
    bool expected;     /* for the hook: it runs here, even if it has not started yet */
};

enum peers_job_state {
    PEERS_JOB_UNKNOWN,
    PEERS_JOB_ANNOUNCED, /* its prolog has run here */
    PEERS_JOB_TRACKED,   /* it runs here, or has just ended and will soon be in the store */
};

/* Whether a node is one of a job. */
enum peers_member {
    PEERS_MEMBER_UNKNOWN, /* the nodes of the job are not known here */
    PEERS_MEMBER_NO,
    PEERS_MEMBER_YES,
};

struct peers_hooks {
    /* Get this node's account of the job, which may have ended. Answer exactly once with
     * peers_provide_account(): now or, if tasks of `step` run here, a moment later. `step` is valid
     * until then. `from`: the node that sent the request. */
    void (*account)(const struct job_key *key, const struct peers_step *step, const char *from,
                    void *question, void *arg);
    /* Get the record of a job that this node has collected. restart UINT32_MAX: its newest run.
     * Answer with peers_provide_record(). */
    void (*record)(const struct job_key *key, void *question, void *arg);
    /* Answer a request of a user on another host, in the form of the local protocol
     * (doc/protocol.md), exactly once with peers_provide_answer(). `m` is valid until then. */
    void (*query)(uid_t uid, const struct message *m, void *question, void *arg);
    enum peers_job_state (*known)(const struct job_key *key, void *arg);
    enum peers_member (*member)(const struct job_key *key, const char *node, void *arg);
    /* Learn the nodes of the job from Slurm. Returns whether `member` may have another answer
     * later, so that the account is put off. */
    bool (*learn_nodes)(const struct job_key *key, void *arg);
    /* As http_listening_f, which see; may be NULL. */
    void (*listening)(const struct error *why, void *arg);
    void (*say)(enum log_level level, const char *text, void *arg);
    void *arg;
};

/* Strings are copied. */
struct peers_options {
    const char *cluster, *node;
    const char *const *listen; /* "ADDRESS:PORT"; none: other nodes cannot query or send */
    size_t n_listen;
    const int *sockets; /* as in struct http_server_options */
    size_t n_sockets;
    uint64_t retry_ns;               /* retry a failed bind after this time */
    unsigned connections_an_address; /* concurrent; 0: a default */
    const char *url;                 /* of other nodes, "%n" is the name: "http://%n:9418" */
    const char *munge_socket;        /* NULL: munge's default */
    enum origins_mode check_origin;  /* of messages that speak for a node */
    const uid_t *readers;            /* who may query records, in addition to root */
    size_t n_readers;
    struct query *query;
    struct writer *writer;
    uint64_t timeout_ns; /* per request */
    uint64_t backoff_ns; /* first step of the exponential backoff from a node that fails */
    uint64_t slow_ns;    /* its maximum */
    uint64_t spread_ns;  /* queued rows are sent after a random delay of at most this */
    /* An account of a step that ended `late_ns` ago is set aside as refused if the first node still
     * puts it off, and has answered for `answers_ns`. */
    uint64_t late_ns, answers_ns;
};
void peers_defaults(struct peers_options *options);
/* -EINVAL: not an url for peers_options. */
int peers_check_url(const char *url, struct error *error);

/* Create it, and listen; a failed bind is reported to the hook, and retried. Returns 0 or -errno;
 * -EINVAL: a bad address or url. *ret is untouched on failure. */
int peers_create(struct peers **ret, sd_event *loop, const struct peers_options *options,
                 const struct peers_hooks *hooks, struct error *error);
/* Start nothing new, give up running queries and call their `done`. Order: peers_stop(), destroy
 * the query and the writer (their results are still handled), peers_destroy(). Both accept NULL.
 */
void peers_stop(struct peers *peers);
void peers_destroy(struct peers *peers);

/* Answers to the hooks. `account` and `record` are borrowed; NULL: the job did nothing here. busy:
 * tasks of the step in question still run, or have not started yet. */
void peers_provide_account(void *question, const struct job_account *account, bool busy,
                           const struct error *why);
void peers_provide_record(void *question, const struct job_key *key, bool ended, const char *record,
                          const struct error *why);

/* To a user: a text, or an error. */
struct peers_answer {
    const char *text, *error;
    const char *applied; /* as APPLIED in the local protocol; NULL: no key */
    bool cut;
};
void peers_provide_answer(void *question, const struct peers_answer *answer);

/* Notify that the outbox may have rows: at the start, and after each commit that queued some. */
void peers_notify(struct peers *peers);

/* Query the nodes (comma-separated names; this node is skipped) for the job until `deadline_ns`
 * (CLOCK_MONOTONIC) and add their accounts to `job`: mounts, causes, the longest wait, what each
 * node did (job->nodes, with this node) and the number of nodes that have reported. A node on which
 * tasks of the step run, or will run, does not count as reported. Takes ownership of `job`; `done`
 * gets it back, once, on the loop, possibly inside this call. */
typedef void (*peers_done_f)(struct job_account *job, void *arg);
void peers_query(struct peers *peers, const char *nodes, const struct peers_step *step,
                 uint64_t deadline_ns, struct job_account *job, peers_done_f done, void *arg);

/* For `jobio status`: what was sent, accepted, refused and why. NULL on out-of-memory. */
struct json_object *peers_status(const struct peers *peers);

#endif

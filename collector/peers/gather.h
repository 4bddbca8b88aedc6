/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One account from many nodes (doc/peers.md). The first node of a job gathers: at the end of the
 * batch script it asks the others what they have, and it takes the final accounts that they send
 * when a step has ended there, from their outboxes, until it has them. All of it is HTTP with
 * bodies that are munge credentials of root; nothing else is believed. Runs on the caller's loop,
 * never blocks.
 */
#ifndef JOBIO_COLLECTOR_PEERS_GATHER_H
#define JOBIO_COLLECTOR_PEERS_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "common/error.h"
#include "common/job.h"
#include "common/log.h"

struct gather;
struct json_object;
struct query;
struct writer;

/* The sink of the outbox for what another node is to have: this and the node's name. */
#define GATHER_SINK_PREFIX "peer:"

/* A step of which it matters whether its tasks have ended; NULL: none. */
struct gather_step {
    uint32_t het, step;
    const char *nodes; /* to gather_ask(): where it runs, with commas between; NULL: not known */
    bool expected;     /* to the hook: it runs here, even if it has not begun */
};

enum gather_known {
    GATHER_UNKNOWN,
    GATHER_ANNOUNCED, /* its prolog has been here */
    GATHER_TRACKED,   /* it runs here, or has just ended: the store will know it in a moment */
};

struct gather_hooks {
    /* What this node has of the job, also of one that is over. Answer once, now or, if tasks of
     * that step run here, a moment later, by gather_provide(). `step` is good until then. `from`:
     * who asks. */
    void (*account)(const struct job_key *key, const struct gather_step *step, const char *from,
                    void *question, void *arg);
    /* The record of a job that this node has gathered: restart UINT32_MAX: its newest run. Answer
     * by gather_provide_record(). */
    void (*record)(const struct job_key *key, void *question, void *arg);
    enum gather_known (*known)(const struct job_key *key, void *arg);
    void (*say)(enum log_level level, const char *text, void *arg);
    void *arg;
};

/* Strings are copied. */
struct gather_options {
    const char *cluster, *node;
    const char *const *listen; /* "ADDRESS:PORT"; none: nobody can ask or send */
    size_t n_listen;
    unsigned connections_an_address; /* at once; 0: a default */
    const char *url;                 /* of other nodes, "%n" is the name: "http://%n:9418" */
    const char *munge_socket;        /* NULL: the usual one */
    const uid_t *readers;            /* who may ask for records, beside root */
    size_t n_readers;
    struct query *query;
    struct writer *writer;
    uint64_t timeout_ns; /* of one request */
    uint64_t backoff_ns; /* first step of the exponential backoff from a node that fails */
    uint64_t slow_ns;    /* its top */
    uint64_t spread_ns;  /* what is queued is sent within this time (at random) */
};
void gather_defaults(struct gather_options *options);

/* Listens when it returns. -EINVAL: a bad address or url. *ret is untouched on failure. */
int gather_create(struct gather **ret, sd_event *loop, const struct gather_options *options,
                  const struct gather_hooks *hooks, struct error *error);
/* Begin nothing new; what was asked is given up, and given back to its `done`. Then destroy the
 * query and the writer, whose outcomes are heard, and then the gather. Both: NULL is fine. */
void gather_stop(struct gather *gather);
void gather_destroy(struct gather *gather);

/* Answers to the hooks; `account` and `record` are borrowed, NULL: nothing was done here. busy:
 * tasks of the step that was asked for still run, or have yet to begin. */
void gather_provide(void *question, const struct job_account *account, bool busy,
                    const struct error *why);
void gather_provide_record(void *question, const struct job_key *key, bool ended,
                           const char *record, const struct error *why);

/* Something is in the outbox, or may be: at the start, and after each commit that put it there. */
void gather_queued(struct gather *gather);

/* Ask the nodes (names with commas between; this one is left out) for the job, until `deadline_ns`
 * (CLOCK_MONOTONIC), and add what they have to `job`: mounts, causes, the longest wait, what each
 * of them did (job->nodes, with this node), and how many nodes have reported; one on which tasks of
 * the step run, or are to run, has not. Takes `job` over; `done` gets it back, once, on the loop,
 * perhaps inside this call. */
typedef void (*gather_done_f)(struct job_account *job, void *arg);
void gather_ask(struct gather *gather, const char *nodes, const struct gather_step *step,
                uint64_t deadline_ns, struct job_account *job, gather_done_f done, void *arg);

/* For `jobio status`: what was sent, taken, refused and why. NULL: no memory. */
struct json_object *gather_status(const struct gather *gather);

#endif

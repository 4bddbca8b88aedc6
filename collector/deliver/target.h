/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The delivery engine. A target is one server that gets data of this node over HTTP. Its kind makes
 * the requests and judges the answers; its queue knows what is to be delivered, and is told what
 * was. The target itself has one request under way at a time, decides when to try again, and counts
 * and reports failures. Everything runs on the caller's sd-event loop and never blocks. The process
 * must ignore SIGPIPE. Times in ns.
 */
#ifndef JOBIO_COLLECTOR_DELIVER_TARGET_H
#define JOBIO_COLLECTOR_DELIVER_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <systemd/sd-event.h>

#include "collector/deliver/answer.h"
#include "collector/http/client.h"
#include "common/error.h"
#include "common/log.h"

struct job_account;
struct json_object;
struct tree;
struct prometheus_node;
struct store;
struct target;

/* Strings are copied by target_init(). Each may be NULL except the URL. */
struct target_options {
    const char *url;                /* "http://host:port", with a path prefix if there is one */
    const char *cluster, *instance; /* of this node */
    const char *table;              /* ClickHouse: [database.]table; _bulk: the index */
    const char *action;             /* _bulk: "index" or "create" */
    const char *parameters;         /* more of the URL: "a=1&b=2" */
    size_t answer_max;              /* of the answer's body; 0: only its start is read */
};

/* A finished step in the outbox of the store, on the reader's thread. */
struct step_source {
    struct store *reader;
    int64_t id; /* in the outbox */
    const struct job_account *job;
};

/* A kind of target. Functions that are NULL do nothing. A kind either takes the state of the node
 * (write_node) or finished steps (write_step). */
struct target_kind {
    const char *name;   /* as in the settings */
    const char *method; /* of the requests */
    const char *remove; /* method that deletes what is at the URL; NULL: nothing to delete */
    const char *const *headers; /* NULL-terminated */
    const char *mark;           /* as in struct http_request */
    bool compress;              /* the body, with gzip */
    bool verdicts;              /* the answer has a status for each row */
    /* Its refusals are believed, and a failure never suggests a poison row. If it cannot be
     * reached, it may be starting, so that a bad certificate is not taken for a misconfiguration.
     */
    bool trusted;

    /* This kind of target is meant by the URL. Only for those that take the state of the node. */
    bool (*claims)(const char *url);
    int (*check)(const struct target_options *options, struct error *error); /* -EINVAL */
    /* What follows the base URL. */
    void (*write_url)(FILE *out, const struct target_options *options);

    /* The body: malloc'd text; NULL on out-of-memory. */
    char *(*write_node)(const struct prometheus_node *node);
    /* The rows of one step. 0, or a negative errno; *rows: how many. */
    int (*write_step)(FILE *out, const struct step_source *step,
                      const struct target_options *options, unsigned *rows, struct error *error);

    /* Make the request from the body, which is taken over, and pass it to target_post() now or
     * later; target_judged() if it cannot be made. NULL: the body is posted as it is. */
    int (*request)(struct target *target, void *body, size_t size, struct error *error);
    /* What the answer means; it has a status. ANSWER_PARTLY: a verdict on each row. `why` is set
     * unless ANSWER_OK. ANSWER_PENDING: target_judged() follows. */
    enum answer (*judge)(struct target *target, const struct http_answer *answer, size_t rows,
                         struct answer_verdict *verdicts, char why[ANSWER_WHY_MAX]);
};

/* What became of a request. */
struct target_result {
    enum answer answer;                    /* not ANSWER_PENDING */
    const struct answer_verdict *verdicts; /* with ANSWER_PARTLY, good during the call */
    uint64_t retry_after_s;                /* 0: not given */
    const char *why;                       /* for the operator */
};

/* What feeds a target. */
struct target_queue {
    /* The time has come: look for what is to be delivered, then target_send(). */
    void (*due)(struct target *target);
    /* The body of the request: *ret is malloc'd. */
    int (*body)(struct target *target, void **ret, size_t *size, struct error *error);
    /* Record what was delivered, then target_worked() or target_failed(). It may send again. */
    void (*settle)(struct target *target, const struct target_result *result);
    void (*say)(struct target *target, enum log_level level, const char *text);
};

typedef void (*target_removed_f)(struct target *target, const char *why);

enum target_state { TARGET_NEW, TARGET_OK, TARGET_BACKOFF, TARGET_REJECTED, TARGET_MISCONFIGURED };

struct target_pace {
    uint64_t backoff_ns; /* first step of the exponential backoff */
    uint64_t slow_ns;    /* its maximum, and the pace after refusals and misconfiguration */
    uint64_t quiet_ns;   /* between two log lines about failures, apart from misconfiguration, and
                          * between two about misconfiguration */
    uint64_t (*realtime_ns)(void); /* NULL: CLOCK_REALTIME */
};

struct target {
    const struct target_kind *kind;
    const struct target_queue *queue;
    void *owner; /* the queue's */
    void *arg;   /* the kind's */
    struct http_client *client;
    struct target_pace pace;
    struct target_options options; /* owned strings */
    const char *what;              /* of log lines, a literal: "push to" */
    char *name;                    /* as shown to the operator */
    char *url;                     /* of the requests */
    sd_event_source *timer;
    enum target_state state;
    uint64_t due_ns, started_ns; /* CLOCK_BOOTTIME; due UINT64_MAX: never */
    bool busy;                   /* a request is under way */
    bool stopped;
    target_removed_f removed;        /* to be called after a deletion */
    size_t rows;                     /* of that request */
    struct answer_verdict *verdicts; /* one a row, or NULL */
    bool said, unsaid;               /* the failure was logged; is still to be */
    uint64_t said_ns, urgent_ns;     /* CLOCK_BOOTTIME, of the last line: any; misconfiguration */
    long last_code;
    char last_error[ANSWER_WHY_MAX];
    uint64_t last_attempt_s, last_success_s; /* real time; 0: never */
    uint64_t requests, failures, failures_in_a_row;
};

/* The target is zeroed, with kind, queue, owner, client (borrowed), pace and what set. name NULL:
 * the URL. Nothing is sent before target_wake_in(). After a failure target_clear() is due, too. */
int target_init(struct target *target, sd_event *loop, const char *name,
                const struct target_options *options, struct error *error);
void target_clear(struct target *target);
/* Nothing more is sent; answers that arrive are ignored. */
void target_stop(struct target *target);

void target_wake_at(struct target *target, uint64_t due_ns);
void target_wake_in(struct target *target, uint64_t ns); /* UINT64_MAX: never */

/* Start a request of so many rows: the queue makes the body, the kind the request. */
void target_send(struct target *target, size_t rows);
/* Delete what is at the URL. `done` is called once: why NULL, or why it failed. */
void target_remove(struct target *target, target_removed_f done);

/* For kinds: post the body, which is taken over. */
int target_post(struct target *target, void *body, size_t size, struct error *error);
/* For kinds: the answer has been judged after all; target->verdicts are set with ANSWER_PARTLY. */
void target_judged(struct target *target, enum answer answer, const char *why);

/* For queues: what was sent has been taken. */
void target_worked(struct target *target);
struct target_failure {
    enum target_state state; /* TARGET_BACKOFF, _REJECTED, _MISCONFIGURED */
    uint64_t retry_after_s;
    uint64_t not_before_ns; /* CLOCK_BOOTTIME */
    uint64_t max_failures;  /* the backoff grows no longer than for so many; 0: no limit */
    const char *why;
};
/* For queues: count it, log it, wake later. */
void target_failed(struct target *target, const struct target_failure *failure);

void target_say(struct target *target, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
uint64_t target_real_ns(const struct target *target);
/* The fields that all targets have in their status; `sending` and `requests` are the names that the
 * queue gives to these two. The caller puts it; NULL on out-of-memory (noted in the
 * tree). */
struct json_object *target_status(struct tree *tree, const struct target *target,
                                  const char *sending, const char *requests);
/* The URL that a kind makes of its options, malloc'd; NULL on out-of-memory. */
char *target_make_url(const struct target_kind *kind, const struct target_options *options);

#endif

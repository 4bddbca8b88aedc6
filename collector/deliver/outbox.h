/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ended jobs that some target has not acknowledged: for each job and target, whether and when
 * the target first acknowledged it, in the order in which the jobs ended. Pure data; to keep it
 * over a restart, store outbox_key() and outbox_value().
 */
#ifndef JOBIO_COLLECTOR_DELIVER_OUTBOX_H
#define JOBIO_COLLECTOR_DELIVER_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/error.h"
#include "common/job.h"

struct outbox;

enum outbox_state {
    OUTBOX_PENDING,   /* not acknowledged */
    OUTBOX_LINGERING, /* acknowledged, still shown until the linger is over */
    OUTBOX_DONE,
};

struct outbox_slot {
    enum outbox_state state;
    uint64_t acked_ns; /* real time, with OUTBOX_LINGERING */
    bool sent;         /* in the body of the request under way */
};

struct outbox_job {
    TAILQ_ENTRY(outbox_job) link;
    struct job_key key;
    uint64_t ended_ns;          /* real time */
    bool asked;                 /* for the caller: part of the collection under way */
    const void *found;          /* for the caller: its account */
    unsigned missed;            /* for the caller: collections in a row without it */
    struct outbox_slot slots[]; /* one a target */
};

/* Targets are identified by their URLs, which are copied. NULL on out-of-memory. */
struct outbox *outbox_create(const char *const *urls, size_t n);
void outbox_destroy(struct outbox *outbox); /* NULL is fine */

size_t outbox_count(const struct outbox *outbox);
struct outbox_job *outbox_first(const struct outbox *outbox);
struct outbox_job *outbox_next(const struct outbox_job *job);
struct outbox_job *outbox_find(const struct outbox *outbox, const struct job_key *key);

/* Add a job, pending at all targets; an existing job becomes pending at all of them again. NULL on
 * out-of-memory. The job stays valid until outbox_remove(). */
struct outbox_job *outbox_add(struct outbox *outbox, const struct job_key *key, uint64_t ended_ns);
void outbox_remove(struct outbox *outbox, struct outbox_job *job);
/* The job is done at all targets. */
bool outbox_is_done(const struct outbox *outbox, const struct outbox_job *job);
/* A lingering slot becomes done `linger_ns` after its acknowledgement; an acknowledgement from the
 * future (the clock was set back) counts from now. */
void outbox_expire(struct outbox *outbox, size_t target, uint64_t now_ns, uint64_t linger_ns);

/* The key and the value under which a job is stored; both malloc'd, NULL on out-of-memory. Keys
 * sort by the time of the end. */
char *outbox_key(const char *prefix, const struct outbox_job *job);
char *outbox_value(const struct outbox *outbox, const struct outbox_job *job);
/* Add a job from its stored value; acknowledgements of URLs that are no longer targets are dropped.
 * -EBADMSG with text, -ENOMEM. */
int outbox_restore(struct outbox *outbox, const char *value, struct error *error);

#endif

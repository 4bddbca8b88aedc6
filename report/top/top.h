/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happens on a node now. Two readings of its counters, some seconds apart, make rows: what
 * each job did on each mount in between. Pure functions; the numbers are exact, the rates are
 * theirs over the time between the readings.
 */
#ifndef JOBIO_REPORT_TOP_TOP_H
#define JOBIO_REPORT_TOP_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/account.h"
#include "common/error.h"

struct json_object;

/* Sums of one account, as a live view needs them. All grow while the account does. */
struct top_sums {
    uint64_t read_bytes, read_requests;   /* with copy_read */
    uint64_t write_bytes, write_requests; /* with copy_write */
    uint64_t meta_requests;
    uint64_t errors;
    uint64_t wait_ns; /* of all threads, inside calls that have returned */
    uint64_t mmap_read_bytes, mmap_write_bytes;
    uint64_t events;            /* counted calls of any kind */
    uint64_t sizes[IO_BUCKETS]; /* of reads and writes */
};

struct top_mount {
    char *mount, *fstype, *source; /* owned */
    bool labelled;                 /* others may see its name (common/account.h) */
    struct top_sums sums;
};

/* Who did it. A job's number is Slurm's, a run's its own; services have names. The last two are not
 * in a reading: rows only. */
enum top_kind { TOP_JOB, TOP_RUN, TOP_SERVICE, TOP_KINDS_READ, TOP_REST = TOP_KINDS_READ, TOP_ALL };

struct top_who {
    enum top_kind kind;
    uint64_t number;
    uint32_t restart;
    uint32_t uid;
    char *user, *name;        /* owned; NULL: not known; a name is untrusted text */
    uint64_t since_ns;        /* CLOCK_BOOTTIME at which counting began */
    uint32_t steps;           /* that run */
    struct top_mount *mounts; /* owned */
    size_t n;
};

struct top_reading {
    char *node;            /* owned */
    uint64_t at_ns;        /* CLOCK_BOOTTIME of the counters */
    uint64_t time_ns;      /* the same in real time */
    uint64_t took_ns;      /* to read them */
    uint64_t lost;         /* events that were seen, but are in no account */
    uint64_t ns_per_event; /* what counting a call costs; 0: not known */
    uint64_t unsupported;  /* bit 1 << io_op */
    char *not_counted;     /* owned; why nothing is counted; NULL: something is */
    char *no_services;     /* owned; why services are not counted; NULL: they are */
    uint32_t hidden;       /* others' jobs that are not in `all` */
    struct top_who *all;   /* owned */
    size_t n;
    struct top_mount *totals; /* owned; all jobs, hidden and ended ones too; private ones by type */
    size_t n_totals;
};

void top_reading_clear(struct top_reading *reading);
void top_reading_destroy(struct top_reading *reading); /* one that is malloc'd; NULL is fine */

/* Append one, empty; name and user are copied. NULL: no memory. Good until the next one. */
struct top_who *top_add(struct top_reading *reading, enum top_kind kind, uint64_t number,
                        const char *user, const char *name);
/* Add accounts to what it did. 0 or -ENOMEM. */
int top_add_mounts(struct top_who *who, const struct io_mounts *mounts);
/* The same to the totals: mounts that are not for the eyes of others by their type. */
int top_add_totals(struct top_reading *reading, const struct io_mounts *mounts);

/* For the eyes of this user: what others did is left out of `all`, but not of the totals.
 * UINT32_MAX: all of it, also services if they are wanted. NULL: no memory. */
struct json_object *top_json(const struct top_reading *reading, uint32_t uid, bool services);
/* The way back; what is missing is 0. -EBADMSG with text. */
int top_parse(struct json_object *document, struct top_reading **ret, struct error *error);

/* --- rows ------------------------------------------------------------------------------------- */

/* What was done on one mount, or on several, between two readings. Text is the later reading's, and
 * good as long as that is. */
struct top_row {
    const struct top_who *who; /* NULL: more than one */
    const char *user;          /* NULL: not known, or more than one */
    const char *mount;         /* NULL: more than one */
    const char *fstype;        /* the same */
    size_t jobs, mounts;       /* how many of them it sums up */
    struct top_sums sums;
};

struct top_rows {
    uint64_t interval_ns;  /* between the readings; 0: they are one and the same */
    struct top_row *items; /* owned */
    size_t n;
};

enum top_by { TOP_BY_JOB_MOUNT, TOP_BY_JOB, TOP_BY_MOUNT, TOP_BY_USER, TOP_BY_COUNT };
enum top_key { TOP_READ, TOP_WRITE, TOP_META, TOP_WAIT, TOP_ERRORS, TOP_KEY_COUNT };

/* "job-mount", "job"...; "read", "write", "meta", "wait", "errors". The reverse: -EINVAL. */
const char *top_by_name(enum top_by by);
int top_by_parse(const char *name);
const char *top_key_name(enum top_key key);
int top_key_parse(const char *name);

/* A row for each job and mount. What the totals have beyond the jobs is in rows of TOP_REST: hidden
 * jobs, and those that ended in between. A job that `before` should have had but has not is left
 * out: what it did in between is not known. 0 or -ENOMEM. */
int top_rows(const struct top_reading *before, const struct top_reading *now, struct top_rows *ret);
/* Sum the rows of one user (NULL: all) up. Rows of several jobs or mounts say so by NULL. */
int top_group(const struct top_rows *rows, enum top_by by, const char *user, struct top_rows *ret);
/* The most first; what did nothing comes last; else by job and mount, so that rows stay in
 * place. */
void top_sort(struct top_rows *rows, enum top_key key);
void top_rows_clear(struct top_rows *rows);

/* What the row is sorted by. */
uint64_t top_value(const struct top_sums *sums, enum top_key key);
bool top_is_idle(const struct top_sums *sums);
/* The sum of all rows. */
struct top_sums top_sum(const struct top_rows *rows);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The current I/O of a node. Two readings of its counters, some seconds apart, make rows: what each
 * job did on each mount in between. Pure functions. The numbers are exact; the rates are the
 * numbers over the time between the readings.
 */
#ifndef JOBIO_REPORT_TOP_TOP_H
#define JOBIO_REPORT_TOP_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/account.h"
#include "common/error.h"

struct json_object;

/* Sums of one account, as a live view needs them. They never decrease. */
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

/* Whose I/O it is. Jobs have Slurm's number, runs a number of their own, and services a name.
 * TOP_REST and TOP_ALL are in rows only, never in a reading. */
enum top_kind { TOP_JOB, TOP_RUN, TOP_SERVICE, TOP_KINDS_READ, TOP_REST = TOP_KINDS_READ, TOP_ALL };

struct top_who {
    enum top_kind kind;
    uint64_t number;
    uint32_t restart;
    uint32_t uid;
    char *user, *name;        /* owned; NULL: not known; a name is untrusted text */
    uint64_t since_ns;        /* CLOCK_BOOTTIME at which counting started */
    uint32_t steps;           /* the number of running steps */
    struct top_mount *mounts; /* owned */
    size_t n;
};

struct top_reading {
    char *node;            /* owned */
    uint64_t at_ns;        /* CLOCK_BOOTTIME of the counters */
    uint64_t time_ns;      /* the same in real time */
    uint64_t took_ns;      /* the duration of the reading */
    uint64_t lost;         /* events that were seen, but are in no account */
    uint64_t ns_per_event; /* the least cost of counting a call; 0: unknown */
    uint64_t unsupported;  /* bit 1 << io_op */
    char *not_counted;     /* owned; why nothing is counted; NULL: something is */
    char *no_services;     /* owned; why services are not counted; NULL: they are */
    uint32_t hidden;       /* jobs of other users that are not in `all` */
    struct top_who *all;   /* owned */
    size_t n;
    struct top_mount *totals; /* owned; of all jobs, also hidden and ended ones; private mounts by
                               * type */
    size_t n_totals;
};

void top_reading_clear(struct top_reading *reading);
void top_reading_destroy(struct top_reading *reading); /* one that is malloc'd; NULL is fine */

/* Append an empty entry; name and user are copied. Valid until the next call. NULL: out of
 * memory. */
struct top_who *top_add(struct top_reading *reading, enum top_kind kind, uint64_t number,
                        const char *user, const char *name);
/* Add accounts to the mounts of `who`. 0 or -ENOMEM. */
int top_add_mounts(struct top_who *who, const struct io_mounts *mounts);
/* Add accounts to the totals; private mounts are aggregated by type. 0 or -ENOMEM. */
int top_add_totals(struct top_reading *reading, const struct io_mounts *mounts);

/* The document for this user: jobs of others are left out of `all`, but not of the totals.
 * UINT32_MAX: all jobs, and services if requested. NULL: out of memory. */
struct json_object *top_json(const struct top_reading *reading, uint32_t uid, bool services);
/* Read a document; missing members are 0. -EBADMSG with text, -ENOMEM. */
int top_parse(struct json_object *document, struct top_reading **ret, struct error *error);

/* --- rows ------------------------------------------------------------------------------------- */

/* The I/O on one mount, or on several, between two readings. Texts belong to the later reading. */
struct top_row {
    const struct top_who *who; /* NULL: more than one */
    const char *user;          /* NULL: not known, or more than one */
    const char *mount;         /* NULL: more than one */
    const char *fstype;        /* NULL: more than one */
    size_t jobs, mounts;       /* how many are summed up */
    struct top_sums sums;
};

struct top_rows {
    uint64_t interval_ns;  /* between the readings; 0: they are the same one */
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

/* A row for each job and mount. Rows of TOP_REST have what the totals exceed the jobs by: hidden
 * jobs, and jobs that ended in between. A job that started before the first reading but is not in
 * it is left out, because its I/O in between is unknown. 0 or -ENOMEM. */
int top_rows(const struct top_reading *before, const struct top_reading *now, struct top_rows *ret);
/* Sum up the rows of one user (NULL: all users). In a group of several jobs or mounts `who` or
 * `mount` is NULL. 0 or -ENOMEM. */
int top_group(const struct top_rows *rows, enum top_by by, const char *user, struct top_rows *ret);
/* The largest first, idle rows last; ties by job and mount, so that rows do not change places. */
void top_sort(struct top_rows *rows, enum top_key key);
void top_rows_clear(struct top_rows *rows);

/* The value by which a row is sorted. */
uint64_t top_value(const struct top_sums *sums, enum top_key key);
bool top_is_idle(const struct top_sums *sums);
/* The sum of all rows. */
struct top_sums top_sum(const struct top_rows *rows);

#endif

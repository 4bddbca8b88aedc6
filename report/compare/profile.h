/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a job did, as numbers that can be compared with those of other jobs, whatever steps and
 * nodes they had. Pure functions.
 */
#ifndef JOBIO_REPORT_COMPARE_PROFILE_H
#define JOBIO_REPORT_COMPARE_PROFILE_H

#include <stddef.h>

#include "common/job.h"

/* MAPPED: pages of mapped files, and clones, which have calls and time, but no bytes. */
enum profile_kind { PROFILE_READ, PROFILE_WRITE, PROFILE_MAPPED, PROFILE_META, PROFILE_KINDS };

/* "read", "write", "mapped", "meta": for programs. */
const char *profile_kind_name(enum profile_kind kind);

/* One kind of calls. Decimal numbers, because a median may lie between two. */
struct profile_use {
    double calls, bytes, errors;
    double size_bytes; /* of the median request, its bucket's upper bound; 0: none; of reads and
                        * writes only */
    double time_ns;    /* inside calls, all threads */
    double wait;       /* what it took of the run time, from 0 to 1, as in the summary */
};

/* Mounts are told apart by where they are mounted and their type: a local disk has another name on
 * each node. */
struct profile_mount {
    char *mount, *fstype; /* owned; untrusted text */
    struct profile_use uses[PROFILE_KINDS];
};

struct profile {
    size_t runs; /* of how many jobs it is the median; 1: it is a job's */
    bool complete;
    double elapsed_s;
    double wait; /* of the run time, from 0 to 1 */
    struct profile_use total[PROFILE_KINDS];
    struct profile_mount *mounts; /* owned; by wait, largest first */
    size_t n;
};

/* 0 or -ENOMEM. */
int profile_make(const struct job_account *job, struct profile *ret);
/* The median of each number of `n` profiles, n > 0; a mount that one has not touched counts there
 * as 0, sizes as nothing. 0 or -ENOMEM. */
int profile_median(const struct profile *profiles, size_t n, struct profile *ret);
void profile_clear(struct profile *profile);

/* The mount of that name and type, or NULL. */
const struct profile_mount *profile_find(const struct profile *profile, const char *mount,
                                         const char *fstype);

/* The mount and the kind of calls that were waited for longest. False: nobody waited. */
bool profile_longest(const struct profile *profile, const char **mount, enum profile_kind *kind);
/* "reading", "writing", "mapped files on", "metadata on": what a mount's name follows. */
const char *profile_kind_words(enum profile_kind kind);

/* The sums of a mount over its kinds. */
double profile_mount_wait(const struct profile_mount *m);
double profile_mount_errors(const struct profile_mount *m);

/* Seconds of waiting for a part `wait` of the run time. */
static inline double profile_seconds(const struct profile *p, double wait)
{
    return wait * p->elapsed_s;
}

/* The median of n numbers, which it sorts; 0 for none. */
double profile_middle(double *values, size_t n);

#endif

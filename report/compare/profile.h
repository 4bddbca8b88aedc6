/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profile of a job: numbers that can be compared with those of other jobs, independent of steps
 * and nodes. Pure functions.
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
    double wait;       /* its share of the run time, from 0 to 1, as in the summary */
};

/* A mount is identified by mount point and type: the source of a local disk differs between
 * nodes. */
struct profile_mount {
    char *mount, *fstype; /* owned; untrusted text */
    struct profile_use uses[PROFILE_KINDS];
};

struct profile {
    size_t runs; /* the number of jobs of which it is the median */
    bool complete;
    double elapsed_s;
    double wait; /* of the run time, from 0 to 1 */
    struct profile_use total[PROFILE_KINDS];
    struct profile_mount *mounts; /* owned; by wait, largest first */
    size_t n;
};

/* 0 or -ENOMEM. */
int profile_make(const struct job_account *job, struct profile *ret);
/* The median of each number of `n` profiles, n > 0. A mount that a job has not used counts as 0,
 * except in the median of sizes. 0 or -ENOMEM. */
int profile_median(const struct profile *profiles, size_t n, struct profile *ret);
void profile_clear(struct profile *profile);

/* The mount of that name and type, or NULL. */
const struct profile_mount *profile_find(const struct profile *profile, const char *mount,
                                         const char *fstype);

/* The mount and the kind of calls that were waited for longest. False: there was no waiting. */
bool profile_longest(const struct profile *profile, const char **mount, enum profile_kind *kind);
/* "reading", "writing", "mapped files on", "metadata on": to be followed by the name of a mount. */
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

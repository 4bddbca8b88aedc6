/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accounts that the tests of the reports share. Built by hand: no number comes from the reports. */
#ifndef JOBIO_TESTS_SAMPLE_H
#define JOBIO_TESTS_SAMPLE_H

#include "common/cleanup.h"
#include "common/job.h"
#include "report/advice/advice.h"

DEFINE_CLEANUP(struct job_account, job_account_destroy)
#define _job_ CLEANUP(job_account_destroyp) struct job_account

#define KIB(n) ((uint64_t)(n) << 10)
#define MIB(n) ((uint64_t)(n) << 20)
#define GIB(n) ((uint64_t)(n) << 30)
#define TIB(n) ((uint64_t)(n) << 40)
#define SECONDS(n) ((uint64_t)(n)*1000000000)

/* A mount that is labelled and has no number yet. */
struct io_mount *sample_mount(struct io_mounts *mounts, const char *mount, const char *fstype,
                              const char *source);
/* `requests` calls of `each` bytes, that took `time_ns` in all (the longest: a tenth of it). Adds
 * to what is there. */
struct io_counter *sample_calls(struct io_mount *m, enum io_op op, uint64_t requests, uint64_t each,
                                uint64_t time_ns);
void sample_errors(struct io_mount *m, enum io_op op, int code, uint64_t count);

/* Job 4711 on two nodes, ended after 600 s, whole. Three mounts; the longest thread waited 300 s of
 * 400 s waited in all. What it did is in sample.c, in the order of the waiting. With three steps.
 */
struct job_account *sample_job(void);
/* The same as a command under `jobio run`: true --x, exit status 3. */
struct job_account *sample_run(void);

/* MPI-IO, complete: 64 collective writes of 1 MiB in 8 s, and 16 independent reads, of which one
 * failed, five got 4 KiB, eight asked for 8 KiB, and two are unknown. */
struct mpi_account *sample_mpi(void);

/* What is told of it: an error, and three hints, of one to four lines. */
const struct advice_notes *sample_notes(void);

/* Fail unless every field that a document has is the same. */
void assert_same_job(const struct job_account *a, const struct job_account *b);

#endif

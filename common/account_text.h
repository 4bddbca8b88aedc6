/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of an account as short texts (JSON): the columns of the store and of the history database.
 * The functions that make a text return NULL for an empty value; the parsers accept NULL for it.
 * Parsers return -EBADMSG for any other text.
 */
#ifndef JOBIO_COMMON_ACCOUNT_TEXT_H
#define JOBIO_COMMON_ACCOUNT_TEXT_H

#include "common/job.h"

/* "[1,0,7]", without the zeros at the end. */
#define IO_HISTOGRAM_TEXT (IO_BUCKETS * 21 + 3)
const char *io_histogram_text(const uint64_t buckets[IO_BUCKETS], char buf[IO_HISTOGRAM_TEXT]);
int io_histogram_parse(const char *text, uint64_t buckets[IO_BUCKETS]);

/* These return 0 or -ENOMEM; *ret is malloc'd. */
/* {"2":5}: counts by the number of the errno. */
int io_errnos_text(const struct io_counter *counter, char **ret);
int io_errnos_parse(const char *text, struct io_counter *counter);
/* ["clone","cache"]: a set of operations. The parser ignores unknown names. */
int io_ops_text(uint64_t ops, char **ret);
int io_ops_parse(const char *text, uint64_t *ret);
/* [{"cause":"map-full","count":3,"ops":["read"]}]. The parser adds to what `c` already holds. */
int completeness_text(const struct completeness *c, char **ret);
int completeness_parse(const char *text, struct completeness *c);
/* What is missing of the MPI-IO of a step: NULL: it was not counted; "[]": nothing. The parser
 * makes an account without calls, NULL for NULL or ""; *ret is owned by the caller. */
int mpi_incomplete_text(const struct mpi_account *account, char **ret);
int mpi_incomplete_parse(const char *text, struct mpi_account **ret);

#endif

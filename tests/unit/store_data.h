/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs, steps and a directory for the tests of the store. */
#ifndef JOBIO_TESTS_STORE_DATA_H
#define JOBIO_TESTS_STORE_DATA_H

#include "collector/store/store.h"

#define SECOND 1000000000ull
#define NOW (1790000000ull * SECOND)

/* A new directory below $TMPDIR or /tmp. */
struct directory {
    char path[128];
    char store[160]; /* path/jobio.db */
};
void folder_make(struct directory *ret);
void folder_remove(struct directory *at);

/* For cmocka: a directory, and in the second case a store in it. The teardown closes what is open.
 */
extern struct directory directory;
extern struct store *opened; /* NULL: none */
int folder_set_up(void **state);
int store_set_up(void **state);
int folder_tear_down(void **state);
#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, store_set_up, folder_tear_down)

/* Open a store there. Fails the test with the error. */
struct store *open_store(const struct directory *at);
struct store *open_reader(const struct directory *at);

/* A running job of uid 1000 that started at `start_ns`; free it with job_account_destroy(). */
struct job_account *job_make(uint32_t jobid, uint64_t start_ns);
/* An ended step with known numbers on two mounts; step_account_clear it. Its reads on "/scratch"
 * are `scale` requests of 4096 x `scale` bytes in all. */
void step_make(struct step_account *step, uint32_t number, uint64_t tagged_at_ns, uint64_t scale);
/* Add readers and writers of its first mount, which ClickHouse does not keep. */
void step_add_users(struct step_account *step);
/* The same for requests of NFS. */
void step_add_rpc(struct step_account *step);

/* Give the step 8 x `scale` collective writes of 1 MiB and 2 x `scale` opens of MPI-IO, of which
 * `scale` processes called some before they were counted. */
void step_add_mpi(struct step_account *step, uint64_t scale);

/* Give the step 5 x `scale` writes to "sda" and 3 x `scale` reads of "sdb", and 7 shared writes to
 * "sda"; some are missing. */
void step_add_block(struct step_account *step, uint64_t scale);

/* Store one job of `steps` steps. */
void store_fill(struct store *store, uint32_t steps);
/* Create a store in `directory` with one job of `steps` steps, and close it. */
void store_make(uint32_t steps);
/* Opens it for that. */
size_t store_count_steps(void);
/* Run statements on a closed store, bypassing its code. */
void store_sql(const char *text);

/* Put the job, and the step unless it is NULL, into `opened`. */
void put_rows(const struct job_account *job, const struct step_account *step, bool final);

/* Jobs 1, 2 and 3 run for 10 s one after the other, job 4 is still running; 2 and 4 belong to Bob.
 */
void fill_history(void);

#define assert_ok(r, error) assert_ok_at((r), &(error), __FILE__, __LINE__)
void assert_ok_at(int r, const struct error *error, const char *file, int line);

/* The runs of a number from store_jobs(); free them with store_jobs_free(). */
struct job_account **jobs_found(uint32_t jobid, bool all, uint32_t uid);

/* All rows of all tables of the store in `directory`, as its file has them, without the times at
 * which rows were queued; free() it. */
char *store_rows(void);
/* If the rows differ, fails with the first line that does. */
void assert_store_rows(const char *rows, const char *want);

#endif

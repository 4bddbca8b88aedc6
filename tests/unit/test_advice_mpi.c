/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collective writes of MPI-IO and who writes for them: what the summary reports, and when the
 * rules apply. */
#include "tests/unit/test.h"

#include <stdlib.h>

#include "report/advice/advice.h"
#include "report/summary/mpi.h"
#include "tests/unit/sample.h"

#define CALLS 6400
#define NODES 4

static struct advice *advice;
static struct job_account *job;

static void say(const char *text, void *arg)
{
    (void)arg;
    fail_msg("%s", text);
}

static struct mpi_counter *collective(void)
{
    return &job->mpi->classes[MPI_WRITE_ALL];
}

static struct io_mount *scratch(void)
{
    return &job->mounts.items[0];
}

/* Replace what was written on /scratch. */
static void wrote(uint64_t requests, uint64_t bytes, uint64_t processes)
{
    struct io_counter *c = io_account_op(&scratch()->io, IO_WRITE);

    *c = (struct io_counter){.requests = requests, .bytes = bytes, .time_ns = SECONDS(300)};
    c->size_log2[io_size_bucket(bytes / requests)] = requests;
    c->latency_log2[io_latency_bucket(SECONDS(300) / requests)] = requests;
    scratch()->users[IO_WRITERS] = (struct io_users){processes, processes, false};
}

/* A job on four nodes: 64 processes write 4 KiB in each of 100 collective calls, and they do so one
 * by one. */
static int setup(void **state)
{
    struct error error;

    (void)state;
    if (advice_create(&advice, &error) < 0 ||
        advice_read_directory(advice, SRCDIR "/contrib/advice", say, NULL, &error) < 0)
        fail_msg("%s", error.text);
    job = job_account_create();
    job->elapsed_ns = SECONDS(1000);
    job->longest_wait_ns = SECONDS(400);
    job->nodes_expected = job->nodes_reported = NODES;
    assert_non_null(io_mounts_get(&job->mounts, "/scratch", "lustre", "fs", false));
    wrote(CALLS, CALLS * KIB(4), 64);
    job->mpi = calloc(1, sizeof(*job->mpi));
    *collective() =
        (struct mpi_counter){.calls = CALLS, .time_ns = SECONDS(25600), .bytes = CALLS * KIB(4)};
    collective()->size_log2[12] = CALLS;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    advice_destroy(advice);
    job_account_destroy(job);
    return 0;
}

/* Returns the text of the rule's note, malloc'd; NULL: the rule does not apply. */
static char *note_of(const char *rule)
{
    struct advice_notes notes = {0};
    struct error error;
    char *text = NULL;

    if (advice_give(advice, job, 20, &notes, &error) < 0)
        fail_msg("%s", error.text);
    for (size_t i = 0; i < notes.n; i++)
        if (!strcmp(notes.items[i].rule, rule))
            text = strdup(notes.items[i].text);
    advice_notes_clear(&notes);
    return text;
}

static void check_note(const char *rule, const char *want)
{
    _free_ char *text = note_of(rule);

    if (!text)
        fail_msg("%s does not apply", rule);
    assert_string_equal(text, want);
}

static void check_silent(const char *rule)
{
    _free_ char *text = note_of(rule);

    if (text)
        fail_msg("%s: %s", rule, text);
}

static void check_sentence(const char *want)
{
    _free_ char *text = summary_mpi_writers(job);

    if (!want) {
        assert_null(text);
        return;
    }
    assert_non_null(text);
    assert_string_equal(text, want);
}

#define BUFFERING "collective-buffering"
#define AGGREGATOR "one-aggregator"
#define INDEPENDENT "independent-writes"

static void test_each_for_itself(void **state)
{
    (void)state;
    check_note(BUFFERING,
               "40 % of the run time went to writing /scratch: 64 processes made 6400 writes for "
               "6400 collective calls of MPI-IO, half of them at most 4 KiB. Turn collective "
               "buffering on (ROMIO: the hint romio_cb_write = enable).");
    check_silent(AGGREGATOR);
    check_sentence("64 processes made 6400 writes on /scratch, 4.0 KiB on average, for 6400 "
                   "collective writes (25.0 MiB): collective buffering did not combine them");
    scratch()->users[IO_WRITERS].at_least = true;
    check_silent(BUFFERING);
}

/* Half of the calls write on another mount: fewer requests than calls on each of them do not mean
 * that calls were combined. */
static void test_two_mounts(void **state)
{
    struct io_mount *other;

    (void)state;
    other = io_mounts_get(&job->mounts, "/other", "lustre", "fs", false);
    assert_non_null(other);
    wrote(CALLS / 2, CALLS / 2 * KIB(4), 1);
    assert_int_equal(io_account_add(&other->io, &scratch()->io), 0);
    other->users[IO_WRITERS] = scratch()->users[IO_WRITERS];
    check_silent(BUFFERING);
    check_silent(AGGREGATOR);
    check_sentence(NULL);
}

/* As in a document that is not from jobio. */
static void test_no_requests(void **state)
{
    (void)state;
    io_account_op(&scratch()->io, IO_WRITE)->requests = 0;
    check_sentence(NULL);
}

/* Four aggregators write 1 MiB at a time. */
static void test_combined(void **state)
{
    (void)state;
    wrote(25, CALLS * KIB(4), 4);
    check_silent(BUFFERING);
    check_silent(AGGREGATOR);
    check_sentence("4 processes made 25 writes on /scratch, 1.0 MiB on average, for 6400 "
                   "collective writes (25.0 MiB): collective buffering combined them");
}

/* Calls of 64 MiB are written in pieces, which proves nothing. */
static void test_large_calls(void **state)
{
    (void)state;
    wrote(4 * CALLS, CALLS * MIB(64), 8);
    collective()->bytes = CALLS * MIB(64);
    memset(collective()->size_log2, 0, sizeof(collective()->size_log2));
    collective()->size_log2[26] = CALLS;
    check_silent(BUFFERING);
    check_sentence("8 processes made 25.6 k writes on /scratch, 16.0 MiB on average, for 6400 "
                   "collective writes (400 GiB)");
}

/* Calls that wrote nothing need no request. */
static void test_empty_calls(void **state)
{
    (void)state;
    wrote(25, CALLS * KIB(4), 1);
    memset(collective()->size_log2, 0, sizeof(collective()->size_log2));
    collective()->size_log2[0] = CALLS - 25;
    collective()->size_log2[20] = 25;
    check_sentence("1 process made 25 writes on /scratch, 1.0 MiB on average, for 25 collective "
                   "writes (25.0 MiB)");
    check_silent(AGGREGATOR);
}

static void test_one_aggregator(void **state)
{
    (void)state;
    wrote(25, CALLS * KIB(4), 1);
    check_note(AGGREGATOR,
               "One process wrote the 25.0 MiB on /scratch, while 25.6 threads on average waited "
               "in collective writes of MPI-IO: let several processes write (ROMIO: the hint "
               "cb_nodes; on Lustre, more stripes).");
    check_silent(BUFFERING);
    scratch()->users[IO_WRITERS].at_least = true;
    check_silent(AGGREGATOR);
    scratch()->users[IO_WRITERS] = (struct io_users){2, 2, false};
    check_silent(AGGREGATOR);
    scratch()->users[IO_WRITERS] = (struct io_users){0}; /* unknown */
    check_silent(AGGREGATOR);
    check_sentence(NULL);
    wrote(25, CALLS * KIB(4), 1);
    collective()->time_ns = SECONDS(1500); /* perhaps of one process */
    check_silent(AGGREGATOR);
    collective()->time_ns = SECONDS(25600);
    job->nodes_expected = job->nodes_reported = 1;
    check_silent(AGGREGATOR);
}

/* What is not certain gives neither a note nor a sentence. */
static void check_nothing(void)
{
    check_silent(BUFFERING);
    check_sentence(NULL);
}

static void test_other_writes(void **state)
{
    struct io_mount *home;

    (void)state;
    home = io_mounts_get(&job->mounts, "/home", "nfs4", "srv", false);
    assert_non_null(home);
    io_account_op(&home->io, IO_WRITE)->bytes = MIB(2); /* 8 % may be on /scratch */
    _free_ char *note = note_of(BUFFERING);
    assert_non_null(note);
    io_account_op(&home->io, IO_WRITE)->bytes = MIB(3);
    check_nothing();
}

static void test_unknown(void **state)
{
    (void)state;
    collective()->unknown_calls = 1;
    check_nothing();
    collective()->unknown_calls = 0;
    collective()->bytes += MIB(1); /* not all of it went through the kernel */
    check_nothing();
    collective()->bytes -= MIB(1);
    assert_int_equal(completeness_add(&job->mpi->completeness, MPI_CAUSE_ENDS, 1, 0), 0);
    check_nothing();
    completeness_clear(&job->mpi->completeness);
    job->completeness.lost = 1;
    check_nothing();
    job->completeness.lost = 0;
    job->nodes_expected++;
    check_nothing();
    job->nodes_expected--;
    collective()->size_log2[12] = 0; /* no call wrote anything */
    check_nothing();
    mpi_account_destroy(job->mpi);
    job->mpi = NULL;
    check_nothing();
}

/* The advice to use MPI-IO is not for jobs that do. */
static void test_one_writer(void **state)
{
    static const char *const names[NODES] = {"n1", "n2", "n3", "n4"};

    (void)state;
    wrote(25, CALLS * KIB(4), 1);
    job->steps = calloc(NODES, sizeof(*job->steps));
    for (; job->n_steps < NODES; job->n_steps++) {
        struct step_account *step = &job->steps[job->n_steps];

        *step = (struct step_account){.het = HET_NONE, .node = strdup(names[job->n_steps])};
        if (!job->n_steps)
            assert_int_equal(io_mounts_copy(&job->mounts, &step->mounts), 0);
    }
    check_silent("one-writer");
    mpi_account_destroy(job->mpi);
    job->mpi = NULL;
    _free_ char *note = note_of("one-writer");
    assert_non_null(note);
}

/* The same calls, but independent; one process created the file. */
static void test_independent(void **state)
{
    struct io_counter *creates = io_account_op(&scratch()->io, IO_CREATE);
    struct mpi_counter *independent = &job->mpi->classes[MPI_WRITE];

    (void)state;
    check_silent(INDEPENDENT);
    *independent = *collective();
    *collective() = (struct mpi_counter){0};
    check_silent(INDEPENDENT); /* each process may have a file of its own */
    creates->requests = 64;
    check_silent(INDEPENDENT);
    creates->requests = 1;
    check_note(INDEPENDENT,
               "40 % of the run time went to writing /scratch in 6400 independent calls of "
               "MPI-IO, half of the requests at most 4 KiB: let processes that share a file use "
               "collective calls (MPI_File_write_at_all; H5FD_MPIO_COLLECTIVE in HDF5), which "
               "combine them.");
    check_nothing();
    independent->unknown_calls = 1;
    check_silent(INDEPENDENT);
    independent->unknown_calls = 0;
    wrote(CALLS, CALLS * KIB(8), 64); /* half of it otherwise */
    check_silent(INDEPENDENT);
    wrote(25, CALLS * KIB(4), 64); /* something has combined them */
    check_silent(INDEPENDENT);
}

#define MPI_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        MPI_TEST(test_each_for_itself), MPI_TEST(test_combined),       MPI_TEST(test_large_calls),
        MPI_TEST(test_empty_calls),     MPI_TEST(test_one_aggregator), MPI_TEST(test_other_writes),
        MPI_TEST(test_unknown),         MPI_TEST(test_one_writer),     MPI_TEST(test_two_mounts),
        MPI_TEST(test_no_requests),     MPI_TEST(test_independent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

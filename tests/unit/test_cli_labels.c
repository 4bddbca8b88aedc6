/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exports that can be shared: names become labels, in accounts and in the texts of rules. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/labels.h"
#include "report/json/json.h"

static char *copy(const char *text)
{
    char *made = text ? strdup(text) : NULL;

    assert_true(!text || made);
    return made;
}

static void add_mount(struct io_mounts *mounts, const char *mount, const char *source)
{
    struct io_mount *m = io_mounts_get(mounts, mount, "ext4", source, false);

    assert_non_null(m);
    assert_non_null(io_account_op(&m->io, IO_READ));
    m->io.ops[IO_READ]->requests = 1;
}

/* What is missing in it names a library. */
static void add_mpi(struct mpi_account **ret)
{
    *ret = calloc(1, sizeof(**ret));
    assert_non_null(*ret);
    assert_int_equal(
        completeness_add(&(*ret)->completeness, MPI_CAUSE_LIBRARY "libalice.so: unknown", 1, 0), 0);
}

/* A job with names, and nothing else. */
static struct job_account *job_of(uint32_t jobid, const char *user, const char *account,
                                  const char *name)
{
    struct job_account *job = job_account_create();

    assert_non_null(job);
    job->key.jobid = jobid;
    job->uid = 7;
    job->user = copy(user);
    job->account = copy(account);
    job->name = copy(name);
    return job;
}

static struct step_account *add_step(struct job_account *job, const char *node, uint64_t tagged_ns)
{
    job->steps = realloc(job->steps, (job->n_steps + 1) * sizeof(*job->steps));
    assert_non_null(job->steps);
    job->steps[job->n_steps] = (struct step_account){.het = HET_NONE, .tagged_at_ns = tagged_ns};
    job->steps[job->n_steps].node = copy(node);
    return &job->steps[job->n_steps++];
}

/* The document that is printed, which must not have any of the words. */
static void assert_hidden(const struct job_account *job, const char *const *words)
{
    char *text = report_json_text(job, REPORT_STEPS | REPORT_TIMELINE | REPORT_WIRE);

    assert_non_null(text);
    for (; *words; words++)
        if (strstr(text, *words))
            fail_msg("\"%s\" is in %s", *words, text);
    free(text);
}

/* Check a note about a job that has its labels already. */
static void assert_note(struct labels *labels, const char *text, const char *want)
{
    struct advice_note note = {.rule = "r", .link = strdup("https://wiki"), .text = strdup(text)};
    struct advice_notes notes = {.items = &note, .n = 1};

    assert_int_equal(labels_notes(labels, &notes), 0);
    assert_string_equal(note.text, want);
    assert_string_equal(note.link, "");
    free(note.text);
    free(note.link);
}

static void test_identity(void **state)
{
    struct labels *labels = labels_create(0);
    struct job_account *job = job_of(123, "al", "al", "read"),
                       *other = job_of(9, "al-b", NULL, "x");

    (void)state;
    job->array_job = 9;
    job->first_node = copy("node7");
    assert_int_equal(labels_job(labels, job), 0);
    assert_int_equal(labels_job(labels, other), 0);
    assert_string_equal(job->user, "user1");
    assert_string_equal(job->account, "account1");
    assert_string_equal(job->name, "name1");
    assert_null(job->partition);
    assert_null(job->first_node);
    assert_int_equal(job->uid, 1);
    assert_int_equal(job->key.jobid, 1);
    assert_int_equal(job->array_job, 2);
    assert_string_equal(other->user, "user2");
    assert_null(other->account);
    assert_int_equal(other->uid, 1);
    assert_int_equal(other->key.jobid, 2);
    job_account_destroy(job);
    job_account_destroy(other);
    labels_destroy(labels);
}

/* All that a report can show, and no name in it. */
static void test_all_names(void **state)
{
    static const char *const words[] = {"alice", "phys",  "batch9", "simul",    "hpc9",
                                        "node7", "node8", "/home",  "srv:/x",   "4711",
                                        "4712",  "4713",  "17951",  "libalice", NULL};
    struct job_account *job = job_of(4711, "alice", "phys", "simul");
    struct labels *labels = labels_create(0);
    struct step_account *step;

    (void)state;
    job->key.cluster = copy("hpc9");
    job->partition = copy("batch9");
    job->uid = 4712;
    job->array_job = 4713;
    job->first_node = copy("node7");
    job->start_ns = 1795168800000000001ull;
    job->end_ns = 1795168860000000002ull;
    add_mount(&job->mounts, "/home/alice", "srv:/x");
    assert_int_equal(completeness_add(&job->completeness, "node not heard: node7", 1, 0), 0);
    step = add_step(job, "node8", 1795168801000000000ull);
    add_mount(&step->mounts, "/home/alice", "srv:/x");
    assert_int_equal(completeness_add(&step->completeness, "not counted: /home", 1, 0), 0);
    add_mpi(&step->mpi);
    add_mpi(&job->mpi);
    add_step(job, "node7", 1795168802000000000ull);
    assert_int_equal(labels_job(labels, job), 0);
    assert_hidden(job, words);
    assert_string_equal(job->mounts.items[0].mount, "mount1");
    assert_string_equal(job->mounts.items[0].source, "source1");
    assert_string_equal(job->mounts.items[0].fstype, "ext4");
    assert_string_equal(job->completeness.items[0].cause, "node not heard");
    assert_string_equal(job->steps[0].completeness.items[0].cause, "not counted");
    assert_string_equal(job->mpi->completeness.items[0].cause, "not-covered");
    assert_string_equal(job->steps[0].mpi->completeness.items[0].cause, "not-covered");
    assert_string_equal(job->steps[0].mounts.items[0].mount, "mount1");
    assert_string_equal(job->steps[0].node, "node2"); /* in the order of their names */
    assert_string_equal(job->steps[1].node, "node1");
    assert_true(job->end_ns - job->start_ns == 60000000001ull);
    assert_true(job->steps[0].tagged_at_ns - job->start_ns == 999999999);
    assert_string_equal(labels_mount(labels, "/home/alice"), "mount1");
    assert_string_equal(labels_mount(labels, "/other"), "mount2");
    job_account_destroy(job);
    labels_destroy(labels);
}

static void test_names_in_notes(void **state)
{
    struct labels *labels = labels_create(0);
    struct job_account *job = job_of(1, "alice", "ali", "a\tb");

    (void)state;
    add_step(job, "n7", 0);
    assert_int_equal(labels_job(labels, job), 0);
    job_account_destroy(job);
    /* Only complete words, as a terminal shows them. */
    assert_note(labels, "alice, alice2, malice, ali: a?b on n7.",
                "user1, alice2, malice, account1: name1 on node1.");
    assert_note(labels, "none at all", "none at all");
    labels_destroy(labels);
}

static void test_paths_in_notes(void **state)
{
    struct labels *labels = labels_create(0);
    struct job_account *job = job_of(1, NULL, NULL, NULL);

    (void)state;
    add_mount(&job->mounts, "/", "");
    add_mount(&job->mounts, "/scratch", "srv:/x y");
    add_mount(&job->mounts, "/a b", "sda1");
    job->mounts.items[0].source[0] = '\0';
    assert_int_equal(labels_job(labels, job), 0);
    job_account_destroy(job);
    assert_note(labels, "small reads on /scratch: 3 MiB/s", "small reads on mount2: 3 MiB/s");
    assert_note(labels, "/scratch/alice/x.h5 and (/) and \"/a b\".",
                "mount2 and (mount1) and \"mount3\".");
    /* The site knows others: the same path is the same label. */
    assert_note(labels, "use /fast/tmp, not /scratch2; /fast/tmp.", "use path1, not path2; path1.");
    assert_note(labels, "from srv:/x y, and/or I/O", "from source2, and/or I/O");
    labels_destroy(labels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_all_names),
        cmocka_unit_test(test_names_in_notes),
        cmocka_unit_test(test_paths_in_notes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The accounts of programs that lose time for a known reason, and of healthy ones, recorded in a
 * guest (make check-causes RECORD=1): what jobio says about them. tests/causes has the programs and
 * the sentences.
 */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "report/advice/advice.h"
#include "report/json/json.h"
#include "report/nodes.h"
#include "report/text/text.h"

#define NOTES 3
#define SECOND UINT64_C(1000000000)

/* A line of a list: NAME | COMMAND | SENTENCE. */
struct cause {
    char name[64], sentence[256];
};

static struct advice *advice;

static void say(const char *text, void *arg)
{
    (void)arg;
    fail_msg("%s", text);
}

static int setup(void **state)
{
    struct error error;

    (void)state;
    if (advice_create(&advice, &error) < 0 ||
        advice_read_directory(advice, SRCDIR "/contrib/advice", say, NULL, &error) < 0)
        fail_msg("%s", error.text);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    advice_destroy(advice);
    return 0;
}

/* Print what jobio prints, for the log. */
static void show(const struct job_account *job, const struct advice_notes *notes)
{
    const struct text_style style = {.notes = notes};
    _free_ char *text = report_text(job, SUMMARY_SHORT, &style);

    print_message("%s", text);
}

static struct job_account *read_account(const char *name)
{
    struct json_object *document;
    struct job_account *job = NULL;
    struct error error;
    char path[512];

    (void)snprintf(path, sizeof(path), TESTS_DATA "/causes/%s.json", name);
    document = json_object_from_file(path);
    if (!document)
        fail_msg("no %s", path);
    if (report_json_parse(document, &job, &error) < 0)
        fail_msg("%s: %s", path, error.text);
    json_object_put(document);
    return job;
}

static bool matches(const char *text, const char *pattern)
{
    regex_t regex;
    bool found;

    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
    found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

/* An empty sentence: no note. Returns whether it is what jobio says first. */
static bool is_right(const struct cause *cause)
{
    CLEANUP(advice_notes_clear) struct advice_notes notes = {0};
    struct job_account *job = read_account(cause->name);
    struct error error;
    bool right;

    if (advice_give(advice, job, NOTES, &notes, &error) != 0)
        fail_msg("%s: %s", cause->name, error.text);
    right =
        *cause->sentence ? notes.n && matches(notes.items[0].text, cause->sentence) : notes.n == 0;
    print_message("--- %s: %s\n", cause->name, right ? "right" : "WRONG");
    show(job, &notes);
    job_account_destroy(job);
    return right;
}

/* The next line that is not a comment. */
static bool next_cause(FILE *list, struct cause *ret)
{
    char line[1024];

    while (fgets(line, sizeof(line), list))
        if (*line != '#') {
            *ret = (struct cause){"", ""};
            assert_true(sscanf(line, "%63[^ |] | %*[^|]| %255[^\n]", ret->name, ret->sentence) >=
                        1);
            return true;
        }
    return false;
}

static void check_list(const char *path, bool silent, int least)
{
    _fclose_ FILE *list = fopen(path, "r");
    struct cause cause;
    int all = 0, right = 0;

    assert_non_null(list);
    while (next_cause(list, &cause)) {
        assert_int_equal(!*cause.sentence, silent);
        right += is_right(&cause);
        all++;
    }
    print_message("%d of %d\n", right, all);
    assert_int_equal(right, all);
    assert_true(all >= least);
}

static void test_each_cause_is_named_first(void **state)
{
    (void)state;
    check_list(SRCDIR "/tests/causes/causes.list", false, 12);
}

static void test_healthy_programs_get_no_advice(void **state)
{
    (void)state;
    check_list(SRCDIR "/tests/causes/healthy.list", true, 12);
}

/* A node of a job: what it wrote to /scratch. */
static void add_node(struct job_account *job, const char *node, uint64_t bytes, uint64_t time_ns)
{
    struct io_mounts mounts = {0};
    struct io_counter *c =
        io_account_op(&io_mounts_get(&mounts, "/scratch", "lustre", "fs", false)->io, IO_WRITE);

    c->requests = bytes >> 20;
    c->bytes = bytes;
    c->time_ns = time_ns;
    c->size_log2[io_size_bucket(1 << 20)] = c->requests;
    assert_int_equal(io_mounts_add(&job->mounts, &mounts), 0);
    assert_int_equal(nodes_add(job, node, &mounts, time_ns), 0);
    io_mounts_clear(&mounts);
    job->nodes_expected = ++job->nodes_reported;
}

/* 90 % of the bytes, but not less. */
static void test_one_node_that_writes_for_all(void **state)
{
    for (uint64_t other = 10; other <= 11; other++) {
        CLEANUP(advice_notes_clear) struct advice_notes notes = {0};
        struct job_account *job = job_account_create();
        struct error error;

        (void)state;
        job->elapsed_ns = 1000 * SECOND;
        job->longest_wait_ns = 400 * SECOND;
        add_node(job, "n1", UINT64_C(90) << 20, 400 * SECOND);
        add_node(job, "n2", other << 20, SECOND);
        assert_int_equal(advice_give(advice, job, NOTES, &notes, &error), 0);
        assert_true(notes.n > 0);
        if (other == 10)
            assert_string_equal(
                notes.items[0].text,
                "One of the 2 nodes wrote 90 % of the 100 MiB, which took 40 % of the run time: "
                "let all nodes write their part (MPI-IO, parallel HDF5, or a file each).");
        else
            assert_string_equal(notes.items[0].rule, "imbalance");
        job_account_destroy(job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_cause_is_named_first),
        cmocka_unit_test(test_healthy_programs_get_no_advice),
        cmocka_unit_test(test_one_node_that_writes_for_all),
    };

    return cmocka_run_group_tests_name("causes", tests, setup, teardown);
}

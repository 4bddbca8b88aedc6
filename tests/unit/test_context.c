/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/explain/context.h"
#include "report/compare/similar.h"
#include "tests/unit/sample.h"

/* --- which jobs are alike ------------------------------------------------------------------------
 */

static struct job_account *job_of(const char *name, uint32_t uid)
{
    struct job_account *job = job_account_create();

    job->key.cluster = strdup("test");
    job->key.jobid = 12;
    job->uid = uid;
    job->name = name ? strdup(name) : NULL;
    job->ended = true;
    job->elapsed_ns = SECONDS(100);
    job->nodes_expected = job->nodes_reported = 1;
    return job;
}

static void did(struct job_account *job, const char *mount, enum io_op op, uint64_t requests,
                uint64_t each)
{
    sample_calls(sample_mount(&job->mounts, mount, "ext4", "/dev/sda"), op, requests, each, 1000);
}

static void test_similarity(void **state)
{
    _job_ *a = job_of("train", 1), *b = job_of("train", 1), *c = job_of(NULL, 2);
    struct similarity s;

    (void)state;
    s = similarity_of(a, b); /* both did nothing */
    assert_true(s.same_name && s.same_user && s.io == 1);
    did(a, "/scratch", IO_READ, 10, 1000);
    s = similarity_of(a, b);
    assert_true(s.io == 0);
    did(b, "/scratch", IO_READ, 1000, 1000);
    assert_true(fabs(similarity_of(a, b).io - 1) < 1e-9); /* the mix, not the amount */
    did(b, "/home", IO_OPEN, 1000000, 0);
    assert_true(similarity_of(a, b).io < 0.8 && similarity_of(a, b).io > 0.5);
    assert_true(fabs(similarity_of(a, b).io - similarity_of(b, a).io) < 1e-12);
    did(c, "/scratch", IO_WRITE, 10, 1000);
    s = similarity_of(a, c); /* another operation, another user, no name */
    assert_true(!s.same_name && !s.same_user && s.io == 0);
    assert_false(similarity_of(c, c).same_name);
}

static void test_order(void **state)
{
    const struct similarity best_first[] = {
        {true, true, 0.5}, {true, true, 0.4}, {true, false, 1}, {false, true, 1}, {false, false, 1},
    };

    (void)state;
    for (size_t i = 0; i + 1 < ARRAY_SIZE(best_first); i++) {
        assert_true(similarity_compare(&best_first[i], &best_first[i + 1]) < 0);
        assert_true(similarity_compare(&best_first[i + 1], &best_first[i]) > 0);
        assert_int_equal(similarity_compare(&best_first[i], &best_first[i]), 0);
    }
}

/* --- the document --------------------------------------------------------------------------------
 */

static struct json_object *context_of(const struct context *context, size_t max)
{
    struct json_object *document;
    struct error error;
    char *text;

    assert_int_equal(report_context(context, max, &text, &error), 0);
    assert_true(strlen(text) <= max);
    document = json_tokener_parse(text);
    assert_non_null(document);
    free(text);
    return document;
}

static size_t length_of(struct json_object *document, const char *name)
{
    struct json_object *array = NULL;

    return json_object_object_get_ex(document, name, &array) ? json_object_array_length(array) : 0;
}

/* 200 mounts, a hundred reasons, long names: the most important is kept, the rest is counted. */
static void test_large(void **state)
{
    _job_ *job = job_of("large", 1), *other = job_of("large", 1);
    struct context_similar similar[7];
    struct context context = {.job = job, .similar = similar, .n_similar = ARRAY_SIZE(similar)};
    struct json_object *document, *mounts, *of_job, *first = NULL;
    struct error error;
    char name[300], *text = NULL;

    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        struct io_mount *m;

        (void)snprintf(name, sizeof(name), "/mnt/%03u%0200u", i, i);
        m = sample_mount(&job->mounts, name, "nfs4", "server:/x");
        for (int op = 0; op < IO_OP_COUNT; op++)
            sample_calls(m, (enum io_op)op, 10, 4096, i == 137 ? SECONDS(1) : 1000);
        assert_int_equal(completeness_add(&job->completeness, name, 1, 0), 0);
    }
    did(other, "/", IO_READ, 1, 1);
    for (size_t i = 0; i < ARRAY_SIZE(similar); i++)
        similar[i] = (struct context_similar){other, similarity_of(job, other)};
    document = context_of(&context, 32000);
    assert_true(length_of(document, "left_out") >= 4);
    assert_true(json_object_object_get_ex(document, "job", &of_job));
    assert_true(json_object_object_get_ex(of_job, "mounts", &mounts));
    assert_true(json_object_array_length(mounts) >= 1);
    assert_true(json_object_object_get_ex(json_object_array_get_idx(mounts, 0), "mount", &first));
    assert_int_equal(strncmp(json_object_get_string(first), "/mnt/137", 8), 0);
    json_object_put(document);
    document = context_of(&context, 10000000);
    assert_int_equal(length_of(document, "similar_jobs"), CONTEXT_SIMILAR);
    assert_int_equal(length_of(document, "left_out"), 1);
    json_object_put(document);
    assert_int_equal(report_context(&context, 1000, &text, &error), -E2BIG);
    assert_null(text);
}

/* Every size is kept to, or refused. */
static void test_bound(void **state)
{
    _job_ *job = sample_job();
    struct context context = {.job = job, .note = "a note"};
    struct error error;

    (void)state;
    for (size_t max = 0; max < 24000; max += 500) {
        char *text = NULL;
        int rc = report_context(&context, max, &text, &error);

        assert_true(rc == 0 ? strlen(text) <= max : rc == -E2BIG && max < 10000);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_similarity),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

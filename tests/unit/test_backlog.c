/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of jobio-record --backlog, and its parser of answers. */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "record/node_query.h"
#include "record/ended_jobs.h"

#define NOW 1000000
#define RECORD(nodes, restart) "IO1:{\"v\":1,\"complete\":true,\"nodes\":" nodes restart "}"
#define COMPLETE RECORD("[2,2]", "")
#define PARTLY RECORD("[1,2]", "")
#define AGAIN RECORD("[2,2]", ",\"restart\":1")

static const struct ended_rules rules = {.now = NOW, .unknown = 600, .give_up = 7200};

static struct ended_job ended(int64_t age, const char *comment)
{
    return (struct ended_job){
        .jobid = 7,
        .array_task = ENDED_NONE,
        .het_offset = ENDED_NONE,
        .submit = NOW - age - 200,
        .start = NOW - age - 90,
        .end = NOW - age,
        .nodes = 2,
        .host = strdup("n1"),
        .comment = comment ? strdup(comment) : NULL,
    };
}

static bool wants(int64_t age, const char *comment)
{
    struct ended_job job = ended(age, comment);
    bool wanted = ended_wants_record(&job, &rules);

    ended_job_clear(&job);
    return wanted;
}

static void test_runs_that_want_a_record(void **state)
{
    struct ended_job job = ended(5, NULL);

    (void)state;
    assert_true(wants(5, NULL));
    assert_true(wants(100000, "JS1:x"));
    assert_false(wants(5, "JS1:x " COMPLETE));
    assert_true(wants(5, PARTLY));
    assert_true(wants(7199, PARTLY));
    assert_false(wants(7200, PARTLY));
    assert_true(wants(5, AGAIN));
    job.restart = 1;
    assert_true(ended_wants_record(&job, &rules));
    free(job.comment);
    job.comment = strdup(COMPLETE); /* of the previous run */
    assert_true(ended_wants_record(&job, &rules));
    free(job.comment);
    job.comment = strdup(AGAIN);
    assert_false(ended_wants_record(&job, &rules));
    job.restart = 2;
    job.resized = true;
    assert_false(ended_wants_record(&job, &rules));
    job.resized = false;
    job.end = 0;
    assert_false(ended_wants_record(&job, &rules));
    job.end = NOW;
    assert_true(ended_wants_record(&job, &rules));
    free(job.host);
    job.host = NULL; /* cancelled before it started */
    assert_false(ended_wants_record(&job, &rules));
    ended_job_clear(&job);
}

static void test_verdicts(void **state)
{
    static const struct {
        int64_t age;
        const char *comment;
        enum ended_answer answer;
        const char *record;
        enum ended_verdict verdict;
        const char *written;
    } cases[] = {
        {5, NULL, ANSWER_ENDED, COMPLETE, VERDICT_WRITE, COMPLETE},
        {5, NULL, ANSWER_RUNS, COMPLETE, VERDICT_LATER, NULL},
        {7199, NULL, ANSWER_RUNS, COMPLETE, VERDICT_LATER, NULL},
        {7200, NULL, ANSWER_RUNS, COMPLETE, VERDICT_WRITE, COMPLETE},
        {5, PARTLY, ANSWER_ENDED, PARTLY, VERDICT_KEEP, NULL},
        {5, PARTLY, ANSWER_ENDED, COMPLETE, VERDICT_WRITE, COMPLETE},
        {5, PARTLY, ANSWER_RUNS, COMPLETE, VERDICT_KEEP, NULL},
        {5, NULL, ANSWER_UNKNOWN, NULL, VERDICT_LATER, NULL},
        {600, NULL, ANSWER_UNKNOWN, NULL, VERDICT_MARK, "no account"},
        {600, PARTLY, ANSWER_UNKNOWN, NULL, VERDICT_KEEP, NULL},
        {600, AGAIN, ANSWER_UNKNOWN, NULL, VERDICT_MARK, "no account"},
        {600, NULL, ANSWER_NONE, NULL, VERDICT_LATER, NULL},
        {7199, NULL, ANSWER_NONE, NULL, VERDICT_LATER, NULL},
        {7200, NULL, ANSWER_NONE, NULL, VERDICT_MARK, "did not answer"},
        {7200, PARTLY, ANSWER_NONE, NULL, VERDICT_KEEP, NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct ended_job job = ended(cases[i].age, cases[i].comment);

        assert_int_equal(ended_judge(&job, cases[i].answer, cases[i].record, &rules), 0);
        assert_int_equal(job.verdict, cases[i].verdict);
        if (cases[i].written)
            assert_non_null(strstr(job.record, cases[i].written));
        else
            assert_null(job.record);
        if (job.verdict == VERDICT_MARK)
            assert_non_null(strstr(job.record, "\"nodes\":[0,2],\"s\":90,"));
        ended_job_clear(&job);
    }
}

static bool settled(const char *comment, enum ended_verdict verdict)
{
    struct ended_job job = ended(5, comment);
    bool is;

    job.verdict = verdict;
    is = ended_is_settled(&job);
    ended_job_clear(&job);
    return is;
}

static void test_settled_meanwhile(void **state)
{
    (void)state;
    assert_false(settled(NULL, VERDICT_WRITE));
    assert_false(settled("JS1:x", VERDICT_MARK));
    assert_false(settled(AGAIN, VERDICT_MARK)); /* of another run */
    assert_false(settled(PARTLY, VERDICT_WRITE));
    assert_true(settled(PARTLY, VERDICT_MARK));
    assert_true(settled("JS1:x " COMPLETE, VERDICT_WRITE));
    assert_true(settled(COMPLETE, VERDICT_MARK));
}

static void add(struct ended_jobs *jobs, uint32_t jobid, uint32_t uid, int64_t submit, int64_t end,
                bool resized)
{
    struct ended_job job = {
        .jobid = jobid, .uid = uid, .submit = submit, .start = submit, .end = end};

    job.resized = resized;
    assert_int_equal(ended_jobs_add(jobs, &job), 0);
}

static void test_restarts_are_counted(void **state)
{
    static const uint32_t restarts[] = {0, 0, 1, 1, 2, 0, 0};
    struct ended_jobs jobs = {0};

    (void)state;
    /* given in any order; in order: one run of 3; 7 ran, was requeued, resized, requeued; its
     * number came again a week later; and for somebody else */
    add(&jobs, 7, 1, 3000, 0, false);
    add(&jobs, 7, 2, 700000, 700010, false);
    add(&jobs, 7, 1, 100, 200, false);
    add(&jobs, 7, 1, 200, 900, true);
    add(&jobs, 3, 1, 500, 600, false);
    add(&jobs, 7, 1, 901, 2000, false);
    add(&jobs, 7, 1, 690000, 699990, false);
    ended_jobs_sort(&jobs);
    assert_int_equal(jobs.n, ARRAY_SIZE(restarts));
    for (size_t i = 0; i < jobs.n; i++)
        assert_int_equal(jobs.items[i].restart, restarts[i]);
    jobs.items[4].restart_known = true;
    jobs.items[4].restart = 9;
    ended_jobs_sort(&jobs);
    assert_int_equal(jobs.items[4].restart, 9);
    ended_jobs_clear(&jobs);
}

/* What a listing of one day shows before the restarts can be counted. */
static void test_later_runs_are_looked_up(void **state)
{
    struct ended_seen seen = {.since = NOW - 86400};
    struct ended_job job = ended(5, COMPLETE), other = ended(5, COMPLETE);

    (void)state;
    other.jobid = 8;
    assert_false(ended_seen_add(&seen, &job));
    assert_false(ended_seen_add(&seen, &other));
    assert_true(ended_seen_add(&seen, &job));
    job.restart_known = true;
    assert_false(ended_seen_add(&seen, &job));
    other.jobid = 9;
    other.submit = NOW - 86400 + 3600; /* an earlier run may have ended before */
    assert_true(ended_seen_add(&seen, &other));
    other.jobid = 10;
    other.submit++;
    assert_false(ended_seen_add(&seen, &other));
    ended_seen_clear(&seen);
    assert_false(ended_seen_add(&seen, &other));
    ended_seen_clear(&seen);
    ended_job_clear(&job);
    ended_job_clear(&other);
}

static int understand(const char *format, const char *record, struct node_query *ask)
{
    struct error error;
    char text[4096];

    snprintf(ask->id, sizeof(ask->id), "0123456789abcdef");
    snprintf(text, sizeof(text), "{%s,\"ended\":true,\"record\":\"%s\"}", format, record);
    return node_query_parse_answer(ask, "c", text, strlen(text), &error);
}

#define HEAD                                                                                   \
    "\"version\":1,\"cluster\":\"c\",\"from\":\"n1\",\"id\":\"0123456789abcdef\",\"jobid\":7," \
    "\"restart\":1"
#define IN_JSON "IO1:{\\\"v\\\":1,\\\"restart\\\":1}"

static void test_answers(void **state)
{
    static const char *const bad_heads[] = {
        "\"version\":2,\"cluster\":\"c\",\"from\":\"n1\",\"id\":\"0123456789abcdef\",\"jobid\":7,"
        "\"restart\":1",
        "\"version\":1,\"cluster\":\"d\",\"from\":\"n1\",\"id\":\"0123456789abcdef\",\"jobid\":7,"
        "\"restart\":1",
        "\"version\":1,\"cluster\":\"c\",\"from\":\"n2\",\"id\":\"0123456789abcdef\",\"jobid\":7,"
        "\"restart\":1",
        "\"version\":1,\"cluster\":\"c\",\"from\":\"n1\",\"id\":\"0123456789abcdee\",\"jobid\":7,"
        "\"restart\":1",
        "\"version\":1,\"cluster\":\"c\",\"from\":\"n1\",\"id\":\"0123456789abcdef\",\"jobid\":8,"
        "\"restart\":1",
        "\"version\":1,\"cluster\":\"c\",\"from\":\"n1\",\"id\":\"0123456789abcdef\",\"jobid\":7,"
        "\"restart\":0",
        "\"version\":1",
    };
    static const char *const bad_records[] = {
        "", "JS1:x", "IO1:{\\\"v\\\":1}", IN_JSON "\\n", "x " IN_JSON, "IO1:{\\\"v\\\":1",
    };
    struct node_query ask = {.host = "n1", .jobid = 7, .restart = 1};
    struct error error;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad_heads); i++)
        assert_int_equal(understand(bad_heads[i], IN_JSON, &ask), -EBADMSG);
    for (size_t i = 0; i < ARRAY_SIZE(bad_records); i++)
        assert_int_equal(understand(HEAD, bad_records[i], &ask), -EBADMSG);
    assert_int_equal(node_query_parse_answer(&ask, "c", "[]", 2, &error), -EBADMSG);
    assert_int_equal(node_query_parse_answer(&ask, "c", "", 0, &error), -EBADMSG);
    assert_null(ask.record);
    assert_int_equal(ask.answer, ANSWER_NONE);
    assert_int_equal(understand(HEAD, IN_JSON, &ask), 0);
    assert_int_equal(ask.answer, ANSWER_ENDED);
    assert_string_equal(ask.record, "IO1:{\"v\":1,\"restart\":1}");
    free(ask.record);
}

static void test_query(void **state)
{
    struct node_query ask = {.host = "n1", .jobid = 4294967290u, .restart = 2};
    _free_ char *question = node_query_format(&ask, "c");
    char want[256];

    (void)state;
    snprintf(want, sizeof(want),
             "{\"version\":1,\"cluster\":\"c\",\"from\":\"jobio-record\",\"to\":\"n1\","
             "\"id\":\"%s\",\"jobid\":4294967290,\"restart\":2}",
             ask.id);
    assert_int_equal(strlen(ask.id), 16);
    assert_string_equal(question, want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_that_want_a_record),
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_settled_meanwhile),
        cmocka_unit_test(test_restarts_are_counted),
        cmocka_unit_test(test_later_runs_are_looked_up),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_query),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

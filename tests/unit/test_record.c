/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <json-c/json.h>
#include <stdio.h>

#include "report/record/record.h"
#include "tests/unit/sample.h"

static void json_free(struct json_object **o)
{
    json_object_put(*o);
}
#define _json_ CLEANUP(json_free) struct json_object

static void test_record(void **state)
{
    _job_ *job = sample_job();
    _free_ char *record = report_record(job, false);

    (void)state;
    /* 101000 MiB and 10240 MiB; 300 s, 80 s and 20 s of waiting; see sample.c */
    assert_string_equal(record,
                        "IO1:{\"v\":1,\"complete\":true,\"nodes\":[2,2],\"s\":600,"
                        "\"restart\":1,\"m\":["
                        "[\"/scratch\",\"nfs4\",105906176000,10737418240,101000,2560,943718400,"
                        "209715200,24000,7,300],"
                        "[\"/home\",\"nfs4\",4096000,0,1000,0,0,0,100000,88000,80],"
                        "[\"/tmp\",\"tmpfs\",0,536870912,0,512,0,0,0,0,20]],"
                        "\"rest\":[0,0,0,0,0,0,0,0,0]}");
}

static void test_record_of_nothing(void **state)
{
    _job_ *job = job_account_create();
    _free_ char *record = report_record(job, false);

    (void)state;
    assert_string_equal(record, "IO1:{\"v\":1,\"complete\":false,\"nodes\":[0,0],\"s\":0,\"m\":[],"
                                "\"rest\":[0,0,0,0,0,0,0,0,0]}");
}

static void test_record_says_why_nothing_was_counted(void **state)
{
    _job_ *job = job_account_create();
    _free_ char *record = NULL;

    (void)state;
    job->nodes_expected = job->nodes_reported = 1;
    completeness_add(&job->completeness, "not counted: no \"BTF\"", 1, 0);
    record = report_record(job, false);
    assert_string_equal(record, "IO1:{\"v\":1,\"complete\":false,\"nodes\":[1,1],\"s\":0,"
                                "\"why\":\"not counted: no \\\"BTF\\\"\",\"m\":[],"
                                "\"rest\":[0,0,0,0,0,0,0,0,0]}");
}

static uint64_t number_at(struct json_object *row, size_t i)
{
    return json_object_get_uint64(json_object_array_get_idx(row, i));
}

/* n mounts of long odd names, mount i with i MiB read: the first rows are the largest, and nothing
 * is missing from the sum. */
static void check_folding(unsigned n, size_t name_length)
{
    _job_ *job = job_account_create();
    _json_ *o = NULL;
    _free_ char *record = NULL;
    struct json_object *rows, *rest;
    uint64_t bytes = 0, requests = 0, last = UINT64_MAX;

    job->elapsed_ns = 1234567890;
    for (unsigned i = 1; i <= n; i++) {
        char name[5000];
        int k = snprintf(name, sizeof(name), "/%u \"}{\\\n\033", i);

        while ((size_t)k < name_length)
            name[k++] = 'x';
        name[k] = '\0';
        sample_calls(sample_mount(&job->mounts, name, "fs}", "s"), IO_READ, 1, MIB(1) * i, 1000);
    }
    record = report_record(job, false);
    assert_in_range(strlen(record), 10, RECORD_MAX);
    assert_memory_equal(record, "IO1:{", 5);
    o = json_tokener_parse(record + 4);
    assert_true(json_object_object_get_ex(o, "m", &rows));
    assert_true(json_object_object_get_ex(o, "rest", &rest));
    assert_int_equal(json_object_array_length(rest), 9);
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        struct json_object *row = json_object_array_get_idx(rows, i);

        assert_int_equal(json_object_array_length(row), 11);
        assert_true(number_at(row, 2) < last);
        last = number_at(row, 2);
        bytes += last;
        requests += number_at(row, 4);
    }
    assert_int_equal(bytes + number_at(rest, 0), MIB(1) * n * (n + 1) / 2);
    assert_int_equal(requests + number_at(rest, 2), n);
    /* The busiest interval of a sum is not known, but it is no less than the mean. */
    assert_int_equal(number_at(rest, 4), io_per_second(number_at(rest, 0), job->elapsed_ns));
    assert_int_equal(number_at(rest, 5), 0);
    if (n <= 5)
        assert_int_equal(json_object_array_length(rows), n);
    else
        assert_in_range(json_object_array_length(rows), 5, n - 1);
    for (const char *p = record; *p; p++)
        assert_in_range((unsigned char)*p, 0x20, 0x7e);
}

static void test_smallest_mounts_fold(void **state)
{
    (void)state;
    check_folding(1, 4090);
    check_folding(5, 10);
    check_folding(40, 60);
    check_folding(500, 4090);
}

static void test_largest_numbers_fit(void **state)
{
    _job_ *job = job_account_create();
    _free_ char *record = NULL;

    (void)state;
    job->elapsed_ns = UINT64_MAX;
    job->nodes_expected = job->nodes_reported = UINT32_MAX;
    for (unsigned i = 0; i < 100; i++) {
        char name[16];
        struct io_mount *m;

        snprintf(name, sizeof(name), "/%u", i);
        m = sample_mount(&job->mounts, name, "fs", "s");
        for (int op = 0; op < IO_OP_COUNT; op++) {
            *io_account_op(&m->io, op) = (struct io_counter){.requests = UINT64_MAX,
                                                             .bytes = UINT64_MAX,
                                                             .errors = UINT64_MAX,
                                                             .time_ns = UINT64_MAX};
            m->peaks[op] = (struct io_peak){UINT64_MAX, UINT64_MAX};
        }
    }
    record = report_record(job, false);
    assert_in_range(strlen(record), 1000, RECORD_MAX);
}

static void test_merge(void **state)
{
    static const char new[] = "IO1:{\"v\":1,\"m\":[[\"/}\"]]}";
    static const struct {
        const char *comment, *merged; /* NEW stands for the record */
    } cases[] = {
        {NULL, "NEW"},
        {"", "NEW"},
        {"hello", "hello NEW"},
        {"hello ", "hello  NEW"},
        {"IO1:{}", "NEW"},
        {"IO1:{\"v\":1}", "NEW"},
        {"a IO1:{\"v\":1} b", "a NEW b"},
        {"a\nIO1:{\"v\":1}b\xff\x01", "a\nNEWb\xff\x01"},
        {"x;IO1:{\"m\":[[\"/a}b{\\\"}\",1]],\"o\":{\"p\":{}}};y", "x;NEW;y"},
        {"IO1:{\"m\":\"\\\\\"} tail}", "NEW tail}"},
        {"IO1:{\"m\":[[\"/ü\",1]]} tail", "NEW tail"},
        /* not ours */
        {"io1:{}", "io1:{} NEW"},
        {"RADIO1:{}", "RADIO1:{} NEW"},
        {"{\"c\":\"IO1:{}\"}", "{\"c\":\"IO1:{}\"} NEW"},
        {"IO1: {}", "IO1: {} NEW"},
        {"IO2:{}", "IO2:{} NEW"},
        /* cut off: who knows what is behind it */
        {"a IO1:{\"v\":1", "a IO1:{\"v\":1 NEW"},
        {"IO1:{\"v\":\"}", "IO1:{\"v\":\"} NEW"},
        {"IO1:{\"v\":\"\\", "IO1:{\"v\":\"\\ NEW"},
        {"IO1:{", "IO1:{ NEW"},
        {"IO1:{ IO1:{\"v\":1} b", "IO1:{ NEW b"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _free_ char *merged = record_merge(cases[i].comment, new);
        _free_ char *again = record_merge(merged, new);
        const char *at = strstr(cases[i].merged, "NEW");
        char want[256];

        snprintf(want, sizeof(want), "%.*s%s%s", (int)(at - cases[i].merged), cases[i].merged, new,
                 at + 3);
        assert_string_equal(merged, want);
        assert_string_equal(again, want);
    }
}

static void test_head(void **state)
{
    _job_ *job = sample_job();
    _free_ char *record = report_record(job, false);
    _free_ char *comment = record_merge("JS1:{\"nodes\":[9,9]} ", record);
    struct record_head head = {0};

    (void)state;
    assert_true(record_head(comment, &head));
    assert_true(head.complete);
    assert_int_equal(head.nodes, 2);
    assert_int_equal(head.nodes_expected, 2);
    assert_int_equal(head.restart, 1);
    assert_true(record_head("a IO1:{\"v\":1,\"nodes\":7} b", &head));
    assert_false(head.complete);
    assert_int_equal(head.nodes_expected, 0);
    assert_int_equal(head.restart, 0);
    assert_false(record_head(NULL, &head));
    assert_false(record_head("JS1:x IO1:{\"v\"", &head));
    assert_null(record_object("hello"));
}

static void test_without_account(void **state)
{
    const struct record_head head = {.nodes_expected = 4, .restart = 2};
    _free_ char *record = record_without_account(&head, 90, "no answer");
    struct record_head read;

    (void)state;
    assert_string_equal(record, "IO1:{\"v\":1,\"complete\":false,\"nodes\":[0,4],\"s\":90,"
                                "\"restart\":2,\"why\":\"no answer\",\"m\":[],"
                                "\"rest\":[0,0,0,0,0,0,0,0,0]}");
    assert_true(record_head(record, &read));
    assert_int_equal(read.nodes, 0);
    assert_int_equal(read.nodes_expected, 4);
    assert_int_equal(read.restart, 2);
}

static void test_text(void **state)
{
    _job_ *job = sample_job();
    _free_ char *record = report_record(job, false);
    _free_ char *comment = record_merge("other", record);
    _free_ char *text = record_text(comment);

    (void)state;
    assert_string_equal(
        text, "I/O summary: 2 nodes, 00:10:00\n"
              "mount                read   write reads writes r-peak w-peak meta   errs    wait\n"
              "/scratch            99GiB   10GiB  101k   2560 900MiB 200MiB  24k      7   300 s\n"
              "/home              3.9MiB       -  1000      -      -      - 100k    88k    80 s\n"
              "/tmp                    -  512MiB     -    512      -      -    -      -    20 s\n"
              "complete: 2/2 nodes\n");
}

static void test_mpi(void **state)
{
    _job_ *job = sample_job();
    _free_ char *without = report_record(job, true), *plain = report_record(job, false);
    _free_ char *unknown = NULL, *known = NULL, *unasked = NULL, *text = NULL;

    (void)state;
    assert_string_equal(without, plain); /* was not counted */
    job->mpi = sample_mpi();
    unasked = report_record(job, false);
    assert_string_equal(unasked, plain);
    unknown = report_record(job, true);
    assert_non_null(strstr(unknown, "],\"mpi\":{\"r\":[16,86016],\"w\":[64,67108864],\"s\":10,"
                                    "\"complete\":false}}"));
    text = record_text(unknown);
    assert_non_null(strstr(text, "\nMPI-IO: 16 reads (84.0 KiB), 64 writes (64.0 MiB), not "
                                 "complete\ncomplete: 2/2 nodes\n"));
    job->mpi->classes[MPI_READ].unknown_calls = 0;
    known = report_record(job, true);
    assert_non_null(strstr(known, ",\"s\":10,\"complete\":true}}"));
}

static void test_text_of_strange_records(void **state)
{
    static const struct {
        const char *comment, *text;
    } cases[] = {
        {"IO1:{}", "I/O summary: 0 nodes, 00:00:00\n"
                   "nothing read or written on any mounted file system\n"
                   "not complete: 0/0 nodes\n"},
        {"IO1:{\"nodes\":[0,1],\"why\":\"no\\u001b[31m\",\"m\":[]}",
         "I/O summary: 1 node, 00:00:00\nnot complete: 0/1 nodes, no?[31m\n"},
        {"IO1:{\"s\":1e300,\"m\":[7,[],[\"/\\u001b\",2,\"x\",-1,{},[]]],\"rest\":[0,0,0,0,0,0,0,0,"
         "1e99]}",
         "I/O summary: 0 nodes, 00:00:00\n"
         "mount                read   write reads writes r-peak w-peak meta   errs    wait\n"
         "(other mounts)          -       -     -      -      -      -    -      -       -\n"
         "/?                      -       -     -      -      -      -    -      -       -\n"
         "(other mounts)          -       -     -      -      -      -    -      -       -\n"
         "not complete: 0/0 nodes\n"},
        {"IO1:{\"mpi\":{\"r\":7,\"w\":[\"x\",{}]}}",
         "I/O summary: 0 nodes, 00:00:00\n"
         "nothing read or written on any mounted file system\n"
         "MPI-IO: 0 reads (0 B), 0 writes (0 B), not complete\n"
         "not complete: 0/0 nodes\n"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _free_ char *text = record_text(cases[i].comment);

        assert_string_equal(text, cases[i].text);
    }
    assert_null(record_text("hello"));
    assert_null(record_text(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_record_of_nothing),
        cmocka_unit_test(test_record_says_why_nothing_was_counted),
        cmocka_unit_test(test_smallest_mounts_fold),
        cmocka_unit_test(test_largest_numbers_fit),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_without_account),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_mpi),
        cmocka_unit_test(test_text_of_strange_records),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

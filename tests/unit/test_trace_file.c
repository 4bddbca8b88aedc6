/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/trace/file.h"
#include "common/cleanup.h"
#include "tests/unit/step_traces.h"

static void check_text(const char *got, const char *wanted)
{
    assert_int_equal(!got, !wanted);
    if (wanted)
        assert_string_equal(got, wanted);
}

static void check_span(const struct span *got, const struct span *wanted)
{
    assert_string_equal(got->name, wanted->name);
    check_text(got->mount, wanted->mount);
    check_text(got->path, wanted->path);
    assert_int_equal(got->start_ns, wanted->start_ns);
    assert_int_equal(got->time_ns, wanted->time_ns);
    assert_int_equal(got->bytes, wanted->bytes);
    assert_int_equal(got->offset, wanted->offset);
    assert_int_equal(got->pid, wanted->pid);
    assert_int_equal(got->tid, wanted->tid);
    assert_int_equal(got->error, wanted->error);
    assert_int_equal(got->kind, wanted->kind);
    assert_int_equal(got->flags, wanted->flags);
}

static void test_file(void **state)
{
    const struct step_trace step = step_of(12, 1, 3, 1000, 77);
    struct step_trace got = {0};
    size_t size;
    _free_ char *data = written(&step, &size);

    (void)state;
    assert_int_equal(trace_file_read(data, size, &got), 0);
    assert_string_equal(got.cluster, "c1");
    assert_string_equal(got.node, "n1");
    assert_null(got.name);
    assert_string_equal(got.caller, "00-x");
    assert_int_equal(got.jobid, 12);
    assert_int_equal(got.restart, 1);
    assert_int_equal(got.het, 4294967294);
    assert_int_equal(got.step, 3);
    assert_int_equal(got.uid, 1000);
    assert_int_equal(got.start_ns, 77);
    assert_int_equal(got.end_ns, 86);
    assert_int_equal(got.trace.of, TRACE_OF_MPI);
    assert_true(got.trace.paths);
    assert_true(got.partial);
    assert_int_equal(got.trace.real_ns, 1000);
    assert_memory_equal(&got.trace.left_out, &step.trace.left_out, sizeof(got.trace.left_out));
    assert_int_equal(got.trace.n_spans, 3);
    for (size_t i = 0; i < 3; i++)
        check_span(&got.trace.spans[i], &step.trace.spans[i]);
    assert_int_equal(got.trace.n_processes, 2);
    assert_string_equal(trace_process(&got.trace, 20)->comm, "app");
    assert_int_equal(trace_process(&got.trace, 20)->rank, 3);
    assert_false(trace_process(&got.trace, 20)->unread);
    assert_false(trace_process(&got.trace, 30)->has_rank);
    assert_true(trace_process(&got.trace, 30)->unread);
    step_trace_clear(&got);
}

static void check_magic(const struct step_trace *step, const char *magic)
{
    struct step_trace got = {0};
    struct trace_file_step start;
    size_t size;
    _free_ char *data = written(step, &size);

    assert_memory_equal(data, magic, strlen(magic));
    assert_int_equal(trace_file_read_step(data, size, &start), 0);
    assert_int_equal(trace_file_read(data, size, &got), 0);
    assert_int_equal(got.trace.of, step->trace.of);
    assert_int_equal(got.trace.paths, step->trace.paths);
    assert_int_equal(got.trace.n_spans, step->trace.n_spans);
    step_trace_clear(&got);
}

/* A version that does not know all of the content refuses it. */
static void test_magic(void **state)
{
    struct step_trace step = step_of(12, 0, 3, 1000, 77);
    struct step_trace got = {0};
    size_t size;
    _free_ char *data = written(&step, &size);

    (void)state;
    check_magic(&step, "jobio-t2");
    step.trace.of = TRACE_OF_OPS;
    check_magic(&step, "jobio-t2");
    step.trace.paths = false;
    check_magic(&step, "jobio-t2"); /* a span has a path */
    step.trace.n_spans = 2;
    check_magic(&step, "jobio-t1");
    step.trace.paths = true;
    check_magic(&step, "jobio-t2");
    step.trace.paths = false;
    step.trace.of = TRACE_OF_MPI;
    check_magic(&step, "jobio-t2");
    data[7] = '1'; /* as it was written before there was "jobio-t2" */
    assert_int_equal(trace_file_read(data, size, &got), 0);
    check_span(&got.trace.spans[2], &step.trace.spans[2]);
    step_trace_clear(&got);
    data[7] = '3';
    assert_int_equal(trace_file_read(data, size, &got), -EBADMSG);
}

/* A machine that crashed, or a disk that is full, may have left any part of it. */
static void test_torn_file(void **state)
{
    const struct step_trace step = step_of(12, 0, 3, 1000, 77);
    struct step_trace got = {0};
    size_t size;
    _free_ char *data = written(&step, &size);
    _free_ char *part = NULL;

    (void)state;
    for (size_t n = 0; n < size; n++) {
        free(part);
        part = malloc(n + 1); /* so that AddressSanitizer sees its end */
        memcpy(part, data, n);
        assert_int_equal(trace_file_read(part, n, &got), -EBADMSG);
        assert_null(got.trace.spans);
    }
}

/* Whatever a byte of it is: it is refused, or a trace that can be used. */
static void test_bad_file(void **state)
{
    const struct step_trace step = step_of(12, 0, 3, 1000, 77);
    size_t size;
    _free_ char *data = written(&step, &size);

    (void)state;
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit++) {
            struct step_trace got = {0};
            size_t length = 0;
            int r;

            data[i] = (char)(data[i] ^ 1 << bit);
            r = trace_file_read(data, size, &got);
            assert_true(r == 0 || r == -EBADMSG);
            for (size_t j = 0; j < got.trace.n_spans; j++)
                length += strlen(got.trace.spans[j].name);
            assert_true(length < 1000);
            step_trace_clear(&got);
            data[i] = (char)(data[i] ^ 1 << bit);
        }
}

/* The last bytes are a path. */
static void test_bad_path(void **state)
{
    const struct step_trace step = step_of(12, 0, 3, 1000, 77);
    struct step_trace got = {0};
    size_t size;
    _free_ char *data = written(&step, &size);

    (void)state;
    assert_memory_equal(data + size - 4, "a/b", 4);
    data[size - 3] = '\0';
    assert_int_equal(trace_file_read(data, size, &got), -EBADMSG);
    data[size - 3] = '/';
    data[size - 1] = 'c';
    assert_int_equal(trace_file_read(data, size, &got), -EBADMSG);
    data[size - 1] = '\0';
    assert_int_equal(trace_file_read(data, size, &got), 0);
    step_trace_clear(&got);
}

static void test_words(void **state)
{
    enum trace_of of;

    (void)state;
    for (int i = 0; i < TRACE_OFS; i++) {
        assert_int_equal(trace_of_parse(trace_of_name(i), &of), 0);
        assert_int_equal(of, i);
    }
    assert_int_equal(trace_of_parse("", &of), -EINVAL);
    assert_int_equal(trace_of_parse(NULL, &of), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),      cmocka_unit_test(test_magic),
        cmocka_unit_test(test_torn_file), cmocka_unit_test(test_bad_file),
        cmocka_unit_test(test_bad_path),  cmocka_unit_test(test_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

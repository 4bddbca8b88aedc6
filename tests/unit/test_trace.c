/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/trace/trace.h"
#include "tests/unit/json_at.h"

#define SPANS "/resourceSpans/0/scopeSpans/0/spans"

/* Process 20 is rank 3: a call of MPI-IO on thread 21 with two writes in it; before it an open on
 * the same thread, during it a read on another one. Process 30 has an asynchronous write. In no
 * order. */
static struct span spans[] = {
    {.start_ns = 160,
     .time_ns = 39,
     .bytes = 4096,
     .offset = 8192,
     .name = "write",
     .mount = "/scratch",
     .pid = 20,
     .tid = 21,
     .flags = SPAN_BYTES | SPAN_OFFSET},
    {.start_ns = 150,
     .time_ns = 20,
     .name = "read",
     .mount = "/",
     .pid = 20,
     .tid = 22,
     .error = EIO},
    {.start_ns = 100,
     .time_ns = 100,
     .bytes = 8192,
     .name = "MPI_File_write_at_all",
     .pid = 20,
     .tid = 21,
     .kind = SPAN_MPI,
     .flags = SPAN_BYTES},
    {.start_ns = 100,
     .time_ns = 60,
     .bytes = 4096,
     .offset = 4096,
     .name = "write",
     .mount = "/scratch",
     .pid = 20,
     .tid = 21,
     .flags = SPAN_BYTES | SPAN_OFFSET},
    {.start_ns = 40,
     .time_ns = 59,
     .name = "open",
     .mount = "/\xff",
     .pid = 20,
     .tid = 21,
     .error = ENOENT},
    {.start_ns = 400,
     .bytes = 1,
     .name = "write",
     .mount = "/scratch",
     .pid = 30,
     .flags = SPAN_BYTES | SPAN_ASYNC},
};

static struct trace_process processes[] = {
    {.pid = 20, .rank = 3, .comm = "app", .has_rank = true},
    {.pid = 30, .unread = true},
};

static const struct trace trace = {
    .spans = spans,
    .n_spans = sizeof(spans) / sizeof(spans[0]),
    .processes = processes,
    .n_processes = 2,
    .left_out = {.shorter = {5, 1}, .overflow = {2, 0}},
    .real_ns = 1000000000000000000,
};

static struct job_account job = {.start_ns = 1000000000000000010, .end_ns = 1000000000000000300};

static const struct report_trace report = {
    .trace = &trace,
    .job = &job,
    .identity = {.trace = {0xab, [15] = 1}, .ids = 0x1234567800000000},
    .host = "node1",
};

static struct json_object *written(int (*write)(struct trace_document *, FILE *),
                                   const struct report_trace *what)
{
    struct trace_document document = {.parts = what, .n = 1};
    _free_ char *text = NULL;
    struct json_object *ret;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(write(&document, out), 0);
    assert_int_equal(document.written, 1);
    assert_int_equal(fclose(out), 0);
    ret = json_tokener_parse(text);
    assert_non_null(ret);
    return ret;
}

static const char *text_at(struct json_object *o, size_t span, const char *key)
{
    char path[128];

    (void)snprintf(path, sizeof(path), SPANS "/%zu/%s", span, key);
    return json_object_get_string(at(o, path));
}

/* The value of an attribute as a text; NULL: there is none. */
static const char *attribute(struct json_object *o, size_t span, const char *key)
{
    char path[128];
    struct json_object *list, *value;

    (void)snprintf(path, sizeof(path), SPANS "/%zu/attributes", span);
    list = at(o, path);
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);

        if (strcmp(json_object_get_string(at(item, "/key")), key) != 0)
            continue;
        value = at(item, "/value");
        json_object_object_foreach(value, kind, inner)
        {
            assert_non_null(strstr("intValue stringValue boolValue", kind));
            assert_true(strcmp(kind, "intValue") || json_object_is_type(inner, json_type_string));
            return json_object_get_string(inner);
        }
    }
    return NULL;
}

static void check_text(const char *got, const char *wanted)
{
    assert_non_null(got);
    assert_string_equal(got, wanted);
}

/* 0 is the root, 1 and 2 are the processes, then spans by process, thread and start. */
static void test_otlp_parents(void **state)
{
    static const struct {
        const char *name, *parent;
    } wanted[] = {
        {"jobio run", NULL},
        {"app", "1234567800000001"},
        {"process", "1234567800000001"},
        {"open", "1234567800000002"},
        {"MPI_File_write_at_all", "1234567800000002"},
        {"write", "1234567800000005"},
        {"write", "1234567800000005"},
        {"read", "1234567800000002"},
        {"write", "1234567800000003"},
    };
    _json_ *o = written(report_trace_otlp, &report);
    char id[17];

    (void)state;
    assert_int_equal(json_object_array_length(at(o, SPANS)), 9);
    for (size_t i = 0; i < 9; i++) {
        (void)snprintf(id, sizeof(id), "12345678%08zx", i + 1);
        check_text(text_at(o, i, "name"), wanted[i].name);
        check_text(text_at(o, i, "spanId"), id);
        check_text(text_at(o, i, "traceId"), "ab000000000000000000000000000001");
        if (wanted[i].parent)
            check_text(text_at(o, i, "parentSpanId"), wanted[i].parent);
    }
    assert_false(json_object_object_get_ex(at(o, SPANS "/0"), "parentSpanId", NULL));
}

/* The job ends by its clock before its last span does. */
static void test_otlp_times(void **state)
{
    static const char *const wanted[9][2] = {{"10", "400"},  {"40", "200"},  {"400", "400"},
                                             {"40", "99"},   {"100", "200"}, {"100", "160"},
                                             {"160", "199"}, {"150", "170"}, {"400", "400"}};
    _json_ *o = written(report_trace_otlp, &report);
    char time[32];

    (void)state;
    for (size_t i = 0; i < 9; i++) {
        (void)snprintf(time, sizeof(time), "1000000000000000%03d", atoi(wanted[i][0]));
        check_text(text_at(o, i, "startTimeUnixNano"), time);
        (void)snprintf(time, sizeof(time), "1000000000000000%03d", atoi(wanted[i][1]));
        check_text(text_at(o, i, "endTimeUnixNano"), time);
    }
}

static void test_otlp_attributes(void **state)
{
    _json_ *o = written(report_trace_otlp, &report);

    (void)state;
    check_at(o, "/resourceSpans/0/resource/attributes",
             "[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"jobio\"}},"
             "{\"key\":\"host.name\",\"value\":{\"stringValue\":\"node1\"}}]");
    check_text(attribute(o, 0, "jobio.dropped"), "8");
    check_text(attribute(o, 0, "jobio.dropped_requests"), "7");
    check_text(attribute(o, 0, "jobio.dropped_mpi_calls"), "1");
    check_text(attribute(o, 0, "jobio.dropped_unseen"), "2");
    check_text(attribute(o, 0, "jobio.ranks_unknown"), "1");
    check_text(attribute(o, 1, "process.pid"), "20");
    check_text(attribute(o, 1, "process.executable.name"), "app");
    check_text(attribute(o, 1, "jobio.rank"), "3");
    assert_null(attribute(o, 2, "jobio.rank"));
    assert_null(attribute(o, 2, "process.executable.name"));
    check_text(attribute(o, 3, "error.type"), "ENOENT");
    assert_null(strchr(attribute(o, 3, "jobio.mount"), 0xff));
    check_text(text_at(o, 3, "status/code"), "2");
    assert_null(attribute(o, 3, "jobio.bytes"));
    check_text(attribute(o, 4, "jobio.bytes"), "8192");
    assert_null(attribute(o, 4, "jobio.mount"));
    check_text(attribute(o, 6, "jobio.mount"), "/scratch");
    check_text(attribute(o, 6, "jobio.offset"), "8192");
    check_text(attribute(o, 6, "jobio.bytes"), "4096");
    check_text(attribute(o, 6, "thread.id"), "21");
    check_text(attribute(o, 7, "error.type"), "EIO");
    check_text(attribute(o, 8, "jobio.async"), "true");
    assert_null(attribute(o, 8, "thread.id"));
}

static void test_otlp_caller(void **state)
{
    struct report_trace called = report;
    const char *parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    struct json_object *o;

    (void)state;
    assert_int_equal(trace_identity_parse(parent, &called.identity), 0);
    o = written(report_trace_otlp, &called);
    check_text(text_at(o, 0, "traceId"), "4bf92f3577b34da6a3ce929d0e0e4736");
    check_text(text_at(o, 0, "parentSpanId"), "00f067aa0ba902b7");
    check_text(text_at(o, 8, "traceId"), "4bf92f3577b34da6a3ce929d0e0e4736");
    json_object_put(o);
}

static void test_chrome(void **state)
{
    _json_ *o = written(report_trace_chrome, &report);

    (void)state;
    assert_int_equal(json_object_array_length(at(o, "/traceEvents")), 8);
    check_at(
        o, "/traceEvents/0",
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":20,\"args\":{\"name\":\"app rank 3\"}}");
    check_at(
        o, "/traceEvents/5",
        "{\"name\":\"write\",\"cat\":\"io\",\"ph\":\"X\",\"ts\":0.150,\"dur\":0.039,\"pid\":20,"
        "\"tid\":21,\"args\":{\"mount\":\"\\/scratch\",\"bytes\":4096,\"offset\":8192}}");
    check_at(o, "/traceEvents/3/cat", "\"mpi\"");
    check_at(o, "/traceEvents/2/args/error", "\"ENOENT\"");
    check_at(o, "/traceEvents/7/args/async", "true");
    check_at(o, "/otherData",
             "{\"start_ns\":\"1000000000000000010\",\"dropped_requests\":7,\"dropped_mpi_calls\":1,"
             "\"dropped_unseen\":2,\"ranks_unknown\":1}");
}

/* --- steps ------------------------------------------------------------------------------------ */

static struct step_trace step_of(uint32_t step, const char *node)
{
    return (struct step_trace){.trace = trace,
                               .cluster = (char *)"c1",
                               .node = (char *)node,
                               .name = (char *)"sim\xff",
                               .jobid = 12,
                               .restart = 1,
                               .het = HET_NONE,
                               .step = step,
                               .start_ns = job.start_ns + 500 * (step == 3),
                               .end_ns = job.end_ns + 500 * (step == 3)};
}

static const char *text_of(struct json_object *o, const char *path)
{
    return json_object_get_string(at(o, path));
}

#define FIRST "/resourceSpans/0/scopeSpans/0/spans"
#define SECOND "/resourceSpans/1/scopeSpans/0/spans"

/* The root span is in the first part only, and encloses both. */
static void test_steps(void **state)
{
    const struct step_trace steps[] = {step_of(STEP_BATCH, "n1"), step_of(3, "n1")};
    struct report_trace parts[2];
    struct trace_document document = {.parts = parts, .n = 2};
    struct json_object *o;
    _free_ char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    for (size_t i = 0; i < 2; i++)
        report_trace_of_step(&steps[i], &parts[i]);
    assert_int_equal(report_trace_otlp(&document, out), 0);
    assert_int_equal(fclose(out), 0);
    o = json_tokener_parse(text);
    assert_non_null(o);
    assert_int_equal(json_object_array_length(at(o, FIRST)), 10);
    assert_int_equal(json_object_array_length(at(o, SECOND)), 9);
    check_text(text_of(o, FIRST "/0/name"), "job 12");
    check_text(text_of(o, FIRST "/1/name"), "step batch");
    check_text(text_of(o, SECOND "/0/name"), "step 3");
    assert_false(json_object_object_get_ex(at(o, FIRST "/0"), "parentSpanId", NULL));
    check_text(text_of(o, FIRST "/1/parentSpanId"), text_of(o, FIRST "/0/spanId"));
    check_text(text_of(o, SECOND "/0/parentSpanId"), text_of(o, FIRST "/0/spanId"));
    check_text(text_of(o, SECOND "/0/traceId"), text_of(o, FIRST "/0/traceId"));
    check_text(text_of(o, SECOND "/1/parentSpanId"), text_of(o, SECOND "/0/spanId"));
    assert_string_not_equal(text_of(o, SECOND "/0/spanId"), text_of(o, FIRST "/1/spanId"));
    check_text(text_of(o, FIRST "/0/startTimeUnixNano"), "1000000000000000010");
    check_text(text_of(o, FIRST "/0/endTimeUnixNano"), "1000000000000000800");
    check_text(attribute(o, 0, "slurm.job.id"), "12");
    check_text(attribute(o, 0, "slurm.job.restart"), "1");
    assert_non_null(attribute(o, 0, "slurm.job.name"));
    check_text(attribute(o, 1, "slurm.step.id"), "batch");
    check_text(attribute(o, 1, "jobio.dropped_requests"), "7");
    assert_null(attribute(o, 1, "jobio.partial"));
    json_object_put(o);
}

/* Print three steps with at most this many bytes; returns how many are in the document. */
static size_t steps_in(bool chrome, size_t max_bytes, struct json_object **ret, size_t *size)
{
    const struct step_trace steps[] = {step_of(STEP_BATCH, "n1"), step_of(3, "n1"),
                                       step_of(4, "n1")};
    struct report_trace parts[3];
    struct trace_document document = {.parts = parts, .n = 3};
    _free_ char *text = NULL;

    for (size_t i = 0; i < 3; i++)
        report_trace_of_step(&steps[i], &parts[i]);
    assert_int_equal(report_trace_text(&document, chrome, max_bytes, &text), 0);
    *size = strlen(text);
    *ret = json_tokener_parse(text);
    assert_non_null(*ret);
    assert_int_equal(document.left_out, 3 - document.n);
    return document.n;
}

static void check_left_out(struct json_object *o, bool chrome, size_t n)
{
    char number[24];
    struct json_object *value = NULL;
    const char *got;

    (void)snprintf(number, sizeof(number), "%zu", n);
    if (chrome) {
        (void)json_object_object_get_ex(at(o, "/otherData"), "steps_left_out", &value);
        got = json_object_get_string(value);
    } else {
        got = attribute(o, 0, "jobio.steps_left_out");
    }
    assert_int_equal(got != NULL, n != 0);
    if (n)
        check_text(got, number);
}

/* Whatever the limit is, the text is a document that has as many steps as fit, and their number. */
static void test_text_of_limited_size(void **state)
{
    size_t all, size, fewest = 3, longest = 0;
    struct json_object *o;

    (void)state;
    for (int chrome = 0; chrome < 2; chrome++) {
        assert_int_equal(steps_in(chrome, SIZE_MAX, &o, &all), 3);
        check_left_out(o, chrome, 0);
        json_object_put(o);
        for (size_t max = all; max > all / 2; max--) {
            size_t n = steps_in(chrome, max, &o, &size);

            assert_true(size <= max);
            check_left_out(o, chrome, 3 - n);
            json_object_put(o);
            fewest = n < fewest ? n : fewest;
            longest = n == 2 && size > longest ? size : longest;
        }
        assert_int_equal(steps_in(chrome, longest, &o, &size), 2);
        json_object_put(o);
        longest = 0;
    }
    assert_int_equal(fewest, 1);
}

static void test_text_of_one_long_step(void **state)
{
    const struct step_trace step = step_of(3, "n1");
    struct report_trace part;
    struct trace_document document = {.parts = &part, .n = 1};
    char *text = NULL;

    (void)state;
    report_trace_of_step(&step, &part);
    assert_int_equal(report_trace_text(&document, false, 500, &text), -EFBIG);
    assert_int_equal(report_trace_text(&document, true, 0, &text), -EFBIG);
    assert_null(text);
}

/* All nodes and steps of a run of a job have the same trace and root; nothing else has. */
static struct json_object *slice_of(const struct report_trace *part, struct trace_slice *slice)
{
    _free_ char *text = NULL;
    struct json_object *ret;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    assert_int_equal(report_trace_otlp_slice(part, slice, out), 0);
    assert_int_equal(fclose(out), 0);
    ret = json_tokener_parse(text);
    assert_non_null(ret);
    return ret;
}

/* Together they have the spans of the document, with the step as the root. */
static void test_slices(void **state)
{
    const struct step_trace step = step_of(3, "n1");
    struct report_trace part;
    struct trace_slice slice = {.spans_max = 4};
    struct json_object *whole;
    size_t at_span = 1; /* behind the job */

    (void)state;
    report_trace_of_step(&step, &part);
    whole = written(report_trace_otlp, &part);
    for (slice.number = 0; slice.number < 3; slice.number++) {
        struct json_object *o = slice_of(&part, &slice), *list = at(o, FIRST);

        assert_int_equal(slice.n_slices, 3);
        assert_int_equal(slice.n_spans, slice.number < 2 ? 4 : 1);
        assert_int_equal(json_object_array_length(list), slice.n_spans);
        assert_non_null(at(o, "/resourceSpans/0/resource/attributes/0"));
        for (size_t i = 0; i < slice.n_spans; i++, at_span++)
            check_text(text_at(o, i, "spanId"), text_at(whole, at_span, "spanId"));
        json_object_put(o);
    }
    assert_int_equal(at_span, json_object_array_length(at(whole, FIRST)));
    assert_int_equal(report_trace_otlp_slice(&part, &slice, stdout), -ERANGE);
    json_object_put(whole);
    slice.number = 0;
    whole = slice_of(&part, &slice);
    check_text(text_of(whole, FIRST "/0/name"), "step 3");
    assert_false(json_object_object_get_ex(at(whole, FIRST "/0"), "parentSpanId", NULL));
    assert_non_null(attribute(whole, 0, "slurm.job.name"));
    json_object_put(whole);
}

#define CALLER "00-4bf92f3577b34da6a3ce929d0e0e4736-"

/* The steps of one job may have different parents in the same trace: srun in a loop whose rounds
 * are spans of the caller. */
static void test_two_parents(void **state)
{
    struct step_trace steps[] = {step_of(3, "n1"), step_of(4, "n1")};
    struct report_trace parts[2];
    struct trace_document document = {.parts = parts, .n = 2};
    _free_ char *text = NULL;
    struct json_object *o;

    (void)state;
    steps[0].caller = (char *)CALLER "00f067aa0ba902b7-01";
    steps[1].caller = (char *)CALLER "00f067aa0ba902b8-01";
    for (size_t i = 0; i < 2; i++)
        report_trace_of_step(&steps[i], &parts[i]);
    assert_int_equal(report_trace_text(&document, false, SIZE_MAX, &text), 0);
    o = json_tokener_parse(text);
    assert_non_null(o);
    check_text(text_of(o, FIRST "/0/parentSpanId"), "00f067aa0ba902b7");
    check_text(text_of(o, SECOND "/0/parentSpanId"), "00f067aa0ba902b8");
    check_text(text_of(o, SECOND "/0/name"), "job 12");
    check_text(text_of(o, SECOND "/1/parentSpanId"), text_of(o, SECOND "/0/spanId"));
    assert_string_not_equal(text_of(o, SECOND "/0/spanId"), text_of(o, FIRST "/0/spanId"));
    json_object_put(o);
}

static void test_step_of_caller(void **state)
{
    struct step_trace step = step_of(3, "n1");
    struct report_trace part;
    struct json_object *o;

    (void)state;
    step.caller = (char *)"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    step.partial = true;
    report_trace_of_step(&step, &part);
    o = written(report_trace_otlp, &part);
    check_text(text_at(o, 0, "parentSpanId"), "00f067aa0ba902b7");
    check_text(text_at(o, 1, "parentSpanId"), text_at(o, 0, "spanId"));
    check_text(attribute(o, 1, "jobio.partial"), "true");
    json_object_put(o);
    o = written(report_trace_chrome, &part);
    check_text(text_of(o, "/traceEvents/0/args/name"), "app rank 3, step 3");
    json_object_put(o);
}

static void test_of_mpi(void **state)
{
    struct step_trace step = step_of(3, "n1");
    struct report_trace part;
    struct json_object *o;

    (void)state;
    report_trace_of_step(&step, &part);
    o = written(report_trace_otlp, &part);
    assert_null(attribute(o, 1, "jobio.trace_of"));
    json_object_put(o);
    o = written(report_trace_chrome, &part);
    assert_false(json_object_object_get_ex(at(o, "/otherData"), "requests_not_traced", NULL));
    json_object_put(o);
    step.trace.of = TRACE_OF_MPI;
    o = written(report_trace_otlp, &part);
    check_text(attribute(o, 1, "jobio.trace_of"), "mpi");
    json_object_put(o);
    o = written(report_trace_chrome, &part);
    check_at(o, "/otherData/requests_not_traced", "1");
    json_object_put(o);
}

static void test_paths(void **state)
{
    struct span opens[] = {{.name = "open", .path = (char *)"a\x80", .flags = SPAN_PATH_CUT},
                           {.start_ns = 1, .name = "open"},
                           {.start_ns = 2, .name = "MPI_File_open", .kind = SPAN_MPI},
                           {.start_ns = 3, .name = "read"}};
    struct step_trace step = step_of(3, "n1");
    struct report_trace part;
    struct json_object *o;

    (void)state;
    step.trace.spans = opens;
    step.trace.n_spans = ARRAY_SIZE(opens);
    step.trace.n_processes = 0;
    report_trace_of_step(&step, &part);
    o = written(report_trace_otlp, &part);
    assert_null(attribute(o, 1, "jobio.paths_missing"));
    json_object_put(o);
    step.trace.paths = true;
    o = written(report_trace_otlp, &part);
    check_text(attribute(o, 1, "jobio.paths_missing"), "2");
    check_text(attribute(o, 2, "file.path"), "a?");
    check_text(attribute(o, 2, "jobio.path_cut"), "true");
    assert_null(attribute(o, 3, "file.path"));
    assert_null(attribute(o, 3, "jobio.path_cut"));
    json_object_put(o);
    o = written(report_trace_chrome, &part);
    check_at(o, "/traceEvents/0/args/path", "\"a?\"");
    check_at(o, "/traceEvents/0/args/path_cut", "true");
    check_at(o, "/otherData/paths_missing", "2");
    json_object_put(o);
}

static void test_empty(void **state)
{
    const struct trace nothing = {.real_ns = 1000000000000000000};
    const struct report_trace empty = {.trace = &nothing, .job = &job, .identity = {.ids = 1}};
    struct json_object *o = written(report_trace_otlp, &empty);

    (void)state;
    assert_int_equal(json_object_array_length(at(o, SPANS)), 1);
    json_object_put(o);
    o = written(report_trace_chrome, &empty);
    assert_int_equal(json_object_array_length(at(o, "/traceEvents")), 0);
    json_object_put(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_otlp_parents),
        cmocka_unit_test(test_otlp_times),
        cmocka_unit_test(test_otlp_attributes),
        cmocka_unit_test(test_otlp_caller),
        cmocka_unit_test(test_chrome),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_step_of_caller),
        cmocka_unit_test(test_of_mpi),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_text_of_limited_size),
        cmocka_unit_test(test_text_of_one_long_step),
        cmocka_unit_test(test_two_parents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of the traces, and those in it that are to be delivered. */
#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/trace/directory.h"
#include "collector/trace/outbox.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "tests/unit/step_traces.h"

static char path[] = "/tmp/jobio-traces-XXXXXX";
static uint64_t undelivered; /* removed by the last put */

static void put(const struct trace_directory *directory, const struct step_trace *step)
{
    struct error error = {""};

    if (trace_directory_put(directory, step, &undelivered, &error) < 0)
        fail_msg("%s", error.text);
}

/* The numbers of the steps, each followed by a blank. */
static const char *found(const struct trace_query *query, uint64_t max_bytes, size_t *left_out)
{
    static char text[512];
    struct step_trace *steps;
    struct error error;
    size_t n;

    assert_int_equal(trace_directory_get(path, query, max_bytes, &steps, &n, left_out, &error), 0);
    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u ", steps[i].step);
    trace_directory_free(steps, n);
    return text;
}

static const char *all_of(uint32_t jobid)
{
    const struct trace_query query = {.jobid = jobid, .uid = UINT32_MAX};
    size_t left_out;

    return found(&query, UINT64_MAX, &left_out);
}

static void clean(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", path);
    assert_int_equal(system(command), 0);
}

static void test_query(void **state)
{
    const struct trace_directory directory = {path, 1 << 20, 0, false};
    struct trace_query query = {.jobid = 12, .uid = 1000};
    struct step_trace step = step_of(12, 0, 0, 1000, 90);
    size_t size, left_out;

    (void)state;
    free(written(&step, &size));
    assert_string_equal(all_of(12), ""); /* there is no directory */
    for (uint32_t i = 0; i < 3; i++) {
        step = step_of(12, 0, i, 1000, 90 - i);
        put(&directory, &step);
    }
    step = step_of(13, 0, 7, 1001, 50);
    step.array_job = 11;
    step.array_task = 4;
    put(&directory, &step);
    assert_string_equal(found(&query, UINT64_MAX, &left_out), "2 1 0 "); /* by start */
    assert_int_equal(left_out, 0);
    query.is_step = true;
    query.step = 1;
    assert_string_equal(found(&query, UINT64_MAX, &left_out), "1 ");
    query = (struct trace_query){.jobid = 12, .uid = 1001};
    assert_string_equal(found(&query, UINT64_MAX, &left_out), "");
    query = (struct trace_query){.jobid = 11, .is_task = true, .task = 4, .uid = 1001};
    assert_string_equal(found(&query, UINT64_MAX, &left_out), "7 ");
    query.task = 5;
    assert_string_equal(found(&query, UINT64_MAX, &left_out), "");
    query = (struct trace_query){.jobid = 12, .uid = 1000};
    assert_string_equal(found(&query, size, &left_out), "2 ");
    assert_int_equal(left_out, 2);
    step = step_of(12, 1, 9, 1000, 1000); /* the next run */
    put(&directory, &step);
    assert_string_equal(all_of(12), "9 ");
    clean();
}

static void set_age(const char *name, uint64_t age_ns)
{
    uint64_t at = clock_ns(CLOCK_REALTIME) - age_ns;
    const struct timespec times[2] = {{.tv_sec = (time_t)(at / NS_PER_S)},
                                      {.tv_sec = (time_t)(at / NS_PER_S)}};
    char file[128];

    snprintf(file, sizeof(file), "%s/%s", path, name);
    assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
}

static void test_room(void **state)
{
    const struct step_trace step = step_of(12, 0, 0, 1000, 90),
                            second = step_of(12, 0, 1, 1000, 91),
                            third = step_of(12, 0, 2, 1000, 92);
    struct trace_directory directory = {path, 0, NS_PER_HOUR, false};
    struct error error;
    size_t size;

    (void)state;
    free(written(&step, &size));
    directory.max_bytes = 2 * size;
    put(&directory, &step);
    put(&directory, &step);
    put(&directory, &second);
    assert_string_equal(all_of(12), "0 1 ");
    set_age("12.0.4294967294.0.90", 5 * NS_PER_MINUTE);
    put(&directory, &third);
    assert_string_equal(all_of(12), "1 2 "); /* no room */
    directory.max_bytes = 9 * size;
    set_age("12.0.4294967294.1.91", 2 * NS_PER_HOUR);
    put(&directory, &step);
    assert_string_equal(all_of(12), "0 2 "); /* too old */
    directory.max_bytes = size - 1;
    assert_int_equal(trace_directory_put(&directory, &second, &undelivered, &error), -ENOSPC);
    assert_string_equal(all_of(12), "0 2 ");
    clean();
}

static void put_of(const struct trace_directory *directory, uint32_t step, uint32_t uid,
                   uint64_t age_ns)
{
    const struct step_trace trace = step_of(12, 0, step, uid, 90 + step);
    char name[64];

    put(directory, &trace);
    snprintf(name, sizeof(name), "12.0.4294967294.%u.%u", step, 90 + step);
    set_age(name, age_ns);
}

/* One user has an old trace, the other one six younger ones. */
static void test_fair_share(void **state)
{
    const struct step_trace step = step_of(12, 0, 0, 1000, 90);
    struct trace_directory directory = {path, 0, 0, false};
    size_t size;

    (void)state;
    free(written(&step, &size));
    directory.max_bytes = 7 * size;
    put_of(&directory, 0, 1000, 9 * NS_PER_MINUTE);
    for (uint32_t i = 1; i <= 6; i++)
        put_of(&directory, i, 1001, (8 - i) * NS_PER_MINUTE);
    assert_string_equal(all_of(12), "0 1 2 3 4 5 6 ");
    put_of(&directory, 7, 1001, 0);
    assert_string_equal(all_of(12), "0 2 3 4 5 6 7 ");
    put_of(&directory, 8, 1002, 0);
    assert_string_equal(all_of(12), "0 3 4 5 6 7 8 ");
    directory.max_bytes = 2 * size; /* less than one of each */
    put_of(&directory, 9, 1002, 0);
    assert_string_equal(all_of(12), "7 9 ");
    clean();
}

/* A file that is not a trace has an age and a size, too. */
static void test_share_of_strange_files(void **state)
{
    const struct step_trace step = step_of(12, 0, 0, 1000, 90);
    struct trace_directory directory = {path, 0, 0, false};
    char file[64];
    FILE *out;
    size_t size;

    (void)state;
    free(written(&step, &size));
    directory.max_bytes = 4 * size + 1;
    put_of(&directory, 0, 1000, NS_PER_MINUTE);
    snprintf(file, sizeof(file), "%s/strange", path);
    out = fopen(file, "we");
    assert_non_null(out);
    for (size_t i = 0; i < 2 * size + 1; i++)
        fputc('x', out);
    assert_int_equal(fclose(out), 0);
    put_of(&directory, 1, 1000, 0);
    assert_int_equal(access(file, F_OK), 0);
    put_of(&directory, 2, 1001, 0);
    assert_int_equal(access(file, F_OK), -1);
    assert_string_equal(all_of(12), "0 1 2 ");
    clean();
}

static void sweep(const struct trace_directory *directory, uint64_t wanted)
{
    struct error error = {""};

    if (trace_directory_sweep(directory, &undelivered, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(undelivered, wanted);
}

static void test_sweep(void **state)
{
    const struct step_trace step = step_of(12, 0, 0, 1000, 90);
    struct trace_directory directory = {path, 1 << 20, NS_PER_HOUR, false};
    size_t size;

    (void)state;
    free(written(&step, &size));
    sweep(&directory, 0); /* there is no directory */
    put_of(&directory, 0, 1000, 0);
    put_of(&directory, 1, 1000, 0);
    put_of(&directory, 2, 1001, NS_PER_MINUTE);
    set_age("12.0.4294967294.0.90", 2 * NS_PER_HOUR);
    sweep(&directory, 0);
    assert_string_equal(all_of(12), "1 2 ");
    directory.deliver = true;
    put(&directory, &step);
    set_age("12.0.4294967294.0.90" TRACE_UNDELIVERED, 2 * NS_PER_HOUR);
    sweep(&directory, 1);
    assert_string_equal(all_of(12), "1 2 ");
    directory.max_bytes = size; /* keep_size was lowered */
    sweep(&directory, 0);
    assert_string_equal(all_of(12), "1 ");
    clean();
}

/* --- the outbox ------------------------------------------------------------------------------- */

/* A trace of job 12 that is older than those that are put later. */
static void put_undelivered(uint32_t step, uint64_t age_ns)
{
    const struct trace_directory directory = {path, 1 << 20, 0, true};
    const struct step_trace trace = step_of(12, 0, step, 1000, 90 + step);
    char name[64];

    put(&directory, &trace);
    snprintf(name, sizeof(name), "12.0.4294967294.%u.%u" TRACE_UNDELIVERED, step, 90 + step);
    set_age(name, age_ns);
}

static void check_next(struct trace_outbox *outbox, int64_t after, const char *name,
                       unsigned number, int64_t *id)
{
    struct trace_part part;
    struct error error;

    assert_int_equal(trace_outbox_next(outbox, after, &part, &error), 1);
    assert_true(!strncmp(part.name, name, strlen(name)));
    assert_int_equal(part.number, number);
    assert_true(part.id > after);
    *id = part.id;
}

static void check_none(struct trace_outbox *outbox, int64_t after)
{
    struct trace_part part;
    struct error error;

    assert_int_equal(trace_outbox_next(outbox, after, &part, &error), 0);
}

static void check_waiting(const struct trace_outbox *outbox, uint64_t n)
{
    struct trace_outbox_stats stats;
    struct error error;

    assert_int_equal(trace_outbox_stats(outbox, &stats, &error), 0);
    assert_int_equal(stats.waiting, n);
    assert_int_equal(!stats.oldest_ns, !n);
}

static void settle(struct trace_outbox *outbox, int64_t id)
{
    struct error error;

    assert_int_equal(trace_outbox_settle(outbox, &id, 1, &error), 0);
}

static void test_outbox(void **state)
{
    struct trace_outbox *outbox = trace_outbox_create(path);
    struct error error;
    int64_t first, second, third, again;

    (void)state;
    check_none(outbox, 0); /* there is no directory */
    put_undelivered(2, NS_PER_MINUTE);
    put_undelivered(1, 2 * NS_PER_MINUTE);
    check_waiting(outbox, 2);
    check_next(outbox, 0, "12.0.4294967294.1.", 0, &first);
    trace_outbox_set_parts(outbox, first, 7, 4);
    assert_int_equal(trace_outbox_spans(outbox, first), 4);
    assert_int_equal(trace_outbox_spans(outbox, first + 1), 3);
    assert_int_equal(trace_outbox_spans(outbox, first + 2), 0);
    check_next(outbox, first, "12.0.4294967294.1.", 1, &second);
    check_next(outbox, second, "12.0.4294967294.2.", 0, &third);
    check_none(outbox, third);
    settle(outbox, second);
    check_waiting(outbox, 2); /* the first part is still to be delivered */
    check_next(outbox, 0, "12.0.4294967294.1.", 0, &again);
    assert_int_equal(again, first);
    settle(outbox, first);
    check_waiting(outbox, 1);
    put_undelivered(3, 3 * NS_PER_MINUTE); /* new ones are behind those that are known */
    check_next(outbox, 0, "12.0.4294967294.2.", 0, &again);
    check_next(outbox, third, "12.0.4294967294.3.", 0, &again);
    settle(outbox, third);
    assert_int_equal(trace_outbox_drop(outbox, again, &error), 0);
    check_none(outbox, 0);
    check_waiting(outbox, 0);
    assert_string_equal(all_of(12), "1 2 3 "); /* the traces stay */
    trace_outbox_destroy(outbox);
    clean();
}

/* A jobiod that starts again delivers all of what was not delivered completely. */
static void test_outbox_after_restart(void **state)
{
    struct trace_outbox *outbox = trace_outbox_create(path);
    struct error error;
    int64_t id;
    size_t n;

    (void)state;
    put_undelivered(1, NS_PER_MINUTE);
    put_undelivered(2, 0);
    check_next(outbox, 0, "12.0.4294967294.1.", 0, &id);
    trace_outbox_set_parts(outbox, id, 8, 4);
    settle(outbox, id);
    trace_outbox_destroy(outbox);
    outbox = trace_outbox_create(path);
    check_next(outbox, 0, "12.0.4294967294.1.", 0, &id);
    assert_int_equal(trace_outbox_forget(path, &n, &error), 0);
    assert_int_equal(n, 2);
    check_waiting(outbox, 0);
    trace_outbox_destroy(outbox);
    clean();
}

static void test_undelivered_without_room(void **state)
{
    const struct step_trace step = step_of(12, 0, 5, 1000, 90);
    struct trace_directory directory = {path, 0, 0, false};
    size_t size;

    (void)state;
    free(written(&step, &size));
    put_undelivered(1, NS_PER_HOUR);
    assert_int_equal(undelivered, 0);
    put_undelivered(2, NS_PER_MINUTE);
    directory.max_bytes = 2 * size;
    put(&directory, &step);
    assert_int_equal(undelivered, 1);
    assert_string_equal(all_of(12), "5 2 ");
    directory.max_bytes = size;
    put(&directory, &step);
    assert_int_equal(undelivered, 1);
    assert_string_equal(all_of(12), "5 ");
    clean();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_fair_share),
        cmocka_unit_test(test_share_of_strange_files),
        cmocka_unit_test(test_sweep),
        cmocka_unit_test(test_outbox),
        cmocka_unit_test(test_outbox_after_restart),
        cmocka_unit_test(test_undelivered_without_room),
    };

    if (!mkdtemp(path))
        return 1;
    (void)rmdir(path);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

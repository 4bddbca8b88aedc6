/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "report/trace/trace.h"

static struct step_trace step_of(uint32_t step, const char *node)
{
    return (struct step_trace){.cluster = (char *)"c1",
                               .node = (char *)node,
                               .jobid = 12,
                               .restart = 1,
                               .het = HET_NONE,
                               .step = step};
}

static void test_callers(void **state)
{
    static const struct {
        const char *text;
        int result;
    } cases[] = {
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", 0},
        {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", 0},
        {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", 0},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", -EINVAL},
        {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more", -EINVAL},
        {"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", -EINVAL},
        {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", -EINVAL},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", -EINVAL},
        {"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", -EINVAL},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-", -EINVAL},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", -EINVAL},
        {"00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01", -EINVAL},
        {"00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", -EINVAL},
        {"0", -EINVAL},
        {"", -EINVAL},
    };
    const struct trace_identity none = {.ids = 1};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct trace_identity identity = none;

        assert_int_equal(trace_identity_parse(cases[i].text, &identity), cases[i].result);
        assert_int_equal(identity.has_parent, cases[i].result == 0);
        if (cases[i].result < 0)
            assert_memory_equal(&identity, &none, sizeof(none));
    }
}

static void test_identities(void **state)
{
    const char *caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    struct step_trace step = step_of(3, "n1"), other = step_of(4, "n2");
    struct trace_identity a = trace_identity_of_step(&step), b = trace_identity_of_step(&other);

    (void)state;
    assert_memory_equal(a.trace, b.trace, sizeof(a.trace));
    assert_memory_equal(a.job, b.job, sizeof(a.job));
    assert_int_not_equal(a.ids, b.ids);
    assert_false(a.has_parent);
    other = step_of(3, "n2");
    assert_int_not_equal(trace_identity_of_step(&other).ids, a.ids);
    other = step_of(3, "n1");
    other.restart++;
    b = trace_identity_of_step(&other);
    assert_memory_not_equal(a.trace, b.trace, sizeof(a.trace));
    assert_memory_not_equal(a.job, b.job, sizeof(a.job));
    other = step_of(3, "n1");
    other.cluster = (char *)"c2";
    b = trace_identity_of_step(&other);
    assert_memory_not_equal(a.trace, b.trace, sizeof(a.trace));
    step.caller = (char *)caller;
    other = step_of(4, "n2");
    other.caller = (char *)caller;
    a = trace_identity_of_step(&step);
    b = trace_identity_of_step(&other);
    assert_int_equal(a.trace[0], 0x4b);
    assert_memory_equal(a.trace, b.trace, sizeof(a.trace));
    assert_memory_equal(a.job, b.job, sizeof(a.job));
    assert_true(a.has_parent);
    assert_int_equal(a.parent[1], 0xf0);
    other.caller = (char *)"00-x";
    assert_false(trace_identity_of_step(&other).has_parent);
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* An array of jobs that is submitted in a span: all of its tasks are in one trace. */
static void test_ids_of_many_jobs(void **state)
{
    enum { JOBS = 200000, SPANS_OF_STEP = 250000 };
    _free_ uint64_t *ids = malloc(2 * JOBS * sizeof(*ids));

    (void)state;
    assert_non_null(ids);
    for (uint32_t i = 0; i < JOBS; i++) {
        struct step_trace step = step_of(3, "n1");
        struct trace_identity identity;

        step.jobid = 1000 + i;
        step.caller = (char *)"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        identity = trace_identity_of_step(&step);
        ids[2 * i] = identity.ids;
        ids[2 * i + 1] = 0;
        for (size_t byte = 0; byte < sizeof(identity.job); byte++)
            ids[2 * i + 1] = ids[2 * i + 1] << 8 | identity.job[byte];
        assert_true(ids[2 * i] && ids[2 * i] < UINT64_MAX - UINT32_MAX);
    }
    qsort(ids, 2 * JOBS, sizeof(*ids), compare_ids);
    for (size_t i = 1; i < 2 * JOBS; i++)
        assert_true(ids[i] - ids[i - 1] > SPANS_OF_STEP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_callers),
        cmocka_unit_test(test_identities),
        cmocka_unit_test(test_ids_of_many_jobs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The traces of ended steps grow old, also if no step is traced any more. */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "collector/track/tracker_state.h"
#include "tests/unit/node.h"

/* A file in the directory, of this age. */
static void put_trace(const char *name, uint64_t age_s)
{
    struct timespec times[2] = {{0}, {.tv_sec = (time_t)(node_now(CLOCK_REALTIME) / S - age_s)}};
    char where[64], full[256];

    times[0] = times[1];
    (void)snprintf(where, sizeof(where), "traces/%s", name);
    node_put(where, "a trace");
    node_path(full, where);
    assert_int_equal(utimensat(AT_FDCWD, full, times, 0), 0);
}

static void tick(void)
{
    node_must(tracker_tick(node.tracker, &node.error));
    node_flush();
}

static void test_old_traces_are_removed_at_ticks(void **state)
{
    struct tracker_traces traces;

    (void)state;
    tracker_traces_state(node.tracker, &traces);
    assert_false(traces.allowed);
    tick(); /* there is no directory */
    node_mkdir("traces");
    put_trace("old", 7200);
    put_trace("lost.undelivered", 7200);
    put_trace("new", 60);
    node_restart();
    tick();
    assert_false(node_has("traces/old"));
    assert_false(node_has("traces/lost.undelivered"));
    assert_true(node_has("traces/new"));
    tracker_traces_state(node.tracker, &traces);
    assert_int_equal(traces.undelivered, 1);
    put_trace("old", 7200);
    tick(); /* not at each one */
    assert_true(node_has("traces/old"));
    node.tracker->traces_swept_ns -= 3600 * S;
    tick();
    assert_false(node_has("traces/old"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_old_traces_are_removed_at_ticks, node_setup,
                                        node_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

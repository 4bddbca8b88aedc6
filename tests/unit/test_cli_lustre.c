/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories as those of Lustre clients: made by this test, not recorded on a real one. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/explain/figures.h"
#include "common/cleanup.h"

#define SOURCE "10.0.0.1@tcp:10.0.0.2@tcp:/work/home"

static char root[] = "/tmp/jobio-lustre-XXXXXX";
static char old[64], debug[64];

static void put(const char *below, const char *path, const char *text)
{
    char name[256];
    FILE *file;

    (void)snprintf(name, sizeof(name), "mkdir -p $(dirname %s/%s)", below, path);
    assert_int_equal(system(name), 0);
    (void)snprintf(name, sizeof(name), "%s/%s", below, path);
    file = fopen(name, "w");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

#define STATS(read, written)                                                   \
    "snapshot_time 1.2 secs.nsecs\nread_bytes 3 samples [bytes] 1 4096 " #read \
    "\nwrite_bytes 2 samples [bytes] 1 4096 " #written " 33554432\n"
#define RPCS(reads, writes)                                                       \
    "pages per rpc         rpcs   % cum % |       rpcs   % cum %\n1:\t\t " #reads \
    " 100 100   |    " #writes " 100 100\nrpcs in flight        rpcs\n" #reads    \
    ": 1 100 100 | 0 0 0\n"

static const char *const roots[] = {old, debug, NULL};

static void test_targets_are_added(void **state)
{
    struct figures_lustre lustre;

    (void)state;
    assert_int_equal(figures_read_lustre(roots, SOURCE, &lustre), -ENOENT);
    put(debug, "llite/work2-ffff1/stats", STATS(1, 1));
    assert_int_equal(figures_read_lustre(roots, SOURCE, &lustre), -ENOENT);
    put(old, "llite/work-ffff8f1c/stats", STATS(8193, 8192));
    assert_int_equal(figures_read_lustre(roots, SOURCE, &lustre), 0);
    assert_int_equal(lustre.read, 8193);
    assert_int_equal(lustre.written, 8192);
    assert_int_equal(lustre.wire, -ENOENT);
    /* The targets of other clients and file systems are not added. */
    put(debug, "osc/work-OST0000-osc-ffff8f1c/stats", STATS(100, 20));
    put(debug, "osc/work-OST0000-osc-ffff8f1c/rpc_stats", RPCS(5, 1));
    put(debug, "osc/work-OST0001-osc-ffff8f1c/stats", STATS(1000, 200));
    put(debug, "osc/work-OST0001-osc-ffff8f1c/rpc_stats", RPCS(3, 2));
    put(debug, "osc/work-OST0001-osc-ffff0000/stats", STATS(7, 7));
    put(debug, "osc/work-OST0001-osc-ffff0000/rpc_stats", RPCS(7, 7));
    put(debug, "osc/other-OST0001-osc-ffff8f1c/stats", STATS(7, 7));
    put(debug, "osc/other-OST0001-osc-ffff8f1c/rpc_stats", RPCS(7, 7));
    assert_int_equal(figures_read_lustre(roots, SOURCE, &lustre), 0);
    assert_int_equal(lustre.wire, 0);
    assert_int_equal(lustre.from_servers, 1100);
    assert_int_equal(lustre.to_servers, 220);
    assert_int_equal(lustre.rpcs.reads[0], 8);
    assert_int_equal(lustre.rpcs.writes[0], 3);
    assert_int_equal(lustre.rpcs.at_once, 5);
}

/* One target that cannot be read, before or after the others in the directory: no sum. */
static void test_no_sum_without_a_target(void **state)
{
    static const char *const names[] = {"osc/work-OST0000-osc-ffff8f1c/rpc_stats",
                                        "osc/work-OST0001-osc-ffff8f1c/rpc_stats"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        struct figures_lustre lustre;

        put(debug, names[i], "rpcs in flight\n");
        assert_int_equal(figures_read_lustre(roots, SOURCE, &lustre), 0);
        assert_int_equal(lustre.wire, -EBADMSG);
        assert_int_equal(lustre.from_servers, 0);
        assert_int_equal(lustre.rpcs.reads[0], 0);
        put(debug, names[i], RPCS(1, 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_targets_are_added),
        cmocka_unit_test(test_no_sum_without_a_target),
    };
    char remove[64];
    int r;

    if (!mkdtemp(root))
        return 99;
    (void)snprintf(old, sizeof(old), "%s/proc", root);
    (void)snprintf(debug, sizeof(debug), "%s/debug", root);
    (void)snprintf(remove, sizeof(remove), "rm -r %s", root);
    r = cmocka_run_group_tests(tests, NULL, NULL);
    return system(remove) == 0 ? r : 99;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What jobiod knows of the plugin: steps of Slurm that it has not tagged, and its version. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/track/tracker_state.h"
#include "tests/unit/node.h"

/* Make these directories below "cg", and a process in the last one. */
static void make_cgroup(const char *path)
{
    char name[256], text[32];

    for (const char *end = path; end; end = strchr(end + 1, '/')) {
        (void)snprintf(name, sizeof(name), "cg%.*s", (int)(end - path), path);
        node_mkdir(name);
    }
    (void)snprintf(name, sizeof(name), "cg%s", path);
    node_mkdir(name);
    (void)snprintf(name, sizeof(name), "cg%s/cgroup.procs", path);
    (void)snprintf(text, sizeof(text), "%d\n", getpid());
    node_put(name, text);
}

static void expect(size_t n, const char *example)
{
    struct tracker_stats stats;

    (void)untagged_look(&node.tracker->untagged, node.hierarchy, &node.tracker->jobs,
                        &node.tracker->recent);
    tracker_stats(node.tracker, &stats);
    assert_int_equal(stats.untagged, n);
    assert_string_equal(stats.untagged_example, example);
}

static void tag_it(uint32_t step, const char *path, int version)
{
    struct tag tag = node_tag(step, false);
    char name[256], full[256];
    struct stat st;

    (void)snprintf(name, sizeof(name), "cg%s", path);
    node_path(full, name);
    assert_int_equal(stat(full, &st), 0);
    tag.cgroup = (char *)path;
    tag.cgroup_id = st.st_ino;
    tag.version = version;
    node_must(tracker_tag(node.tracker, &tag, &node.error));
}

#define STEP "/system.slice/slurmstepd.scope/job_7/step_0/user"
#define OTHER "/n1_slurmstepd.scope/job_8/step_batch/user"

static void test_a_step_counts_from_the_second_look_until_it_is_tagged(void **state)
{
    (void)state;
    expect(0, "");
    make_cgroup(STEP);
    expect(0, "");
    expect(1, "job_7/step_0");
    make_cgroup(OTHER);
    expect(1, "job_7/step_0");
    expect(2, "job_7/step_0");
    tag_it(0, STEP, 2);
    expect(1, "job_8/step_batch");
    tag_it(1, OTHER, 2);
    expect(0, "");
}

/* Its slurmstepd may still be there. */
static void test_a_step_that_has_ended_was_tagged(void **state)
{
    (void)state;
    make_cgroup(STEP);
    tag_it(0, STEP, 2);
    node_must(tracker_end(node.tracker, JOB, 0, HET_NONE, 0, 0, &node.error));
    node_flush();
    assert_false(node_has_step(0));
    expect(0, "");
    expect(0, "");
}

static void test_what_is_no_step_of_slurm(void **state)
{
    (void)state;
    make_cgroup("/system.slice/slurmstepd.scope/job_7/step_extern/user");
    make_cgroup("/system.slice/slurmstepd.scope/system");
    make_cgroup("/system.slice/sshd.service/job_7/step_0/user");
    make_cgroup(STEP);
    node_put("cg" STEP "/cgroup.procs", "");
    expect(0, "");
    expect(0, "");
}

static void test_cgroup_v1(void **state)
{
    char text[256];

    (void)state;
    node_stop();
    (void)snprintf(text, sizeof(text), "34 32 0:30 / %s/cg rw - cgroup cgroup rw,freezer\n",
                   node.root);
    node_put("mountinfo", text);
    node_start();
    make_cgroup("/slurm_n1/uid_1000/job_7/step_3/task_0");
    expect(0, "");
    expect(1, "job_7/step_3");
    tag_it(3, "/slurm_n1/uid_1000/job_7/step_3", 1);
    expect(0, "");
}

static void expect_plugin(const char *version)
{
    struct tracker_stats stats;

    tracker_stats(node.tracker, &stats);
    assert_string_equal(stats.plugin, version);
}

/* The step files are from version 0.0.1. */
static void test_the_version_is_that_of_the_last_tag(void **state)
{
    struct tag tag = node_tag(0, true);

    (void)state;
    expect_plugin("");
    (void)strcpy(tag.plugin, "1.0.0");
    node_must(tracker_tag(node.tracker, &tag, &node.error));
    expect_plugin("1.0.0");
    tag = node_tag(1, true);
    node_must(tracker_tag(node.tracker, &tag, &node.error)); /* from a plugin without a version */
    expect_plugin("");
    (void)node_tag(2, true);
    node_must(tracker_tick(node.tracker, &node.error));
    node_restart();
    expect_plugin("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_step_counts_from_the_second_look_until_it_is_tagged,
                                        node_setup, node_teardown),
        cmocka_unit_test_setup_teardown(test_a_step_that_has_ended_was_tagged, node_setup,
                                        node_teardown),
        cmocka_unit_test_setup_teardown(test_what_is_no_step_of_slurm, node_setup, node_teardown),
        cmocka_unit_test_setup_teardown(test_cgroup_v1, node_setup, node_teardown),
        cmocka_unit_test_setup_teardown(test_the_version_is_that_of_the_last_tag, node_setup,
                                        node_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

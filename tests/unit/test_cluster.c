/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/daemon/cluster.h"

static char directory[] = "/tmp/jobio-test-cluster-XXXXXX";

static char *file_name(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(file_name(name), "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    fclose(f);
}

static void assert_name(const char *text, const char *expected)
{
    char *name;

    write_file("slurm.conf", text);
    name = cluster_of_file(file_name("slurm.conf"));
    if (expected)
        assert_string_equal(name, expected);
    else
        assert_null(name);
    free(name);
}

static void test_file(void **state)
{
    (void)state;
    assert_name("ClusterName=alpha\n", "alpha");
    assert_name("SlurmctldHost=c\n  clustername = Alpha_2 # comment\n", "alpha_2");
    assert_name("ClusterName=\"alpha\"\n", "alpha");
    assert_name("ClusterName=alpha", "alpha");
    assert_name("#ClusterName=alpha\n", NULL);
    assert_name("ClusterNameX=alpha\n", NULL);
    assert_name("ClusterName=\n", NULL);
    assert_name("ClusterName=a/b\n", NULL);
    assert_name("", NULL);
    assert_null(cluster_of_file("/nonexistent/slurm.conf"));
}

static void test_include(void **state)
{
    (void)state;
    write_file("part.conf", "ClusterName=beta\n");
    assert_name("SlurmctldHost=c\nInclude part.conf\n", "beta");
    assert_name("include\tpar*.conf # all\n", "beta");
    assert_name("IncludeX part.conf\n", NULL);
    assert_name("Include slurm.conf\n", NULL); /* includes itself */
    unlink(file_name("part.conf"));
}

static struct settings *settings_of(const char *text)
{
    struct settings *settings = NULL;
    struct error error;

    write_file("jobio.conf", text);
    if (settings_load(&settings, file_name("jobio.conf"), &error) < 0)
        fail_msg("%s", error.text);
    return settings;
}

static void assert_found(const char *conf, const char *name, const char *source, bool provisional)
{
    struct settings *settings = settings_of(conf);
    char expected[256];
    struct cluster cluster;
    struct error error;

    snprintf(expected, sizeof(expected), "%s/%s", directory, source);
    assert_int_equal(cluster_find(&cluster, settings, directory, &error), 0);
    assert_string_equal(cluster.name, name);
    assert_non_null(strstr(cluster.source, provisional ? "default" : expected));
    assert_int_equal(cluster.provisional, provisional);
    cluster_keep(&cluster, directory);
    cluster_clear(&cluster);
    settings_destroy(settings);
}

/* A configless node has no slurm.conf until slurmd runs, also after a reboot. */
static void test_order(void **state)
{
    (void)state;
    if (access("/etc/slurm/slurm.conf", F_OK) == 0)
        skip();
    setenv("SLURM_CONF", file_name("slurm.conf"), 1);
    unlink(file_name("slurm.conf"));
    assert_found("", "cluster", "", true);
    assert_int_equal(access(file_name("cluster"), F_OK), -1);
    write_file("slurm.conf", "ClusterName=alpha\n");
    assert_found("", "alpha", "slurm.conf", false);
    unlink(file_name("slurm.conf"));
    assert_found("", "alpha", "cluster", false);
    assert_found("cluster = Gamma\n", "Gamma", "jobio.conf:1", false);
    write_file("slurm.conf", "ClusterName=beta\n");
    assert_found("", "beta", "slurm.conf", false);
    write_file("cluster", "not a name\n");
    unlink(file_name("slurm.conf"));
    assert_found("", "cluster", "", true);
}

/* While nothing names the cluster, the loop ends as soon as slurm.conf does. */
static void test_watch(void **state)
{
    const struct cluster known = {.provisional = false}, unknown = {.provisional = true};
    sd_event_source *source = NULL;
    sd_event *loop = NULL;
    struct error error;

    (void)state;
    if (access("/etc/slurm/slurm.conf", F_OK) == 0)
        skip();
    setenv("NOTIFY_SOCKET", "/nonexistent", 1);
    assert_int_equal(sd_event_new(&loop), 0);
    assert_int_equal(cluster_watch(&source, loop, &known, &error), 0);
    assert_null(source);
    unlink(file_name("slurm.conf"));
    assert_int_equal(cluster_watch(&source, loop, &unknown, &error), 0);
    assert_true(sd_event_run(loop, 5000000) > 0); /* looked, in vain */
    assert_int_not_equal(sd_event_get_state(loop), SD_EVENT_EXITING);
    write_file("slurm.conf", "ClusterName=alpha\n");
    assert_int_equal(sd_event_loop(loop), 0);
    sd_event_source_unref(source);
    sd_event_unref(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_include),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_watch),
    };
    const char *const names[] = {"slurm.conf", "jobio.conf", "cluster", "part.conf"};
    int r;

    if (!mkdtemp(directory))
        return 99;
    r = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(file_name(names[i]));
    rmdir(directory);
    return r;
}

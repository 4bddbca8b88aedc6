/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin says of a step, as a message and as a file. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/track/tag.h"
#include "common/cleanup.h"
#include "common/job.h"

static struct message m;
static struct error error;
static char dir[] = "/tmp/jobio-test-tag-XXXXXX";
static int dir_fd;

static const char *const good[][2] = {
    {"JOBID", "4294967295"},
    {"STEP", "4294967291"},
    {"UID", "1000"},
    {"CGROUP", "/a/b/user"},
    {"CGROUP_ID", "77"},
    {"CGROUP_LEVEL", "3"},
    {"CGROUP_VERSION", "2"},
    {"TAGGED_AT", "1700000000000000000"},
    {"TAGGED_BOOT", "5"},
    {"NODES", "4"},
    {"NODE", "n1"},
    {"NAME", "a=b c"},
    {"SUMMARY", "short"},
    {"DIRECT", "1"},
    {"FUTURE", "x"},
    {"WITHIN", "2000"},
    {"MPI", "1"},
    {"STACKS", "1"},
    {"TRACE", "1"},
    {"TRACE_OF", "ops"},
    {"TRACE_PATHS", "1"},
    {"TRACEPARENT", "00-ab"},
    {"PLUGIN", "0.1.0~rc1+deb12-2"},
};

/* All good keys, with this one changed, or left out (value NULL). */
static void build(const char *key, const char *value)
{
    message_init(&m, "tag");
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (!key || strcmp(key, good[i][0]) != 0)
            message_put(&m, good[i][0], good[i][1]);
        else
            message_put(&m, key, value);
    }
}

static void test_good(void **state)
{
    struct tag tag;

    (void)state;
    build(NULL, NULL);
    assert_int_equal(tag_parse(&m, &tag, &error), 0);
    assert_int_equal(tag.jobid, 4294967295u);
    assert_int_equal(tag.step, STEP_BATCH);
    assert_int_equal(tag.het, HET_NONE);
    assert_int_equal(tag.restart, 0);
    assert_int_equal(tag.tagged_at_ns, 1700000000000000000ull);
    assert_string_equal(tag.cgroup, "/a/b/user");
    assert_string_equal(tag.name, "a=b c");
    assert_true(tag.direct);
    assert_true(tag.mpi);
    assert_true(tag.stacks);
    assert_true(tag.trace);
    assert_true(tag.trace_paths);
    assert_string_equal(tag.caller, "00-ab");
    assert_int_equal(tag.within_ms, 2000);
    tag_clear(&tag);
    build("MPI", NULL);
    assert_int_equal(tag_parse(&m, &tag, &error), 0);
    assert_false(tag.mpi);
    tag_clear(&tag);
    build("STACKS", NULL);
    assert_int_equal(tag_parse(&m, &tag, &error), 0);
    assert_false(tag.stacks);
    tag_clear(&tag);
    build("TRACE", NULL);
    assert_int_equal(tag_parse(&m, &tag, &error), 0);
    assert_false(tag.trace);
    tag_clear(&tag);
    build("TRACE_PATHS", NULL);
    assert_int_equal(tag_parse(&m, &tag, &error), 0);
    assert_true(tag.trace);
    assert_false(tag.trace_paths);
    tag_clear(&tag);
    build("TRACE_OF", "mpi");
    assert_int_equal(tag_parse(&m, &tag, &error), 0);
    assert_int_equal(tag.trace_of, TRACE_OF_MPI);
    tag_clear(&tag);
    build("TRACE_OF", "what a newer plugin sends");
    assert_int_equal(tag_parse(&m, &tag, &error), 0);
    assert_true(tag.trace);
    assert_int_equal(tag.trace_of, TRACE_OF_OPS);
    tag_clear(&tag);
    build("WITHIN", NULL);
    assert_int_equal(tag_parse(&m, &tag, &error), 0);
    assert_int_equal(tag.within_ms, 200);
    tag_clear(&tag);
}

static void test_plugin(void **state)
{
    static const char *const versions[][2] = {
        {"0.1.0~rc1+deb12-2", "0.1.0~rc1+deb12-2"},
        {"1234567890123456789012345678901", "1234567890123456789012345678901"},
        {"12345678901234567890123456789012", ""},
        {"1 0", ""},
        {"1\"0", ""},
        {"", ""},
        {NULL, ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
        struct tag tag;

        build("PLUGIN", versions[i][0]);
        assert_int_equal(tag_parse(&m, &tag, &error), 0);
        assert_string_equal(tag.plugin, versions[i][1]);
        tag_clear(&tag);
    }
}

static void test_array(void **state)
{
    struct tag tag;

    (void)state;
    build(NULL, NULL);
    assert_int_equal(tag_parse(&m, &tag, &error), 0);
    assert_int_equal(tag.array_job, 0);
    tag_clear(&tag);
    message_put(&m, "ARRAY_JOB", "4000000000");
    message_put(&m, "ARRAY_TASK", "7");
    assert_int_equal(tag_parse(&m, &tag, &error), 0);
    assert_int_equal(tag.array_job, 4000000000u);
    assert_int_equal(tag.array_task, 7);
    tag_clear(&tag);
}

static void test_bad(void **state)
{
    static const char *const bad[][2] = {
        {"JOBID", NULL},
        {"JOBID", "-1"},
        {"JOBID", "4294967296"},
        {"STEP", ""},
        {"UID", "root"},
        {"CGROUP", NULL},
        {"CGROUP", "a/b"},
        {"CGROUP", "/"},
        {"CGROUP", "/a/../../etc"},
        {"CGROUP", "/a/.."},
        {"CGROUP_ID", NULL},
        {"CGROUP_LEVEL", "9999"},
        {"CGROUP_VERSION", "0"},
        {"CGROUP_VERSION", "3"},
        {"TAGGED_AT", "now"},
        {"TAGGED_BOOT", NULL},
        {"DIRECT", "2"},
        {"MPI", "2"},
        {"STACKS", "2"},
        {"TRACE", "2"},
        {"WITHIN", "120001"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct tag tag = {.jobid = 42};

        build(bad[i][0], bad[i][1]);
        if (tag_parse(&m, &tag, &error) != -EINVAL)
            fail_msg("%s=%s is taken", bad[i][0], bad[i][1] ? bad[i][1] : "(nothing)");
        assert_int_equal(tag.jobid, 42); /* untouched */
        if (!strstr(error.text, bad[i][0]))
            fail_msg("\"%s\" does not name %s", error.text, bad[i][0]);
    }
}

static void put_file(const char *name, const char *text)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void test_files(void **state)
{
    static const char *const bad[] = {"JOBID=1\nSTEP", "JOBID=1", "=x\n", "\n", "no\n"};

    (void)state;
    put_file("f", "JOBID=5\nNAME=a = b\n");
    assert_int_equal(tag_read_file(dir_fd, "f", "tag", &m, &error), 0);
    assert_string_equal(message_get(&m, "NAME"), "a = b");
    assert_string_equal(message_get(&m, "TYPE"), "tag");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        put_file("f", bad[i]);
        assert_int_equal(tag_read_file(dir_fd, "f", "tag", &m, &error), -EBADMSG);
    }
    assert_int_equal(tag_read_file(dir_fd, "absent", "tag", &m, &error), -ENOENT);
    assert_int_equal(symlinkat("/etc/passwd", dir_fd, "link"), 0);
    assert_int_equal(tag_read_file(dir_fd, "link", "tag", &m, &error), -ELOOP);
    unlinkat(dir_fd, "link", 0);
    unlinkat(dir_fd, "f", 0);
}

static uint64_t ended_boot(const char *name)
{
    uint64_t ret;

    assert_int_equal(tag_ended_boot(dir_fd, name, &ret, NULL), 0);
    return ret;
}

static void test_names_and_ends(void **state)
{
    char name[TAG_FILE_SIZE];

    (void)state;
    tag_file_name(name, 17, 1, HET_NONE, STEP_EXTERN);
    assert_string_equal(name, "17.1.4294967294.4294967292");
    assert_true(tag_is_file_name(name));
    assert_false(tag_is_file_name("17.1.4294967294.4294967292.end"));
    assert_false(tag_is_file_name(".17.1.4294967294.0.99"));
    assert_false(tag_is_file_name("17.1.2"));
    assert_false(tag_is_file_name("17..1.2"));
    assert_false(tag_is_file_name("README"));

    assert_int_equal(ended_boot("a"), 0);
    put_file("a.end", "ENDED_AT=5\nENDED_BOOT=1234\n");
    assert_int_equal(ended_boot("a"), 1234);
    /* Whatever is in it: the step has ended. */
    put_file("a.end", "");
    assert_true(ended_boot("a") > 0);
    put_file("a.end", "garbage");
    assert_true(ended_boot("a") > 0);
    put_file("a", "x=y\n");
    tag_remove_files(dir_fd, "a");
    assert_int_equal(ended_boot("a"), 0);
    assert_int_equal(faccessat(dir_fd, "a", F_OK, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),  cmocka_unit_test(test_plugin),
        cmocka_unit_test(test_array), cmocka_unit_test(test_bad),
        cmocka_unit_test(test_files), cmocka_unit_test(test_names_and_ends),
    };
    int r;

    if (!mkdtemp(dir))
        return 99;
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
    r = cmocka_run_group_tests(tests, NULL, NULL);
    close(dir_fd);
    rmdir(dir);
    return r;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the plugin of each release has sent in a real slurmstepd (tests/data/protocol: a message a
 * line, its NULs written as '|', and a step file) is understood by this jobiod. A new release adds
 * its own recording and keeps the old ones. plugin-next is made up: what a later one may send.
 */
#define _GNU_SOURCE
#include "tests/unit/daemon_rig.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/track/tag.h"
#include "common/cleanup.h"
#include "common/job.h"

#define DATA TESTS_DATA "/protocol"

static struct message m;

static FILE *open_recording(const char *name)
{
    char path[512];
    FILE *f;

    snprintf(path, sizeof(path), DATA "/%s", name);
    f = fopen(path, "r");
    assert_non_null(f);
    return f;
}

/* The next message of the file; false at its end. */
static bool next_message(FILE *f)
{
    _free_ char *line = NULL;
    size_t room = 0;
    ssize_t n = getline(&line, &room, f);

    if (n <= 0)
        return false;
    assert_int_equal(line[n - 1], '\n');
    m.size = (size_t)n - 1;
    for (size_t i = 0; i < m.size; i++)
        m.data[i] = line[i] == '|' ? '\0' : line[i];
    return true;
}

static const char *type(void)
{
    const char *text = message_get(&m, "TYPE");

    return text ? text : "";
}

static void test_messages_are_good(void **state)
{
    static const char *const types[] = {"job", "tag", "tag", "tag", "end", "report", "job-end"};
    _fclose_ FILE *f = open_recording("plugin-0.1.0");
    struct error e = {""};
    size_t n = 0;

    (void)state;
    while (next_message(f)) {
        if (message_check(&m, &e) < 0)
            fail_msg("message %zu: %s", n, e.text);
        assert_true(n < ARRAY_SIZE(types));
        assert_string_equal(type(), types[n++]);
    }
    assert_int_equal(n, ARRAY_SIZE(types));
}

static void test_tags_are_understood(void **state)
{
    static const uint32_t steps[] = {STEP_EXTERN, STEP_BATCH, 0};
    _fclose_ FILE *f = open_recording("plugin-0.1.0");
    struct error e = {""};
    size_t n = 0;

    (void)state;
    while (next_message(f)) {
        CLEANUP(tag_clear) struct tag tag = {0};

        if (strcmp(type(), "tag") != 0)
            continue;
        /* What a later release may add. */
        message_put(&m, "COLOUR", "red");
        if (tag_parse(&m, &tag, &e) < 0)
            fail_msg("tag %zu: %s", n, e.text);
        assert_int_equal(tag.jobid, 1);
        assert_int_equal(tag.step, steps[n++]);
        assert_int_equal(tag.het, HET_NONE);
        assert_int_equal(tag.uid, 1001);
        assert_int_equal(tag.version, 2);
        assert_int_equal(tag.level, 5);
        assert_int_equal(tag.nodes, 1);
        assert_string_equal(tag.node, "guest");
        assert_int_equal(strncmp(tag.cgroup, "/system.slice/guest_slurmstepd.scope/", 37), 0);
        assert_true(tag.tagged_at_ns > tag.tagged_boot_ns && tag.tagged_boot_ns > 0);
        assert_false(tag.direct);
    }
    assert_int_equal(n, ARRAY_SIZE(steps));
}

/* --- by a complete jobiod --------------------------------------------------------------------- */

/* The recorded step, in a cgroup of this machine, now. */
static void move_step(const struct cgroups *c)
{
    static struct message recorded;
    unsigned level = 0;

    for (const char *at = c->step; (at = strchr(at, '/')); at++)
        level++;
    recorded = m;
    m.size = 0;
    for (const char *field = message_next(&recorded, NULL); field;
         field = message_next(&recorded, field)) {
        _free_ char *key = strndup(field, strcspn(field, "="));

        if (strcmp(key, "CGROUP") == 0)
            must(message_put(&m, key, c->step));
        else if (strcmp(key, "CGROUP_ID") == 0)
            must(message_put_u64(&m, key, cgroups_inode(c, c->step)));
        else if (strcmp(key, "CGROUP_LEVEL") == 0)
            must(message_put_u64(&m, key, level));
        else if (strcmp(key, "TAGGED_AT") == 0)
            must(message_put_u64(&m, key, clock_ns(CLOCK_REALTIME)));
        else if (strcmp(key, "TAGGED_BOOT") == 0)
            must(message_put_u64(&m, key, clock_ns(CLOCK_BOOTTIME)));
        else
            must(message_put(&m, key, field + strlen(key) + 1));
    }
}

static const char *reply_text(void)
{
    const char *text = message_get(&reply, "TEXT");

    return text ? text : "";
}

static void assert_refused(const char *type, const char *version, const char *why)
{
    static struct message later;
    int fd;

    message_init(&later, type);
    memcpy(later.data, version, strlen(version));
    fd = ask(&later);
    until(recv(fd, reply.data, sizeof(reply.data), MSG_PEEK | MSG_DONTWAIT) > 0);
    reply.size = (size_t)recv(fd, reply.data, sizeof(reply.data), 0);
    assert_string_equal(message_get(&reply, "STATUS"), "error");
    assert_string_equal(message_get(&reply, "ERROR"), why);
    (void)close(fd);
}

/* Three steps, of which the batch step ends and asks for its summary. */
static void play(const char *name)
{
    _fclose_ FILE *f = open_recording(name);
    struct cgroups third;
    const struct cgroups *const steps[] = {&cgroups[0], &cgroups[1], &third};
    struct message *query;
    size_t tags = 0, reports = 0;

    assert_true(cgroups_create(&third, 2, "c"));
    while (next_message(f)) {
        bool report = strcmp(type(), "report") == 0;

        if (strcmp(type(), "tag") == 0)
            move_step(steps[tags++]);
        ask_and_wait(&m);
        if (report)
            assert_non_null(strstr(reply_text(), "job 1, "));
        reports += report;
    }
    assert_int_equal(tags, 3);
    assert_int_equal(reports, 1);
    query = request("query-job", 1);
    must(message_put_u64(query, "STEPS", 1));
    ask_and_wait(query);
    assert_non_null(strstr(reply_text(), "\"uid\":1001"));
    assert_non_null(strstr(reply_text(), "\"name\":\"na\\\"me\""));
    cgroups_destroy(&third);
}

static void play_with_jobiod(const char *name)
{
    if (!munged) {
        print_message("needs root, cgroups and a munged\n");
        skip();
    }
    load_settings("");
    create_daemon();
    play(name);
    assert_refused("colour", "VERSION=1", "unknown TYPE \"colour\"");
    assert_refused("tag", "VERSION=2", "bad message: protocol version 2 is not supported; 1 is");
    ask_and_wait(request("status", 0)); /* it goes on */
    loop = sd_event_unref(loop);
    daemon_destroy(jobiod);
}

static void test_older_plugin(void **state)
{
    (void)state;
    play_with_jobiod("plugin-0.1.0");
}

static void test_newer_plugin(void **state)
{
    (void)state;
    play_with_jobiod("plugin-next");
}

static void test_step_file_is_understood(void **state)
{
    _close_ int fd = open(DATA, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(tag_clear) struct tag tag = {0};
    struct error e = {""};

    (void)state;
    assert_true(fd >= 0);
    if (tag_read_file(fd, "step-0.1.0", "tag", &m, &e) < 0 || tag_parse(&m, &tag, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(tag.jobid, 2);
    assert_int_equal(tag.step, STEP_BATCH);
    assert_int_equal(tag.version, 1);
    assert_int_equal(tag.level, 4);
    assert_int_equal(tag.cgroup_id, 80);
    assert_string_equal(tag.cgroup, "/slurm_guest/uid_1001/job_2/step_batch");
    assert_string_equal(tag.name, "wrap");
    assert_true(tag.direct);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_are_good),
        cmocka_unit_test(test_tags_are_understood),
        cmocka_unit_test(test_step_file_is_understood),
        cmocka_unit_test_setup_teardown(test_older_plugin, setup, teardown),
        cmocka_unit_test_setup_teardown(test_newer_plugin, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

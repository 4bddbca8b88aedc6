/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answer to `status` without memory: it has every member, or it is an error. */
#define _GNU_SOURCE
#include "tests/unit/daemon_rig.h"

#include <errno.h>
#include <json-c/json.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/fake_probe.h"
#include "tests/unit/fault.h"

/* Each member with its path, without values. */
static void write_members(FILE *to, const char *path, struct json_object *value)
{
    char below[512];

    (void)fprintf(to, "%s\n", path);
    if (json_object_is_type(value, json_type_object)) {
        json_object_object_foreach(value, name, member)
        {
            (void)snprintf(below, sizeof(below), "%.400s.%.100s", path, name);
            write_members(to, below, member);
        }
    }
    if (json_object_is_type(value, json_type_array))
        for (size_t i = 0; i < json_object_array_length(value); i++) {
            (void)snprintf(below, sizeof(below), "%.400s[%zu]", path, i);
            write_members(to, below, json_object_array_get_idx(value, i));
        }
}

/* malloc'd. NULL: the document has an error instead of what is in the store. */
static char *read_members(const char *text)
{
    struct json_object *document = json_tokener_parse(text), *store;
    char *members = NULL;
    size_t size;
    FILE *to = open_memstream(&members, &size);

    assert_non_null(document);
    assert_non_null(to);
    write_members(to, "", document);
    assert_int_equal(fclose(to), 0);
    if (json_object_object_get_ex(document, "store", &store) &&
        json_object_object_get_ex(store, "error", NULL)) {
        free(members);
        members = NULL;
    }
    json_object_put(document);
    return members;
}

/* Returns whether it is the last part of an answer, or the end of the connection; `text`: malloc'd,
 * with the parts so far. */
static bool receive(int fd, char **text)
{
    ssize_t n = recv(fd, reply.data, sizeof(reply.data), 0);
    char *longer;

    if (n < 0)
        return errno != EAGAIN;
    reply.size = (size_t)n;
    if (n == 0 || message_check(&reply, &error) < 0 || !message_get(&reply, "TEXT"))
        return true;
    assert_true(asprintf(&longer, "%s%s", *text ? *text : "", message_get(&reply, "TEXT")) >= 0);
    free(*text);
    *text = longer;
    return message_get(&reply, "MORE") == NULL;
}

/* The members of the answer, malloc'd. NULL: an error, or the end of the connection. */
static char *ask_for_members(unsigned fault, bool *hit)
{
    struct message *m = request("status", 0);
    char *text = NULL, *members = NULL;
    bool done = false;
    int fd = ask(m);

    if (fault)
        fault_arm(FAULT_MEMORY, fault);
    for (uint64_t end = clock_ns(CLOCK_MONOTONIC) + 30 * NS_PER_S; !done;) {
        assert_true(clock_ns(CLOCK_MONOTONIC) < end);
        turn(20000);
        fault_pause();
        done = receive(fd, &text);
        fault_resume();
    }
    *hit = fault && fault_disarm();
    (void)close(fd);
    if (text)
        members = read_members(text);
    free(text);
    return members;
}

static void assert_same(const char *members, const char *all)
{
    while (*all && *members == *all)
        members++, all++;
    if (*members != *all)
        fail_msg("\"%.40s\" instead of \"%.40s\"", members, all);
}

static void test_memory(void **state)
{
    unsigned complete = 0, errors = 0;
    char *members, *all;
    bool hit;

    (void)state;
    if (!munged) {
        print_message("needs root, cgroups and a munged\n");
        skip();
    }
    load_settings("url = ftp://" HERE "\n"); /* degraded */
    fake_probe_rpc_missing = "no BTF";
    create_daemon();
    start_job(OURS, HERE, HERE "," THERE, &cgroups[0]);
    fake_probe_growth = -ENOMEM;
    all = ask_for_members(0, &hit);
    assert_non_null(all);
    assert_non_null(strstr(all, "\n.degraded.push\n"));
    assert_non_null(strstr(all, "\n.nfs_not_counted\n"));
    assert_non_null(strstr(all, "\n.counters_failure\n"));
    assert_non_null(strstr(all, "\n.delivery.targets[0].pending\n"));
    assert_non_null(strstr(all, "\n.history.given_up\n"));
    assert_non_null(strstr(all, "\n.peers.wrong_node\n"));
    hit = true;
    for (unsigned n = 1; hit; n++) {
        members = ask_for_members(n, &hit);
        if (members)
            assert_same(members, all);
        complete += hit && members;
        errors += !members;
        free(members);
    }
    print_message("one allocation failed: %u answers were complete, %u errors\n", complete, errors);
    assert_true(errors > 100);
    free(all);
    loop = sd_event_unref(loop);
    daemon_destroy(jobiod);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answer to `report`, on the node of tests/unit/node.h, with a script as jobio-record. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/daemon/baselines.h"
#include "collector/daemon/recorder.h"
#include "collector/daemon/reports.h"
#include "collector/store/query.h"
#include "common/message.h"
#include "tests/unit/node.h"

static sd_event *loop;
static struct server *server;
static struct query *query;
static struct reports_options options;
static struct reports *reports;
static unsigned handled;

static void handle(struct request *request, const struct message *m, void *arg)
{
    (void)arg;
    handled++;
    reports_answer(reports, request, m);
}

static void create_recorder(void)
{
    char full[256];

    node_put("slow", "#!/bin/sh\nexec sleep 5\n");
    node_path(full, "slow");
    assert_int_equal(chmod(full, 0700), 0);
    node_must(recorder_create(&options.recorder, loop, full, 0, &node.error));
}

static int setup(void **state)
{
    struct settings *settings = settings_create();
    struct query_options store = {0};
    struct server_options socket = {.admin_gid = (gid_t)-1};
    const struct server_hooks hooks = {.handle = handle};
    char full[256];
    sigset_t set;

    assert_int_equal(node_setup(state), 0);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    assert_true(sd_event_new(&loop) >= 0);
    node_path(full, "jobio.db");
    store.path = full;
    node_must(query_create(&query, &store, &node.error));
    assert_non_null(settings);
    settings->record = RECORD_JOB_END;
    options = (struct reports_options){.loop = loop, .settings = settings, .tracker = node.tracker};
    create_recorder();
    node_must(baselines_create(&options.baselines, loop, query, &node.error));
    node_must(reports_create(&reports, &options, &node.error));
    node_path(full, "socket");
    socket.path = full;
    node_must(server_create(&server, loop, &socket, &hooks, &node.error));
    return 0;
}

static int teardown(void **state)
{
    server_destroy(server);
    recorder_destroy(options.recorder);
    reports_destroy(reports);
    query_destroy(query);
    baselines_destroy(options.baselines);
    settings_destroy((struct settings *)options.settings);
    sd_event_unref(loop);
    return node_teardown(state);
}

static int send_report(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct message m;
    char full[256];

    node_path(full, "socket");
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", full);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    message_init(&m, "report");
    assert_int_equal(message_put_u64(&m, "JOBID", JOB), 0);
    assert_true(send(fd, m.data, m.size, 0) > 0);
    for (int i = 0; i < 100 && !handled; i++)
        assert_true(sd_event_run(loop, 100000) >= 0);
    return fd;
}

/* jobiod stops while jobio-record runs: the text is there, and the record follows. */
static void test_stop_answers(void **state)
{
    struct message m;
    ssize_t n;
    int fd;

    (void)state;
    node_begin(STEP_BATCH);
    fd = send_report();
    assert_int_equal(recv(fd, m.data, sizeof(m.data), MSG_DONTWAIT), -1);
    reports_stop(reports);
    server_destroy(server);
    server = NULL;
    n = recv(fd, m.data, sizeof(m.data), MSG_DONTWAIT);
    assert_true(n > 0);
    m.size = (size_t)n;
    assert_string_equal(message_get(&m, "RECORD"), "deferred");
    assert_non_null(strstr(message_get(&m, "TEXT"), "17"));
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_stop_answers, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of jobiod while everything is half open. With sanitizers this shows that the parts are
 * destroyed in the right order. The probe is a fake. */
#define _GNU_SOURCE
#include "tests/unit/daemon_rig.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/peers/wire.h"
#include "common/job.h"

static void end_job(uint32_t jobid)
{
    struct message *m = request("end", jobid);

    must(message_put_u64(m, "STEP", 0));
    ask_and_wait(m);
}

/* Node `from` asks for a step that is to start here, too. */
static int ask_as_peer(const char *from)
{
    const struct wire_head head = {"c", from, HERE, "1"};
    struct json_object *document = wire_create(&head);

    (void)json_object_object_add(document, "jobid", json_object_new_int(OURS));
    (void)json_object_object_add(document, "restart", json_object_new_int(0));
    (void)json_object_object_add(document, "het", json_object_new_int64(HET_NONE));
    (void)json_object_object_add(document, "step", json_object_new_int(5));
    (void)json_object_object_add(document, "expected", json_object_new_boolean(true));
    return post_as_peer("/v1/job", document);
}

/* Longer than the test takes. */
static int ask_for_report(uint32_t jobid)
{
    struct message *m = request("report", jobid);

    must(message_put_u64(m, "WITHIN", 120000));
    return ask(m);
}

/* A process that is counted. */
static pid_t begin_run(void)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)ask(request("run-begin", 0));
        (void)pause();
        _exit(0);
    }
    return pid;
}

/* --- the tests -------------------------------------------------------------------------------- */

static bool is_refused(int fd)
{
    char text[512] = "";

    if (recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT) <= 0)
        return false;
    assert_non_null(strstr(text, "400"));
    return true;
}

static bool metrics_have(const char *line)
{
    static char page[1 << 18];
    size_t size = 0;
    ssize_t n = 0;
    int fd = http_connect(metrics_port);

    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    assert_true(dprintf(fd, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n") > 0);
    until((n = recv(fd, page + size, sizeof(page) - 1 - size, 0)) == 0 ||
          (n > 0 && (size += (size_t)n) == 0));
    (void)close(fd);
    page[size] = '\0';
    return strstr(page, line);
}

/* A user has the ports, and a URL of the push is not usable: jobiod counts nevertheless, reports
 * it, pushes to the other URL, and listens as soon as it can. */
static void test_degraded(void **state)
{
    int fds[3];

    (void)state;
    if (!munged) {
        print_message("needs root, cgroups and a munged\n");
        skip();
    }
    fds[0] = listen_on(INADDR_ANY, &peers_port);
    fds[1] = listen_on(INADDR_ANY, &metrics_port);
    load_settings("url = ftp://" HERE "\n");
    create_daemon();
    start_job(OURS, HERE, HERE "," THERE, &cgroups[0]);
    fds[2] = ask(request("status", 0));
    until(is_ok(fds[2]));
    assert_non_null(
        strstr(message_get(&reply, "TEXT"), "\"degraded\":{\"peers\":\"cannot listen at "));
    assert_non_null(strstr(message_get(&reply, "TEXT"), "\"metrics\":\"cannot listen at "));
    assert_non_null(strstr(message_get(&reply, "TEXT"), "\"push\":\"1 of 2 URLs not used: "));
    assert_non_null(strstr(message_get(&reply, "TEXT"), "\"targets\":[{\"url\":\"http://" HERE));
    (void)close(fds[0]);
    (void)close(fds[1]);
    for (uint64_t end = clock_ns(CLOCK_MONOTONIC) + 6 * NS_PER_S; clock_ns(CLOCK_MONOTONIC) < end;)
        turn(20000);
    assert_true(metrics_have("part=\"push\"} 1"));
    assert_true(metrics_have("part=\"peers\"} 0"));
    assert_true(metrics_have("part=\"metrics\"} 0"));
    (void)close(http_connect(peers_port));
    (void)close(fds[2]);
    loop = sd_event_unref(loop);
    daemon_destroy(jobiod);
}

static void test_everything_half_open(void **state)
{
    int fds[16];
    size_t n = 0;
    char byte;
    pid_t run;

    (void)state;
    if (!munged) {
        print_message("needs root, cgroups and a munged\n");
        skip();
    }
    load_settings("");
    create_daemon();
    start_job(OURS, HERE, HERE "," THERE, &cgroups[0]);
    start_job(THEIRS, THERE, THERE, &cgroups[1]);
    /* A report that waits for THERE, and one that waits for its record. */
    fds[n++] = ask_for_report(OURS);
    fds[n++] = ask_for_report(THEIRS);
    until(has_file("recording"));
    end_job(THEIRS);
    until(silent_has("POST /v1/job ") && silent_has("POST /v1/accounts ") && silent_has("PUT /") &&
          silent_has("POST /?"));
    fds[n++] = ask(request("retire", 0)); /* it waits for the push */
    fds[n++] = client();
    fds[n++] = http_connect(metrics_port);
    assert_true(dprintf(fds[n - 1], "GET /metrics HTTP/1.1\r\nHost:") > 0);
    fds[n++] = http_connect(peers_port);
    assert_true(dprintf(fds[n - 1], "POST /v1/job HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf") > 0);
    run = begin_run();
    until(has_file("run/runs/[0-9]*"));
    fds[n++] = ask_as_peer("127.0.0.3"); /* not a node of the job */
    until(is_refused(fds[n - 1]));
    fds[n++] = ask_as_peer(THERE);
    /* It is held for 0.9 s. */
    for (uint64_t end = clock_ns(CLOCK_MONOTONIC) + NS_PER_S / 3; clock_ns(CLOCK_MONOTONIC) < end;)
        turn(20000);
    assert_int_equal(recv(fds[n - 1], &byte, 1, MSG_DONTWAIT), -1);
    fds[n++] = ask(request("query-history", 0));
    fds[n++] = ask(request("query-job", THEIRS));
    fds[n++] = ask(request("query-top", 0));
    fds[n++] = ask(request("status", 0));
    for (unsigned i = 0; i < 3; i++)
        turn(0);
    loop = sd_event_unref(loop);
    daemon_destroy(jobiod);

    (void)kill(run, SIGKILL);
    assert_int_equal(waitpid(run, NULL, 0), run);
    while (n > 0)
        (void)close(fds[--n]);
    /* The next one finds what this one has left. */
    create_daemon();
    loop = sd_event_unref(loop);
    daemon_destroy(jobiod);
}

/* An admin must act. A store that another process holds may be free again soon. */
static void test_unusable_store(void **state)
{
    char path[128];
    int fd;

    (void)state;
    if (!munged)
        skip();
    load_settings("");
    snprintf(path, sizeof(path), "%s/other", directory);
    assert_int_equal(mkdir(path, 0700), 0);
    write_text("other/jobio.db", 0600, "no database");
    assert_int_equal(try_daemon("other"), -ENOTRECOVERABLE);
    assert_non_null(strstr(error.text, "the store: store \""));
    snprintf(path, sizeof(path), "%s/other/jobio.db", directory);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/other/jobio.db.lock", directory);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(try_daemon("other"), -EBUSY);
    close(fd);
    create_daemon();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_everything_half_open, setup, teardown),
        cmocka_unit_test_setup_teardown(test_degraded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unusable_store, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

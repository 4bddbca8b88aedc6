/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of jobiod while everything is half open. With sanitizers this shows that the parts are
 * destroyed in the right order. The probe is a fake. */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "collector/daemon/daemon.h"
#include "collector/peers/wire.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/credential.h"
#include "common/job.h"
#include "common/log.h"
#include "common/message.h"
#include "tests/unit/cgroups.h"
#include "tests/unit/munged.h"

#define HERE "127.0.0.1"
#define THERE "127.0.0.2"
/* Jobs of two nodes, by their first node. */
#define OURS 17
#define THEIRS 18
#define CONNECTIONS 64

static char directory[64];
static struct munged *munged;
static struct cgroups cgroups[2];
static struct settings *settings;
static struct daemon *d;
static sd_event *loop; /* the daemon's */
static struct error error;
static unsigned peers_port, metrics_port;

/* A server that reads requests and never answers. */
static struct {
    int fd;
    unsigned port;
    struct {
        int fd;
        char text[512];
        size_t size;
    } connections[CONNECTIONS];
    size_t n;
} silent;

static void must(int r)
{
    if (r < 0)
        fail_msg("%d: %s", r, error.text);
}

/* --- sockets ---------------------------------------------------------------------------------- */

static int listen_on(uint32_t address, unsigned *port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    socklen_t size = sizeof(in);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    assert_int_equal(listen(fd, CONNECTIONS), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &size), 0);
    *port = ntohs(in.sin_port);
    return fd;
}

static unsigned free_port(void)
{
    unsigned port;

    (void)close(listen_on(INADDR_ANY, &port));
    return port;
}

static void silent_read(void)
{
    int fd =
        silent.n < CONNECTIONS ? accept4(silent.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;

    if (fd >= 0)
        silent.connections[silent.n++].fd = fd;
    for (size_t i = 0; i < silent.n; i++) {
        size_t at = silent.connections[i].size;
        ssize_t n = read(silent.connections[i].fd, silent.connections[i].text + at,
                         sizeof(silent.connections[i].text) - 1 - at);

        silent.connections[i].size += n > 0 ? (size_t)n : 0;
    }
}

static bool silent_has(const char *start)
{
    for (size_t i = 0; i < silent.n; i++)
        if (!strncmp(silent.connections[i].text, start, strlen(start)))
            return true;
    return false;
}

/* A client of one of jobiod's HTTP servers. */
static int http_connect(unsigned port)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    return fd;
}

static int client(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/run/jobiod.sock", directory);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static struct message *request(const char *type, uint32_t jobid)
{
    static struct message m;

    message_init(&m, type);
    if (jobid)
        assert_int_equal(message_put_u64(&m, "JOBID", jobid), 0);
    return &m;
}

/* Nobody reads the answer. */
static int ask(const struct message *m)
{
    int fd = client();

    assert_int_equal(send(fd, m->data, m->size, 0), m->size);
    return fd;
}

/* --- the loop --------------------------------------------------------------------------------- */

static void turn(uint64_t usec)
{
    silent_read();
    assert_true(sd_event_run(loop, usec) >= 0);
}

#define until(condition)                                                 \
    do {                                                                 \
        uint64_t until_end_ = clock_ns(CLOCK_MONOTONIC) + 30 * NS_PER_S; \
        while (!(condition)) {                                           \
            if (clock_ns(CLOCK_MONOTONIC) > until_end_)                  \
                fail_msg("not within 30 s: %s", #condition);             \
            turn(20000);                                                 \
        }                                                                \
    } while (0)

static struct message reply; /* the last one of jobiod */

static bool is_ok(int fd)
{
    ssize_t n = recv(fd, reply.data, sizeof(reply.data), 0);

    if (n < 0)
        return false;
    reply.size = (size_t)n;
    assert_int_equal(message_check(&reply, &error), 0);
    if (strcmp(message_get(&reply, "STATUS"), "ok") != 0)
        fail_msg("%s", message_get(&reply, "ERROR"));
    return true;
}

static void ask_and_wait(const struct message *m)
{
    _close_ int fd = ask(m);

    until(is_ok(fd));
}

/* --- jobs ------------------------------------------------------------------------------------- */

static void write_text(const char *name, mode_t mode, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void write_text(const char *name, mode_t mode, const char *format, ...)
{
    char path[256];
    va_list list;
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    file = fopen(path, "we");
    assert_non_null(file);
    va_start(list, format);
    assert_true(vfprintf(file, format, list) > 0);
    va_end(list);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static bool has_file(const char *pattern)
{
    char path[256];
    glob_t found;
    bool is_there;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, pattern);
    is_there = glob(path, 0, NULL, &found) == 0;
    globfree(&found);
    return is_there;
}

static void start_job(uint32_t jobid, const char *first_node, const char *nodes,
                      const struct cgroups *c)
{
    struct message *m = request("tag", jobid);
    char name[64];
    unsigned level = 0;

    (void)snprintf(name, sizeof(name), "run/jobs/%u", jobid);
    write_text(name, 0600, "JOBID=%u\nRESTART=0\nNODE=" HERE "\nGATHER=%s\nNODELIST=%s\n", jobid,
               first_node, nodes);
    for (const char *at = c->step; (at = strchr(at, '/')); at++)
        level++;
    must(message_put_u64(m, "STEP", 0));
    must(message_put_u64(m, "UID", 1000));
    must(message_put(m, "CGROUP", c->step));
    must(message_put_u64(m, "CGROUP_ID", cgroups_inode(c, c->step)));
    must(message_put_u64(m, "CGROUP_LEVEL", level));
    must(message_put_u64(m, "CGROUP_VERSION", (uint64_t)c->version));
    must(message_put_u64(m, "TAGGED_AT", clock_ns(CLOCK_REALTIME)));
    must(message_put_u64(m, "TAGGED_BOOT", clock_ns(CLOCK_BOOTTIME)));
    must(message_put_u64(m, "NODES", 2));
    must(message_put(m, "NODE", HERE));
    ask_and_wait(m);
}

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
    _free_ char *text = NULL, *credential = NULL;
    size_t size;
    int fd = http_connect(peers_port);

    (void)json_object_object_add(document, "jobid", json_object_new_int(OURS));
    (void)json_object_object_add(document, "restart", json_object_new_int(0));
    (void)json_object_object_add(document, "het", json_object_new_int64(HET_NONE));
    (void)json_object_object_add(document, "step", json_object_new_int(5));
    (void)json_object_object_add(document, "expected", json_object_new_boolean(true));
    text = wire_text(document, &size);
    must(credential_make(munged_socket(munged), 0, text, size, &credential, &error));
    assert_true(dprintf(fd, "POST /v1/job HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
                        strlen(credential), credential) > 0);
    return fd;
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

/* --- the test --------------------------------------------------------------------------------- */

static int setup(void **state)
{
    sigset_t set;

    (void)state;
    if (geteuid() != 0 || !munged_is_there() || !cgroups_create(&cgroups[0], 2, "a") ||
        !cgroups_create(&cgroups[1], 2, "b"))
        return 0;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL); /* for munged */
    munged = munged_start();
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    log_init("test", LOG_LEVEL_ERROR);
    (void)snprintf(directory, sizeof(directory), "/tmp/jobio-test-daemon-XXXXXX");
    assert_non_null(mkdtemp(directory));
    silent.n = 0;
    memset(silent.connections, 0, sizeof(silent.connections));
    silent.fd = listen_on(INADDR_ANY, &silent.port);
    peers_port = free_port();
    metrics_port = free_port();
    return 0;
}

static int remove_entry(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(name);
}

static int teardown(void **state)
{
    (void)state;
    if (!munged)
        return 0;
    settings_destroy(settings);
    settings = NULL;
    munged_stop(munged);
    for (size_t i = 0; i < silent.n; i++)
        (void)close(silent.connections[i].fd);
    (void)close(silent.fd);
    for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++)
        cgroups_destroy(&cgroups[i]);
    return nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void load_settings(const char *scheme)
{
    char path[128];

    write_text("record", 0700, "#!/bin/sh\n: > %s/recording\nexec sleep 10\n", directory);
    write_text("jobio.conf", 0600,
               "cluster = c\nnode = " HERE "\nlog_level = error\n"
               "[report]\nrecord = job-end\nrecord_program = %s/record\n"
               "[peers]\nlisten = " HERE ":%u\nurl = http://%%n:%u\nmunge_socket = %s\n"
               "[push]\nurl = %s://" HERE ":%u\n"
               "[metrics]\nlisten = " HERE ":%u\n"
               "[history]\nurl = http://" HERE ":%u\ndelay = 100ms\n",
               directory, peers_port, silent.port, munged_socket(munged), scheme, silent.port,
               metrics_port, silent.port);
    (void)snprintf(path, sizeof(path), "%s/jobio.conf", directory);
    must(settings_load(&settings, path, &error));
}

static void create_daemon(void)
{
    char runtime[128], state[128];
    const struct daemon_options options = {runtime, state, NULL};

    (void)snprintf(runtime, sizeof(runtime), "%s/run", directory);
    (void)snprintf(state, sizeof(state), "%s/state", directory);
    must(daemon_create(&d, &options, settings, &error));
    assert_true(sd_event_default(&loop) >= 0);
}

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

/* A user has the ports, and the URL of the push is not usable: jobiod counts nevertheless, reports
 * it, and listens as soon as it can. */
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
    load_settings("ftp");
    create_daemon();
    start_job(OURS, HERE, HERE "," THERE, &cgroups[0]);
    fds[2] = ask(request("status", 0));
    until(is_ok(fds[2]));
    assert_non_null(
        strstr(message_get(&reply, "TEXT"), "\"degraded\":{\"peers\":\"cannot listen at "));
    assert_non_null(strstr(message_get(&reply, "TEXT"), "\"metrics\":\"cannot listen at "));
    assert_non_null(strstr(message_get(&reply, "TEXT"), "\"push\":"));
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
    daemon_destroy(d);
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
    load_settings("http");
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
    daemon_destroy(d);

    (void)kill(run, SIGKILL);
    assert_int_equal(waitpid(run, NULL, 0), run);
    while (n > 0)
        (void)close(fds[--n]);
    /* The next one finds what this one has left. */
    create_daemon();
    loop = sd_event_unref(loop);
    daemon_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_everything_half_open, setup, teardown),
        cmocka_unit_test_setup_teardown(test_degraded, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "tests/unit/daemon_rig.h"

#include <arpa/inet.h>
#include <ftw.h>
#include <glob.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "collector/peers/wire.h"
#include "common/cleanup.h"
#include "common/credential.h"
#include "common/log.h"

char directory[64];
struct munged *munged;
struct cgroups cgroups[2];
static struct settings *settings;
struct daemon *jobiod;
sd_event *loop; /* the daemon's */
struct error error;
unsigned peers_port, metrics_port;

struct silent silent;

void must(int r)
{
    if (r < 0)
        fail_msg("%d: %s", r, error.text);
}

/* --- sockets ---------------------------------------------------------------------------------- */

int listen_on(uint32_t address, unsigned *port)
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

bool silent_has(const char *start)
{
    for (size_t i = 0; i < silent.n; i++)
        if (!strncmp(silent.connections[i].text, start, strlen(start)))
            return true;
    return false;
}

/* A client of one of jobiod's HTTP servers. */
int http_connect(unsigned port)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    return fd;
}

int client(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/run/jobiod.sock", directory);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

struct message *request(const char *type, uint32_t jobid)
{
    static struct message m;

    message_init(&m, type);
    if (jobid)
        assert_int_equal(message_put_u64(&m, "JOBID", jobid), 0);
    return &m;
}

/* Nobody reads the answer. */
int ask(const struct message *m)
{
    int fd = client();

    assert_int_equal(send(fd, m->data, m->size, 0), m->size);
    return fd;
}

/* --- the loop --------------------------------------------------------------------------------- */

void turn(uint64_t usec)
{
    silent_read();
    assert_true(sd_event_run(loop, usec) >= 0);
}

struct message reply; /* the last one of jobiod */

bool is_ok(int fd)
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

void ask_and_wait(const struct message *m)
{
    _close_ int fd = ask(m);

    until(is_ok(fd));
}

/* --- jobs ------------------------------------------------------------------------------------- */

void write_text(const char *name, mode_t mode, const char *format, ...)
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

bool has_file(const char *pattern)
{
    char path[256];
    glob_t found;
    bool is_there;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, pattern);
    is_there = glob(path, 0, NULL, &found) == 0;
    globfree(&found);
    return is_there;
}

void run_prolog(uint32_t jobid, const char *first_node, const char *nodes)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "run/jobs/%u", jobid);
    write_text(name, 0600, "JOBID=%u\nRESTART=0\nNODE=" HERE "\nGATHER=%s\nNODELIST=%s\n", jobid,
               first_node, nodes);
}

void start_job(uint32_t jobid, const char *first_node, const char *nodes, const struct cgroups *c)
{
    struct message *m = request("tag", jobid);
    unsigned level = 0;

    run_prolog(jobid, first_node, nodes);
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

/* Takes ownership of the document. */
int post_as_peer(const char *path, struct json_object *document)
{
    _free_ char *text = NULL, *credential = NULL;
    size_t size;
    int fd = http_connect(peers_port);

    text = wire_text(document, &size);
    must(credential_make(munged_socket(munged), 0, text, size, &credential, &error));
    assert_true(dprintf(fd, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s", path,
                        strlen(credential), credential) > 0);
    return fd;
}

/* --- start and stop --------------------------------------------------------------------------- */

int setup(void **state)
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

int teardown(void **state)
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

/* urls: further lines of [push]. */
void load_settings(const char *urls)
{
    char path[128];

    write_text("record", 0700,
               "#!/bin/sh\n[ $1 = --nodes ] && { cat %s/nodes || exit 4; exit; }\n"
               ": > %s/recording\nexec sleep 10\n",
               directory, directory);
    write_text("jobio.conf", 0600,
               "cluster = c\nnode = " HERE "\nlog_level = error\n"
               "[report]\nrecord = job-end\nrecord_program = %s/record\n"
               "[peers]\nlisten = " HERE ":%u\nurl = http://%%n:%u\nmunge_socket = %s\n"
               "[push]\n%surl = http://" HERE ":%u\n"
               "[metrics]\nlisten = " HERE ":%u\n"
               "[history]\nurl = http://" HERE ":%u\ndelay = 100ms\n",
               directory, peers_port, silent.port, munged_socket(munged), urls, silent.port,
               metrics_port, silent.port);
    (void)snprintf(path, sizeof(path), "%s/jobio.conf", directory);
    must(settings_load(&settings, path, &error));
}

int try_daemon(const char *store_dir)
{
    char runtime[128], state[128];
    const struct daemon_options options = {runtime, state, NULL, NULL};

    (void)snprintf(runtime, sizeof(runtime), "%s/run", directory);
    (void)snprintf(state, sizeof(state), "%s/%s", directory, store_dir);
    return daemon_create(&jobiod, &options, settings, &error);
}

void create_daemon(void)
{
    must(try_daemon("state"));
    assert_true(sd_event_default(&loop) >= 0);
}

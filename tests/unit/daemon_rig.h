/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A complete jobiod in the process of the test, with a fake probe, cgroups of its own, a real
 * munged, and servers that never answer. Failures fail the test.
 */
#ifndef JOBIO_TESTS_UNIT_DAEMON_RIG_H
#define JOBIO_TESTS_UNIT_DAEMON_RIG_H

#include "tests/unit/test.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <systemd/sd-event.h>

#include "collector/daemon/daemon.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/message.h"
#include "tests/unit/cgroups.h"
#include "tests/unit/munged.h"

struct json_object;

#define HERE "127.0.0.1"
#define THERE "127.0.0.2"
/* Jobs of two nodes, by their first node. */
#define OURS 17
#define THEIRS 18
#define CONNECTIONS 64

extern char directory[64];
extern struct munged *munged; /* NULL: there is no root, cgroup or munged: skip the test */
extern struct cgroups cgroups[2];
extern struct daemon *jobiod;
extern sd_event *loop; /* the daemon's */
extern struct error error;
extern unsigned peers_port, metrics_port;
extern struct message reply; /* the last one of jobiod */

/* A server that reads requests and never answers. */
extern struct silent {
    int fd;
    unsigned port;
    struct {
        int fd;
        char text[512];
        size_t size;
    } connections[CONNECTIONS];
    size_t n;
} silent;
/* A request to it starts so. */
bool silent_has(const char *start);

/* For cmocka: of each test. */
int setup(void **state);
int teardown(void **state);
/* urls: further lines of [push]. */
void load_settings(const char *urls);
void create_daemon(void);
/* The same with its store in another directory. Returns the result of daemon_create(). */
int try_daemon(const char *store_dir);

void must(int r);
void turn(uint64_t usec); /* of the loop */
#define until(condition)                                                 \
    do {                                                                 \
        uint64_t until_end_ = clock_ns(CLOCK_MONOTONIC) + 30 * NS_PER_S; \
        while (!(condition)) {                                           \
            if (clock_ns(CLOCK_MONOTONIC) > until_end_)                  \
                fail_msg("not within 30 s: %s", #condition);             \
            turn(20000);                                                 \
        }                                                                \
    } while (0)

/* Returns a socket; port: the one it got. */
int listen_on(uint32_t address, unsigned *port);
/* A client of one of jobiod's HTTP servers. */
int http_connect(unsigned port);
/* Send a message to the jobiod of another node. Takes ownership of the document. */
int post_as_peer(const char *path, struct json_object *document);
/* A client of jobiod. */
int client(void);
/* jobid 0: none. Valid until the next one. */
struct message *request(const char *type, uint32_t jobid);
/* Send it, and return the socket. */
int ask(const struct message *m);
/* The answer is there, in `reply`. */
bool is_ok(int fd);
void ask_and_wait(const struct message *m);

/* Files below `directory`. */
void write_text(const char *name, mode_t mode, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool has_file(const char *pattern);
/* The prolog of a job, and its step 0. */
void run_prolog(uint32_t jobid, const char *first_node, const char *nodes);
void start_job(uint32_t jobid, const char *first_node, const char *nodes, const struct cgroups *c);

#endif

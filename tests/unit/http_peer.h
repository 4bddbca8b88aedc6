/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server with some handlers, and peers that speak to it byte by byte, all on one event loop. */
#ifndef JOBIO_TESTS_UNIT_HTTP_PEER_H
#define JOBIO_TESTS_UNIT_HTTP_PEER_H

#include "tests/unit/test.h"

#include <stdbool.h>

#include "collector/http/server.h"

#define PEERS 300
#define SECONDS 20 /* what never takes that long, unless it is broken */

extern sd_event *loop;
extern struct http_server *server;
extern struct error error;
/* What GET or POST /park has left unanswered: the last one, the one before, and how many. */
extern struct http_exchange *parked, *parked_before;
extern unsigned n_parked;
extern char answer[1 << 16]; /* of hear() */

/* GET /hello says so to the peer's address, POST /echo gives the body back. On 127.0.0.1 and
 * ::1. */
void setup_with(const struct http_server_options *options);
/* cmocka's: with room for PEERS connections, and all the time. */
int setup(void **state);
int teardown(void **state);

double seconds(void);
/* Let the server work for so long; 0: once. */
void spin(unsigned ms);

/* A connection, nonblocking. */
int peer(void);
/* Send all of it, while the server reads; false: it has hung up. */
bool say(int fd, const char *data, size_t size);
bool say_text(int fd, const char *text);
/* Everything until the server hangs up, at `answer`; closes. */
const char *hear(int fd);
/* The code of an answer, 0: it is none. */
int code_of(const char *text);
/* A peer, say_text() and hear(). */
const char *ask(const char *request);
void assert_ends(const char *text, const char *end);
/* The head of a POST to /echo with a body of that many bytes, which is still to be said. */
int post(size_t announced);

struct http_server_stats stats(void);
/* Until the server has seen that its peers have gone. */
void wait_for_quiet(void);

#endif

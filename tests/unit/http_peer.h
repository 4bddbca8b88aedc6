/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A server with some handlers, and peers that send it raw bytes, all on one event loop. */
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
/* Unanswered exchanges of GET or POST /park: the last one, the one before, and their number. */
extern struct http_exchange *parked, *parked_before;
extern unsigned n_parked;
extern char answer[1 << 16]; /* of hear() */

/* Routes on 127.0.0.1, ::1 and :: : GET /hello answers with the peer's address, POST /echo with the
 * body. */
void setup_with(const struct http_server_options *options);
/* For cmocka. The server permits PEERS connections, without a short time limit. */
int setup(void **state);
int teardown(void **state);

double seconds(void);
/* Run the server for this time; 0: once. */
void spin(unsigned ms);

/* Open a nonblocking connection. */
int peer(void);
/* Send everything while the server runs. Returns false if the server has hung up. */
bool say(int fd, const char *data, size_t size);
bool say_text(int fd, const char *text);
/* Read into `answer` until the server hangs up, and close. */
const char *hear(int fd);
/* The status code of an answer; 0: not an answer. */
int code_of(const char *text);
/* Connect, say_text() and hear(). */
const char *ask(const char *request);
void assert_ends(const char *text, const char *end);
/* Send the head of a POST to /echo for a body of that many bytes, which the caller sends. */
int post(size_t announced);

struct http_server_stats stats(void);
/* Wait until the server has noticed that its peers have disconnected. */
void wait_for_quiet(void);

#endif

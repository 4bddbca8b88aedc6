/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fake HTTP server on the test's own event loop that misbehaves in ways that a real Pushgateway
 * does not. It reads a request and sends a given answer, or none.
 */
#ifndef JOBIO_TESTS_FAKE_HTTP_H
#define JOBIO_TESTS_FAKE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-event.h>

struct fake_http {
    char url[64];
    /* The complete answer with headers; "": close after reading the headers; NULL: never answer.
     * May be set at any time. */
    const char *answer;
    size_t size;      /* of `answer`, if it contains NUL; 0: that of the text */
    bool endless;     /* send it again and again, until the other side closes the connection */
    size_t sent;      /* bytes that were sent of such answers */
    unsigned byte_ms; /* time between two bytes of the answer; 0: all at once */
    /* If set: makes `answer` from the request's body. */
    const char *(*respond)(struct fake_http *fake, const char *body, size_t size);
    void *arg;         /* for it */
    unsigned requests; /* number of requests read */
    char first_line[256];
    sd_event_source *source;
    struct fake_connection *connections;
};

void fake_http_start(struct fake_http *fake, sd_event *loop, const char *answer);
/* Answer all waiting requests. */
void fake_http_release(struct fake_http *fake, const char *answer);
void fake_http_stop(struct fake_http *fake);

#endif

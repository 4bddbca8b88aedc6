/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fake: an HTTP server on the test's own event loop that misbehaves in ways that no real
 * Pushgateway can be brought to. It reads a request and answers what it was told, or not at all.
 */
#ifndef JOBIO_TESTS_FAKE_HTTP_H
#define JOBIO_TESTS_FAKE_HTTP_H

#include <stddef.h>
#include <systemd/sd-event.h>

struct fake_http {
    char url[64];
    /* The whole answer with its headers; "": closes after it has read the headers; NULL: never
     * answers. To be set at any time. */
    const char *answer;
    unsigned byte_ms; /* a byte of the answer so often; 0: all at once */
    /* If it is set: makes `answer` out of the request's body. */
    const char *(*respond)(struct fake_http *fake, const char *body, size_t size);
    void *arg;         /* for it */
    unsigned requests; /* how many it has read */
    char first_line[256];
    sd_event_source *source;
    struct fake_connection *connections;
};

void fake_http_start(struct fake_http *fake, sd_event *loop, const char *answer);
/* Answer all requests that wait. */
void fake_http_release(struct fake_http *fake, const char *answer);
void fake_http_stop(struct fake_http *fake);

#endif

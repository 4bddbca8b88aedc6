/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The body of an answer that libcurl receives. */
#ifndef JOBIO_COLLECTOR_HTTP_BODY_H
#define JOBIO_COLLECTOR_HTTP_BODY_H

#include <stdbool.h>
#include <stddef.h>

struct http_body {
    char *text; /* owned; NUL-terminated; NULL: nothing was received */
    size_t size, max;
    bool over; /* it is longer than max */
};
/* For CURLOPT_WRITEFUNCTION, with a struct http_body: append to it. The transfer fails beyond
 * `max`, or if there is no memory. */
size_t http_body_append(char *data, size_t one, size_t n, void *arg);
void http_body_clear(struct http_body *body);

#endif

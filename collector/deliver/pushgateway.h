/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Pushgateways want to be told, and what their answers mean. Pure functions. */
#ifndef JOBIO_COLLECTOR_DELIVER_PUSHGATEWAY_H
#define JOBIO_COLLECTOR_DELIVER_PUSHGATEWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/http/client.h"

/* The group of the node: URL/metrics/job/jobio/cluster/C/instance/I, malloc'd; NULL: no memory.
 * Values that a path cannot hold go as label@base64. */
char *pushgateway_group_url(const char *url, const char *cluster, const char *instance);

/* True for a URL that ends with /api/v1/import/prometheus: VictoriaMetrics and its agents take the
 * same text there, know no groups, and so have nothing to be deleted. */
bool pushgateway_is_import(const char *url);
/* Where the text is posted there, with the label that a group has in its URL; malloc'd; NULL: no
 * memory. */
char *pushgateway_import_url(const char *url);

/* The text compressed by gzip, malloc'd. 0 or -ENOMEM. */
int pushgateway_compress(const char *text, void **ret, size_t *size);
/* The headers that go with it; NULL-terminated. */
extern const char *const pushgateway_headers[];

enum push_outcome {
    PUSH_OK,
    PUSH_RETRY,         /* with backoff */
    PUSH_REJECTED,      /* the gateway does not want this body: slowly again */
    PUSH_MISCONFIGURED, /* slowly again, and an operator should look */
};

/* An answer of 200 or 202 with a body is not a Pushgateway's. */
enum push_outcome pushgateway_outcome(const struct http_answer *answer);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OTLP/HTTP: each item of a batch is a complete ExportTraceServiceRequest in JSON, and its rows are
 * spans. So a request has one item. */
#ifndef JOBIO_COLLECTOR_DELIVER_OTLP_H
#define JOBIO_COLLECTOR_DELIVER_OTLP_H

#include <stdint.h>

#include "collector/deliver/answer.h"

/* The `arg` of a target of this kind: what it has answered to requests that it took. */
struct otlp_answers {
    uint64_t rejected;            /* spans; they are not sent again */
    uint64_t messages;            /* answers that have one */
    char message[ANSWER_WHY_MAX]; /* the last one; untrusted, but can be printed */
    void (*on_message)(const char *message, void *arg); /* for the operator; may be NULL */
    void *arg;
};

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The request query-trace: the traces of ended steps, which a thread reads. */
#ifndef JOBIO_COLLECTOR_DAEMON_TRACE_QUESTION_H
#define JOBIO_COLLECTOR_DAEMON_TRACE_QUESTION_H

#include "collector/daemon/socket.h"

struct query;
struct tracker;

/* Answer the request, inside the call or later. The query must outlive its last result. */
void trace_question(const struct tracker *tracker, struct query *query, struct request *request,
                    const struct message *m);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The questions query-job, query-history and query-array: rows of the store, read on threads of
 * their own, updated with what is running. */
#ifndef JOBIO_COLLECTOR_DAEMON_QUESTIONS_H
#define JOBIO_COLLECTOR_DAEMON_QUESTIONS_H

#include <systemd/sd-event.h>

#include "collector/daemon/socket.h"

struct query;
struct tracker;

/* Create the threads on the loop. On an error those that exist remain the caller's. */
int question_queries_create(struct query **small, struct query **large, sd_event *loop,
                            const char *path, struct error *error);

/* What answers them. All must outlive the last result of the queries. */
struct question_sources {
    const char *node;
    struct tracker *tracker;
    struct query *small; /* short questions: one job */
    struct query *large; /* questions that may use all of their time */
};

/* Answer the request, inside the call or later. */
void question_job(const struct question_sources *sources, struct request *request,
                  const struct message *m);
void question_history(const struct question_sources *sources, struct request *request,
                      const struct message *m);
void question_array(const struct question_sources *sources, struct request *request,
                    const struct message *m);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests query-job, query-history and query-array: rows of the store, which threads of their
 * own read, combined with running jobs. */
#ifndef JOBIO_COLLECTOR_DAEMON_QUESTIONS_H
#define JOBIO_COLLECTOR_DAEMON_QUESTIONS_H

#include <systemd/sd-event.h>

#include "collector/daemon/socket.h"

struct query;
struct tracker;

/* Create both queries and attach them to the loop. On an error, destroy those that are not NULL. */
int question_queries_create(struct query **small, struct query **large, sd_event *loop,
                            const char *path, struct error *error);

/* What answers them. All must outlive the last result of the queries. */
struct question_sources {
    const char *node;
    struct tracker *tracker;
    struct query *small; /* for short questions: one job */
    struct query *large; /* for questions that may use their whole time limit */
};

/* Answer the request, inside the call or later. */
void question_job(const struct question_sources *sources, struct request *request,
                  const struct message *m);
void question_history(const struct question_sources *sources, struct request *request,
                      const struct message *m);
void question_array(const struct question_sources *sources, struct request *request,
                    const struct message *m);

#endif

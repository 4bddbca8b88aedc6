/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The request `report`: the summary for the end of the job's output, and the job record. */
#ifndef JOBIO_COLLECTOR_DAEMON_REPORTS_H
#define JOBIO_COLLECTOR_DAEMON_REPORTS_H

#include <systemd/sd-event.h>

#include "collector/daemon/socket.h"
#include "settings/settings.h"

struct baselines;
struct peers;
struct recorder;
struct reports;
struct tracker;

/* All must outlive it. */
struct reports_options {
    sd_event *loop;
    const struct settings *settings;
    struct tracker *tracker;
    struct recorder *recorder;
    struct baselines *baselines;
    struct peers *peers; /* NULL: no [peers] */
};

/* Reads the rules of the advice; an invalid rule is logged and left out. */
int reports_create(struct reports **ret, const struct reports_options *options,
                   struct error *error);
/* Answer the requests that wait for their records, which are written later. Accepts NULL. */
void reports_stop(struct reports *reports);
/* Call it after peers and recorder were destroyed; accepts NULL. */
void reports_destroy(struct reports *reports);
/* Answer the request, inside the call or later. */
void reports_answer(struct reports *reports, struct request *request, const struct message *m);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/deliver/step_outbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/deliver/answer.h"
#include "collector/store/query.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"
#include "common/cleanup.h"

struct reading {
    struct step_outbox *outbox;
    int64_t after;
    const struct step_limits *limits;
    const struct step_format *format;
    struct step_batch *batch;
};

static int run_reading(struct store *reader, void *arg, struct error *error)
{
    struct reading *reading = arg;

    return step_batch_read(reader, reading->outbox->sink, reading->after, reading->limits,
                           reading->format, &reading->batch, error);
}

static void on_read(int result, const struct error *error, void *arg)
{
    _free_ struct reading *reading = arg;

    if (result < 0)
        step_batch_destroy(TAKE_PTR(reading->batch));
    step_queue_provide(reading->outbox->queue, result, reading->batch, error);
}

void step_outbox_read(struct step_outbox *outbox, int64_t after, const struct step_limits *limits,
                      const struct step_format *format)
{
    const struct error busy = {"too many queries of the store are waiting"};
    struct reading *reading = malloc(sizeof(*reading));

    if (reading)
        *reading = (struct reading){outbox, after, limits, format, NULL};
    if (reading && query_submit(outbox->query, run_reading, on_read, reading) == 0)
        return;
    free(reading);
    step_queue_provide(outbox->queue, -EBUSY, NULL, &busy);
}

struct settling {
    struct step_outbox *outbox;
    char why[ANSWER_WHY_MAX];
    size_t n;
    int64_t ids[];
};

static int run_settling(struct store *store, void *arg, struct error *error)
{
    const struct settling *s = arg;

    return *s->why ? store_outbox_refuse(store, s->ids[0], s->why, error)
                   : store_outbox_drop(store, s->ids, s->n, error);
}

static void on_settled(int result, const struct error *error, void *arg)
{
    _free_ struct settling *s = arg;
    struct step_outbox *outbox = s->outbox;

    outbox->writes--;
    if (result < 0 && outbox->queue)
        step_queue_rewind(outbox->queue);
    outbox->settled(result, error, s->n, s->why, outbox->arg);
}

void step_outbox_settle(struct step_outbox *outbox, const int64_t *ids, size_t n, const char *why)
{
    const struct error full = {"too many writes are waiting"};
    struct settling *s = malloc(sizeof(*s) + n * sizeof(*ids));

    if (!s) {
        step_queue_rewind(outbox->queue);
        return;
    }
    s->outbox = outbox;
    s->n = n;
    memcpy(s->ids, ids, n * sizeof(*ids));
    (void)snprintf(s->why, sizeof(s->why), "%s", why);
    outbox->writes++;
    if (writer_submit(outbox->writer, outbox->final, run_settling, on_settled, s) < 0)
        on_settled(-EAGAIN, &full, s);
}

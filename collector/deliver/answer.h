/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a history sink has said to a request: pure functions of the answer. */
#ifndef JOBIO_COLLECTOR_DELIVER_ANSWER_H
#define JOBIO_COLLECTOR_DELIVER_ANSWER_H

#include <stddef.h>

#include "collector/http/client.h"
#include "report/rows/rows.h"

enum sink_outcome {
    SINK_OK,
    SINK_PARTLY,        /* a verdict on each row */
    SINK_RETRY,         /* with backoff; should it fail for ever, a row may be to blame */
    SINK_WAIT,          /* with backoff; it said so, no row is to blame */
    SINK_REFUSED,       /* it does not want these rows, or one of them */
    SINK_TOO_LONG,      /* nobody knows: its answer is too long, ask about less */
    SINK_MISCONFIGURED, /* slowly again, and an operator should look; the rows are not to blame */
};

#define SINK_WHY_MAX 256

struct sink_verdict {
    enum sink_outcome outcome; /* not SINK_PARTLY, SINK_TOO_LONG */
    char why[SINK_WHY_MAX];    /* unless SINK_OK */
};

/* How the header begins that tells a ClickHouse. */
#define SINK_CLICKHOUSE_MARK "X-ClickHouse-"

/* All that was sent is only taken for stored when the sink says so in its own words: ClickHouse
 * answers 200, with its header and nothing in the body; a _bulk answers 200 with "errors" and a
 * status for each row. `rows` verdicts are filled with SINK_PARTLY. `why` is for the operator, ""
 * with SINK_OK. */
enum sink_outcome sink_answer_judge(enum sink_format format, const struct http_answer *answer,
                                    size_t rows, struct sink_verdict *verdicts,
                                    char why[SINK_WHY_MAX]);

#endif

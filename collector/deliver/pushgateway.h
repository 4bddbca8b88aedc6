/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Pushgateways share with other targets that get the text format of Prometheus. */
#ifndef JOBIO_COLLECTOR_DELIVER_PUSHGATEWAY_H
#define JOBIO_COLLECTOR_DELIVER_PUSHGATEWAY_H

#include "collector/deliver/target.h"

extern const char *const pushgateway_headers[]; /* NULL-terminated */

/* The `judge` of struct target_kind. */
enum answer pushgateway_judge(struct target *target, const struct http_answer *answer, size_t rows,
                              struct answer_verdict *verdicts, char why[ANSWER_WHY_MAX]);

#endif

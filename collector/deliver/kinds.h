/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of the kinds of targets. A new kind is a file with its `struct target_kind` and a line
 * here. */
#ifndef JOBIO_COLLECTOR_DELIVER_KINDS_H
#define JOBIO_COLLECTOR_DELIVER_KINDS_H

#include "collector/deliver/target.h"
#include "report/prometheus/prometheus.h"
#include "report/rows/rows.h"

/* KIND(NAME): NAME_kind is defined in NAME.c. The first that claims a URL gets it. */
#define TARGET_KINDS(KIND) \
    KIND(victoria)         \
    KIND(clickhouse)       \
    KIND(bulk)             \
    KIND(otlp)             \
    KIND(pushgateway)

#define TARGET_KIND_DECLARE(name) extern const struct target_kind name##_kind;
TARGET_KINDS(TARGET_KIND_DECLARE)

/* NULL: there is no such kind. */
const struct target_kind *target_kind_named(const char *name);
/* The kind of a URL that gets the state of the node. */
const struct target_kind *target_kind_of_url(const char *url);

#endif

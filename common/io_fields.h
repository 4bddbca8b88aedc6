/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The field table: the counters of each operation. It generates the structs below and their sums
 * and differences (common/account.c), the JSON document, the columns of table io in the store and
 * of the history database, the CSV of `jobio job`, the metrics, and the fields of advice rules.
 *
 * To add a counter: add its line here, read it in collector/probe/account.c, and add its column to
 * sql/. tests/unit/test_fields.c fails until it survives JSON, the store and the history rows.
 */
#ifndef JOBIO_COMMON_IO_FIELDS_H
#define JOBIO_COMMON_IO_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/io_op.h"

enum io_field_kind {
    IO_FIELD_SUM,       /* uint64_t; two accounts are merged by adding */
    IO_FIELD_MAX,       /* uint64_t; two accounts are merged by the maximum */
    IO_FIELD_ERRNOS,    /* struct io_errno *, and their number */
    IO_FIELD_HISTOGRAM, /* uint64_t[IO_BUCKETS] */
};

enum io_unit {
    IO_UNIT_COUNT,
    IO_UNIT_BYTES,
    IO_UNIT_NS, /* CSV, metrics and advice show seconds */
};

/* Flags. The probe reads the counter modulo 2^32, so after a restart of jobiod it may be smaller
 * than the stored value. */
#define IO_FIELD_WRAPS 1
/* Only reads and writes have it; JSON omits it for other operations. */
#define IO_FIELD_ORDER 2
/* JSON omits it if it is 0. */
#define IO_FIELD_RARE 4

struct io_field {
    const char *name; /* JSON key, column of the store; op_NAME in ClickHouse */
    enum io_field_kind kind;
    enum io_unit unit;
    unsigned flags;
    size_t offset;      /* in struct io_counter */
    size_t sum_offset;  /* in struct io_sum; IO_FIELD_SUM and IO_FIELD_MAX only */
    const char *csv;    /* column of `jobio job --csv`; NULL: none */
    const char *metric; /* jobio_{read,write}_METRIC; NULL: none */
    const char *help;   /* of the metric; " of read operations." is appended */
    const char *advice; /* field of rules: read_ADVICE, open_ADVICE, ...; NULL: none */
};

/*
 * X(kind, member, name, unit, other members of struct io_field...)
 *
 * requests: calls, asynchronous ones included.
 * async_requests: requests by io_uring and libaio; no thread waited for them.
 * sequential_requests, random_requests: reads and writes that did or did not start at the end of
 *   the previous one on the same open file (the first one: at 0, or at the end when appending).
 *   The order of the remaining requests is unknown: of asynchronous ones, and where the kernel does
 *   not show the offset.
 * bytes: bytes returned, not bytes requested.
 * errnos: ascending code; the sum of the counts is <= errors.
 * time_ns: time inside synchronous calls.
 * max_ns: longest call, "at least".
 * throttled_ns: the part of time_ns in which the kernel held up the writer until dirty pages were
 *   written (bpf/throttle.bpf.h).
 */
/* clang-format off */
#define IO_FIELDS(X) \
    X(SUM, requests, "requests", COUNT, .csv = "Requests", .advice = "requests", \
      .metric = "requests_total", .help = "Requests") \
    X(SUM, async_requests, "async_requests", COUNT, .csv = "AsyncRequests", \
      .flags = IO_FIELD_WRAPS) \
    X(SUM, sequential_requests, "sequential_requests", COUNT, \
      .flags = IO_FIELD_WRAPS | IO_FIELD_ORDER) \
    X(SUM, random_requests, "random_requests", COUNT, .flags = IO_FIELD_WRAPS | IO_FIELD_ORDER) \
    X(SUM, bytes, "bytes", BYTES, .csv = "Bytes", .advice = "bytes", \
      .metric = "bytes_total", .help = "Bytes") \
    X(SUM, errors, "errors", COUNT, .csv = "Errors", .advice = "errors", \
      .metric = "errors_total", .help = "Failed requests", .flags = IO_FIELD_WRAPS) \
    X(ERRNOS, errnos, "errno", COUNT, .flags = 0) \
    X(SUM, time_ns, "time_ns", NS, .csv = "Time", .advice = "s", \
      .metric = "seconds_total", .help = "Seconds that threads waited inside calls") \
    X(MAX, max_ns, "max_ns", NS, .csv = "Longest", .advice = "longest_s") \
    X(SUM, throttled_ns, "throttled_ns", NS, .csv = "Throttled", .advice = "throttled_s", \
      .flags = IO_FIELD_RARE) \
    X(HISTOGRAM, size_log2, "size_log2", BYTES, .flags = IO_FIELD_WRAPS) \
    X(HISTOGRAM, latency_log2, "latency_log2", NS, .flags = IO_FIELD_WRAPS)
/* clang-format on */

struct io_errno {
    int code; /* positive errno */
    uint64_t count;
};

#define IO_MEMBER_SUM(member) uint64_t member;
#define IO_MEMBER_MAX(member) uint64_t member;
#define IO_MEMBER_ERRNOS(member)         \
    struct io_errno *member; /* owned */ \
    size_t n_##member;
#define IO_MEMBER_HISTOGRAM(member) uint64_t member[IO_BUCKETS];
#define IO_MEMBER(kind, member, ...) IO_MEMBER_##kind(member)

/* The counters of one operation: requests, bytes, ... */
struct io_counter {
    IO_FIELDS(IO_MEMBER)
};

#define IO_SUM_SUM(member) uint64_t member;
#define IO_SUM_MAX(member) uint64_t member;
#define IO_SUM_ERRNOS(member)
#define IO_SUM_HISTOGRAM(member)
#define IO_SUM_MEMBER(kind, member, ...) IO_SUM_##kind(member)

/* The sums of several operations. */
struct io_sum {
    IO_FIELDS(IO_SUM_MEMBER)
};

#define IO_FIELD_ONE(...) +1
#define IO_FIELD_COUNT (IO_FIELDS(IO_FIELD_ONE))

extern const struct io_field io_fields[IO_FIELD_COUNT];

/* The number (SUM, MAX) or the buckets (HISTOGRAM) of a field. */
static inline uint64_t *io_field_in(const struct io_field *field, struct io_counter *counter)
{
    return (uint64_t *)(void *)((char *)counter + field->offset);
}

static inline const uint64_t *io_field_of(const struct io_field *field,
                                          const struct io_counter *counter)
{
    return (const uint64_t *)(const void *)((const char *)counter + field->offset);
}

/* Whether the field is a plain number, which struct io_sum has as well. */
static inline bool io_field_is_number(const struct io_field *field)
{
    return field->kind == IO_FIELD_SUM || field->kind == IO_FIELD_MAX;
}

static inline uint64_t *io_sum_in(const struct io_field *field, struct io_sum *sum)
{
    return (uint64_t *)(void *)((char *)sum + field->sum_offset);
}

static inline uint64_t io_sum_of(const struct io_field *field, const struct io_sum *sum)
{
    return *(const uint64_t *)(const void *)((const char *)sum + field->sum_offset);
}

/* The page cache counters of a step on a mount. */
struct io_cache {
    uint64_t hit_bytes;
    uint64_t miss_bytes;
    uint64_t fill_bytes[IO_FILL_COUNT];
};

struct io_column {
    const char *name; /* in the store and in the history database */
    size_t offset;    /* in struct io_cache, or in struct io_sums */
};

#define IO_CACHE_COLUMNS (2 + IO_FILL_COUNT)
extern const struct io_column io_cache_columns[IO_CACHE_COLUMNS];

/* The sums that the store has per step, and per job and mount. The columns errors and wait_ns are
 * sums over all operations. */
struct io_sums {
    struct io_sum reads, writes, meta, all;
};

#define IO_SUM_COLUMNS 16
extern const struct io_column io_sum_columns[IO_SUM_COLUMNS];

static inline uint64_t *io_column_in(const struct io_column *column, void *of)
{
    return (uint64_t *)(void *)((char *)of + column->offset);
}

static inline uint64_t io_column_of(const struct io_column *column, const void *of)
{
    return *(const uint64_t *)(const void *)((const char *)of + column->offset);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/rows/rows_impl.h"

/* clang-format off */
#define T(field) {#field, SINK_TEXT, offsetof(struct sink_row, field)}
#define U32(field) {#field, SINK_U32, offsetof(struct sink_row, field)}
#define N(field) {#field, SINK_U64, offsetof(struct sink_row, field)}
#define B(field) {#field, SINK_BOOL, offsetof(struct sink_row, field)}
#define SUM(name, field) {name, SINK_U64, offsetof(struct sink_row, field)}
/* clang-format on */

const struct sink_column sink_columns[SINK_COLUMNS] = {
    T(cluster),
    U32(jobid),
    U32(restart),
    U32(het),
    U32(step),
    T(node),
    N(tagged_at_ns),
    T(mount),
    T(fstype),
    T(source),
    B(private),
    B(labelled),
    N(version),
    U32(uid),
    T(user),
    T(account),
    T(partition),
    T(name),
    U32(array_job),
    U32(array_task),
    B(job_ended),
    N(start_ns),
    N(end_ns),
    N(job_elapsed_ns),
    U32(nodes_expected),
    N(job_longest_wait_ns),
    N(job_lost),
    T(job_incomplete),
    T(unsupported),
    N(ns_per_event),
    T(step_name),
    T(state),
    U32(folded),
    N(elapsed_ns),
    N(longest_wait_ns),
    N(lost),
    T(incomplete),
    SUM("read_requests", reads.requests),
    SUM("read_bytes", reads.bytes),
    SUM("read_errors", reads.errors),
    SUM("read_time_ns", reads.time_ns),
    SUM("read_max_ns", reads.max_ns),
    SUM("write_requests", writes.requests),
    SUM("write_bytes", writes.bytes),
    SUM("write_errors", writes.errors),
    SUM("write_time_ns", writes.time_ns),
    SUM("write_max_ns", writes.max_ns),
    SUM("meta_requests", meta.requests),
    SUM("meta_errors", meta.errors),
    SUM("meta_time_ns", meta.time_ns),
    SUM("meta_max_ns", meta.max_ns),
    N(errors),
    N(wait_ns),
    SUM("cache_hit_bytes", cache.hit_bytes),
    SUM("cache_miss_bytes", cache.miss_bytes),
    SUM("fill_read_bytes", cache.fill_bytes[IO_FILL_READ]),
    SUM("fill_fault_bytes", cache.fill_bytes[IO_FILL_FAULT]),
    SUM("fill_prefetch_bytes", cache.fill_bytes[IO_FILL_PREFETCH]),
    SUM("fill_write_bytes", cache.fill_bytes[IO_FILL_WRITE]),
};

/* clang-format off */
#define COUNTER(field) \
    {#field, offsetof(struct sink_op_values, counter), offsetof(struct io_counter, field)}
#define PEAK(name, whose, field) \
    {name, offsetof(struct sink_op_values, whose), offsetof(struct io_peak, field)}
/* clang-format on */

const struct sink_op_column sink_op_columns[SINK_OP_COLUMNS] = {
    COUNTER(requests),
    COUNTER(async_requests),
    COUNTER(sequential_requests),
    COUNTER(random_requests),
    COUNTER(bytes),
    COUNTER(errors),
    COUNTER(time_ns),
    COUNTER(max_ns),
    PEAK("peak_bytes_per_s", step_peak, bytes_per_s),
    PEAK("peak_requests_per_s", step_peak, requests_per_s),
    PEAK("job_peak_bytes_per_s", job_peak, bytes_per_s),
    PEAK("job_peak_requests_per_s", job_peak, requests_per_s),
};

const struct sink_histogram sink_histograms[SINK_HISTOGRAMS] = {
    {"size_log2", offsetof(struct io_counter, size_log2)},
    {"latency_log2", offsetof(struct io_counter, latency_log2)},
};

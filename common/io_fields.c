/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/io_fields.h"

#define SUM_OFFSET_SUM(member) offsetof(struct io_sum, member)
#define SUM_OFFSET_MAX(member) offsetof(struct io_sum, member)
#define SUM_OFFSET_ERRNOS(member) 0
#define SUM_OFFSET_HISTOGRAM(member) 0
#define FIELD(kind_, member, name_, unit_, ...)     \
    {.name = (name_),                               \
     .kind = IO_FIELD_##kind_,                      \
     .unit = IO_UNIT_##unit_,                       \
     .offset = offsetof(struct io_counter, member), \
     .sum_offset = SUM_OFFSET_##kind_(member),      \
     __VA_ARGS__},

const struct io_field io_fields[IO_FIELD_COUNT] = {IO_FIELDS(FIELD)};

const struct io_column io_cache_columns[IO_CACHE_COLUMNS] = {
    {"cache_hit_bytes", offsetof(struct io_cache, hit_bytes)},
    {"cache_miss_bytes", offsetof(struct io_cache, miss_bytes)},
    {"fill_read_bytes", offsetof(struct io_cache, fill_bytes[IO_FILL_READ])},
    {"fill_fault_bytes", offsetof(struct io_cache, fill_bytes[IO_FILL_FAULT])},
    {"fill_prefetch_bytes", offsetof(struct io_cache, fill_bytes[IO_FILL_PREFETCH])},
    {"fill_write_bytes", offsetof(struct io_cache, fill_bytes[IO_FILL_WRITE])},
};

const struct io_column io_sum_columns[IO_SUM_COLUMNS] = {
    {"read_requests", offsetof(struct io_sums, reads.requests)},
    {"read_bytes", offsetof(struct io_sums, reads.bytes)},
    {"read_errors", offsetof(struct io_sums, reads.errors)},
    {"read_time_ns", offsetof(struct io_sums, reads.time_ns)},
    {"read_max_ns", offsetof(struct io_sums, reads.max_ns)},
    {"write_requests", offsetof(struct io_sums, writes.requests)},
    {"write_bytes", offsetof(struct io_sums, writes.bytes)},
    {"write_errors", offsetof(struct io_sums, writes.errors)},
    {"write_time_ns", offsetof(struct io_sums, writes.time_ns)},
    {"write_max_ns", offsetof(struct io_sums, writes.max_ns)},
    {"meta_requests", offsetof(struct io_sums, meta.requests)},
    {"meta_errors", offsetof(struct io_sums, meta.errors)},
    {"meta_time_ns", offsetof(struct io_sums, meta.time_ns)},
    {"meta_max_ns", offsetof(struct io_sums, meta.max_ns)},
    {"errors", offsetof(struct io_sums, all.errors)},
    {"wait_ns", offsetof(struct io_sums, all.time_ns)},
};

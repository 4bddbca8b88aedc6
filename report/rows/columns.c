/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/rows/rows_impl.h"

/* clang-format off */
#define T(field) {#field, SINK_TEXT, offsetof(struct sink_row, field)}
#define U32(field) {#field, SINK_U32, offsetof(struct sink_row, field)}
#define N(field) {#field, SINK_U64, offsetof(struct sink_row, field)}
#define B(field) {#field, SINK_BOOL, offsetof(struct sink_row, field)}
#define USERS(kind, field) offsetof(struct sink_row, users[kind].field)
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
    T(slurm_state),
    U32(exit_code),
    U32(exit_signal),
    B(exit_known),
    T(mpi_incomplete),
    {"readers", SINK_U64, USERS(IO_READERS, processes)},
    {"reader_threads", SINK_U64, USERS(IO_READERS, threads)},
    {"readers_at_least", SINK_BOOL, USERS(IO_READERS, at_least)},
    {"writers", SINK_U64, USERS(IO_WRITERS, processes)},
    {"writer_threads", SINK_U64, USERS(IO_WRITERS, threads)},
    {"writers_at_least", SINK_BOOL, USERS(IO_WRITERS, at_least)},
    B(rpc_counted),
    B(rpc_incomplete),
    B(rpc_shared_at_most),
    B(block_counted),
    B(block_incomplete),
    B(block_shared_at_most),
};

/* clang-format off */
#define PEAK(name, of, field) {name, SINK_PEAK_##of, offsetof(struct io_peak, field)}
/* clang-format on */

const struct sink_peak sink_peaks[SINK_PEAKS] = {
    PEAK("peak_bytes_per_s", STEP, bytes_per_s),
    PEAK("peak_requests_per_s", STEP, requests_per_s),
    PEAK("job_peak_bytes_per_s", JOB, bytes_per_s),
    PEAK("job_peak_requests_per_s", JOB, requests_per_s),
};

-- Insert the calls of a class of MPI-IO. ?1 step, ?2 class, ?3.. sums in the order of MPI_SUMS
-- (common/mpi_class.h), histograms
INSERT INTO mpi (step_id, class, calls, errors, time_ns, bytes, requested_bytes, unknown_calls,
    size_log2, latency_log2)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);

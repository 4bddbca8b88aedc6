-- The calls of MPI-IO of a step by class, with the sums in the order of MPI_SUMS (common/mpi_class.h).
-- ?1 step
SELECT class, calls, errors, time_ns, bytes, requested_bytes, unknown_calls, size_log2, latency_log2
FROM mpi WHERE step_id = ?1;

-- About how many bytes a step takes in the database, with its part of the rows of its job. ?1 step
SELECT 1000 + ifnull((SELECT length(mpi_incomplete) FROM step WHERE id = ?1), 0) + ifnull((
    SELECT sum(150 + 2 * (length(CAST(m.mount AS BLOB)) + length(CAST(m.fstype AS BLOB))
        + length(CAST(m.source AS BLOB))))
    FROM step_mount AS s CROSS JOIN mount AS m ON m.id = s.mount_id WHERE s.step_id = ?1), 0)
  + ifnull((
    SELECT sum(80 + ifnull(length(size_log2), 0) + ifnull(length(latency_log2), 0)
        + ifnull(length(errno), 0))
    FROM io WHERE step_id = ?1), 0)
  + ifnull((
    SELECT sum(40 + ifnull(length(read_bytes), 0) + ifnull(length(write_bytes), 0)
        + ifnull(length(meta_requests), 0) + ifnull(length(wait_ns), 0)
        + ifnull(length(longest_wait_ns), 0))
    FROM timeline WHERE step_id = ?1), 0)
  + ifnull((
    SELECT sum(80 + ifnull(length(size_log2), 0) + ifnull(length(latency_log2), 0))
    FROM mpi WHERE step_id = ?1), 0)
  + ifnull((
    SELECT sum(80 + length(device) + ifnull(length(latency_log2), 0))
    FROM block WHERE step_id = ?1), 0)
  + ifnull((
    SELECT sum(40 + length(CAST(stack AS BLOB))) FROM stack WHERE step_id = ?1), 0)
  + 80 * (SELECT count(*) FROM stack_profile WHERE step_id = ?1)
  + 80 * (SELECT count(*) FROM rpc WHERE step_id = ?1);

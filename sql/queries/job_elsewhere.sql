-- What the other nodes of a job could not count. ?1 job
SELECT unsupported_elsewhere FROM job WHERE id = ?1;

-- 1 job: what its other nodes could not count
SELECT unsupported_elsewhere FROM job WHERE id = ?1;

-- 1 job, 2 what its other nodes could not count
UPDATE job SET unsupported_elsewhere = ?2 WHERE id = ?1;

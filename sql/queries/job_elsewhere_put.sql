-- Set what the other nodes of a job could not count. ?1 job, ?2 operations
UPDATE job SET unsupported_elsewhere = ?2 WHERE id = ?1;

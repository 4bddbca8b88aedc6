-- 1 job: hide it, so that nobody sees half of it
UPDATE job SET expired = 1 WHERE id = ?1;

-- 1 job: delete it, and with it its peaks
DELETE FROM job WHERE id = ?1;

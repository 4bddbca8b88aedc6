-- 1 from this sink, 2 up to before that
DELETE FROM outbox WHERE sink >= ?1 AND sink < ?2;

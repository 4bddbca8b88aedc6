-- 1 from this sink, 2 up to before that: what they refused is to be sent again
UPDATE outbox SET refused = NULL WHERE sink >= ?1 AND sink < ?2 AND refused IS NOT NULL;

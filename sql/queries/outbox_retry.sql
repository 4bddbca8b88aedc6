-- 1 sink, or a pattern of GLOB: what it refused is to be sent again
UPDATE outbox SET refused = NULL WHERE sink GLOB ?1 AND refused IS NOT NULL;

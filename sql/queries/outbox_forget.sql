-- 1 sink, or a pattern of GLOB
DELETE FROM outbox WHERE sink GLOB ?1;

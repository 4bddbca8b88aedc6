-- 1 step: forget its numbers on all mounts
DELETE FROM step_mount WHERE step_id = ?1;

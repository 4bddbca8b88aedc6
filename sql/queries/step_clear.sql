-- Delete the counters of a step on all mounts. ?1 step
DELETE FROM step_mount WHERE step_id = ?1;

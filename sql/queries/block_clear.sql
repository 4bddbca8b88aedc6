-- Delete the requests to disks of a step. ?1 step
DELETE FROM block WHERE step_id = ?1;

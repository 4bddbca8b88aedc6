-- Delete a job and its peaks. ?1 job
DELETE FROM job WHERE id = ?1;

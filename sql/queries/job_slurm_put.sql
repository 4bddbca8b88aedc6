-- Set how Slurm ended a job. ?1 job, ?2 state, ?3 exit code, ?4 signal
UPDATE job SET slurm_state = ?2, exit_code = ?3, exit_signal = ?4 WHERE id = ?1;

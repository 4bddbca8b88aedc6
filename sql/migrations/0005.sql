-- SPDX-License-Identifier: GPL-2.0-or-later
-- The state and the exit code of jobs in Slurm.
ALTER TABLE job ADD COLUMN slurm_state TEXT;
ALTER TABLE job ADD COLUMN exit_code INTEGER;
ALTER TABLE job ADD COLUMN exit_signal INTEGER;
DROP VIEW v_job;
CREATE VIEW v_job AS
SELECT cluster, jobid, restart, user, uid, account, partition, name,
       CASE ended WHEN 1 THEN 'ended' ELSE 'running' END AS state,
       datetime(start_ns / 1000000000, 'unixepoch', 'localtime') AS start,
       CASE ended WHEN 1 THEN datetime(end_ns / 1000000000, 'unixepoch', 'localtime') END AS "end",
       elapsed_ns / 1e9 AS elapsed_s, steps,
       lost = 0 AND incomplete IS NULL AND steps_incomplete = 0
           AND nodes_expected > 0 AND nodes_reported >= nodes_expected AS complete,
       read_bytes, read_requests, write_bytes, write_requests, meta_requests, errors,
       wait_ns / 1e9 AS wait_s,
       CASE WHEN elapsed_ns > 0
            THEN min(100.0, round(100.0 * longest_wait_ns / elapsed_ns, 1)) END AS waiting_percent,
       slurm_state, exit_code, exit_signal
FROM job
WHERE expired = 0
ORDER BY start_ns DESC;

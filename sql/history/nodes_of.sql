-- SPDX-License-Identifier: GPL-2.0-or-later
-- A condition of jobs.sql: jobs with a step on one of these nodes.
EXISTS (SELECT 1 FROM step WHERE step.job_id = job.id
        AND step.node IN (SELECT value FROM json_each(:nodes)))

-- SPDX-License-Identifier: GPL-2.0-or-later
-- Part of ask_job.sql: all runs of an array task.
(cluster, jobid) IN (
    SELECT cluster, jobid FROM :table WHERE array_job = :job AND array_task = :task :cluster :own)

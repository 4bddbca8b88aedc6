-- SPDX-License-Identifier: GPL-2.0-or-later
-- A condition of jobs.sql: these jobs, all tasks of these arrays, and these ranges of tasks.
job.id IN (
    SELECT j.id FROM job AS j WHERE j.jobid IN (SELECT value FROM json_each(:numbers))
    UNION ALL
    SELECT j.id FROM job AS j WHERE j.array_job IN (SELECT value FROM json_each(:numbers))
    UNION ALL
    SELECT j.id FROM json_each(:tasks) CROSS JOIN job AS j
    ON j.array_job = json_extract(json_each.value, '$[0]')
        AND j.array_task BETWEEN json_extract(json_each.value, '$[1]')
            AND json_extract(json_each.value, '$[2]'))

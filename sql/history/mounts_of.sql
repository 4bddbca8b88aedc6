-- SPDX-License-Identifier: GPL-2.0-or-later
-- Part of jobs.sql: a row for each of the selected mounts that a job used. One path may be several mounts:
-- from another source, or in another job's own namespace.
CROSS JOIN job_mount AS m ON m.job_id = job.id AND m.mount_id IN
        (SELECT id FROM mount WHERE mount IN (SELECT value FROM json_each(:mounts)))
    CROSS JOIN mount ON mount.id = m.mount_id

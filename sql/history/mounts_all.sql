-- SPDX-License-Identifier: GPL-2.0-or-later
-- Part of jobs.sql: a row for each mount that a job used.
CROSS JOIN job_mount AS m ON m.job_id = job.id CROSS JOIN mount ON mount.id = m.mount_id

-- SPDX-License-Identifier: GPL-2.0-or-later
-- Part of ask_job.sql: by number.
jobid = :job

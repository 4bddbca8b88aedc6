-- SPDX-License-Identifier: GPL-2.0-or-later
-- The processes and threads of a step that read and wrote on a mount.
ALTER TABLE step_mount ADD COLUMN readers INTEGER;
ALTER TABLE step_mount ADD COLUMN reader_threads INTEGER;
ALTER TABLE step_mount ADD COLUMN readers_at_least INTEGER;
ALTER TABLE step_mount ADD COLUMN writers INTEGER;
ALTER TABLE step_mount ADD COLUMN writer_threads INTEGER;
ALTER TABLE step_mount ADD COLUMN writers_at_least INTEGER;

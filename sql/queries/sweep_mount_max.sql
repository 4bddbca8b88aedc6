-- The largest id of a mount.
SELECT ifnull(max(id), 0) FROM mount;

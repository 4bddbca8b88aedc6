-- Insert a mount. Parameters as in mount_find
INSERT INTO mount (mount, fstype, source, private, labelled) VALUES (?1, ?2, ?3, ?4, ?5);

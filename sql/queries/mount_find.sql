-- The id of a mount. ?1 mount, ?2 fstype, ?3 source, ?4 private, ?5 labelled
SELECT id FROM mount
WHERE mount = ?1 AND fstype = ?2 AND source = ?3 AND private = ?4 AND labelled = ?5;

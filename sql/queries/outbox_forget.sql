-- Delete the rows of the sinks from ?1 up to, but not including, ?2.
DELETE FROM outbox WHERE sink >= ?1 AND sink < ?2;

-- Queue the refused rows of the sinks from ?1 up to, but not including, ?2 again.
UPDATE outbox SET refused = NULL WHERE sink >= ?1 AND sink < ?2 AND refused IS NOT NULL;

-- A job whose rows are being deleted.
SELECT id FROM job WHERE expired = 1 LIMIT 1;

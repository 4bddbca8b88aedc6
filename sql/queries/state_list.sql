-- Values from a prefix on; the reader stops at the first key without it. ?1 prefix
SELECT key, value FROM state WHERE key >= ?1 ORDER BY key;

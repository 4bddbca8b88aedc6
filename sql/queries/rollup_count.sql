-- Some number of jobs, not less than there are
SELECT ifnull((SELECT max(id) FROM job) - (SELECT min(id) FROM job) + 1, 0);

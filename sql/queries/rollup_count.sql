-- An upper bound of the number of jobs.
SELECT ifnull((SELECT max(id) FROM job) - (SELECT min(id) FROM job) + 1, 0);

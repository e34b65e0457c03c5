-- directories that sessions ran in, the latest first
SELECT directory, source, sum(sessions) AS sessions,
  date(min(time_first) / 1000, 'unixepoch', 'localtime') AS first,
  date(max(time_last) / 1000, 'unixepoch', 'localtime') AS last
FROM projects WHERE sessions > 0 GROUP BY directory, source ORDER BY max(time_last) DESC;

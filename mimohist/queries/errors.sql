-- errors of tools that came more than once, the most frequent first (-P days=N: lately)
SELECT count(*) AS times, count(DISTINCT session_id) AS sessions, tool,
  date(max(time_created) / 1000, 'unixepoch', 'localtime') AS last,
  substr(output, 1, 200) AS error
FROM parts
WHERE kind = 'tool_error'
  AND (:days = '' OR time_created >= (strftime('%s', 'now') - 86400 * :days) * 1000)
GROUP BY tool, substr(output, 1, 200) HAVING count(*) > 1
ORDER BY times DESC, last DESC LIMIT 50;

-- tools by number of calls, with how many failed
SELECT tool, count(*) AS calls, sum(kind = 'tool_error') AS failed,
  round(100.0 * sum(kind = 'tool_error') / count(*), 1) AS percent,
  count(DISTINCT session_id) AS sessions
FROM parts WHERE tool IS NOT NULL GROUP BY tool ORDER BY calls DESC, tool;

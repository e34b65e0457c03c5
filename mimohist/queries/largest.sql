-- the largest parts, in characters
SELECT coalesce(length(input), length(text), 0) + coalesce(length(output), 0) AS characters,
  lost, kind, tool, source, session_id, message_id, title
FROM parts ORDER BY characters DESC LIMIT 30;

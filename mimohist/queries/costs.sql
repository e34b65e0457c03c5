-- cost in dollars and tokens by day and model, where the source has them (imports left out)
SELECT date(m.time_created / 1000, 'unixepoch', 'localtime') AS day, m.model,
  count(*) AS messages, round(sum(m.cost), 4) AS cost, sum(m.tokens_input) AS input,
  sum(m.tokens_output) AS output, sum(m.tokens_reasoning) AS reasoning,
  sum(m.tokens_cache_read) AS cache_read, sum(m.tokens_cache_write) AS cache_write
FROM messages m JOIN sessions s ON s.source = m.source AND s.session_id = m.session_id
WHERE m.role = 'assistant' AND m.model IS NOT NULL AND s.mirrors IS NULL
GROUP BY day, m.model ORDER BY day DESC, cost DESC LIMIT 100;

-- sessions, newest first (-P project=DIR: of one directory; -P limit=N)
SELECT datetime(time_updated / 1000, 'unixepoch', 'localtime') AS updated,
  source, session_id, project, messages, parts,
  CASE WHEN gone THEN 'source gone' WHEN machine IS NOT NULL THEN machine
       WHEN time_archived IS NOT NULL THEN 'archived' ELSE '' END AS state, title
FROM sessions
WHERE :project = '' OR project = :project OR project LIKE rtrim(:project, '/') || '/%'
ORDER BY time_updated DESC, session_id
LIMIT CASE WHEN :limit = '' THEN 50 ELSE :limit END;

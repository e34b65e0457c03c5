-- what is indexed from where, what was skipped or cut, and what could not be read
SELECT source, path, sessions, parts, bytes,
  date(time_first / 1000, 'unixepoch', 'localtime') AS first,
  date(time_last / 1000, 'unixepoch', 'localtime') AS last,
  datetime(time_read / 1000, 'unixepoch', 'localtime') AS read,
  skipped, skipped_why, cut_parts, gone_sessions,
  coalesce(error, CASE WHEN gone THEN 'gone' END, 'ok') AS state
FROM sources ORDER BY source, path;

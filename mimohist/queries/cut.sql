-- parts of which more than the limit was said: how many characters are not searchable
SELECT lost AS characters_lost, kind, tool, source, session_id, message_id
FROM parts WHERE lost > 0 ORDER BY lost DESC;
